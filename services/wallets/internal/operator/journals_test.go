//go:build integration

package operator_test

import (
	"encoding/csv"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/command"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/operator"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/migrations"
)

// An export is double entry: what opens and moves together closes, and each journal sums to zero. It has the books of
// standalone wallets of one mode alone, in whole units. A month that has just ended may still get a journal.
func TestJournals(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations.FS)
	book := store.New(pool, messaging.Out{Now: time.Now}, store.Settings{Now: time.Now})
	month := time.Now().UTC().AddDate(0, -2, 0)
	month = time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
	write := func(key string, of [2]string, at time.Time, move [3]string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), `WITH j AS (INSERT INTO custody_journals (key, event, mode, merchant_id, wallet_id, deposit, at)
VALUES ($1, 'deposit_confirmed', $2, $3, 'wal_1', $1, $4) RETURNING key)
INSERT INTO custody_entries (journal, line, mode, merchant_id, account, network, asset, debit, credit)
SELECT key, line, $2, $3, account, 'ethereum', 'USDT', debit, credit
FROM j, (VALUES (1, $5, $7::numeric, 0::numeric), (2, $6, 0, $7::numeric)) AS l (line, account, debit, credit)`,
			key, of[0], of[1], at, move[0], move[1], move[2]); err != nil {
			t.Fatalf("book %s: %v", key, err)
		}
	}
	write("before", [2]string{"live", "acme"}, month.Add(-time.Hour), [3]string{"custody", "merchant", "5000000"})
	write("first", [2]string{"live", "acme"}, month, [3]string{"custody", "merchant", "1500000"})
	write("second", [2]string{"live", "=SUM(A1)"}, month.AddDate(0, 0, 3), [3]string{"treasury", "custody", "2000000"})
	write("after", [2]string{"live", "acme"}, month.AddDate(0, 1, 0), [3]string{"custody", "merchant", "9000000"})
	write("test", [2]string{"test", "acme"}, month, [3]string{"custody", "merchant", "9000000"})
	write("payments", [2]string{"live", ""}, month, [3]string{"treasury", "payments", "9000000"})
	export := func(month string) (string, error) {
		t.Helper()
		var out strings.Builder
		do, err := operator.Journals(command.Input{Args: []string{"--month", month}, Out: &out})
		if err != nil {
			t.Fatalf("Journals(%s): %v", month, err)
		}
		err = do(t.Context(), operator.Parts{Store: book})
		return out.String(), err
	}
	text, err := export(month.Format("2006-01"))
	if err != nil {
		t.Fatalf("export %s: %v", month.Format("2006-01"), err)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("read the export: %v", err)
	}
	got := map[string]string{}
	for _, r := range rows[1:] {
		amount := decimal.RequireFromString("0" + r[11]).Sub(decimal.RequireFromString("0" + r[12]))
		got[strings.TrimSpace(r[0]+" "+r[1])+" "+r[7]] = amount.String()
	}
	want := map[string]string{
		"opening custody": "5", "opening merchant": "-5", "entry first custody": "1.5", "entry first merchant": "-1.5",
		"entry second treasury": "2", "entry second custody": "-2", "closing custody": "4.5", "closing merchant": "-6.5", "closing treasury": "2",
	}
	if !maps.Equal(got, want) {
		t.Errorf("export %s: got %v, want %v", month.Format("2006-01"), got, want)
	}
	if strings.Contains(text, ",=") {
		t.Errorf("export %s: got a formula in %s, want none", month.Format("2006-01"), text)
	}
	ended := func(end time.Time) error {
		return book.ExportCustody(t.Context(), "live", end.AddDate(0, -1, 0), end, func(store.CustodyEntry) error { return nil })
	}
	if err := ended(time.Now().Add(-time.Minute)); !errors.Is(err, store.ErrMonthNotClosed) {
		t.Errorf("export a month that ended a minute ago: got %v, want %v", err, store.ErrMonthNotClosed)
	}
	if err := ended(time.Now().Add(-2 * time.Hour)); err != nil {
		t.Errorf("export a month that ended two hours ago: got %v, want no error", err)
	}
}
