package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
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
	// A suspended merchant is paid nothing, whatever else is paused.
	selectPaused = `SELECT EXISTS (SELECT FROM pauses WHERE what = 'payouts' AND currency IN ('', $1) AND network IN ('', $2) AND rail IN ('', $3)
	AND merchant_id IN ('', $4) AND (until IS NULL OR until > clock_timestamp()))
	OR EXISTS (SELECT FROM merchant_terms WHERE merchant_id = $4 AND suspended)`
	pauseColumns = `id, what, currency, network, rail, merchant_id, reason, operator, at, until`
	selectPauses = `SELECT ` + pauseColumns + ` FROM pauses WHERE until IS NULL OR until > clock_timestamp() ORDER BY what, currency, network, rail, merchant_id`
	insertPause  = `INSERT INTO pauses (what, currency, network, rail, merchant_id, reason, operator, until) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT DO NOTHING RETURNING ` + pauseColumns
	// An ended pause makes room for a new one.
	forgetPause = `DELETE FROM pauses WHERE what = $1 AND currency = $2 AND network = $3 AND rail = $4 AND merchant_id = $5 AND until <= clock_timestamp()`
	findPause   = `SELECT ` + pauseColumns + ` FROM pauses WHERE id = $1 AND (until IS NULL OR until > clock_timestamp())`
	scopedPause = `SELECT ` + pauseColumns + ` FROM pauses WHERE what = $1 AND currency = $2 AND network = $3 AND rail = $4 AND merchant_id = $5
	AND (until IS NULL OR until > clock_timestamp())`
	// The version grows with the clock too, so that it is no older after a restore. The row's lock comes before the
	// list is read, so a newer version never has an older list.
	numberPauses = `UPDATE refund_pauses_sent SET version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
	sent_at = clock_timestamp() WHERE $1 OR sent_at < clock_timestamp() - interval '1 minute' RETURNING version`
	refundPauses = `SELECT currency, network FROM pauses WHERE what = 'refunds' AND (until IS NULL OR until > clock_timestamp()) ORDER BY currency, network`
	deletePause  = `DELETE FROM pauses WHERE id = $1`
)

// queuePaused reads, under the payment's lock, whether its payout is paused.
func (s *Store) queuePaused(read *pgx.Batch, v *change.View) {
	read.Queue(shareClaims)
	rail := v.Payment.Rail
	read.Queue(selectPaused, string(v.Payment.Currency), v.Payment.Quote.Network, rail, v.Payment.MerchantID).QueryRow(func(row pgx.Row) error { return row.Scan(&v.Paused) })
}

// queuePausedPack is queuePaused and queueOverLimit for the payouts of a pack that may leave.
func (s *Store) queuePausedPack(read *pgx.Batch, pack []*member) {
	read.Queue(shareClaims)
	type group struct{ currency, network, rail, merchant string }
	groups := map[group][]*change.View{}
	for _, m := range pack {
		if p := m.view.Payment; m.at.leaves {
			of := group{string(p.Currency), p.Quote.Network, p.Rail, p.MerchantID}
			groups[of] = append(groups[of], &m.view)
			s.queueOverLimit(read, &m.view)
		}
	}
	for of, views := range groups {
		read.Queue(selectPaused, of.currency, of.network, of.rail, of.merchant).QueryRow(func(row pgx.Row) error {
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
	found, err := collectPauses(rows)
	return found, wrap(err, "list pauses")
}

func collectPauses(rows pgx.Rows) ([]admission.Pause, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (admission.Pause, error) { return scanPause(row) })
}

func scanPause(row pgx.Row) (p admission.Pause, err error) {
	var until *time.Time
	err = row.Scan(&p.ID, &p.What, &p.Currency, &p.Network, &p.Rail, &p.MerchantID, &p.Reason, &p.Operator, &p.At, &until)
	if until != nil {
		p.Until = *until
	}
	return p, err
}

// FindPause is the pause of exactly this scope.
func (s *Store) FindPause(ctx context.Context, p admission.Pause) (admission.Pause, error) {
	found, err := scanPause(s.pool.QueryRow(ctx, scopedPause, p.What, p.Currency, p.Network, p.Rail, p.MerchantID))
	if errors.Is(err, pgx.ErrNoRows) {
		return p, admission.ErrNoPause
	}
	return found, wrap(err, "find a pause")
}

// Pause begins a pause. Once it has returned, no payout within it begins. It writes an audit entry, and keeps the
// answer under the key of the request.
func (s *Store) Pause(ctx context.Context, p admission.Pause, k idempotency.Key, answer func(admission.Pause) (idempotency.Answer, error)) (begun admission.Pause, err error) {
	err = s.changePauses(ctx, p.Operator, func(tx pgx.Tx) (string, admission.Pause, error) {
		scope := []any{p.What, p.Currency, p.Network, p.Rail, p.MerchantID}
		if _, err := tx.Exec(ctx, forgetPause, scope...); err != nil {
			return "", p, err
		}
		begun, err = scanPause(tx.QueryRow(ctx, insertPause, append(scope, p.Reason, p.Operator, nullTime(p.Until))...))
		if errors.Is(err, pgx.ErrNoRows) {
			return "", p, admission.ErrPaused
		}
		if err == nil && k.Sent() {
			var kept idempotency.Answer
			if kept, err = answer(begun); err == nil {
				err = idempotency.Put(ctx, tx, k, kept)
			}
		}
		return p.What + ".paused", begun, err
	})
	return begun, err
}

// Resume ends a pause. It writes an audit entry.
func (s *Store) Resume(ctx context.Context, id int64, operator, reason string) (ended admission.Pause, err error) {
	err = s.changePauses(ctx, operator, func(tx pgx.Tx) (string, admission.Pause, error) {
		ended, err = scanPause(tx.QueryRow(ctx, findPause, id))
		if errors.Is(err, pgx.ErrNoRows) {
			return "", ended, admission.ErrNoPause
		}
		if err == nil {
			_, err = tx.Exec(ctx, deletePause, id)
		}
		noted := ended
		noted.Reason = reason
		return ended.What + ".resumed", noted, err
	})
	return ended, err
}

// changePauses changes the pauses while no payout is claimed.
func (s *Store) changePauses(ctx context.Context, operator string, f func(pgx.Tx) (action string, p admission.Pause, err error)) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, excludeClaims); err != nil {
			return err
		}
		action, p, err := f(tx)
		if err != nil {
			return err
		}
		if p.What == admission.PauseRefunds {
			if err := s.sendPauses(ctx, tx, true); err != nil {
				return err
			}
		}
		return s.audit(ctx, tx, operator, action, map[string]any{
			"currency": p.Currency, "network": p.Network, "rail": p.Rail, "merchantId": p.MerchantID, "reason": p.Reason,
		})
	})
	if err == nil {
		s.Wake()
	}
	return wrap(err, "change the pauses")
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
