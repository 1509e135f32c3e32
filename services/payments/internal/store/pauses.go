package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/wire"
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
	// The version grows with the clock too, so that it is no older after a restore. The row's lock comes before the list
	// is read, so a newer version never has an older list.
	numberPauses = `UPDATE refund_pauses_sent SET version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
	sent_at = clock_timestamp() WHERE $1 OR sent_at < clock_timestamp() - interval '1 minute' RETURNING version`
	refundPauses = `SELECT currency, network FROM pauses WHERE what = 'refunds' ORDER BY currency, network`
	deletePause  = `DELETE FROM pauses WHERE what = $1 AND currency = $2 AND network = $3 AND rail = $4`
)

// errNothing refuses a second pause and a resume without a pause.
var errNothing = errors.New("nothing changed: `payments pauses` lists the pauses")

// queuePaused reads, under the payment's lock, whether its payout is paused.
func (s *Store) queuePaused(read *pgx.Batch, v *change.View) {
	read.Queue(shareClaims)
	rail := v.Payment.Rail
	read.Queue(selectPaused, string(v.Payment.Currency), v.Payment.Quote.Network, rail).QueryRow(func(row pgx.Row) error { return row.Scan(&v.Paused) })
}

// queuePausedPack is queuePaused and queueOverLimit for the payouts of a pack that may leave.
func (s *Store) queuePausedPack(read *pgx.Batch, pack []*member) {
	read.Queue(shareClaims)
	type group struct{ currency, network, rail string }
	groups := map[group][]*change.View{}
	for _, m := range pack {
		if p := m.view.Payment; m.at.leaves {
			of := group{string(p.Currency), p.Quote.Network, p.Rail}
			groups[of] = append(groups[of], &m.view)
			s.queueOverLimit(read, &m.view)
		}
	}
	for of, views := range groups {
		read.Queue(selectPaused, of.currency, of.network, of.rail).QueryRow(func(row pgx.Row) error {
			var paused bool
			err := row.Scan(&paused)
			for _, v := range views {
				v.Paused = paused
			}
			return err
		})
	}
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
		if p.What == admission.PauseRefunds {
			if err := s.sendPauses(ctx, tx, true); err != nil {
				return err
			}
		}
		return s.audit(ctx, tx, p.Operator, action, map[string]any{"currency": p.Currency, "network": p.Network, "rail": p.Rail})
	})
	if err == nil {
		s.Wake()
	}
	return wrap(err, action)
}

// SendPauses sends wallets the pauses of refunds once a minute, however many processes call it.
func (s *Store) SendPauses(ctx context.Context) error {
	return wrap(postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error { return s.sendPauses(ctx, tx, false) }), "send the pauses of refunds")
}

// sendPauses sends wallets the pauses of refunds, now, or a minute after the last time.
func (s *Store) sendPauses(ctx context.Context, tx pgx.Tx, now bool) error {
	list := wire.RefundsPaused{Pauses: []wire.RefundPause{}}
	if err := tx.QueryRow(ctx, numberPauses, now).Scan(&list.Version); errors.Is(err, pgx.ErrNoRows) {
		return nil
	} else if err != nil {
		return fmt.Errorf("number the pauses: %w", err)
	}
	rows, err := tx.Query(ctx, refundPauses)
	if err != nil {
		return fmt.Errorf("list the pauses: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[wire.RefundPause])
	if err != nil {
		return fmt.Errorf("list the pauses: %w", err)
	}
	list.Pauses = append(list.Pauses, found...)
	m, err := outbox.Encode(ctx, wire.RefundsPausedV1, id.New(id.Message, s.now()), list)
	if err != nil {
		return err
	}
	return outbox.Insert(ctx, tx, m)
}
