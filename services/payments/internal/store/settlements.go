package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/views"
)

// The index payments_settled holds each merchant's settled payments in the order of settlement. Each page continues
// where the last one ended.
const listSettled = `SELECT p.id, p.reference, p.type, p.fiat_currency, p.fiat_amount, p.credit_fee, p.credit_payout, p.crypto, p.network, p.credit_crypto,
	p.received, CASE WHEN p.late_rate > 0 THEN least(p.rate, p.late_rate) ELSE p.rate END, coalesce(nullif(p.settlement_ref, ''), CASE WHEN p.attempt > 0 THEN lower(p.reference) || '-' || p.attempt ELSE '' END),
	p.attempt = 0, p.created_at, p.settled_at, p.bank_ref, p.settlement_ref, p.merchant_reference
FROM payments p WHERE p.merchant_id = $1 AND p.mode = $2 AND p.status = 'settled' AND (p.settled_at, p.id) > ($3, $4) AND p.settled_at < $5
ORDER BY p.settled_at, p.id LIMIT $6`

// SettledBetween implements views.Store.
func (s *Store) SettledBetween(ctx context.Context, o tenant.Owner, from time.Time, after string, to time.Time, most int) ([]views.Settlement, error) {
	rows, err := s.pool.Query(ctx, listSettled, o.MerchantID, string(o.Mode), from, after, to, most)
	if err != nil {
		return nil, fmt.Errorf("list settlements: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v views.Settlement, err error) {
		err = row.Scan(&v.ID, &v.Reference, &v.Type, &v.Currency, &v.Fiat, &v.Fee, &v.Payout, &v.Crypto, &v.Network, &v.Converted, &v.Received, &v.Rate,
			&v.PayoutRef, &v.ByCaller, &v.CreatedAt, &v.SettledAt, &v.BankRef, &v.CallerRef, &v.Merchant)
		return v, err
	})
	return found, wrap(err, "list settlements")
}
