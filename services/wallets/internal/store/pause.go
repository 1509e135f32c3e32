package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/sweep"
)

const (
	// A refund whose currency is not known is paused by a pause of any currency. A withdrawal has no currency: only a
	// pause of all currencies holds it.
	pausedRefund = `EXISTS (SELECT FROM refund_pauses p WHERE p.network IN ('', r.network)
AND (p.currency IN ('', r.currency) OR r.currency = '' AND r.kind = 'refund'))`

	newerPausesSQL  = `UPDATE refund_pauses_known SET version = $1 WHERE version < $1`
	forgetPausesSQL = `DELETE FROM refund_pauses`
	keepPausesSQL   = `INSERT INTO refund_pauses (currency, network) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING`

	// The row's lock decides between this and a cancellation, which deletes what the signer was not asked for. A balance
	// below zero holds no later form: the first one may land, and the nonces behind its nonce wait for it. On tron a later
	// form is made only once the one before cannot land, and no nonce waits; a blocked refund may have been given up.
	askSQL = `UPDATE outgoing_tx o SET asked = true FROM refunds r WHERE o.id = $1 AND r.id = o.refund
AND r.state IN ('signing', 'sent') AND NOT ` + pausedRefund + ` AND (o.asked AND (r.family <> 'tron' OR o.attempt = 1) OR NOT ` + uncoveredRefund + `)
AND (r.family <> 'tron' OR o.attempt = 1 OR NOT r.blocked) AND (` + followedRefund + `)`

	followedRefund = `SELECT coalesce((SELECT scan_state = 'following' AND judged_at > now() - interval '1 minute' FROM cursors
WHERE mode = 'live' AND network = r.network), false)`

	// The signer knows nothing of such a transaction o of a refund.
	unaskedPlan = `NOT o.asked AND o.state = 'planned' AND o.attempt = 1`

	unaskedSQL = `WITH gone AS (DELETE FROM outgoing_tx o WHERE o.refund = $1 AND ` + unaskedPlan + ` RETURNING o.id),
spent AS (DELETE FROM outgoing_inputs WHERE outgoing IN (SELECT id FROM gone)) SELECT count(*) FROM gone`
)

// PauseRefunds implements app.Refunds.
func (s *Store) PauseRefunds(ctx context.Context, p wire.RefundsPaused) error {
	currencies, networks := make([]string, len(p.Pauses)), make([]string, len(p.Pauses))
	for i, one := range p.Pauses {
		currencies[i], networks[i] = string(one.Currency), one.Network
	}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, newerPausesSQL, p.Version)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, forgetPausesSQL); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, keepPausesSQL, currencies, networks)
		return err
	})
	if err != nil {
		return fmt.Errorf("keeping the pauses of refunds: %w", err)
	}
	return nil
}

// Ask implements sweeper.RefundStore.
func (s Refunds) Ask(ctx context.Context, o sweep.Outgoing) (bool, error) {
	tag, err := s.pool.Exec(ctx, askSQL, o.ID)
	if err != nil {
		return false, fmt.Errorf("asking for a signature: %w", err)
	}
	if tag.RowsAffected() == 1 {
		return true, nil
	}
	return false, dropUnasked(ctx, s.pool, o.Sweep.ID)
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// dropUnasked deletes the plan of a refund of which the signer knows nothing, so that its nonce is free for others.
func dropUnasked(ctx context.Context, db querier, refund string) error {
	var dropped int64
	if err := db.QueryRow(ctx, unaskedSQL, refund).Scan(&dropped); err != nil {
		return fmt.Errorf("dropping the plan of refund %s: %w", refund, err)
	}
	return nil
}
