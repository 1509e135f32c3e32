package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
)

const (
	// A worker shares this lock from the read of the pauses until its claim of a payout is committed. A change of the
	// pauses waits for all workers. So every claim after `payments pause payouts` has returned sees the pause.
	shareClaims   = `SELECT pg_advisory_xact_lock_shared(hashtext('payments pauses'))`
	excludeClaims = `SELECT pg_advisory_xact_lock(hashtext('payments pauses'))`
	selectPaused  = `SELECT EXISTS (SELECT FROM pauses WHERE what = 'payouts' AND currency IN ('', $1) AND network IN ('', $2) AND rail IN ('', $3))`
	selectPauses  = `SELECT what, currency, network, rail, operator, at FROM pauses ORDER BY what, currency, network, rail`
	insertPause   = `INSERT INTO pauses (what, currency, network, rail, operator) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
	deletePause   = `DELETE FROM pauses WHERE what = $1 AND currency = $2 AND network = $3 AND rail = $4`
)

// errNothing refuses a second pause and a resume without a pause.
var errNothing = errors.New("nothing changed: `payments pauses` lists the pauses")

// queuePaused reads, under the payment's lock, whether its payout is paused.
func (s *Store) queuePaused(read *pgx.Batch, v *change.View) {
	read.Queue(shareClaims)
	rail := v.Payment.Rail
	read.Queue(selectPaused, string(v.Payment.Currency), v.Payment.Quote.Network, rail).QueryRow(func(row pgx.Row) error { return row.Scan(&v.Paused) })
}

// Pauses is the list of admission.NewPauses.
func (s *Store) Pauses(ctx context.Context) ([]admission.Pause, error) {
	rows, err := s.pool.Query(ctx, selectPauses)
	if err != nil {
		return nil, fmt.Errorf("list pauses: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p admission.Pause, err error) {
		err = row.Scan(&p.What, &p.Currency, &p.Network, &p.Rail, &p.Operator, &p.At)
		return p, err
	})
	return found, wrap(err, "list pauses")
}

// Pause begins the pause p, or ends it with resume. It writes an audit entry.
func (s *Store) Pause(ctx context.Context, p admission.Pause, resume bool) error {
	action, sql, args := p.What+".paused", insertPause, []any{p.What, p.Currency, p.Network, p.Rail, p.Operator}
	if resume {
		action, sql, args = p.What+".resumed", deletePause, args[:4]
	}
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, excludeClaims); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sql, args...)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNothing
		}
		return s.audit(ctx, tx, p.Operator, action, map[string]any{"currency": p.Currency, "network": p.Network, "rail": p.Rail})
	})
	return wrap(err, action)
}
