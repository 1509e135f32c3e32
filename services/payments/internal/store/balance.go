package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/withdrawal"
)

const (
	// One row for each currency and account, in the order of the arguments. Confirmed payments without a payout are those
	// that their merchant settles, or whose money waits to be credited; the index payments_lanes finds them.
	merchantBalances = `WITH pending AS (
	SELECT p.fiat_currency, sum(p.credit_payout) AS amount FROM payments p
	WHERE p.status = 'confirmed' AND p.type IN ('merchant', 'bank_confirmation') AND p.mode = $3 AND p.merchant_id = $4 AND p.payout = 'none' GROUP BY 1
)
SELECT c.currency, coalesce(a.balance, 0), coalesce(w.amount, 0)
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS c(currency, account, n)
LEFT JOIN ledger_accounts a ON a.code = c.account LEFT JOIN pending w ON w.fiat_currency = c.currency ORDER BY c.n`

	selectMerchant = `SELECT to_balance FROM merchant_settings WHERE merchant_id = $1 AND mode = $2`
	makeMerchant   = `INSERT INTO merchant_settings (merchant_id, mode, changed_at, changed_by) VALUES ($1, $2, now(), $3) ON CONFLICT DO NOTHING`
	lockMerchant   = selectMerchant + ` FOR UPDATE`
	saveMerchant   = `UPDATE merchant_settings SET to_balance = $3, changed_at = now(), changed_by = $4 WHERE merchant_id = $1 AND mode = $2`
)

// Balances implements withdrawals.Store.
func (s *Store) Balances(ctx context.Context, o tenant.Owner) ([]withdrawal.Balance, error) {
	var currencies, accounts []string
	for _, cur := range money.Currencies() {
		currencies = append(currencies, string(cur))
		accounts = append(accounts, accountPrefix(o.Mode)+ledger.Merchant(o.MerchantID, cur).Code)
	}
	rows, err := s.pool.Query(ctx, merchantBalances, currencies, accounts, string(o.Mode), o.MerchantID)
	if err != nil {
		return nil, fmt.Errorf("read balances: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b withdrawal.Balance, err error) {
		var available, pending decimal.Decimal
		err = row.Scan(&b.Currency, (*number)(&available), (*number)(&pending))
		b.Available, b.Pending = available, pending
		return b, err
	})
	return found, wrap(err, "read balances")
}

// MerchantSettings implements withdrawals.Store.
func (s *Store) MerchantSettings(ctx context.Context, o tenant.Owner) (out withdrawal.Settings, err error) {
	err = s.pool.QueryRow(ctx, selectMerchant, o.MerchantID, string(o.Mode)).Scan(&out.ToBalance)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return out, wrap(err, "read a merchant's settings")
}

// ChangeMerchantSettings implements withdrawals.Store.
func (s *Store) ChangeMerchantSettings(ctx context.Context, o tenant.Owner, f func(*withdrawal.Settings)) (out withdrawal.Settings, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		out = withdrawal.Settings{}
		if _, err := tx.Exec(ctx, makeMerchant, o.MerchantID, string(o.Mode), o.KeyID); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, lockMerchant, o.MerchantID, string(o.Mode)).Scan(&out.ToBalance); err != nil {
			return err
		}
		f(&out)
		_, err := tx.Exec(ctx, saveMerchant, o.MerchantID, string(o.Mode), out.ToBalance, o.KeyID)
		return err
	})
	return out, wrap(err, "change a merchant's settings")
}
