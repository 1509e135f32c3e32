package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/services/payments/internal/app"
)

// A payment settled before a time was made before it, so the index payments_list bounds what is read, and each page goes on in
// it where the last one ended.
const listSettled = `SELECT p.id, p.reference, p.type, p.fiat_currency, p.fiat_amount, p.credit_fee, p.credit_payout, p.crypto, p.network, p.credit_crypto,
	p.received, p.rate, coalesce(nullif(p.settlement_ref, ''), CASE WHEN p.attempt > 0 THEN lower(p.reference) || '-' || p.attempt ELSE '' END),
	p.attempt = 0, p.created_at, p.settled_at
FROM payments p WHERE p.merchant_id = $1 AND p.mode = $2 AND p.status = 'settled' AND p.id > $3 AND p.id < $4 AND p.settled_at >= $5 AND p.settled_at < $6
ORDER BY p.id NULLS FIRST LIMIT $7`

var _ app.Settlements = (*Store)(nil)

// SettledBetween implements app.Settlements.
func (s *Store) SettledBetween(ctx context.Context, o app.Owner, from, to time.Time, after string, most int) ([]app.Settlement, error) {
	rows, err := s.pool.Query(ctx, listSettled, o.MerchantID, string(o.Mode), after, id.First(id.Payment, to.Add(time.Millisecond)), from, to, most)
	if err != nil {
		return nil, fmt.Errorf("list settlements: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v app.Settlement, err error) {
		err = row.Scan(&v.ID, &v.Reference, &v.Type, &v.Currency, &v.Fiat, &v.Fee, &v.Payout, &v.Crypto, &v.Network, &v.Converted, &v.Received, &v.Rate,
			&v.PayoutRef, &v.ByCaller, &v.CreatedAt, &v.SettledAt)
		return v, err
	})
	return found, wrap(err, "list settlements")
}
