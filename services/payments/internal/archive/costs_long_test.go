//go:build integration && long

package archive_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/id"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

// copies are the rows of a payment that are copied, with the columns that differ. %[1]s is the id of the copy, %[2]s
// the id of the payment, n the number.
var copies = []struct {
	table, where string
	without      []string
	with         map[string]string
}{
	{"payments", "id", nil, map[string]string{
		"id": "%[1]s", "reference": "'CW-' || %[1]s", "address": "'T' || %[1]s", "merchant_reference": "''", "payer": "NULL", "receiver": "NULL",
		"created_at": "copy.at", "settled_at": "copy.at + interval '1 minute'", "changed_at": "array_fill(copy.at, ARRAY[cardinality(changed_at)])",
		"merchant_id": "CASE WHEN copy.n % 10 = 0 THEN 'm1' ELSE 'big' END",
	}},
	{"deposits", "payment_id", nil, map[string]string{
		"key": "replace(key, %[2]s, %[1]s)", "payment_id": "%[1]s", "address": "'T' || %[1]s", "tx_hash": "replace(tx_hash, %[2]s, %[1]s)", "created_at": "copy.at", "first_seen_at": "copy.at",
	}},
	{"payouts", "payment_id", nil, map[string]string{
		"id": "'pyo_' || %[1]s", "payment_id": "%[1]s", "reference": "reference || %[1]s", "receiver": "'{}'::bytea", "created_at": "copy.at", "done_at": "copy.at",
	}},
	{"screenings", "payment_id", []string{"id"}, map[string]string{"payment_id": "%[1]s", "at": "copy.at"}},
	{"ledger_accounts", "payment_id", nil, map[string]string{"code": "replace(code, %[2]s, %[1]s)", "payment_id": "%[1]s"}},
	{"ledger_journals", "payment_id", []string{"id"}, map[string]string{
		"key": "CASE WHEN strpos(key, %[2]s) > 0 THEN replace(key, %[2]s, %[1]s) ELSE key || %[1]s END", "payment_id": "%[1]s", "created_at": "copy.at",
		"accounts": "string_to_array(replace(array_to_string(accounts, ' '), %[2]s, %[1]s), ' ')",
	}},
}

// fill copies a payment many times into a month.
func (w *past) fill(of payment.Payment, month time.Time, many int) {
	w.T.Helper()
	first := id.First(id.Payment, month)
	const digits = 12
	for _, c := range copies {
		columns := strings.Split(strings.TrimSpace(w.columns(c.table)), ",")
		var values []string
		columns = slices.DeleteFunc(columns, func(name string) bool { return slices.Contains(c.without, name) })
		for _, name := range columns {
			value, ok := c.with[name]
			if !ok {
				value = "t." + name
			}
			values = append(values, strings.ReplaceAll(strings.ReplaceAll(value, "%[1]s", "copy.k"), "%[2]s", "$1::text"))
		}
		const piece = 4_000
		for from := 0; from < many; from += piece {
			w.slow(fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) SELECT %[3]s FROM %[1]s t, (SELECT n, $2::text || lpad(n::text, %[4]d, '0') AS k, $5::timestamptz + n * interval '1 second' AS at
				FROM generate_series($3::int, $4::int) n) AS copy WHERE t.%[5]s = $1`, c.table, strings.Join(columns, ", "), strings.Join(values, ", "), digits, c.where),
				of.ID, first[:len(first)-digits], from, min(from+piece, many)-1, month)
		}
	}
}

// slow runs a statement that takes longer than those of the service may.
func (w *past) slow(text string, args ...any) {
	w.T.Helper()
	conn, err := w.Pool.Acquire(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	defer conn.Release()
	_, err = conn.Exec(w.T.Context(), `SET statement_timeout = 0`)
	if err == nil {
		_, err = conn.Exec(w.T.Context(), text, args...)
	}
	if err == nil {
		_, err = conn.Exec(w.T.Context(), `RESET statement_timeout`)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

func (w *past) columns(table string) string {
	var out string
	if err := w.Pool.QueryRow(w.T.Context(), `SELECT string_agg(column_name, ',' ORDER BY ordinal_position) FROM information_schema.columns WHERE table_name = $1`, table).Scan(&out); err != nil {
		w.T.Fatal(err)
	}
	return out
}

// cost is what a statement reads and how long it takes, at best of some runs.
type cost struct {
	pages int
	took  time.Duration
}

func (c cost) String() string {
	return fmt.Sprintf("%6d pages %6d µs", c.pages, c.took.Microseconds())
}

func (w *past) cost(name string, args ...any) (best cost) {
	w.T.Helper()
	for range 4 {
		var raw []byte
		err := pgx.BeginFunc(w.T.Context(), w.Pool, func(tx pgx.Tx) (err error) {
			if _, err := tx.Exec(w.T.Context(), `SET LOCAL statement_timeout = '30min'`); err != nil {
				return err
			}
			raw, err = fixture.Explain(w.T.Context(), tx, name, args...)
			return err
		})
		var out []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
			Time decimal.Decimal `json:"Execution Time"` // in milliseconds
		}
		if err == nil {
			err = json.Unmarshal(raw, &out)
		}
		if err != nil {
			w.T.Fatalf("explain %s: %v", name, err)
		}
		now := cost{out[0].Plan.Hit + out[0].Plan.Read, time.Duration(out[0].Time.Shift(6).IntPart())}
		if best.took == 0 || now.took < best.took {
			best = now
		}
	}
	return best
}

// Over two years of payments, lists, GET and settlements read as much after twenty-two months were archived as before,
// and reconciliation less. CAUSEWAY_ARCHIVE_PAYMENTS makes another number of payments.
func TestArchive_costs(t *testing.T) {
	t.Parallel()
	all := 12_000
	if text := os.Getenv("CAUSEWAY_ARCHIVE_PAYMENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		all = n
	}
	w := live(t)
	const months, hot = 24, 2
	this := w.month()
	begun := time.Now()
	for back := months; back > 0; back-- {
		w.fill(w.over[0], this.AddDate(0, -back, 0), all/months)
	}
	w.SQL(`INSERT INTO ledger_closes (day, last_journal) SELECT (now() AT TIME ZONE 'UTC')::date - 2, max(id) FROM ledger_journals`)
	w.SQL(`INSERT INTO treasury_closes (day, mode, report) SELECT (now() AT TIME ZONE 'UTC')::date - 2, m, '{}' FROM unnest('{live,test}'::text[]) m`)
	tables := []string{"payments", "archived_payments", "deposits", "payouts", "screenings", "ledger_accounts", "ledger_journals"}
	w.slow(`VACUUM ANALYZE ` + strings.Join(tables, ", "))
	t.Logf("%d payments made in %s", all, time.Since(begun).Round(time.Second))
	w.agree()

	var statuses, types []string
	for _, s := range payment.Statuses() {
		statuses = append(statuses, string(s))
	}
	for _, k := range payment.Types() {
		types = append(types, string(k))
	}
	old := this.AddDate(0, -months, 0)
	oldest := id.First(id.Payment, old)
	oldest = oldest[:len(oldest)-12] + "000000000010"
	asked := []struct {
		name, statement string
		args            []any
	}{
		{"GET, a new payment", "findOwned", []any{w.over[0].Reference, "m1", "test"}},
		{"GET, an old payment", "findOwned", []any{"CW-" + oldest, "m1", "test"}},
		{"its deposits", "readDepositRows", []any{oldest}},
		{"its payout", "readLastPayout", []any{oldest}},
		{"list, first page", "listNewest", []any{"big", "test", types, "pay_", "pay_z", 51}},
		{"list, of the first month", "listNewest", []any{"big", "test", types, id.First(id.Payment, old), id.First(id.Payment, old.AddDate(0, 1, 0)), 51}},
		{"list, settled", "listOwned", []any{"big", []string{"test"}, []string{"settled"}, types, "pay_", "pay_z", 51}},
		{"list, any status", "listOwned", []any{"big", []string{"test"}, statuses, types, "pay_", "pay_z", 51}},
		{"list, by transaction", "listOwnedByTransaction", []any{"m1", []string{"test"}, statuses, types, "pay_", "pay_z", 51, nil, nil, "t" + oldest, nil, nil}},
		{"operators' list", "listEvery", []any{"pay_", "pay_z", 51}},
		{"settlements of an old hour", "listSettled", []any{"big", "test", old, "", old.Add(time.Hour), 2000}},
		{"lock of a payment", "lockByID", []any{w.over[0].ID}},
		{"what is due", "duePayments", []any{60.0, 200}},
	}
	reconciles := []string{"compareTrial", "compareBalances", "compareDeposit", "compareDeposits", "comparePayout", "compareClearing"}
	measure := func() (costs []cost, compare cost) {
		for _, a := range asked {
			costs = append(costs, w.cost(a.statement, a.args...))
		}
		for _, name := range reconciles {
			c := w.cost(name)
			compare.pages, compare.took = compare.pages+c.pages, compare.took+c.took
		}
		return costs, compare
	}
	before, beforeBooks := measure()
	size := func() string {
		var out []string
		for _, table := range tables {
			out = append(out, fmt.Sprintf("%s %d", table, ask[int64](w, `SELECT pg_total_relation_size($1::text::regclass)`, table)>>10))
		}
		return strings.Join(out, ", ") + " KiB"
	}
	sizes := size()
	begun = time.Now()
	a := w.archiver()
	a.PartMost = 0
	for back := months; back > hot; back-- {
		if err := a.Run(t.Context(), this.AddDate(0, -back, 0)); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(begun)
	n := w.archived()
	if want := all / months * (months - hot); n != want {
		t.Fatalf("%d payments archived, want %d: %q", n, want, w.lines)
	}
	t.Logf("%d payments archived in %s, %s each", n, took.Round(time.Second), (took / time.Duration(n)).Round(10*time.Microsecond))
	for _, table := range tables { // as a vacuum that makes room would leave them
		w.slow(`VACUUM FULL ANALYZE ` + table)
	}
	w.agree()
	after, afterBooks := measure()
	for i, a := range asked {
		t.Logf("%-28s before %s   after %s", a.name, before[i], after[i])
		if after[i].pages > 2*before[i].pages+40 { // a table of a few dozen pages is read whole
			t.Errorf("%s reads %d pages, before the archive %d", a.name, after[i].pages, before[i].pages)
		}
	}
	t.Logf("%-28s before %s   after %s", "reconciliation", beforeBooks, afterBooks)
	t.Logf("before: %s", sizes)
	t.Logf("after:  %s", size())
	if afterBooks.pages > beforeBooks.pages/4 {
		t.Errorf("reconciliation reads %d pages, before the archive %d", afterBooks.pages, beforeBooks.pages)
	}
}

func ask[T any](w *past, text string, args ...any) (v T) {
	w.T.Helper()
	if err := w.Pool.QueryRow(w.T.Context(), text, args...).Scan(&v); err != nil {
		w.T.Fatal(err)
	}
	return v
}
