//go:build integration

package store_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/sim"
)

// failed is a payment whose payout has failed.
func (w *fixture) failed() payment.Payment {
	w.t.Helper()
	p := w.confirmedWith(sim.AccountFails)
	w.work(func() bool { w.hurry(); return w.status(p) == "needs_review payout_failed" })
	return p
}

func (w *fixture) resolve(p payment.Payment, o operators.Order) (string, error) {
	w.t.Helper()
	a, err := w.app.Resolve(w.t.Context(), p.Reference, o, noProblems(), idempotency.Key{})
	return string(a.Body), err
}

func TestSecondOperator(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.with(func(d *app.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(40_000, 0)}
	})
	p := w.failed()
	retry := func(operator, account string) operators.Order {
		return operators.Order{Operator: operator, Action: operators.ActionRetry, Receiver: &payment.ReceiverInput{BankCode: "058", AccountNumber: account}, Reason: "closed"}
	}
	body, err := w.resolve(p, retry("ada", "1111111111"))
	if err != nil || !strings.Contains(body, `"approval":{"status":"waiting_for_second_operator","action":"retry_payout","requestedBy":"ada","expiresAt":"`) {
		t.Fatalf("the first: %s, %v", body, err)
	}
	w.want(p, "needs_review payout_failed")
	if _, err := w.resolve(p, retry("ada", "1111111111")); fault.As(err).Code != "second_operator_required" {
		t.Errorf("the same operator again: %v", err)
	}
	if body, err = w.resolve(p, retry("bob", "2222222222")); err != nil || !strings.Contains(body, `"requestedBy":"bob"`) {
		t.Errorf("the second asks for something else: %s, %v", body, err)
	}
	w.want(p, "needs_review payout_failed")
	if body, err = w.resolve(p, retry("ada", "2222222222")); err != nil || strings.Contains(body, "approval") {
		t.Errorf("another confirms it: %s, %v", body, err)
	}
	w.want(p, "settling")
	if got := ask[string](w, `SELECT operator || ' ' || reason FROM decisions`); got != "ada closed (asked for by bob: closed)" {
		t.Errorf("decided by %s", got)
	}
	if n := ask[int](w, `SELECT count(*) FROM audit WHERE action = 'resolve.requested'`); n != 2 {
		t.Errorf("%d requests in the audit", n)
	}
	w.pay(p)
}

// watched is the fixture in which amounts above some naira need two operators.
func (w *fixture) watched(above int64) {
	w.with(func(d *app.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(above, 0)}
	})
}

// A request is valid for the version of the payment that its operator saw.
func TestSecondOperator_aChangedPaymentIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watched(0)
	p := w.failed()
	if _, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry}); err != nil {
		t.Fatal(err)
	}
	w.see(p, coin{key: "t2", amount: "5", version: 1, depth: enough})
	if _, err := w.resolve(p, operators.Order{Operator: "bob", Action: operators.ActionRetry}); fault.As(err).Code != "approval_outdated" {
		t.Errorf("the payment has changed: %v", err)
	}
	w.want(p, "needs_review payout_failed")
	if body, err := w.resolve(p, operators.Order{Operator: "bob", Action: operators.ActionRetry}); err != nil || !strings.Contains(body, `"requestedBy":"bob"`) {
		t.Errorf("asked anew: %s, %v", body, err)
	}
	w.want(p, "needs_review payout_failed")
	w.app.SecondAbove[money.NGN] = decimal.New(1, 9)
	if body, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry}); err != nil || strings.Contains(body, "approval") {
		t.Errorf("below the amount: %s, %v", body, err)
	}
}

// An accept of the quoted amount needs two operators like an accept of a larger one.
func TestSecondOperator_acceptsTheQuote(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(4)
	w.watched(40_000)
	p := w.made(command())
	if _, err := w.app.Cancel(t.Context(), owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "needs_review paid_late")
	body, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept})
	if err != nil || !strings.Contains(body, `"action":"accept","requestedBy":"ada"`) {
		t.Fatalf("one operator accepted it: %s, %v", body, err)
	}
	w.want(p, "needs_review paid_late")
	for _, same := range []string{"ada", "Ada"} {
		if _, err := w.resolve(p, operators.Order{Operator: same, Action: operators.ActionAccept}); fault.As(err).Code != "second_operator_required" {
			t.Errorf("%s again: %v", same, err)
		}
	}
	if body, err := w.resolve(p, operators.Order{Operator: "bob", Action: operators.ActionAccept}); err != nil || strings.Contains(body, "approval") {
		t.Fatalf("two operators: %s, %v", body, err)
	}
	w.settles(p)
	if n := ask[int](w, `SELECT count(*) FROM approvals`); n != 0 {
		t.Error("what was confirmed may be confirmed again")
	}
	w.balanced()
}

func TestSecondOperator_aRequestExpires(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watched(0)
	p := w.failed()
	if _, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry}); err != nil {
		t.Fatal(err)
	}
	w.sql(`UPDATE approvals SET at = now() - interval '24 hours 1 second'`)
	if body, err := w.resolve(p, operators.Order{Operator: "bob", Action: operators.ActionRetry}); err != nil || !strings.Contains(body, `"requestedBy":"bob"`) {
		t.Fatalf("confirmed a day later: %s, %v", body, err)
	}
	w.want(p, "needs_review payout_failed")
	w.sql(`UPDATE approvals SET at = now() - interval '23 hours 59 minutes'`)
	if body, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry}); err != nil || strings.Contains(body, "approval") {
		t.Fatalf("confirmed in time: %s, %v", body, err)
	}
}

// pages walks a list to its end.
func pages(t *testing.T, name string, read func(before string) ([]byte, error)) (keys []string) {
	t.Helper()
	before := ""
	for range 20 {
		body, err := read(before)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		var rows []map[string]any
		var p struct {
			NextCursor *string
			HasMore    bool
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got[name], &rows); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if err := json.Unmarshal(got["pagination"], &p); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			for _, field := range []string{"key", "id"} {
				if v, ok := r[field].(string); ok {
					keys = append(keys, v)
				}
			}
		}
		if p.HasMore != (p.NextCursor != nil) {
			t.Fatalf("%s", body)
		}
		if !p.HasMore {
			return keys
		}
		var ok bool
		if before, ok = operators.ReadOperatorCursor(*p.NextCursor); !ok {
			t.Fatalf("the cursor %s", *p.NextCursor)
		}
	}
	t.Fatal("the list does not end")
	return nil
}

func TestOperatorLists(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(16)
	for _, key := range []string{"s1", "s2", "s3"} {
		stray := payment.Payment{Address: "TNobody" + key}
		w.see(stray, coin{key: key, amount: "7", version: 1, depth: enough})
	}
	got := pages(t, "deposits", func(before string) ([]byte, error) { return w.app.Strays(t.Context(), before, 2) })
	if !slices.Equal(got, []string{"tron:s3:0", "tron:s2:0", "tron:s1:0"}) {
		t.Errorf("strays %v", got)
	}
	var held []string
	for _, key := range []string{"h1", "h2", "h3"} {
		c := command()
		c.Type, c.ChargeFrom, c.Payer = "merchant", "crypto", nil
		p := w.made(c)
		w.see(p, coin{key: key, amount: "1", version: 1, depth: enough})
		w.sql(`UPDATE payments SET status = 'needs_review', exception = 'underpaid', hold = 'underpaid' WHERE id = $1`, p.ID)
		held = append(held, p.ID)
	}
	slices.Reverse(held)
	if got := pages(t, "payments", func(before string) ([]byte, error) { return w.app.Holds(t.Context(), before, 2) }); !slices.Equal(got, held) {
		t.Errorf("holds %v, want %v", got, held)
	}
	w.failed()
	if got := pages(t, "payouts", func(before string) ([]byte, error) { return w.app.Doubts(t.Context(), before, 2) }); len(got) != 0 {
		t.Errorf("unknown payouts %v", got)
	}
	w.sql(`UPDATE payouts SET state = 'unknown'`)
	if got := pages(t, "payouts", func(before string) ([]byte, error) { return w.app.Doubts(t.Context(), before, 2) }); len(got) != 1 {
		t.Errorf("unknown payouts %v", got)
	}
}

func (w *fixture) reconcile() (open map[string]int) {
	w.t.Helper()
	w.sql(`DELETE FROM reconciliations`)
	if err := w.app.Reconcile(w.t.Context(), func(found map[string]int, at time.Time) {
		if open = found; time.Since(at) > time.Minute {
			w.t.Errorf("compared at %s", at)
		}
	}); err != nil {
		w.t.Fatal(err)
	}
	return open
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	paid := w.confirmedWith("0123456789")
	w.pay(paid)
	w.fill(4)
	waits := w.made(command())
	w.see(waits, coin{key: "t9", amount: "31.25", version: 1, depth: enough}) // its payout has not left
	w.see(payment.Payment{Address: "TNobody"}, coin{key: "s1", amount: "7", version: 1, depth: enough})
	for kind, n := range w.reconcile() {
		if n != 0 {
			t.Errorf("%d differences of kind %s in sound books: %s", n, kind, ask[string](w, `SELECT json_agg(d)::text FROM differences d`))
		}
	}
	// Each kind of damage is found, keeps its age while it lasts, and is resolved when it is repaired.
	damage := []struct{ kind, harm, mend string }{
		{books.DiffBalance, `UPDATE ledger_accounts SET balance = balance + 1 WHERE payment_id = '` + paid.ID + `'`, `UPDATE ledger_accounts SET balance = balance - 1 WHERE payment_id = '` + paid.ID + `'`},
		{books.DiffDeposit, `UPDATE deposits SET bookings = bookings + 1 WHERE tx_hash = 't9'`, `UPDATE deposits SET bookings = bookings - 1 WHERE tx_hash = 't9'`},
		{books.DiffDeposits, `UPDATE deposits SET booked_amount = booked_amount + 2 WHERE tx_hash = 't9'`, `UPDATE deposits SET booked_amount = booked_amount - 2 WHERE tx_hash = 't9'`},
		{books.DiffPayout, `UPDATE payouts SET state = 'failed' WHERE payment_id = '` + paid.ID + `'`, `UPDATE payouts SET state = 'succeeded' WHERE payment_id = '` + paid.ID + `'`},
		{books.DiffClearing, `UPDATE payouts SET state = 'withdrawn' WHERE payment_id = '` + waits.ID + `'`, `UPDATE payouts SET state = 'created' WHERE payment_id = '` + waits.ID + `'`},
		{books.DiffStatement, `UPDATE sim_transfers SET amount = amount + 1`, `UPDATE sim_transfers SET amount = amount - 1`},
	}
	for _, d := range damage {
		w.sql(d.harm)
		if open := w.reconcile(); open[d.kind] == 0 {
			t.Errorf("%s is not found: %v", d.kind, open)
		}
		first := ask[time.Time](w, `SELECT min(first_at) FROM differences WHERE kind = $1 AND resolved_at IS NULL`, d.kind)
		w.reconcile()
		if again := ask[time.Time](w, `SELECT min(first_at) FROM differences WHERE kind = $1 AND resolved_at IS NULL AND owner <> ''`, d.kind); !again.Equal(first) {
			t.Errorf("%s lost its age", d.kind)
		}
		if rows := pages(t, "differences", func(before string) ([]byte, error) { return w.app.Differences(t.Context(), false, before, 1) }); len(rows) == 0 {
			t.Errorf("%s is not on the operators' list", d.kind)
		}
		w.sql(d.mend)
		if open := w.reconcile(); open[d.kind] != 0 {
			t.Errorf("%s is not over: %v", d.kind, open)
		}
	}
	// the trigger that keeps every journal balanced does not stop an owner of the schema
	w.sql(`ALTER TABLE ledger_entries DISABLE TRIGGER USER`)
	w.sql(`UPDATE ledger_entries SET amount = amount + 1 WHERE (journal_id, line) = (SELECT journal_id, line FROM ledger_entries LIMIT 1)`)
	if open := w.reconcile(); open[books.DiffTrial] != 1 {
		t.Errorf("an unbalanced ledger: %v", open)
	}
	// A reconciliation runs once a day, and a process that starts later reads its result.
	began := ask[time.Time](w, `SELECT finished_at FROM reconciliations`)
	if err := w.app.Reconcile(t.Context(), func(found map[string]int, at time.Time) {
		if found[books.DiffTrial] != 1 || !at.Equal(began) {
			t.Errorf("told %v of %s", found, at)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if again := ask[time.Time](w, `SELECT finished_at FROM reconciliations`); !again.Equal(began) {
		t.Error("compared a second time on one day")
	}
}

// A float is compared by its changes, because the balance before the first comparison is not in the ledger.
func TestReconcile_float(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := func(balance int64) (string, string) {
		expected, found, err := w.store.Float(t.Context(), tenant.Live, "paystack", money.NGN, decimal.New(balance, 0))
		if err != nil {
			t.Fatal(err)
		}
		return expected.String(), found.String()
	}
	for _, c := range []struct {
		balance         int64
		expected, found string
	}{{1000, "1000", "1000"}, {1000, "1000", "1000"}, {900, "1000", "900"}, {900, "1000", "900"}, {1000, "1000", "1000"}} {
		if expected, found := at(c.balance); expected != c.expected || found != c.found {
			t.Errorf("balance %d: expected %s, found %s", c.balance, expected, found)
		}
	}
}
