package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

const (
	ownedSQL = `SELECT EXISTS (SELECT FROM addresses WHERE mode = $1 AND family = $2 AND address = $3)
OR EXISTS (SELECT FROM own_accounts WHERE mode = $1 AND family = $2 AND address = $3)`

	refuseRefundSQL = `INSERT INTO refunds (id, mode, network, family, asset, contract, amount, address, ordered, state, reason, kind)
VALUES ($1, $2, $3, $4, $5, $6, $7::text::numeric, $8, $9, 'failed', $10, CASE $11 WHEN 'withdrawal' THEN $11 ELSE 'refund' END) ON CONFLICT (id) DO NOTHING`

	// The lock is a statement of its own: a statement that waits for the lock of a plan does not see that plan.
	lockRefundSQL = `SELECT FROM refunds WHERE id = $1 FOR UPDATE`

	// Nothing was signed for a refund that waits without a transaction, unless the signer has said so.
	unsignedRefundSQL = `SELECT state = 'failed', state = 'signing' AND NOT spent AND NOT EXISTS (SELECT FROM outgoing_tx WHERE refund = $1)
FROM refunds WHERE id = $1`

	// After a restore the signer may have signed what this database has forgotten. An order that is not here is as old as
	// its approval.
	restoredRefundSQL = `SELECT EXISTS (SELECT FROM recoveries
WHERE started_at > coalesce((SELECT created_at FROM refunds WHERE id = $1), nullif($2::timestamptz, '0001-01-01Z'), '-infinity'))`

	// An order and its cancellation may come at once, each without the other's row. The lock is a statement of its own:
	// one that waits for it would not see what the other has written.
	lockOrderSQL = `SELECT pg_advisory_xact_lock(hashtextextended('refund ' || $1, 0))`

	noteCancelledSQL = `INSERT INTO refund_cancellations (refund) SELECT $1 WHERE NOT EXISTS (SELECT FROM refunds WHERE id = $1)
ON CONFLICT (refund) DO NOTHING`

	cancelledSQL = `SELECT EXISTS (SELECT FROM refund_cancellations WHERE refund = $1), coalesce((SELECT state FROM refunds WHERE id = $1), '')`

	keepRefundSQL = `UPDATE refunds SET version = ` + nextRefundVersion + ` WHERE id = $1 AND state IN ('signing', 'sent')
RETURNING version, mode, network, state, tx_hash, amount::text, fee::text`
)

// foreign refuses a refund whose destination belongs to this system.
func foreign(ctx context.Context, tx pgx.Tx, r app.Refund) error {
	var owned bool
	err := tx.QueryRow(ctx, ownedSQL, r.Ordered.Mode, r.Network.Family, r.To).Scan(&owned)
	if err == nil && owned {
		return app.ErrOwnDestination
	}
	return err
}

// RefuseRefund implements app.Refunds. The row of a refund that was never taken keeps its id from every later order. A
// cancellation that comes before its order, and cannot end it because of a restore, is noted for the order.
func (s *Store) RefuseRefund(ctx context.Context, o intent.Ordered, reason string) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	network, _ := money.NetworkOf(o.Network) // none of an order that names an unknown one
	m := wire.RefundChanged{
		RefundID: o.ID, Version: 1, Mode: o.Mode, Network: o.Network, State: wire.RefundFailed, Amount: o.Amount, Fee: "0", Reason: reason,
	}
	late := false
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if reason == wire.RefundCancelled {
			if _, err := tx.Exec(ctx, lockOrderSQL, o.ID); err != nil {
				return err
			}
			noted, state, err := cancellation(ctx, tx, o.ID)
			if err != nil {
				return err
			}
			if late, err = isRestored(ctx, tx, o); err != nil {
				return err
			}
			// One that a person decides about is not ended by a repeated message.
			if late = late || noted && state != "" && state != wire.RefundFailed; late {
				_, err := tx.Exec(ctx, noteCancelledSQL, o.ID)
				return err
			}
		}
		tag, err := tx.Exec(ctx, refuseRefundSQL, o.ID, o.Mode, o.Network, network.Family, o.Asset, o.Contract, o.Amount, o.To, string(text), reason,
			string(o.Kind))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 1 {
			return s.publishRefund(ctx, tx, m)
		}
		if reason == wire.RefundCancelled {
			if _, err := tx.Exec(ctx, lockRefundSQL, o.ID); err != nil {
				return err
			}
			if err := dropUnasked(ctx, tx, o.ID); err != nil {
				return err
			}
		}
		return s.endUnsigned(ctx, tx, m)
	})
	if err == nil && late {
		err = app.ErrOtherOrder
	}
	if err != nil {
		return fmt.Errorf("refusing refund %s: %w", o.ID, err)
	}
	s.wake()
	return nil
}

// isRestored reports whether an order is from before a restore. One that is not here and names no time may be.
func isRestored(ctx context.Context, db querier, o intent.Ordered) (restored bool, err error) {
	err = db.QueryRow(ctx, restoredRefundSQL, o.ID, o.ApprovedAt).Scan(&restored)
	return restored, err
}

// cancellation reports whether a cancellation is noted for an order, and the state of its refund, "" for none.
func cancellation(ctx context.Context, tx pgx.Tx, id string) (noted bool, state wire.RefundState, err error) {
	err = tx.QueryRow(ctx, cancelledSQL, id).Scan(&noted, &state)
	return noted, state, err
}

// overtaken reports whether payments has cancelled an order before it came, after a restore. It fails with ErrCancelled
// where the order is younger than the restore, so that nothing can be signed for it.
func overtaken(ctx context.Context, tx pgx.Tx, o intent.Ordered) (cancelled bool, err error) {
	if _, err := tx.Exec(ctx, lockOrderSQL, o.ID); err != nil {
		return false, err
	}
	noted, state, err := cancellation(ctx, tx, o.ID)
	if err != nil || !noted || state != "" {
		return false, err
	}
	restored, err := isRestored(ctx, tx, o)
	if err == nil && !restored {
		err = app.ErrCancelled
	}
	return true, err
}

// Restored implements sweeper.RefundStore.
func (s Refunds) Restored(ctx context.Context, w sweep.Sweep) (bool, error) {
	return isRestored(ctx, s.pool, intent.Ordered{Order: order.Order{ID: w.ID}})
}

// KeepRefund implements app.Refunds. Payments knows how a refund ended without an answer.
func (s *Store) KeepRefund(ctx context.Context, id string) error {
	m := wire.RefundChanged{RefundID: id, Reason: wire.RefundNotCancelled}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, keepRefundSQL, id).Scan(&m.Version, &m.Mode, &m.Network, &m.State, &m.TxHash, &m.Amount, &m.Fee)
		if err != nil {
			return err
		}
		return s.publishRefund(ctx, tx, m)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keeping refund %s: %w", id, err)
	}
	s.wake()
	return nil
}

// endUnsigned fails a refund that was taken and for which nothing was signed. It fails with ErrOtherOrder when
// something may have been. The message has the terms of the order that came last, because payments knows the refund by
// them.
func (s *Store) endUnsigned(ctx context.Context, tx pgx.Tx, m wire.RefundChanged) error {
	ended, unsigned, err := lockUnsigned(ctx, tx, m.RefundID)
	switch {
	case err != nil || ended:
		return err
	case !unsigned:
		return app.ErrOtherOrder
	}
	var mode, network, amount string // as they were taken
	var kind order.Kind
	if err := tx.QueryRow(ctx, changeRefundSQL, m.RefundID, m.State, "", m.Fee, m.Reason, open).Scan(&m.Version, &mode, &network, &amount, &kind); err != nil {
		return err
	}
	if kind == order.Withdrawal {
		if err := s.bookWithdrawal(ctx, tx, m.RefundID); err != nil {
			return err
		}
	}
	return s.publishRefund(ctx, tx, m)
}

// lockUnsigned locks a refund. ended says that it has failed, unsigned that nothing was signed for it.
func lockUnsigned(ctx context.Context, tx pgx.Tx, id string) (ended, unsigned bool, err error) {
	if _, err := tx.Exec(ctx, lockRefundSQL, id); err != nil {
		return false, false, err
	}
	err = tx.QueryRow(ctx, unsignedRefundSQL, id).Scan(&ended, &unsigned)
	return ended, unsigned, err
}

// Refuse implements sweeper.RefundStore.
func (s Refunds) Refuse(ctx context.Context, w sweep.Sweep, reason string) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		_, unsigned, err := lockUnsigned(ctx, tx, w.ID)
		if err == nil && !unsigned {
			err = sweeper.ErrStale
		}
		if err != nil {
			return err
		}
		return s.change(ctx, tx, refundChange{id: w.ID, state: wire.RefundFailed, reason: reason, from: open})
	})
	if err == nil {
		s.wake()
	}
	return err
}
