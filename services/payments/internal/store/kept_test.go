//go:build integration

package store_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/payments/internal/fixture"
)

// A settled payment leaves eleven rows for ever, with its journals and verdicts. All other rows that it writes are
// deleted within days, or count many payments.
func TestSettled_rowsKept(t *testing.T) {
	t.Parallel()
	w, _ := fixture.Screened(t)
	settle := func(key, account string) {
		t.Helper()
		c := fixture.Command()
		c.Receiver.AccountNumber = account
		p := w.Make(c)
		for n, c := range []fixture.Coin{{Depth: 1}, {Depth: fixture.Enough}, {Depth: fixture.Enough, Final: true}} {
			c.Key, c.Amount, c.Version = key, "31.25", int64(n+1)
			m := w.Message(p, c)
			m.Senders = []string{fixture.CleanSender}
			w.Deliver(m)
		}
		w.Pay(p)
	}
	settle("t1", "0123456789") // the first of all also opens the accounts that payments share
	before := rowsOf(w)
	settle("t2", "0123456788")
	left := rowsOf(w)
	for table, n := range before {
		if left[table] -= n; left[table] == 0 {
			delete(left, table)
		}
	}
	for _, table := range []string{
		"outbox", "inbox", "idempotency", // until the message is handled, and a day or two
		"address_stock",   // an address leaves the stock soon after its payment was made
		"statistics_news", // folded into the day's counts
		"sim_transfers",   // the statement of the simulated bank
	} {
		delete(left, table)
	}
	want := map[string]int{"payments": 1, "deposits": 1, "payouts": 1, "ledger_journals": 4, "ledger_accounts": 2, "screenings": 2}
	if !maps.Equal(left, want) {
		t.Errorf("a settled payment leaves the rows %v, want %v", left, want)
	}
}

// rowsOf counts the rows of every table, those of partitions with their table.
func rowsOf(w *fixture.Payments) map[string]int {
	w.T.Helper()
	rows, err := w.Pool.Query(w.T.Context(), `SELECT CASE c.relkind WHEN 'r' THEN 'ONLY ' ELSE '' END || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition`)
	if err != nil {
		w.T.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.T.Fatal(err)
	}
	out := map[string]int{}
	for _, table := range tables {
		out[strings.TrimPrefix(table, "ONLY ")] = fixture.Ask[int](w, "SELECT count(*) FROM "+table)
	}
	return out
}
