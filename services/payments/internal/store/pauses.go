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
	// Whoever is about to claim a payout shares this lock until its claim is committed, and a change of the pauses waits for
	// all of them: once `payments pause payouts` has returned, no claim is made that has not seen the pause.
	shareClaims   = `SELECT pg_advisory_xact_lock_shared(hashtext('payments pauses'))`
	excludeClaims = `SELECT pg_advisory_xact_lock(hashtext('payments pauses'))`
	selectPaused  = `SELECT EXISTS (SELECT FROM pauses WHERE what = 'payouts' AND currency IN ('', $1) AND network IN ('', $2) AND rail IN ('', $3))`
	selectPauses  = `SELECT what, currency, network, rail, operator, at FROM pauses ORDER BY what, currency, network, rail`
	insertPause   = `INSERT INTO pauses (what, currency, network, rail, operator) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
	deletePause   = `DELETE FROM pauses WHERE what = $1 AND currency = $2 AND network = $3 AND rail = $4`
)

// errNothing is what pausing twice, or resuming what runs, gets.
var errNothing = errors.New("nothing changed: `payments pauses` lists what is stopped")

// queuePaused asks, under the payment's lock, whether its payout is stopped.
func (s *Store) queuePaused(read *pgx.Batch, v *change.View) {
	read.Queue(shareClaims)
	rail := v.Payment.Rail
	read.Queue(selectPaused, string(v.Payment.Currency), v.Payment.Quote.Network, rail).QueryRow(func(row pgx.Row) error { return row.Scan(&v.Paused) })
}

// Pauses implements app.PauseList.
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

// Pause stops what p names until it is resumed; resume lets it go on. The note in the audit is written with it.
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
