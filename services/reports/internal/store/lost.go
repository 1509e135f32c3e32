package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const lostReports = `SELECT x.reference, max(x.sequence), coalesce(max(r.sequence), 0)
FROM unnest($1::text[], $2::bigint[]) AS x (reference, sequence) LEFT JOIN reports r ON r.reference = x.reference
GROUP BY x.reference HAVING coalesce(max(r.sequence), 0) < max(x.sequence) ORDER BY x.reference`

// Lost is a report of which merchants received later events than its row has.
type Lost struct {
	ReportID string `json:"reportId"`
	Told     int64  `json:"told"` // the sequence of the newest event
	Here     int64  `json:"here"` // 0 where the report is gone
}

// Lost compares reports with the events that merchants received.
func (s *Store) Lost(ctx context.Context, references []string, sequences []int64) ([]Lost, error) {
	rows, err := s.pool.Query(ctx, lostReports, references, sequences)
	if err != nil {
		return nil, fmt.Errorf("look for lost reports: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l Lost, err error) {
		err = row.Scan(&l.ReportID, &l.Told, &l.Here)
		return l, err
	})
}
