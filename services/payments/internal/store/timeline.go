package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/payments/internal/views"
)

const (
	selectHistory = `SELECT to_state, exception, at FROM (SELECT version, n, to_state, exception, at FROM history WHERE payment_id = $1
	UNION ALL SELECT h.version, h.n, h.to_state, h.exception, h.at FROM archived_payments a, jsonb_populate_recordset(NULL::history_rows, kept_rows(NULL::history_rows, a.kept -> 'history_rows')) h WHERE a.id = $1) AS h
ORDER BY version, n`
	selectPayouts = `SELECT ` + payoutColumns + ` FROM (` + payoutsOf + `= $1` + keptPayouts + `= $1) AS o ORDER BY o.attempt, o.created_at`
)

// Past implements views.Store.
func (s *Store) Past(ctx context.Context, paymentID string) (past views.Past, err error) {
	batch := &pgx.Batch{}
	batch.Queue(selectHistory, paymentID).Query(func(rows pgx.Rows) (err error) {
		past.Steps, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (step views.Step, err error) {
			err = row.Scan(&step.To, &step.Exception, (*instant)(&step.At))
			return step, err
		})
		return err
	})
	batch.Queue(selectPayouts, paymentID).Query(func(rows pgx.Rows) (err error) {
		past.Payouts, err = pgx.CollectRows(rows, s.scanPayout)
		return err
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return views.Past{}, fmt.Errorf("read the history of payment %s: %w", paymentID, err)
	}
	return past, nil
}
