package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/deposits"
)

const (
	// The same verdict on the same refund address is no new decision, so that repeated requests leave one row.
	insertScreening = `INSERT INTO screenings (mode, payment_id, deposit, stage, verdict, reason, lists, addresses)
SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text[]
WHERE $4 <> 'refund' OR NOT EXISTS (SELECT FROM screenings s
	WHERE s.payment_id = $2 AND s.stage = $4 AND s.verdict = $5 AND s.reason = $6 AND s.lists = $7 AND s.addresses = $8)`
	// Other decisions than those about refund addresses, as lists. The addresses of one are lines of a text.
	insertScreenings = `INSERT INTO screenings (mode, payment_id, deposit, stage, verdict, reason, lists, addresses)
SELECT mode, payment_id, deposit, stage, verdict, reason, lists, string_to_array(addresses, E'\n')
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
	AS k(mode, payment_id, deposit, stage, verdict, reason, lists, addresses)
WHERE stage <> 'refund' RETURNING 1`
	setVerdict = `UPDATE deposits SET screening = $3 WHERE mode = $1 AND key = $2 AND screening = '' AND senders = $4`
	unscreened = `SELECT payment_id, mode, network, key, senders FROM deposits
WHERE screening = '' AND payment_id IS NOT NULL AND NOT reverted ORDER BY created_at LIMIT $1`
	knownDeposit  = `SELECT EXISTS (SELECT FROM deposits WHERE mode = $1 AND key = $2)`
	payoutSenders = `SELECT k.place, coalesce(min(d.network), ''), coalesce(array_agg(DISTINCT s.address) FILTER (WHERE s.address IS NOT NULL), '{}')
FROM unnest($1::text[]) WITH ORDINALITY AS k(id, place), LATERAL (SELECT * FROM deposits WHERE payment_id = k.id AND counted > 0 OFFSET 0) AS d
LEFT JOIN LATERAL unnest(d.senders) AS s(address) ON true GROUP BY k.place`
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

// Known implements deposits.Store.
func (s *Store) Known(ctx context.Context, mode tenant.Mode, key string) (known bool, err error) {
	err = s.pool.QueryRow(ctx, knownDeposit, string(mode), key).Scan(&known)
	return known, wrap(err, "look for a deposit")
}

// senders are the addresses that sent the money of a payment.
type senders struct {
	network   string
	addresses []string
}

// Senders implements payouts.Store.
func (s *Store) Senders(ctx context.Context, paymentID string) (network string, addresses []string, err error) {
	of, err := s.payers.Ask(ctx, paymentID)
	return of.network, of.addresses, wrap(err, "read the senders of a payment")
}

func (s *Store) sendersOf(ctx context.Context, paymentIDs []string) ([]senders, error) {
	all := make([]senders, len(paymentIDs))
	for i := range all {
		all[i].addresses = []string{}
	}
	err := postgres.Planned(ctx, s.pool, postgres.OnePlanSQL, func(rows pgx.Rows) error {
		var place int
		var one senders
		_, err := pgx.ForEachRow(rows, []any{&place, &one.network, &one.addresses}, func() error {
			all[place-1], one.addresses = one, nil
			return nil
		})
		return err
	}, payoutSenders, paymentIDs)
	return all, err
}
