package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// keptSQL reads events in the order in which they were taken in.
	keptSQL = `SELECT id, type, merchant_id, mode, object_id, sequence, occurred_at, body FROM event
WHERE (id = $1 OR $1 = '' AND occurred_at >= $2 AND occurred_at < $3) AND starts_with(type, $4) ORDER BY tx, id`

	missingSQL = `SELECT x.object_id, x.merchant_id, x.mode, x.sequence, e.last
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS x (object_id, merchant_id, mode, sequence, n),
	LATERAL (SELECT coalesce(max(v.sequence), 0) FROM event v WHERE v.object_id = x.object_id AND v.merchant_id = x.merchant_id AND v.mode = x.mode) e (last)
WHERE e.last < x.sequence ORDER BY x.n`

	// patientSQL lets it read a whole month, which no request does.
	patientSQL = `SET LOCAL statement_timeout = '30min'`
)

// KeptFilter is one event, or those of a time.
type KeptFilter struct {
	ID       string
	From, To time.Time
	Type     string // how types begin
}

// KeptEvent is a stored event without its body.
type KeptEvent struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	MerchantID string    `json:"merchantId"`
	Mode       string    `json:"mode"`
	ObjectID   string    `json:"objectId"`
	Sequence   int64     `json:"sequence"`
	OccurredAt time.Time `json:"occurredAt"`
}

// Kept gives an operator's command each stored event with its body as it is stored.
func (s *Store) Kept(ctx context.Context, f KeptFilter, each func(e KeptEvent, body []byte) error) error {
	err := pgx.BeginTxFunc(ctx, s.db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, patientSQL); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, keptSQL, f.ID, f.From, f.To, f.Type)
		if err != nil {
			return err
		}
		var e KeptEvent
		var body []byte
		_, err = pgx.ForEachRow(rows, []any{&e.ID, &e.Type, &e.MerchantID, &e.Mode, &e.ObjectID, &e.Sequence, &e.OccurredAt, &body}, func() error {
			return each(e, body)
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	return nil
}

// Owed is the last sequence of an object that its service has announced.
type Owed struct {
	ObjectID   string `json:"objectId"`
	MerchantID string `json:"merchantId"`
	Mode       string `json:"mode"`
	Sequence   int64  `json:"sequence"`
}

// Short is an object whose newest events are not stored here.
type Short struct {
	Owed
	Stored int64 `json:"stored"` // the newest sequence that is
}

// Missing gives those whose newest event is not stored.
func (s *Store) Missing(ctx context.Context, all []Owed) ([]Short, error) {
	var objects, merchants, modes []string
	var sequences []int64
	for _, o := range all {
		objects, merchants, modes, sequences = append(objects, o.ObjectID), append(merchants, o.MerchantID), append(modes, o.Mode), append(sequences, o.Sequence)
	}
	rows, err := s.db.Query(ctx, missingSQL, objects, merchants, modes, sequences)
	if err != nil {
		return nil, fmt.Errorf("look for missing events: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Short, err error) {
		err = row.Scan(&m.ObjectID, &m.MerchantID, &m.Mode, &m.Sequence, &m.Stored)
		return m, err
	})
}
