package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/payments/internal/operators"
)

const (
	clearOwed = `DELETE FROM owed`

	// A payment that runs owes nobody yet: its money will be converted or paid out. Money in suspense belongs to the
	// payment of its journals; that of a stray deposit to none. Money that an operator gave a payment is owed since it
	// came. A withdrawal that waits for operators is still owed. Entries of suspense and of merchants are rows.
	makeOwed = `INSERT INTO owed (id, mode, owed_to, payment_id, merchant_id, deposit, asset, amount, since)
SELECT concat_ws(' ', mode, owed_to, coalesce(nullif(payment_id, ''), nullif(deposit, ''), merchant_id), asset),
	mode, owed_to, payment_id, merchant_id, deposit, asset, sum(amount), min(since)
FROM (
	SELECT p.mode, CASE WHEN a.code LIKE '%customer:%' THEN 'payer' ELSE 'receiver' END AS owed_to, p.id AS payment_id, p.merchant_id, '' AS deposit,
		a.asset, a.balance AS amount, coalesce((SELECT min(j.created_at) FROM ledger_journals j, ` + entriesOf + ` WHERE j.payment_id = a.payment_id AND e.account = a.code), p.created_at) AS since
	FROM ledger_accounts a JOIN payments p ON p.id = a.payment_id
	WHERE a.balance > 0 AND (p.status IN ('settled', 'expired', 'cancelled', 'needs_review', 'refunded') OR p.status = 'confirmed' AND a.code LIKE '%payable:%')
	UNION ALL
	SELECT p.mode, 'payer', p.id, p.merchant_id, '', s.asset, s.amount, CASE p.type WHEN 'stray' THEN least(p.created_at, s.since) ELSE s.since END FROM (
		SELECT j.payment_id, e.asset, sum(CASE e.side WHEN 'credit' THEN e.amount ELSE -e.amount END) AS amount, min(j.created_at) AS since
		FROM ledger_lines e JOIN ledger_journals j ON j.id = e.journal_id
		WHERE (e.account LIKE 'suspense:%' OR e.account LIKE 'test:suspense:%') AND j.payment_id IS NOT NULL GROUP BY 1, 2) s
	JOIN payments p ON p.id = s.payment_id
	UNION ALL
	SELECT d.mode, 'payer', '', '', d.key, d.asset, d.booked_amount - d.refunded, d.created_at FROM deposits d WHERE d.payment_id IS NULL AND d.booked <> ''
	UNION ALL
	SELECT CASE WHEN e.account LIKE 'test:%' THEN 'test' ELSE 'live' END, 'merchant', '', split_part(e.account, ':', -2), '', e.asset,
		sum(CASE e.side WHEN 'credit' THEN e.amount ELSE -e.amount END), min(e.since)
	FROM (SELECT e.account, e.asset, e.side, e.amount, j.created_at AS since FROM ledger_lines e JOIN ledger_journals j ON j.id = e.journal_id
		UNION ALL SELECT account, asset, 'debit', debit, since FROM ledger_carried UNION ALL SELECT account, asset, 'credit', credit, since FROM ledger_carried) AS e
	WHERE e.account LIKE 'merchant:%' OR e.account LIKE 'test:merchant:%' GROUP BY 1, 4, e.asset
	UNION ALL
	SELECT w.mode, 'merchant', '', w.merchant_id, '', a.asset, a.balance, w.created_at FROM ledger_accounts a JOIN withdrawals w ON w.id = a.payment_id
	WHERE a.balance > 0
) AS found GROUP BY mode, owed_to, payment_id, merchant_id, deposit, asset HAVING sum(amount) > 0`

	noteOwed = `INSERT INTO owed_lists (made_at) VALUES (now()) ON CONFLICT (one) DO UPDATE SET made_at = excluded.made_at`

	owedMade = `SELECT coalesce(max(made_at), 'epoch') FROM owed_lists`

	listOwed = `SELECT id, mode, owed_to, payment_id, merchant_id, deposit, asset, amount, since FROM owed
WHERE (since, id) > ($1, $2) AND ($3 = '' OR mode = $3) AND ($4 = '' OR owed_to = $4) AND ($5 = '' OR asset = $5) AND since < $6
ORDER BY since, id LIMIT $7`

	sumOwed = `SELECT mode, owed_to, asset, count(*), sum(amount), min(since) FROM owed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
)

// MakeOwed lists anew what is owed, and returns the sums. fresh says that it is the first list of its day.
func (s *Store) MakeOwed(ctx context.Context) (sums []operators.OwedSum, fresh bool, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		var before, now time.Time
		if err := tx.QueryRow(ctx, owedMade).Scan(&before); err != nil {
			return err
		}
		for _, sql := range []string{patience, clearOwed, makeOwed, noteOwed} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		if err := tx.QueryRow(ctx, owedMade).Scan(&now); err != nil {
			return err
		}
		fresh = before.UTC().Format(time.DateOnly) != now.UTC().Format(time.DateOnly)
		rows, err := tx.Query(ctx, sumOwed)
		if err != nil {
			return err
		}
		sums, err = pgx.CollectRows(rows, pgx.RowToStructByPos[operators.OwedSum])
		return err
	})
	return sums, fresh, wrap(err, "list what is owed")
}

// Owed implements operators.Store.
func (s *Store) Owed(ctx context.Context, f operators.OwedFilter) (rows []operators.OwedRow, made time.Time, err error) {
	after, id := time.Time{}, ""
	if text, rest, ok := strings.Cut(f.After, " "); ok {
		if parsed, err := time.Parse(time.RFC3339Nano, text); err == nil {
			after, id = parsed, rest
		}
	}
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, owedMade).Scan(&made); err != nil {
			return err
		}
		found, err := tx.Query(ctx, listOwed, after, id, f.Mode, f.To, f.Asset, f.Before, f.Most)
		if err != nil {
			return err
		}
		rows, err = pgx.CollectRows(found, pgx.RowToStructByPos[operators.OwedRow])
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, made, fmt.Errorf("read what is owed: %w", err)
	}
	return rows, made, err
}
