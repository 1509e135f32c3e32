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
	"causeway.internal/services/payments/internal/withdrawals"
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
	listSchedules  = `SELECT currency, account_id, minimum, key_id FROM settlement_schedules WHERE merchant_id = $1 AND mode = $2 ORDER BY currency`
	clearSchedules = `DELETE FROM settlement_schedules WHERE merchant_id = $1 AND mode = $2`
	insertSchedule = `INSERT INTO settlement_schedules (merchant_id, mode, currency, account_id, minimum, key_id) VALUES ($1, $2, $3, $4, $5, $6)`
	insertDay      = `INSERT INTO settlement_days (merchant_id, mode, currency, day, withdrawal_id) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
	dueSettlements = `SELECT s.merchant_id, s.mode, s.key_id, s.currency FROM settlement_schedules s
WHERE (s.merchant_id, s.mode, s.currency) > ($1, $2, $3) AND s.mode = ANY ($4) AND (s.retry_at IS NULL OR s.retry_at <= now())
	AND NOT EXISTS (SELECT FROM merchant_terms t WHERE t.merchant_id = s.merchant_id AND t.suspended)
	AND NOT EXISTS (SELECT FROM settlement_days d
		WHERE d.merchant_id = s.merchant_id AND d.mode = s.mode AND d.currency = s.currency AND d.day = (now() AT TIME ZONE 'UTC')::date)
ORDER BY s.merchant_id, s.mode, s.currency LIMIT $5`
	// recentWithdrawals asks about a day while its withdrawal waits for operators, however long, and for 24 hours after
	// its approval.
	forgetDays = `DELETE FROM settlement_days WHERE (merchant_id, mode, currency, day) IN (SELECT merchant_id, mode, currency, day FROM settlement_days d
	WHERE day < (now() AT TIME ZONE 'UTC')::date - 30 AND NOT EXISTS (SELECT FROM withdrawals w
		WHERE w.id = d.withdrawal_id AND (w.state = 'requested' OR w.approved_at > now() - interval '2 days')) ORDER BY day LIMIT 10000)`
	// 1, 2, 4 … 64 minutes after failures that follow each other within a day.
	putOffSettlement = `WITH f AS (SELECT merchant_id, mode, currency, CASE WHEN retry_at > now() - interval '1 day' THEN least(failures + 1, 7) ELSE 1 END AS n
	FROM settlement_schedules WHERE merchant_id = $1 AND mode = $2 AND currency = $3)
UPDATE settlement_schedules s SET failures = f.n, retry_at = now() + interval '1 minute' * 2 ^ (f.n - 1) FROM f
WHERE s.merchant_id = f.merchant_id AND s.mode = f.mode AND s.currency = f.currency`
	saveMerchant = `UPDATE merchant_settings SET to_balance = $3, changed_at = now(), changed_by = $4 WHERE merchant_id = $1 AND mode = $2`
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
func (s *Store) MerchantSettings(ctx context.Context, o tenant.Owner) (withdrawal.Settings, error) {
	return merchantSettings(ctx, s.pool, selectMerchant, o)
}

// merchantSettings reads the settings of a merchant in a mode.
func merchantSettings(ctx context.Context, q postgres.Querier, sql string, o tenant.Owner) (out withdrawal.Settings, err error) {
	err = q.QueryRow(ctx, sql, o.MerchantID, string(o.Mode)).Scan(&out.ToBalance)
	if errors.Is(err, pgx.ErrNoRows) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("read a merchant's settings: %w", err)
	}
	rows, err := q.Query(ctx, listSchedules, o.MerchantID, string(o.Mode))
	if err != nil {
		return out, fmt.Errorf("read daily settlements: %w", err)
	}
	out.Daily, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d withdrawal.Schedule, err error) {
		err = row.Scan(&d.Currency, &d.AccountID, (*number)(&d.Minimum), &d.KeyID)
		return d, err
	})
	return out, wrap(err, "read daily settlements")
}

// lockMerchant locks the settings of a merchant in a mode, so that the changes of its money are serial.
func (s *Store) lockMerchant(ctx context.Context, tx pgx.Tx, o tenant.Owner) (out withdrawal.Settings, err error) {
	if _, err := tx.Exec(ctx, makeMerchant, o.MerchantID, string(o.Mode), o.KeyID); err != nil {
		return out, fmt.Errorf("make a merchant's settings: %w", err)
	}
	return merchantSettings(ctx, tx, lockMerchant, o)
}

// queueSettings writes changed settings and a settled day.
func queueSettings(batch *pgx.Batch, o tenant.Owner, changed *withdrawal.Settings, day *withdrawal.Day) {
	mode := string(o.Mode)
	if changed != nil {
		batch.Queue(saveMerchant, o.MerchantID, mode, changed.ToBalance, o.KeyID)
		batch.Queue(clearSchedules, o.MerchantID, mode)
		for _, d := range changed.Daily {
			batch.Queue(insertSchedule, o.MerchantID, mode, string(d.Currency), d.AccountID, d.Minimum, d.KeyID)
		}
	}
	if day != nil {
		batch.Queue(insertDay, o.MerchantID, mode, string(day.Currency), day.Day, day.WithdrawalID).Exec(exactlyOne(withdrawals.ErrSettledToday))
	}
}

// DueSettlements implements withdrawals.Store.
func (s *Store) DueSettlements(ctx context.Context, modes []tenant.Mode, after withdrawals.Due, most int) ([]withdrawals.Due, error) {
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = string(m)
	}
	rows, err := s.pool.Query(ctx, dueSettlements, after.Owner.MerchantID, string(after.Owner.Mode), string(after.Currency), names, most)
	if err != nil {
		return nil, fmt.Errorf("list daily settlements: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d withdrawals.Due, err error) {
		err = row.Scan(&d.Owner.MerchantID, &d.Owner.Mode, &d.Owner.KeyID, &d.Currency)
		return d, err
	})
	return found, wrap(err, "list daily settlements")
}

// PutOffSettlement implements withdrawals.Store.
func (s *Store) PutOffSettlement(ctx context.Context, d withdrawals.Due) error {
	_, err := s.pool.Exec(ctx, putOffSettlement, d.Owner.MerchantID, string(d.Owner.Mode), string(d.Currency))
	return wrap(err, "put off a daily settlement")
}

// ForgetDays deletes days of daily settlements of more than thirty days ago, some at a time. It keeps those whose
// withdrawal waits for operators, or was approved in the last two days.
func (s *Store) ForgetDays(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, forgetDays)
	return wrap(err, "forget days of settlements")
}
