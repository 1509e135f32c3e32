package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/payments/internal/deposits"
)

const (
	// The same verdict on the same refund address is no new decision, so that repeated requests leave one row.
	insertScreening = `INSERT INTO screenings (mode, payment_id, deposit, stage, verdict, reason, lists, addresses)
SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text[]
WHERE $4 <> 'refund' OR NOT EXISTS (SELECT FROM screenings s
	WHERE s.payment_id = $2 AND s.stage = $4 AND s.verdict = $5 AND s.reason = $6 AND s.lists = $7 AND s.addresses = $8)`
	setVerdict = `UPDATE deposits SET screening = $3 WHERE mode = $1 AND key = $2`
	unscreened = `SELECT payment_id, mode, network, key, senders FROM deposits
WHERE screening = '' AND payment_id IS NOT NULL AND NOT reverted ORDER BY created_at LIMIT $1`
	payoutSenders = `SELECT coalesce(min(d.network), ''), coalesce(array_agg(DISTINCT s.address) FILTER (WHERE s.address IS NOT NULL), '{}')
FROM deposits d LEFT JOIN LATERAL unnest(d.senders) AS s(address) ON true WHERE d.payment_id = $1 AND d.counted > 0`
)

// Unscreened implements deposits.Store.
func (s *Store) Unscreened(ctx context.Context, most int) ([]deposits.Unscreened, error) {
	rows, err := s.pool.Query(ctx, unscreened, most)
	if err != nil {
		return nil, fmt.Errorf("find unscreened deposits: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (u deposits.Unscreened, err error) {
		err = row.Scan(&u.PaymentID, &u.Mode, &u.Network, &u.Deposit, &u.Senders)
		return u, err
	})
	return found, wrap(err, "find unscreened deposits")
}

// Senders implements payouts.Store.
func (s *Store) Senders(ctx context.Context, paymentID string) (network string, addresses []string, err error) {
	err = s.pool.QueryRow(ctx, payoutSenders, paymentID).Scan(&network, &addresses)
	return network, addresses, wrap(err, "read the senders of a payment")
}
