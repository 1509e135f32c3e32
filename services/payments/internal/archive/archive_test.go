//go:build integration

package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/config"
	"causeway.internal/libs/erasure"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/archive"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/migrations"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if first.drop != nil {
			if err := first.drop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
		os.Exit(code)
	}))
}

const payers = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"

// past is payments of every end, and some that have none. They are as old as a test needs them: what changes with time
// is set as it is after weeks.
type past struct {
	*fixture.Payments
	over    []payment.Payment // by shape: settled, by its merchant, cancelled, refunded, gift
	running []payment.Payment
	now     time.Time
	folder  string
	lines   []string
}

func (w *past) paid(p payment.Payment) payment.Payment {
	w.T.Helper()
	coin := fixture.Coin{Key: "t" + p.ID, Amount: "31.25", Version: 1, Depth: fixture.Enough, At: time.Now()}
	w.See(p, coin)
	coin.Version, coin.Depth, coin.Final = 2, 30, true
	w.See(p, coin)
	return p
}

func live(t *testing.T) *past {
	t.Helper()
	w := young(t)
	w.age()
	w.closed()
	return w
}

// first are the payments of which each test has a copy, with the database.
var first struct {
	once          sync.Once
	url           string
	drop          func() error
	over, running []payment.Payment
}

// young is payments that are as new as they are.
func young(t *testing.T) *past {
	t.Helper()
	first.once.Do(func() {
		first.url, first.drop = pg.Kept(t, migrations.FS)
		t.Run("payments of all tests", func(t *testing.T) { // its end closes the connections
			w := born(t, fixture.Over(t, postgres.Config{URL: config.Secret(first.url), MaxConns: 16}))
			first.over, first.running = w.over, w.running
		})
	})
	if len(first.running) == 0 {
		t.Fatal("the payments of all tests were not made")
	}
	w := &past{Payments: fixture.Over(t, postgres.Config{URL: config.Secret(pg.Clone(t, first.url)), MaxConns: 16}), folder: t.TempDir()}
	w.over, w.running = slices.Clone(first.over), slices.Clone(first.running)
	return w
}

// born makes one payment of each end over a database, and some that have none.
func born(t testing.TB, over *fixture.Payments) *past {
	t.Helper()
	w := &past{Payments: over, folder: t.TempDir()}
	w.Fill(16)
	named := fixture.Command()
	named.Shop.MerchantReference, named.Shop.Description = "order-1", `tea with \milk`
	p := w.paid(w.Make(named))
	w.Pay(p)
	w.over = append(w.over, p)

	p = w.paid(w.Make(fixture.OwnSettled()))
	if err := w.Settle(p.Reference, w.Token()); err != nil {
		t.Fatalf("settle %s: %v", p.ID, err)
	}
	w.over = append(w.over, p, w.cancelled())

	p = w.paid(w.cancelled())
	if _, err := w.Merchants.RefundAddress(t.Context(), fixture.Owner, p.Reference, payers, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatalf("set the refund address of %s: %v", p.ID, err)
	}
	if _, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRefunded, Reason: "sent", TxHash: strings.Repeat("f0", 32)}); err != nil {
		t.Fatalf("mark %s as refunded: %v", p.ID, err)
	}
	w.over = append(w.over, p)

	p = w.paid(w.Make(fixture.Gift()))
	if _, err := w.Claim(p.Reference, "0123456789", idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.Pay(p)
	w.over = append(w.over, p)

	owes := w.paid(w.cancelled())
	w.running = []payment.Payment{w.Make(fixture.Command()), w.paid(w.Make(fixture.Command())), owes}
	return w
}

func (w *past) cancelled() payment.Payment {
	w.T.Helper()
	p := w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(w.T.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		w.T.Fatalf("cancel %s: %v", p.ID, err)
	}
	return p
}

// age ends what ends by itself within weeks.
func (w *past) age() {
	w.T.Helper()
	w.now = time.Now().AddDate(0, 0, 200)
	w.SQL(`UPDATE payouts SET next_at = NULL, taken_until = NULL WHERE state = 'succeeded'`)
	w.SQL(`UPDATE deposits SET screening = 'clear'`)
	w.SQL(`INSERT INTO screenings (mode, payment_id, deposit, stage, verdict, reason, lists, addresses)
		SELECT mode, payment_id, key, 'deposit', 'clear', '', 'list 1', '{T1,T2}' FROM deposits`)
}

// closed closes the books, and the day.
func (w *past) closed() {
	w.T.Helper()
	w.SQL(`INSERT INTO ledger_closes (day, last_journal) SELECT (now() AT TIME ZONE 'UTC')::date, coalesce(max(id), 0) FROM ledger_journals`)
	w.SQL(`INSERT INTO treasury_closes (day, mode, report) SELECT (now() AT TIME ZONE 'UTC')::date, m, '{}' FROM unnest('{live,test}'::text[]) m`)
}

func (w *past) archiver() *archive.Archiver {
	return &archive.Archiver{
		Store: w.Store, Folder: w.folder, Operator: "ada", After: 90 * 24 * time.Hour, Now: func() time.Time { return w.now },
		Tell: func(line string) { w.lines = append(w.lines, line) }, PartMost: 3,
	}
}

func (w *past) month() time.Time {
	at := w.over[0].CreatedAt.UTC()
	return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
}

func (w *past) archive() {
	w.T.Helper()
	if err := w.archiver().Run(w.T.Context(), w.month()); err != nil {
		w.T.Fatalf("Run() = %v, want no error", err)
	}
	if err := w.archiver().Plan(w.T.Context(), w.month()); err != nil {
		w.T.Fatalf("Plan() = %v, want no error", err)
	}
}

func (w *past) archived() int {
	return fixture.Ask[int](w.Payments, `SELECT count(*) FROM archived_payments`)
}

// whole fails the test unless the books are whole.
func (w *past) whole() {
	w.T.Helper()
	w.Balanced()
	w.agree()
}

// agree fails the test unless a reconciliation finds nothing.
func (w *past) agree() {
	w.T.Helper()
	if found, err := w.Store.Compare(w.T.Context()); err != nil || len(found) != 0 {
		w.T.Errorf("Compare() = %+v, %v; want no difference", found, err)
	}
}

// answers are what merchants and operators read, by what they ask.
func (w *past) answers() map[string]string {
	w.T.Helper()
	out := map[string]string{}
	keep := func(name string, body []byte, err error) {
		w.T.Helper()
		if err != nil {
			body = []byte("error " + err.Error())
		}
		out[name] = string(body)
	}
	ctx := w.T.Context()
	for _, p := range append(slices.Clone(w.over), w.running...) {
		body, err := w.Reader.Show(ctx, fixture.Owner, p.Reference)
		keep("GET "+p.ID, body, err)
		body, err = w.Reader.Show(ctx, tenant.Owner{MerchantID: "m2", Mode: tenant.Test}, p.Reference)
		keep("GET by another "+p.ID, body, err)
		body, err = w.Reader.Timeline(ctx, fixture.Owner, p.Reference)
		keep("timeline "+p.ID, body, err)
		body, err = w.Operators.Show(ctx, p.ID)
		keep("operators' "+p.ID, body, err)
		out["whole "+p.ID] = w.Shown(w.Find(p.Reference))
	}
	for name, f := range w.filters() {
		for _, operated := range []bool{false, true} {
			f.Operated, f.Limit = operated, 3
			for page := 0; ; page++ {
				found, err := w.Store.List(ctx, f)
				if err != nil {
					w.T.Fatalf("list %s: %v", name, err)
				}
				for _, v := range found {
					out[fmt.Sprint("list ", name, operated, page)] += w.Shown(v)
				}
				if len(found) < f.Limit {
					break
				}
				f.Before = found[len(found)-1].Payment.ID
			}
			f.Before = ""
		}
	}
	for _, csv := range []bool{false, true} {
		report, err := w.Reader.SettlementReport(ctx, fixture.Owner, w.over[0].CreatedAt.Add(-time.Hour), w.over[0].CreatedAt.Add(time.Hour), csv)
		if err != nil {
			w.T.Fatal(err)
		}
		var b bytes.Buffer
		err = report(ctx, &b)
		keep(fmt.Sprint("settlements ", csv), b.Bytes(), err)
	}
	out["sums"] = fixture.Ask[string](w.Payments, `SELECT string_agg(s::text, ' ' ORDER BY s) FROM (SELECT ROW(regexp_replace(account, 'pay_[^:]*', ''), asset,
		sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) + 0)::text AS s FROM ledger_entries GROUP BY regexp_replace(account, 'pay_[^:]*', ''), asset) x`)
	out["merchants"] = fixture.Ask[string](w.Payments, `SELECT coalesce(string_agg(code || ' ' || balance, ',' ORDER BY code), '') FROM ledger_accounts WHERE code ~ 'merchant'`)
	if _, _, err := w.Store.MakeOwed(ctx); err != nil {
		w.T.Fatal(err)
	}
	out["owed"] = fixture.Ask[string](w.Payments, `SELECT coalesce(string_agg(o::text, ',' ORDER BY id), '') FROM owed o`)
	out["statistics"] = fixture.Ask[string](w.Payments, `SELECT string_agg(s::text, ',' ORDER BY s::text) FROM (
		SELECT merchant_id, type, status, sum(payments), sum(fiat), sum(payout) FROM (SELECT * FROM statistics UNION ALL SELECT * FROM statistics_news) n GROUP BY 1, 2, 3 HAVING sum(payments) <> 0) s`)
	out["payouts"] = fixture.Ask[string](w.Payments, strings.Replace("SELECT string_agg(x::text, ',') FROM (Q) x", "Q", store.Statements()["payoutStates"], 1))
	return out
}

func (w *past) filters() map[string]views.Filter {
	return map[string]views.Filter{
		"all":            {Owner: fixture.Owner},
		"settled":        {Owner: fixture.Owner, Statuses: []payment.Status{payment.StatusSettled}},
		"ended":          {Owner: fixture.Owner, Statuses: []payment.Status{payment.StatusCancelled, payment.StatusRefunded}},
		"gifts":          {Owner: fixture.Owner, Type: payment.Gift},
		"an address":     {Owner: fixture.Owner, Address: w.over[0].Address},
		"a transaction":  {Owner: fixture.Owner, TxHash: "t" + w.over[0].ID},
		"a payer":        {Owner: fixture.Owner, Payer: "chat-1"},
		"an order":       {Owner: fixture.Owner, Merchant: "order-1"},
		"another owner":  {Owner: tenant.Owner{MerchantID: "m2", Mode: tenant.Test}},
		"another's mode": {Owner: tenant.Owner{MerchantID: "m1", Mode: tenant.Live}},
	}
}

func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, want := range before {
		if got := after[name]; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	if len(before) != len(after) {
		t.Errorf("%d answers, want %d", len(after), len(before))
	}
}

// hot is every row of the tables that payments leave.
func (w *past) hot() string {
	w.T.Helper()
	var b strings.Builder
	for _, table := range []string{"ONLY payments", "history_rows", "deposits", "payouts", "screenings", "ledger_accounts", "ledger_journals", "ledger_lines"} {
		b.WriteString(fixture.Ask[string](w.Payments, `SELECT coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '') FROM `+table+` t`))
	}
	return b.String()
}

// Payments that have ended leave the hot tables, and everybody reads the same as before, byte by byte. The books stay
// whole. Attached again, every row is as it was.
func TestArchive_readsTheSame(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.whole()
	before, rows := w.answers(), w.hot()
	w.archive()
	if n := w.archived(); n != len(w.over) {
		t.Fatalf("%d payments archived, want %d: %q", n, len(w.over), w.lines)
	}
	for _, table := range []string{"ONLY payments", "deposits", "payouts", "screenings", "ledger_journals", "ledger_accounts"} {
		column := "payment_id"
		if table == "ONLY payments" {
			column = "id"
		}
		if n := fixture.Ask[int](w.Payments, `SELECT count(*) FROM `+table+` WHERE `+column+` IN (SELECT id FROM archived_payments)`); n != 0 {
			t.Errorf("%d rows of archived payments in %s, want none", n, table)
		}
	}
	same(t, before, w.answers())
	w.whole()
	if err := w.archiver().Verify(t.Context()); err != nil {
		t.Errorf("Verify() = %v, want no error", err)
	}
	for _, a := range []string{".1", ".2"} {
		if err := w.archiver().AttachAll(t.Context(), w.month().Format("2006-01")+a); err != nil {
			t.Fatalf("AttachAll() = %v, want no error", err)
		}
	}
	if now := w.hot(); now != rows {
		t.Errorf("attached rows are\n%s\nwant\n%s", now, rows)
	}
	same(t, before, w.answers())
	w.whole()
	if n := fixture.Ask[int](w.Payments, `SELECT count(*) FROM ledger_carried WHERE debit <> 0 OR credit <> 0`); n != 0 {
		t.Errorf("%d balances still carried, want none", n)
	}
	w.archive()
	same(t, before, w.answers())
	w.whole()
}

// The files of an archive hold the rows, but no person: the database can make them again from the files.
func TestArchive_files(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	text := ""
	for _, number := range []string{".1", ".2"} {
		folder := filepath.Join(w.folder, w.month().Format("2006-01")+number)
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			raw, err := os.ReadFile(filepath.Join(folder, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			text += string(raw)
		}
	}
	for _, person := range []string{"chat-1", "0123456789", "milk"} {
		if strings.Contains(text, person) {
			t.Errorf("the files have %q", person)
		}
	}
	conn, err := w.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, table := range []string{"deposits", "ledger_journals", "ledger_lines", "ledger_accounts", "screenings"} {
		if _, err := conn.Exec(t.Context(), `CREATE TEMP TABLE again AS SELECT * FROM `+table+` WHERE false`); err != nil {
			t.Fatal(err)
		}
		for _, number := range []string{".1", ".2"} {
			f, err := os.Open(filepath.Join(w.folder, w.month().Format("2006-01")+number, table+".copy"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Conn().PgConn().CopyFrom(t.Context(), f, `COPY again FROM STDIN`)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		var missing, rows int
		if err := conn.QueryRow(t.Context(), fmt.Sprintf(`WITH kept AS (SELECT t.* FROM archived_payments a, jsonb_populate_recordset(NULL::%[1]s, a.kept -> '%[1]s') t)
			SELECT (SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT * FROM again) x) + (SELECT count(*) FROM (SELECT * FROM again EXCEPT SELECT * FROM kept) x),
			(SELECT count(*) FROM kept)`, table)).Scan(&missing, &rows); err != nil {
			t.Fatal(err)
		}
		if missing != 0 || rows == 0 {
			t.Errorf("%d of %d rows of %s differ from the files", missing, rows, table)
		}
		if _, err := conn.Exec(t.Context(), `DROP TABLE again`); err != nil {
			t.Fatal(err)
		}
	}
}

// Payments that run, owe, or changed lately stay, and so do those whose journals are of days that are not closed.
func TestArchive_leaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		want int // archived
	}{
		"a payout that is followed":    {`UPDATE payouts SET next_at = now()`, 3},
		"a payout that was frozen":     {`UPDATE payouts SET frozen = true`, 3},
		"a refund under way":           {`INSERT INTO refunds (id, payment_id, mode, network, asset, contract, amount, address, parts, reason, requested_by, state, approval, version, created_at) SELECT 'ref_1', id, mode, 'tron', 'USDT', '', 1, 'T', '[]', '', '', 'sent', 'operator', 1, now() FROM payments WHERE status = 'cancelled' AND transfers = 0`, 4},
		"a hit":                        {`INSERT INTO screenings (mode, payment_id, stage, verdict, reason, lists, addresses) SELECT mode, id, 'payout', 'hit', '', '', '{}' FROM payments WHERE status = 'cancelled'`, 4},
		"an open request of operators": {`INSERT INTO approvals (payment_id, version, action, digest, operator, reason) SELECT id, 1, 'x', '', 'ada', '' FROM payments WHERE status = 'settled'`, 2},
		"an expired one, and one that is not": {`INSERT INTO approvals (payment_id, version, action, digest, operator, reason, at) SELECT id, 1, 'x', '', 'ada', '',
			now() - CASE WHEN merchant_reference = '' THEN interval '24 hours 1 second' ELSE interval '23 hours 59 minutes' END FROM payments WHERE status = 'settled'`, 4},
		"a day that is not closed": {`INSERT INTO ledger_closes (day, last_journal) SELECT '2020-01-01', 0`, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := live(t)
			w.SQL(c.sql)
			if err := w.Store.Retain(t.Context()); err != nil {
				t.Fatalf("Retain() = %v, want no error", err)
			}
			w.archive()
			if n := w.archived(); n != c.want {
				t.Errorf("%d payments archived, want %d: %q", n, c.want, w.lines)
			}
			w.lines = nil
			if err := w.archiver().Plan(t.Context(), w.month()); err != nil {
				t.Fatalf("Plan() = %v, want no error", err)
			}
			if want := ": 0 payments can be archived"; !strings.Contains(w.lines[0], want) {
				t.Errorf("Plan() tells %q, want %q", w.lines, want)
			}
		})
	}
	w := live(t)
	w.now = time.Now()
	if err := w.archiver().Run(t.Context(), w.month()); err == nil {
		t.Error("the running month is archived")
	}
	w.now = time.Now().AddDate(0, 0, 200)
	a := w.archiver()
	if a.After = archive.Least - 1; a.Run(t.Context(), w.month()) == nil {
		t.Error("payments are archived whose events may be on their way")
	}
	if w.SQL(`INSERT INTO outbox (name, message_id, headers, body, created_at) VALUES ('x', 'x', '', '', now() - interval '2 days')`); w.archiver().Run(t.Context(), w.month()) == nil {
		t.Error("payments are archived while a message waits")
	}
	if w.archived() != 0 {
		t.Errorf("%d payments archived, want none", w.archived())
	}
}

var errKilled = errors.New("killed")

// A run that is killed at any step loses nothing. The next run ends what it has begun.
func TestArchive_killed(t *testing.T) {
	t.Parallel()
	w := live(t)
	before := w.answers()
	for i, step := range []string{"copied payments", "copied deposits", "copied ledger_lines", "written", "named", "kept", "read", "confirmed", "moved", "ended"} {
		for _, nth := range killsAt(i) {
			a, n := w.archiver(), 0
			a.Step = func(name string) error {
				if name == step {
					if n++; n == nth {
						return errKilled
					}
				}
				return nil
			}
			if err := a.Run(t.Context(), w.month()); !errors.Is(err, errKilled) {
				t.Fatalf("Run() killed at %s = %v", step, err)
			}
			same(t, before, w.answers())
			w.whole()
			w.archive()
			same(t, before, w.answers())
			w.whole()
			if n := w.archived(); t.Failed() || n != len(w.over) {
				t.Fatalf("%d payments archived after a kill at %s, want %d", n, step, len(w.over))
			}
			all, err := w.Store.Archives(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range all {
				if err := w.archiver().AttachAll(t.Context(), one.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.archive()
	if n := w.archived(); n != len(w.over) {
		t.Errorf("%d payments archived, want %d", n, len(w.over))
	}
	if err := w.archiver().Verify(t.Context()); err != nil {
		t.Errorf("Verify() = %v, want no error", err)
	}
}

// Nothing is moved whose files are not whole.
func TestArchive_broken(t *testing.T) {
	t.Parallel()
	w := live(t)
	a := w.archiver()
	a.Step = func(name string) error {
		if name == "kept" {
			return errKilled
		}
		return nil
	}
	if err := a.Run(t.Context(), w.month()); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	folder := filepath.Join(w.folder, w.month().Format("2006-01")+".1")
	for _, name := range []string{"deposits.copy", "manifest.json"} {
		path := filepath.Join(folder, name)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		broken := bytes.Replace(raw, []byte("tron"), []byte("tr0n"), 1)
		for _, now := range [][]byte{broken, raw[:len(raw)-7], nil} {
			if err := os.WriteFile(path, now, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := w.archiver().Run(t.Context(), w.month()); err == nil || w.archived() != 0 {
				t.Fatalf("Run() with %d bytes of %s = %v, %d archived; want an error and none", len(now), name, err, w.archived())
			}
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Pool.Exec(t.Context(), `SELECT archive_payment(m.payment_id, m.archive, now() + interval '1 year', 1000000) FROM archive_members m`); err == nil || w.archived() != 0 {
		t.Errorf("payments moved before the files were read: %v", err)
	}
	for _, sql := range []string{
		`DELETE FROM ledger_journals`, `DELETE FROM ledger_lines`, `DELETE FROM screenings`, `UPDATE ledger_journals SET event = 'x'`, `TRUNCATE archived_payments`,
	} {
		if _, err := w.Pool.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s succeeded", sql)
		}
	}
	w.archive()
	for _, sql := range []string{`DELETE FROM archived_payments`, `UPDATE archived_payments SET fiat_amount = 1`, `UPDATE payments SET version = version + 1`, `UPDATE archived_payments SET kept = '{}'`} {
		if _, err := w.Pool.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s succeeded", sql)
		}
	}
}

// A payment that changed after its rows were written stays, until the next run writes them again.
func TestArchive_changedMeanwhile(t *testing.T) {
	t.Parallel()
	w := live(t)
	a := w.archiver()
	a.Step = func(name string) error {
		if name == "confirmed" {
			w.SQL(`UPDATE deposits SET depth = depth + 1 WHERE payment_id = $1`, w.over[0].ID)
			a.Step = nil
		}
		return nil
	}
	if err := a.Run(t.Context(), w.month()); err != nil {
		t.Fatal(err)
	}
	if n := w.archived(); n != len(w.over)-1 || !slices.ContainsFunc(w.lines, func(l string) bool { return strings.Contains(l, "1 changed") }) {
		t.Errorf("%d payments archived, %q; want all of them but one", n, w.lines)
	}
	w.archive()
	if n := w.archived(); n != len(w.over) {
		t.Errorf("%d payments archived by the next run, want %d", n, len(w.over))
	}
	w.whole()
}

func (w *past) hotRow(p payment.Payment) bool {
	return fixture.Ask[bool](w.Payments, `SELECT EXISTS (SELECT FROM ONLY payments WHERE id = $1) AND NOT EXISTS (SELECT FROM archived_payments WHERE id = $1)`, p.ID)
}

// Late money attaches its payment, and what comes of it is what comes of a payment that was never archived.
func TestArchive_lateMoney(t *testing.T) {
	t.Parallel()
	end := func(archived bool) (all []string) {
		w := live(t)
		if archived {
			w.archive()
		}
		for i, p := range w.over {
			w.See(p, fixture.Coin{Key: fmt.Sprint("late", i), Amount: "5", Version: 1, Depth: fixture.Enough})
			if !w.hotRow(p) {
				t.Errorf("payment %d is not attached by late money", i)
			}
			all = append(all, fixture.Ask[string](w.Payments, `SELECT concat_ws(' ', status, exception, hold, received, transfers,
				(SELECT string_agg(concat_ws(':', j.event, e.asset, e.side, e.amount), ',' ORDER BY j.id, e.line) FROM ledger_journals j JOIN ledger_entries e ON e.journal_id = j.id WHERE j.payment_id = p.id))
				FROM payments p WHERE id = $1`, p.ID))
		}
		w.whole()
		return all
	}
	never, late := end(false), end(true)
	for i := range never {
		if never[i] != late[i] {
			t.Errorf("late money of an archived payment makes\n%s\nwant\n%s", late[i], never[i])
		}
	}
}

// A returned payout of an archived payment is noticed by the webhook of its rail.
func TestArchive_returnedPayout(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	p := w.over[0]
	o := w.Find(p.Reference).Payout
	w.Rig(fixture.Rigged{OnQuery: func(ref string) (rail.Status, error) {
		return rail.Status{Ref: ref, State: rail.Returned, Amount: o.Amount, Currency: o.Currency, RailID: o.RailID}, nil
	}})
	w.Worker = w.NewWorker(false)
	if err := w.Store.Hint(t.Context(), w.Bank.Name(), o.Reference); err != nil {
		t.Fatal(err)
	}
	if !w.hotRow(p) {
		t.Fatal("the payment is not attached")
	}
	w.WorkUntil(p, "needs_review payout_returned")
	w.whole()
	if err := w.Store.Hint(t.Context(), w.Bank.Name(), "nobody's"); err != nil {
		t.Errorf("a hint about no payout: %v", err)
	}
	if got, err := w.Store.PayoutPayment(t.Context(), w.Find(w.over[4].Reference).Payout.ID); err != nil || got != w.over[4].ID {
		t.Errorf("PayoutPayment() of an archived one = %s, %v; want %s", got, err, w.over[4].ID)
	}
}

// A refund of late money, and the refusal of one where nothing is owed, are those of any payment.
func TestArchive_refund(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	ask := func(p payment.Payment) error {
		_, err := w.Refunds.Request(t.Context(), fixture.Owner, p.Reference, refunds.Order{Reason: "late", Sender: "key 7"}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	p := w.over[2] // cancelled
	if err := ask(p); err == nil {
		t.Error("a refund of nothing is requested")
	}
	w.See(p, fixture.Coin{Key: "late", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	if _, err := w.Merchants.RefundAddress(t.Context(), fixture.Owner, p.Reference, payers, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if err := ask(p); err != nil {
		t.Errorf("a refund of late money: %v", err)
	}
	w.whole()
}

// A request that the state refuses leaves its payment in the archive, also where the refusal is kept under a key.
func TestArchive_refused(t *testing.T) {
	t.Parallel()
	w := live(t)
	attached := 0
	w.Store.Attached = func() { attached++ }
	w.archive()
	all, hot := w.archived(), w.hot()
	gift, settled := w.over[4], w.over[0]
	for name, ask := range map[string]func(idempotency.Key) (idempotency.Answer, error){
		"a claim":      func(k idempotency.Key) (idempotency.Answer, error) { return w.Claim(gift.Reference, "0123456789", k) },
		"a fulfilment": func(k idempotency.Key) (idempotency.Answer, error) { return w.Fulfil(settled.Reference, k) },
		"a cancellation": func(k idempotency.Key) (idempotency.Answer, error) {
			return w.Merchants.Cancel(t.Context(), fixture.Owner, settled.Reference, k)
		},
		"a proposal of an address": func(k idempotency.Key) (idempotency.Answer, error) {
			return w.ProposeRefundAddress(t.Context(), settled.Reference, payers, &fault.Problems{}, k)
		},
	} {
		if _, err := ask(idempotency.Key{}); err == nil {
			t.Errorf("%s is taken, want a refusal", name)
		}
		for range 2 {
			if got, err := ask(idempotency.Key{Scope: "m1", Key: name}); err != nil || got.Status < http.StatusBadRequest {
				t.Errorf("%s under a key = %d, %v, want the kept refusal", name, got.Status, err)
			}
		}
	}
	if n := fixture.Ask[int](w.Payments, `SELECT count(DISTINCT id) FROM idempotency`); n != 4 {
		t.Errorf("%d refusals are kept, want that of each key", n)
	}
	if attached != 0 || w.archived() != all || w.hot() != hot {
		t.Errorf("refusals attach %d payments and leave %d of %d in the archive, want none and all", attached, w.archived(), all)
	}
	w.whole()
}

// Deposits that come while their payments are moved are booked, each once.
func TestArchive_whileMoneyComes(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.Fill(12)
	for range 12 {
		w.over = append(w.over, w.cancelled())
	}
	var wait sync.WaitGroup
	for i, p := range w.over {
		wait.Go(func() {
			for n := range 3 {
				m := w.Message(p, fixture.Coin{Key: fmt.Sprint("late", i, "-", n), Amount: "5", Version: 1, Depth: fixture.Enough})
				if err := w.Deposits.DepositChanged(t.Context(), fmt.Sprint("m", i, n), m); err != nil {
					t.Errorf("DepositChanged() = %v, want no error", err)
				}
			}
		})
	}
	w.archive()
	wait.Wait()
	for i, p := range w.over {
		if n := fixture.Ask[int](w.Payments, `SELECT count(*) FROM deposits WHERE address = $1 AND payment_id = $2 AND key LIKE '%late%' AND booked <> ''`, p.Address, p.ID); n != 3 {
			t.Errorf("%d late deposits of payment %d are booked, want 3", n, i)
		}
	}
	w.whole()
}

// Deposits that come at once to one archived payment attach it once.
func TestArchive_attachedAtOnce(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	p := w.over[2]
	const many = 8
	var wait sync.WaitGroup
	for n := range many {
		wait.Go(func() {
			m := w.Message(p, fixture.Coin{Key: fmt.Sprint("late", n), Amount: "5", Version: 1, Depth: fixture.Enough})
			if err := w.Deposits.DepositChanged(t.Context(), fmt.Sprint("m", n), m); err != nil {
				t.Errorf("DepositChanged() = %v, want no error", err)
			}
		})
	}
	wait.Wait()
	if n := fixture.Ask[int](w.Payments, `SELECT count(*) FROM deposits WHERE payment_id = $1 AND booked <> ''`, p.ID); n != many || !w.hotRow(p) {
		t.Errorf("%d deposits are booked, want %d on the attached payment", n, many)
	}
	if n := fixture.Ask[int](w.Payments, `SELECT count(*) FROM deposits WHERE payment_id IS NULL`); n != 0 {
		t.Errorf("%d deposits are of no payment, want none", n)
	}
	w.whole()
}

// References and addresses of archived payments are not given again.
func TestArchive_namesStayTaken(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	p := w.over[0]
	if ours, err := w.Store.Ours(t.Context(), money.Tron, p.Address); err != nil || !ours {
		t.Errorf("Ours(the address of an archived payment) = %v, %v; want true", ours, err)
	}
	w.SQL(`DELETE FROM address_stock`)
	w.SQL(`INSERT INTO address_stock (mode, family, address, wallet_id) VALUES ('test', 'tron', $1, 'w')`, p.Address)
	if _, err := w.Create(fixture.Command(), idempotency.Key{}); err == nil {
		if n := fixture.Ask[int](w.Payments, `SELECT count(*) FROM payments WHERE address = $1`, p.Address); n != 1 {
			t.Errorf("%d payments have the address of an archived one", n)
		}
	}
	if left, err := w.Store.UnmatchedReferences(t.Context(), []string{w.Find(p.Reference).Payout.Reference, "x"}); err != nil || !slices.Equal(left, []string{"x"}) {
		t.Errorf("UnmatchedReferences() = %v, %v; want x", left, err)
	}
}

// A person is erased in archived payments too.
func TestArchive_erasure(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	keep := erasure.Retention{Laundering: 0, Copies: 0}
	done, err := w.Store.AskErasure(t.Context(), "ada", store.Payer{MerchantID: "m1", Mode: tenant.Test, ChatID: "chat-1"}, keep)
	if err != nil {
		t.Fatal(err)
	}
	if done.Erased < int64(len(w.over)) {
		t.Errorf("AskErasure() = %+v, want %d erased", done, len(w.over))
	}
	w.whole()
}

// An export of a month whose journals are archived would not be whole, and is refused.
func TestArchive_export(t *testing.T) {
	t.Parallel()
	w := live(t)
	if _, err := w.Books.Journals(t.Context(), tenant.Test, w.month()); err != nil {
		t.Fatalf("Journals() = %v, want no error", err)
	}
	w.archive()
	if _, err := w.Books.Journals(t.Context(), tenant.Test, w.month()); !errors.Is(err, books.ErrMonthArchived) {
		t.Errorf("Journals() of an archived month = %v, want %v", err, books.ErrMonthArchived)
	}
	for _, number := range []string{".1", ".2"} {
		if err := w.archiver().AttachAll(t.Context(), w.month().Format("2006-01")+number); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Books.Journals(t.Context(), tenant.Test, w.month()); err != nil {
		t.Errorf("Journals() of an attached month = %v, want no error", err)
	}
}

// A decision of the store about an archived payment sees it whole.
func TestArchive_update(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	var seen change.View
	err := w.Store.Update(context.Background(), w.over[0].ID, func(v change.View, _ time.Time) (change.Result, error) {
		seen = v
		return change.Result{}, nil
	})
	if err != nil || len(seen.Rows) != 1 || seen.Payout == nil {
		t.Errorf("Update() sees %d deposits and the payout %v, %v; want one each", len(seen.Rows), seen.Payout, err)
	}
}

// Every index that payments has is one of archived_payments too.
func TestArchive_indexes(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	if missing := fixture.Ask[string](w, `WITH i AS (SELECT indrelid::regclass::text AS t, indisunique, pg_get_expr(indpred, indrelid) AS p,
			regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', '') AS d FROM pg_index WHERE indrelid IN ('payments'::regclass, 'archived_payments'::regclass))
		SELECT coalesce(string_agg(d, '; '), '') FROM (SELECT d, indisunique FROM i WHERE t = 'payments' EXCEPT SELECT d, indisunique FROM i WHERE t = 'archived_payments') x`); missing != "" {
		t.Errorf("archived_payments has no index %s", missing)
	}
}
