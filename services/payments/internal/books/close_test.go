//go:build integration

package books_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

// move is an amount of one asset between two accounts.
type move struct{ debit, credit, asset, amount string }

// book writes a journal with a time.
func book(w *fixture.Payments, key string, at time.Time, m move) {
	w.T.Helper()
	w.SQL(`WITH j AS (INSERT INTO ledger_journals (key, event, created_at) VALUES ($1, 'float_topped_up', $2) RETURNING id)
INSERT INTO ledger_entries (journal_id, line, account, asset, side, amount)
SELECT id, 1, $3::text, $5::text, 'debit', $6::text::numeric FROM j UNION ALL SELECT id, 2, $4::text, $5::text, 'credit', $6::text::numeric FROM j`,
		key, at, m.debit, m.credit, m.asset, m.amount)
}

func closeDays(w *fixture.Payments) (last string) {
	w.T.Helper()
	last, err := w.Books.CloseDays(w.T.Context())
	if err != nil {
		w.T.Fatalf("CloseDays(): %v", err)
	}
	return last
}

// closed is the balance of an account at the close of a day.
func closed(w *fixture.Payments, day, account string) string {
	return fixture.Ask[string](w, `SELECT coalesce(sum(debit - credit), 0)::text FROM ledger_close_sums WHERE day = $1::text::date AND account = $2`, day, account)
}

// Each day is closed once with the sum of the journals until its end. A journal that comes later, whatever its time
// says, belongs to the next close.
func TestCloseDays(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	name := func(back int) string { return today.AddDate(0, 0, -back).Format(time.DateOnly) }
	at := func(back int) time.Time { return today.AddDate(0, 0, -back).Add(12 * time.Hour) }
	const account = "fiat:float:paystack:NGN"
	for back := 3; back >= 0; back-- {
		if back == 2 {
			book(w, "withdrawn", at(back), move{"merchant:m1:NGN", "payable:wdr_1:NGN", "NGN", "1"})
		}
		book(w, fmt.Sprint("float:", back), at(back), move{account, "fx:NGN", "NGN", "100"})
		book(w, fmt.Sprint("owed:", back), at(back), move{"fx:NGN", fmt.Sprintf("payable:pay_%d:NGN", back), "NGN", "10"})
	}
	for _, back := range []int{3, 2} { // a leader died after it had claimed these
		if err := w.Store.ClaimDay(t.Context(), name(back), today.AddDate(0, 0, 1-back)); err != nil {
			t.Fatal(err)
		}
	}
	book(w, "late", at(2), move{account, "fx:NGN", "NGN", "7"})
	w.With(func(d *fixture.Deps) { d.Now = func() time.Time { return time.Now().AddDate(0, 0, 3) } }) // the leader's clock is fast
	if last := closeDays(w); last != name(1) {
		t.Fatalf("CloseDays() = %s, want %s by the clock of the database", last, name(1))
	}
	for back, want := range map[int]string{3: "100", 2: "200", 1: "407"} { // today's journals are before the late one
		if got := closed(w, name(back), account); got != want {
			t.Errorf("the close of %s has %s at the rail, want the %s of the journals until then", name(back), got, want)
		}
	}
	for _, back := range []int{2, 1} {
		if got := closed(w, name(back), "payable:withdrawal:NGN"); got != "-1" {
			t.Errorf("the close of %s has %s on its way to merchants, want -1", name(back), got)
		}
	}
	for back, want := range map[int]string{3: "-10", 2: "-20", 1: "-40"} {
		if got := closed(w, name(back), "payable:NGN"); got != want {
			t.Errorf("the close of %s has %s owed to receivers, want %s", name(back), got, want)
		}
	}
	all := fixture.Ask[string](w, `SELECT json_agg(s ORDER BY day, account)::text || (SELECT json_agg(t ORDER BY day, mode)::text FROM treasury_closes t) FROM ledger_close_sums s`)
	book(w, "later", at(2), move{account, "fx:NGN", "NGN", "3"})
	closeDays(w)
	if now := fixture.Ask[string](w, `SELECT json_agg(s ORDER BY day, account)::text || (SELECT json_agg(t ORDER BY day, mode)::text FROM treasury_closes t) FROM ledger_close_sums s`); now != all {
		t.Errorf("a late journal changed the closes from %s to %s", all, now)
	}
	if err := w.Store.ClaimDay(t.Context(), name(0), today.AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM ledger_closes`); n != 3 {
		t.Errorf("ClaimDay() of today has made %d closes, want 3: the day has not ended", n)
	}
	for _, table := range []string{"ledger_closes", "ledger_close_sums", "ledger_close_fees", "treasury_closes"} {
		for _, harm := range []string{"UPDATE " + table + " SET day = day", "DELETE FROM " + table, "TRUNCATE " + table + " CASCADE"} {
			if _, err := w.Pool.Exec(t.Context(), harm); err == nil && table != "ledger_close_fees" {
				t.Errorf("%s succeeded, want closes that nobody can change", harm)
			}
		}
	}
	treasury, err := w.Books.TreasuryOf(t.Context(), tenant.Live, name(2))
	if want := (books.Line{Kind: "payable:withdrawal", Asset: "NGN", Amount: decimal.NewFromInt(1)}); !slices.ContainsFunc(treasury.Owed, func(l books.Line) bool { return fmt.Sprint(l) == fmt.Sprint(want) }) {
		t.Errorf("the close of %s owes %v, want %v with it", name(2), treasury.Owed, want)
	}
	if err != nil || treasury.Day != name(2) || len(treasury.Floats) != 1 || treasury.Floats[0].Ledger.String() != "200" {
		t.Errorf("TreasuryOf(%s) = %+v, %v; want the float of 200 of that close", name(2), treasury, err)
	}
	if _, err := w.Books.TreasuryOf(t.Context(), tenant.Live, name(9)); !errors.Is(err, books.ErrNotClosed) {
		t.Errorf("TreasuryOf() of a day that is not closed: %v, want %v", err, books.ErrNotClosed)
	}
}

// lockNotAvailable is PostgreSQL's reason of a statement that waited longer than lock_timeout.
const lockNotAvailable = "55P03"

// A close compares what a chain says with the ledger of that moment. Crypto that reached a station after midnight is no
// difference of the day before, whose sums do not have it.
func TestCloseDays_observed(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	book(w, "day", midnight.Add(-time.Hour), move{"crypto:hot:tron:TRX", "capital:TRX", "TRX", "100"})
	if err := w.Store.ClaimDay(t.Context(), midnight.Add(-time.Hour).Format(time.DateOnly), midnight); err != nil {
		t.Fatal(err)
	}
	book(w, "night", time.Now(), move{"crypto:hot:tron:TRX", "capital:TRX", "TRX", "5"})
	w.SQL(`ALTER TABLE ledger_journals DISABLE TRIGGER USER`)
	w.SQL(`UPDATE ledger_journals SET event = 'capital_moved'`)
	w.SQL(`ALTER TABLE ledger_journals ENABLE TRIGGER USER`)
	all, zero := decimal.NewFromInt(105), decimal.Zero
	reading := books.Reading{Network: "tron", At: time.Now(), Holdings: []books.Holding{{Asset: "TRX", Deposits: &zero, GasStation: &all, RefundStation: &zero, Treasury: &zero}}}
	if err := w.Store.KeepReading(t.Context(), tenant.Live, reading); err != nil {
		t.Fatal(err)
	}
	day := closeDays(w)
	r, err := w.Books.TreasuryOf(t.Context(), tenant.Live, day)
	if err != nil || len(r.Crypto) != 1 || r.Crypto[0].Hot.String() != "100" || r.Crypto[0].Difference == nil || !r.Crypto[0].Difference.IsZero() {
		t.Errorf("the report of %s is %+v, %v; want the 100 TRX of the day, and no difference from the 105 that were read a moment ago", day, r.Crypto, err)
	}
}

// A reading of the future is refused, and keeps no later one out, whichever version took it.
func TestKeepReading_future(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	one := decimal.NewFromInt(1)
	reading := func(ahead time.Duration) books.Reading {
		return books.Reading{Network: "tron", At: time.Now().Add(ahead), Holdings: []books.Holding{{Asset: "TRX", Deposits: &one}}}
	}
	kept := func() string {
		return fixture.Ask[string](w, `SELECT coalesce(max(read_at::text), '') FROM treasury_readings`)
	}
	if err := w.Store.KeepReading(t.Context(), tenant.Live, reading(time.Hour)); !fault.IsPermanent(err) || kept() != "" {
		t.Errorf("KeepReading() of a reading of in an hour: %v, kept %s; want a permanent fault", err, kept())
	}
	w.SQL(`INSERT INTO treasury_readings (mode, network, read_at, holdings) VALUES ('live', 'tron', now() + interval '1 year', '[]')`)
	if err := w.Store.KeepReading(t.Context(), tenant.Live, reading(0)); err != nil || fixture.Ask[int](w, `SELECT count(*) FROM treasury_readings WHERE read_at <= now()`) != 1 {
		t.Errorf("KeepReading() beside one of the future: %v, kept %s; want the new one", err, kept())
	}
}

// A journal that is under way when a day is closed is in the close, or the close waits: no journal up to its last one
// is missing.
func TestCloseDays_waitsForWriters(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	yesterday := time.Now().UTC().Truncate(24 * time.Hour).Add(-time.Hour)
	day := yesterday.Format(time.DateOnly)
	slow, err := w.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const insert = `WITH j AS (INSERT INTO ledger_journals (key, event, created_at) VALUES ('slow', 'float_topped_up', $1) RETURNING id)
INSERT INTO ledger_entries (journal_id, line, account, asset, side, amount)
SELECT id, 1, 'fiat:float:sim:NGN', 'NGN', 'debit', 5 FROM j UNION ALL SELECT id, 2, 'fx:NGN', 'NGN', 'credit', 5 FROM j`
	if _, err := slow.Exec(t.Context(), insert, yesterday); err != nil {
		t.Fatal(err)
	}
	book(w, "quick", yesterday, move{"fiat:float:sim:NGN", "fx:NGN", "NGN", "100"}) // has the higher id, and is committed
	var reason *pgconn.PgError
	if last, err := w.Books.CloseDays(t.Context()); !errors.As(err, &reason) || reason.Code != lockNotAvailable {
		t.Fatalf("CloseDays() = %s, %v while a journal was under way, want that the lock is not available", last, err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM ledger_closes`); n != 0 {
		t.Fatalf("%d days are claimed while a journal is under way, want none", n)
	}
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A process that dies between the two steps leaves a claimed day, which the next one completes.
	if err := w.Store.ClaimDay(t.Context(), day, yesterday.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if last := closeDays(w); last != day || closed(w, day, "fiat:float:sim:NGN") != "105" {
		t.Errorf("CloseDays() = %s with %s at the rail, want %s with 105", last, closed(w, day, "fiat:float:sim:NGN"), day)
	}
}

// The report of a system with payments has their money, whose it is and the fees of their merchant.
func TestReport(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Pay(w.ConfirmedWith("0123456789"))
	w.Fill(4)
	w.See(payment.Payment{Address: "TNobody"}, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough})
	if _, err := w.Books.TreasuryOf(t.Context(), tenant.Test, ""); err == nil {
		t.Error("TreasuryOf() before the first report has no error")
	}
	shown := map[tenant.Mode]books.Treasury{}
	report := func() books.Treasury {
		t.Helper()
		if err := w.Books.Report(t.Context(), func(r books.Treasury) { shown[r.Mode] = r }); err != nil {
			t.Fatalf("Report(): %v", err)
		}
		got, err := w.Books.TreasuryOf(t.Context(), tenant.Test, "")
		if err != nil || len(shown) != 2 {
			t.Fatalf("TreasuryOf() = %+v, %v, after a report of %d modes", got, err, len(shown))
		}
		return got
	}
	r := report()
	fees := fixture.Ask[string](w, `SELECT sum(amount)::text FROM ledger_entries WHERE account = 'test:fees:NGN'`)
	if len(r.Fees) != 1 || r.Fees[0].MerchantID != "m1" || r.Fees[0].Amount.String() != decimal.RequireFromString(fees).String() {
		t.Errorf("fees = %+v, want %s NGN of m1", r.Fees, fees)
	}
	if r.OpenResult == nil || len(r.Positions) != 2 || len(r.Crypto) != 1 || r.Crypto[0].Network != "tron" {
		t.Errorf("report = %+v, want positions in USDT and NGN with a worth, and crypto on tron", r)
	}
	ten, zero := decimal.NewFromInt(10), decimal.Zero
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	reading := books.Reading{Network: "tron", At: at, Holdings: []books.Holding{{Asset: "USDT", Deposits: &ten, GasStation: &zero, RefundStation: &zero, Treasury: &zero, Expected: decimal.NewFromInt(12)}}}
	older := reading
	older.At, older.Holdings = at.Add(-time.Hour), nil
	for _, one := range []books.Reading{reading, older, reading} { // also again, and late
		if err := w.Store.KeepReading(t.Context(), tenant.Test, one); err != nil {
			t.Fatal(err)
		}
	}
	if r = report(); r.Crypto[0].Difference == nil || r.Crypto[0].Difference.String() != "-2" || !r.Crypto[0].AsOf.Equal(at) {
		t.Errorf("tron after its reading = %+v, want a difference of -2 as of %s", r.Crypto[0], at)
	}
	body, err := r.JSON()
	var answer struct {
		Success  bool
		Treasury struct {
			Crypto []struct{ Difference *money.Number }
			Floats []struct{ Observed *money.Number }
		}
	}
	if err != nil || json.Unmarshal(body, &answer) != nil || !answer.Success || answer.Treasury.Crypto[0].Difference == nil || answer.Treasury.Crypto[0].Difference.String() != "-2" {
		t.Errorf("JSON() = %s, %v; want the difference of -2", body, err)
	}
	if len(answer.Treasury.Floats) != 1 || answer.Treasury.Floats[0].Observed != nil {
		t.Errorf("JSON() = %s, want the float of the simulated bank, which nobody asks", body)
	}
	var out bytes.Buffer
	if err := r.CSV(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if rows, err := csv.NewReader(&out).ReadAll(); err != nil || len(rows) < 10 {
		t.Errorf("CSV() has %d rows, %v; want one for each line", len(rows), err)
	}
}

// An export of a month is double entry: each journal and asset sums to zero, and so do opening and closing balances;
// opening and entries are together closing. Two exports are equal, and what a merchant is called is no formula.
func TestJournals(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	month := time.Now().UTC().AddDate(0, 0, -40)
	month = time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
	at := func(days int) time.Time { return month.AddDate(0, 0, days) }
	book(w, "before", at(-3), move{"fiat:float:paystack:NGN", "fx:NGN", "NGN", "1000"})
	book(w, "first", at(0), move{"fx:NGN", "payable:pay_1:NGN", "NGN", "40"})
	book(w, "other", at(3), move{"test:fx:NGN", "test:payable:pay_9:NGN", "NGN", "5"})
	book(w, "second", at(5), move{"payable:pay_1:NGN", "merchant:=SUM(A1):NGN", "NGN", "40"})
	book(w, "crypto", at(6), move{"crypto:deposit:tron:USDT", "suspense:USDT", "USDT", "3.5"})
	book(w, "after", month.AddDate(0, 1, 0), move{"fiat:float:paystack:NGN", "fx:NGN", "NGN", "9"})
	export := func() string {
		t.Helper()
		report, err := w.Books.Journals(t.Context(), tenant.Live, month)
		if err != nil {
			t.Fatalf("Journals(): %v", err)
		}
		var out bytes.Buffer
		if err := report(t.Context(), &out); err != nil {
			t.Fatalf("Journals(): %v", err)
		}
		return out.String()
	}
	if _, err := w.Books.Journals(t.Context(), tenant.Live, month); !errors.Is(err, books.ErrMonthNotClosed) {
		t.Fatalf("Journals() of a month whose last day is not closed: %v, want %v", err, books.ErrMonthNotClosed)
	}
	for _, end := range []time.Time{month, month.AddDate(0, 1, 0)} {
		if err := w.Store.ClaimDay(t.Context(), end.AddDate(0, 0, -1).Format(time.DateOnly), end); err != nil {
			t.Fatal(err)
		}
	}
	text := export()
	sums, journals := read(t, text)
	if !maps.Equal(journals, map[string]int{"NGN": 2, "USDT": 1}) {
		t.Errorf("journals by asset = %v, want two in NGN and one in USDT: %s", journals, text)
	}
	for kind, want := range map[string]map[string]string{
		"opening": {"fiat:float:paystack:NGN": "1000", "fx:NGN": "-1000"},
		"closing": {
			"fiat:float:paystack:NGN": "1000", "fx:NGN": "-960", "merchant:=SUM(A1):NGN": "-40", "crypto:deposit:tron:USDT": "3.5", "suspense:USDT": "-3.5",
		},
	} {
		got := map[string]string{}
		for account, amount := range sums[kind] {
			got[account] = amount.String()
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s balances = %v, want %v", kind, got, want)
		}
	}
	book(w, "late", at(6), move{"fx:NGN", "payable:pay_1:NGN", "NGN", "1"})
	closeDays(w)
	if again := export(); again != text {
		t.Errorf("the export after a late journal is %s, want %s", again, text)
	}
	if !strings.Contains(text, "Owed to a merchant") || strings.Contains(text, ",=") {
		t.Errorf("the export is %s, want names of accounts and no formula", text)
	}
}

// read adds up an export and holds it against the rules of double entry.
func read(t *testing.T, text string) (sums map[string]map[string]decimal.Decimal, journals map[string]int) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("reading the export: %v", err)
	}
	sums, journals = map[string]map[string]decimal.Decimal{"opening": {}, "entry": {}, "closing": {}}, map[string]int{}
	zero := map[string]decimal.Decimal{}
	for _, r := range rows[1:] {
		debit, credit := decimal.RequireFromString("0"+r[9]), decimal.RequireFromString("0"+r[10])
		amount := debit.Sub(credit)
		sums[r[0]][r[6]] = sums[r[0]][r[6]].Add(amount)
		place := r[0] + " " + r[1] + " " + r[8]
		if _, known := zero[place]; !known && r[0] == "entry" {
			journals[r[8]]++
		}
		zero[place] = zero[place].Add(amount)
	}
	for place, sum := range zero {
		if !sum.IsZero() {
			t.Errorf("%s sums to %s, want zero", place, sum)
		}
	}
	left := maps.Clone(sums["opening"])
	for account, amount := range sums["entry"] {
		left[account] = left[account].Add(amount)
	}
	for account, amount := range left {
		if !amount.Equal(sums["closing"][account]) {
			t.Errorf("%s opens with and moves %s together, and closes with %s", account, amount, sums["closing"][account])
		}
	}
	return sums, journals
}

// gauge notes the most memory that is in use while a report is written.
type gauge struct {
	rows int
	most uint64
}

func (g *gauge) Write(p []byte) (int, error) {
	if rows := g.rows + bytes.Count(p, []byte{'\n'}); rows/5_000 > g.rows/5_000 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		g.most = max(g.most, m.HeapAlloc)
		g.rows = rows
	} else {
		g.rows = rows
	}
	return len(p), nil
}

// Ten thousand journals of ten thousand payments take no more memory than a page, and come in one order.
func TestJournals_many(t *testing.T) {
	w := fixture.New(t)
	const n = 10_000
	w.SQL(`WITH j AS (INSERT INTO ledger_journals (key, event, payment_id) SELECT 'many:' || n, 'converted', 'pay_' || n FROM generate_series(1, $1::integer) n RETURNING id, payment_id)
INSERT INTO ledger_entries (journal_id, line, account, asset, side, amount)
SELECT id, 1, 'fx:NGN', 'NGN', 'debit', 10 FROM j UNION ALL SELECT id, 2, 'payable:' || payment_id || ':NGN', 'NGN', 'credit', 10 FROM j`, n)
	month := time.Now().UTC()
	month = time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
	write := func(to io.Writer) {
		t.Helper()
		report, err := w.Books.Journals(t.Context(), tenant.Live, month)
		if err != nil {
			t.Fatalf("Journals(): %v", err)
		}
		if err := report(context.WithoutCancel(t.Context()), to); err != nil {
			t.Fatalf("Journals(): %v", err)
		}
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var g gauge
	write(&g)
	const most = 8 << 20
	if g.rows != 2*n+3 || g.most > before.HeapAlloc+most {
		t.Errorf("%d rows took %d bytes beyond the %d before, want %d rows in at most %d bytes more", g.rows, int64(g.most)-int64(before.HeapAlloc), before.HeapAlloc, 2*n+3, most)
	}
	var out bytes.Buffer
	write(&out)
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	places := make([]string, 0, len(rows))
	for _, r := range rows[1 : len(rows)-2] {
		places = append(places, fmt.Sprintf("%12s %3s", r[1], r[5]))
	}
	if !slices.IsSorted(places) {
		t.Error("the entries are not in the order of their journals and lines")
	}
}
