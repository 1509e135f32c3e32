package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/payout"
)

const (
	beginDay = `INSERT INTO reconciliations AS r (day) VALUES (current_date)
ON CONFLICT (day) DO UPDATE SET started_at = now() WHERE r.finished_at IS NULL AND r.started_at < now() - interval '1 hour'`
	endDay = `UPDATE reconciliations SET finished_at = now(), found = $1 WHERE day = (SELECT max(day) FROM reconciliations)`

	// A reconciliation sums all ledger entries. For a million payments that takes longer than the timeout of other
	// statements, and less than the hour after which a reconciliation counts as dead.
	patience = `SET LOCAL statement_timeout = '50min'`

	// Accounts of test mode have a prefix, so each comparison covers both modes.
	compareTrial = `SELECT 'ledger', asset, 0::numeric, sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) AS total
FROM ledger_entries GROUP BY asset HAVING sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) <> 0`
	compareBalances = `SELECT a.code, a.asset, e.total, a.balance FROM ledger_accounts a JOIN (
	SELECT account, sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) AS total FROM ledger_entries GROUP BY account) AS net ON net.account = a.code,
	LATERAL (SELECT CASE a.normal WHEN 'debit' THEN net.total ELSE -net.total END AS total) AS e
WHERE a.balance IS NOT NULL AND a.balance <> e.total`
	compareDeposit = `SELECT d.mode || ' ' || d.key, d.asset, d.booked_amount, 0::numeric FROM deposits d
WHERE d.booked <> '' AND NOT EXISTS (SELECT FROM ledger_journals j
	WHERE j.key = CASE d.mode WHEN 'test' THEN 'test:' ELSE '' END || 'dep:' || d.key || '#' || d.bookings)`
	compareDeposits = `WITH rows AS (
	SELECT CASE mode WHEN 'test' THEN 'test:' ELSE '' END || 'crypto:deposit:' || network || ':' || asset AS account, sum(booked_amount) AS total
	FROM deposits WHERE booked <> '' GROUP BY 1
), books AS (
	SELECT e.account, sum(CASE e.side WHEN 'debit' THEN e.amount ELSE -e.amount END) AS total
	FROM ledger_journals j, ` + entriesOf + `
	WHERE j.event IN ('deposit_confirmed', 'deposit_reverted') AND e.account LIKE '%crypto:deposit:%' GROUP BY 1
)
SELECT coalesce(r.account, b.account), split_part(coalesce(r.account, b.account), ':', -1), coalesce(r.total, 0), coalesce(b.total, 0)
FROM rows r FULL JOIN books b ON b.account = r.account WHERE coalesce(r.total, 0) <> coalesce(b.total, 0)`
	compareSwept = `SELECT account, asset, 0::numeric, sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) FROM ledger_entries
WHERE account LIKE '%crypto:deposit:%' GROUP BY 1, 2 HAVING sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) < 0`
	comparePayout = `SELECT o.id, o.currency, o.amount, 0::numeric FROM payouts o WHERE o.state IN ('succeeded', 'returned') AND NOT EXISTS (
	SELECT FROM ledger_journals j WHERE j.key = CASE o.mode WHEN 'test' THEN 'test:' ELSE '' END || 'done:' || o.reference)
UNION ALL
SELECT j.payment_id, e.asset, 0::numeric, e.amount FROM ledger_journals j, ` + entriesOf + `
WHERE j.event = 'payout_succeeded' AND e.line = 1 AND NOT EXISTS (SELECT FROM payouts o WHERE o.state IN ('succeeded', 'returned')
	AND j.key = CASE o.mode WHEN 'test' THEN 'test:' ELSE '' END || 'done:' || o.reference)`
	compareClearing = `WITH rows AS (
	SELECT CASE mode WHEN 'test' THEN 'test:' ELSE '' END || 'clearing:payout:' || rail || ':' || currency AS account, sum(amount) AS total
	FROM payouts WHERE state IN ('created', 'sending', 'pending', 'unknown') GROUP BY 1
), books AS (
	SELECT account, sum(CASE side WHEN 'credit' THEN amount ELSE -amount END) AS total
	FROM ledger_entries WHERE account LIKE '%clearing:payout:%' GROUP BY 1
)
SELECT coalesce(r.account, b.account), split_part(coalesce(r.account, b.account), ':', -1), coalesce(r.total, 0), coalesce(b.total, 0)
FROM rows r FULL JOIN books b ON b.account = r.account WHERE coalesce(r.total, 0) <> coalesce(b.total, 0)`

	compareRefunds = `WITH rows AS (
	SELECT CASE mode WHEN 'test' THEN 'test:' ELSE '' END || 'clearing:refund:' || network || ':' || asset AS account, sum(amount) AS total
	FROM refunds WHERE state NOT IN ('confirmed', 'failed') AND NOT (state = 'requested' AND parts IN ('null', '[]')) GROUP BY 1
), books AS (
	SELECT account, sum(CASE side WHEN 'credit' THEN amount ELSE -amount END) AS total
	FROM ledger_entries WHERE account LIKE '%clearing:refund:%' GROUP BY 1
)
SELECT coalesce(r.account, b.account), split_part(coalesce(r.account, b.account), ':', -1), coalesce(r.total, 0), coalesce(b.total, 0)
FROM rows r FULL JOIN books b ON b.account = r.account WHERE coalesce(r.total, 0) <> coalesce(b.total, 0)`

	conclusive = `SELECT ` + payoutColumns + ` FROM payouts o
WHERE o.state IN ('succeeded', 'failed', 'returned') AND o.sends > 0 AND o.done_at >= $1 AND o.id > $2 ORDER BY o.id LIMIT $3`
	floatBooks = `SELECT coalesce(sum(CASE side WHEN 'debit' THEN amount ELSE -amount END), 0) FROM ledger_entries WHERE account = $1`
	floatMark  = `SELECT provider, ledger FROM float_marks WHERE mode = $1 AND rail = $2 AND currency = $3 FOR UPDATE`
	setFloat   = `INSERT INTO float_marks AS f (mode, rail, currency, provider, ledger) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (mode, rail, currency) DO UPDATE SET provider = excluded.provider, ledger = excluded.ledger, at = now()`

	upsertDifference = `INSERT INTO differences AS d (kind, object, asset, owner, expected, found, last_at) VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())
ON CONFLICT (kind, object, asset) WHERE resolved_at IS NULL DO UPDATE SET expected = excluded.expected, found = excluded.found, last_at = excluded.last_at`
	resolveDifferences = `UPDATE differences SET resolved_at = now() WHERE resolved_at IS NULL AND kind = ANY($1) AND last_at < $2`
	// The journals since a time are found from the newest one back. Accounts of test mode have a prefix.
	collectedSince = `WITH first AS (SELECT coalesce((SELECT id FROM ledger_journals WHERE created_at < $2 ORDER BY id DESC LIMIT 1), 0) AS id),
moved AS (SELECT j.id, max(split_part(e.account, ':', 3 + m.skip)) FILTER (WHERE e.account LIKE m.prefix || 'crypto:%') AS network,
	coalesce(max(e.asset) FILTER (WHERE e.account LIKE m.prefix || 'crypto:deposit:%'), '') AS asset,
	coalesce(sum(e.amount) FILTER (WHERE e.account LIKE m.prefix || 'crypto:deposit:%'), 0) AS amount,
	coalesce(sum(CASE e.side WHEN 'debit' THEN e.amount ELSE -e.amount END) FILTER (WHERE e.account LIKE m.prefix || 'gas:%'), 0) AS gas
	FROM first, ledger_journals j, ` + entriesOf + `,
		(SELECT CASE $1 WHEN 'test' THEN 'test:' ELSE '' END AS prefix, CASE $1 WHEN 'test' THEN 1 ELSE 0 END AS skip) AS m
	WHERE j.id > first.id AND j.event IN ('swept', 'gas_spent', 'gas_booked') AND starts_with(j.key, 'test:') = ($1 = 'test') GROUP BY j.id)
SELECT network, asset, sum(amount), sum(gas) FROM moved GROUP BY network, asset ORDER BY network, asset`

	lastCompared    = `SELECT coalesce(max(finished_at), 'epoch') FROM reconciliations`
	openDifferences = `SELECT kind, count(*) FROM differences WHERE resolved_at IS NULL GROUP BY kind`
)

// BeginDay implements books.Store. A reconciliation that died starts again after an hour.
func (s *Store) BeginDay(ctx context.Context) (bool, error) {
	tag, err := s.pool.Exec(ctx, beginDay)
	return err == nil && tag.RowsAffected() == 1, wrap(err, "begin a reconciliation")
}

// Compare implements books.Store.
func (s *Store) Compare(ctx context.Context) (found []books.Difference, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, patience); err != nil {
			return err
		}
		for _, c := range []struct{ kind, sql string }{
			{books.DiffTrial, compareTrial},
			{books.DiffBalance, compareBalances},
			{books.DiffDeposit, compareDeposit},
			{books.DiffDeposits, compareDeposits},
			{books.DiffSwept, compareSwept},
			{books.DiffPayout, comparePayout},
			{books.DiffClearing, compareClearing},
			{books.DiffRefunds, compareRefunds},
		} {
			rows, err := tx.Query(ctx, c.sql)
			if err != nil {
				return fmt.Errorf("compare %s: %w", c.kind, err)
			}
			d := books.Difference{Kind: c.kind}
			if _, err := pgx.ForEachRow(rows, []any{&d.Object, &d.Asset, &d.Expected, &d.Found}, func() error {
				found = append(found, d)
				return nil
			}); err != nil {
				return fmt.Errorf("compare %s: %w", c.kind, err)
			}
		}
		return nil
	})
	return found, wrap(err, "compare the books")
}

// Conclusive implements books.Store.
func (s *Store) Conclusive(ctx context.Context, since time.Time, after string, most int) ([]payout.Payout, error) {
	rows, err := s.pool.Query(ctx, conclusive, since, after, most)
	if err != nil {
		return nil, fmt.Errorf("list conclusive payouts: %w", err)
	}
	found, err := pgx.CollectRows(rows, s.scanPayout)
	out := make([]payout.Payout, 0, len(found))
	for _, o := range found {
		out = append(out, *o)
	}
	return out, wrap(err, "list conclusive payouts")
}

// Float implements books.Store.
func (s *Store) Float(ctx context.Context, mode tenant.Mode, rail string, currency money.Currency, balance decimal.Decimal) (expected, found decimal.Decimal, err error) {
	account := "fiat:float:" + rail + ":" + string(currency)
	if mode == tenant.Test {
		account = "test:" + account
	}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var books, provider, ledger decimal.Decimal
		if _, err := tx.Exec(ctx, patience); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, floatBooks, account).Scan(&books); err != nil {
			return err
		}
		switch err := tx.QueryRow(ctx, floatMark, string(mode), rail, string(currency)).Scan(&provider, &ledger); {
		case errors.Is(err, pgx.ErrNoRows): // the first reading has nothing to compare with
			provider, ledger = balance, books
		case err != nil:
			return err
		}
		expected, found = provider.Add(books.Sub(ledger)), balance
		if !expected.Equal(found) {
			return nil // keep the old mark, so that the difference remains until it is booked
		}
		_, err := tx.Exec(ctx, setFloat, string(mode), rail, string(currency), balance, books)
		return err
	})
	return expected, found, wrap(err, "compare a float")
}

// EndDay implements books.Store.
func (s *Store) EndDay(ctx context.Context, found []books.Difference, kinds []string) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var now time.Time
		if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		for _, d := range found {
			batch.Queue(upsertDifference, d.Kind, d.Object, d.Asset, books.DiffOwner(d.Kind), d.Expected, d.Found)
		}
		batch.Queue(resolveDifferences, kinds, now)
		batch.Queue(endDay, len(found))
		return tx.SendBatch(ctx, batch).Close()
	})
	return wrap(err, "end a reconciliation")
}

// Collected implements books.Store.
func (s *Store) Collected(ctx context.Context, mode tenant.Mode, since time.Time) (found []books.Collected, err error) {
	rows, err := s.pool.Query(ctx, collectedSince, string(mode), since)
	if err != nil {
		return nil, fmt.Errorf("sum up collected assets: %w", err)
	}
	found, err = pgx.CollectRows(rows, pgx.RowToStructByPos[books.Collected])
	return found, wrap(err, "sum up collected assets")
}

// State implements books.Store.
func (s *Store) State(ctx context.Context) (open map[string]int, at time.Time, err error) {
	open = map[string]int{}
	batch := &pgx.Batch{}
	batch.Queue(lastCompared).QueryRow(func(row pgx.Row) error { return row.Scan(&at) })
	batch.Queue(openDifferences).Query(func(rows pgx.Rows) error {
		var kind string
		var n int
		_, err := pgx.ForEachRow(rows, []any{&kind, &n}, func() error {
			open[kind] = n
			return nil
		})
		return err
	})
	return open, at, wrap(s.pool.SendBatch(ctx, batch).Close(), "read the state of reconciliation")
}
