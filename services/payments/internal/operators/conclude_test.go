//go:build integration

package operators_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lost is a payment whose order was lost in transit, at a bank that answers no query until answers is set.
type lost struct {
	*fixture.Payments
	p       payment.Payment
	id      string // of the payout
	answers func() (rail.Status, error)
	orders  int
	alerts  int32
}

func newLost(t *testing.T) *lost {
	t.Helper()
	l := &lost{Payments: fixture.New(t)}
	l.p = l.ConfirmedWith("0123456789")
	l.answers = func() (rail.Status, error) { return rail.Status{}, sim.ErrTimeout }
	l.Rig(fixture.Rigged{
		OnSend: func(rail.Order) (rail.Status, error) {
			l.orders++
			return rail.Status{}, sim.ErrTimeout
		},
		OnQuery: func(string) (rail.Status, error) { return l.answers() },
	})
	if err := l.Step(); err != nil {
		t.Fatal(err)
	}
	l.Want(l.p, "settling")
	l.id = fixture.Ask[string](l.Payments, `SELECT id FROM payouts`)
	l.alerts = l.Payments.Alerts.Load()
	return l
}

// says sets the bank's state of the order, and its amount if it differs. A success may be returned in a minute.
func (l *lost) says(state rail.State, amount ...string) {
	o := l.Find(l.p.Reference).Payout
	s := rail.Status{Ref: o.Reference, State: state, Amount: o.Amount, Currency: o.Currency, RailID: "r1"}
	if state == rail.Succeeded {
		s.Again = time.Minute
	}
	for _, other := range amount {
		s.Amount = decimal.RequireFromString(other)
	}
	l.answers = func() (rail.Status, error) { return s, nil }
}

// landed ends the lease of the last send.
func (l *lost) landed() { l.SQL(`UPDATE payouts SET lease_until = now() - interval '1 second'`) }

// looks makes the worker process the payout now.
func (l *lost) looks() {
	l.T.Helper()
	l.SQL(`UPDATE payouts SET taken_until = NULL, next_at = now() - interval '1 second' WHERE next_at IS NOT NULL`)
	if err := l.Step(); err != nil {
		l.T.Fatal(err)
	}
}

func (l *lost) conclude(operator, outcome string, edits ...func(*operators.PayoutOrder)) (string, error) {
	l.T.Helper()
	o := operators.PayoutOrder{Operator: operator, Outcome: outcome, Evidence: "ticket 77", Reason: "the rail says so", Sends: -1}
	for _, f := range edits {
		f(&o)
	}
	a, err := l.Operators.ConcludePayout(l.T.Context(), l.id, o, &fault.Problems{}, idempotency.Key{})
	return string(a.Body), err
}

func (l *lost) refused(err error, code string) {
	l.T.Helper()
	if fault.As(err).Code != code {
		l.T.Fatalf("%v, want %s", err, code)
	}
}

func TestConclude_asFailedAfterTheSendInFlight(t *testing.T) {
	t.Parallel()
	l := newLost(t)
	_, err := l.conclude("ada", "failed")
	if l.refused(err, "payout_in_flight"); fault.As(err).RetryAfter <= 0 {
		t.Errorf("no time to try again: %v", err)
	}
	l.answers = func() (rail.Status, error) { return rail.Status{}, rail.ErrNoSuchRef }
	for range 6 { // far more misses than a second send needs
		l.Hurry()
		l.looks()
	}
	if l.orders != 1 || !fixture.Ask[bool](l.Payments, `SELECT stopped FROM payouts`) {
		t.Fatalf("sent %d times though an operator had asked to conclude it", l.orders)
	}
	body, err := l.conclude("ada", "failed", func(o *operators.PayoutOrder) { o.Sends = 1 })
	if err != nil || !strings.Contains(body, `"concluded":"failed"`) || !strings.Contains(body, `"lastAnswer":"no_such"`) {
		t.Fatalf("ConcludePayout(failed) = %s, %v; want it concluded after the answer no_such", body, err)
	}
	l.Want(l.p, "needs_review payout_failed")
	l.Balanced()
	if got := fixture.Ask[string](l.Payments, `SELECT operator || ' ' || (detail->>'outcome') || ' ' || (detail->>'evidence') || ' ' || (detail->>'reason') FROM audit WHERE action = 'conclude_payout'`); got != "ada failed ticket 77 the rail says so" {
		t.Errorf("audit %q", got)
	}
	if got := fixture.Ask[string](l.Payments, `SELECT operator || ' ' || action FROM decisions`); got != "ada conclude_payout failed" {
		t.Errorf("decided by %q", got)
	}
	_, err = l.conclude("ada", "failed")
	l.refused(err, "payout_concluded")
	_, err = l.conclude("ada", "paid")
	l.refused(err, "payout_concluded")

	// The rail agrees as long as it does not know the order, and contradicts once it has paid it.
	l.looks()
	if l.Payments.Alerts.Load() != l.alerts {
		t.Error("alert of a contradiction after a miss")
	}
	l.says(rail.Succeeded)
	l.looks()
	if fixture.Ask[string](l.Payments, `SELECT state || ' ' || contradicted FROM payouts`) != "succeeded true" || l.Payments.Alerts.Load() == l.alerts {
		t.Errorf("a contradiction: %s, %d alerts", l.Dump(), l.Payments.Alerts.Load())
	}
	l.Want(l.p, "settled")
	told := l.Payments.Alerts.Load()
	l.looks()
	if l.Payments.Alerts.Load() != told {
		t.Error("alert again at the next look")
	}
	l.Balanced()
	if l.orders != 1 {
		t.Errorf("sent %d times", l.orders)
	}
}

func TestConclude_asPaid(t *testing.T) {
	t.Parallel()
	l := newLost(t)
	l.landed()
	if body, err := l.conclude("ada", "paid"); err != nil || !strings.Contains(body, `"concluded":"paid"`) {
		t.Fatalf("ConcludePayout(paid) = %s, %v; want it concluded", body, err)
	}
	l.Want(l.p, "settled")
	settled := func() int {
		return len(slices.DeleteFunc(l.Events(l.p), func(e string) bool { return !strings.HasSuffix(e, " payment.settled") }))
	}
	l.Balanced()
	l.says(rail.Succeeded)
	l.looks()
	if settled() != 1 || l.Payments.Alerts.Load() != l.alerts {
		t.Errorf("events %q", l.Events(l.p))
	}
	l.says(rail.Failed)
	l.looks()
	if !fixture.Ask[bool](l.Payments, `SELECT contradicted FROM payouts`) || l.Payments.Alerts.Load() != l.alerts+1 {
		t.Errorf("a contradiction: %s", l.Dump())
	}
	l.Want(l.p, "settled")
	if l.orders != 1 {
		t.Errorf("sent %d times", l.orders)
	}
}

// A payout whose answer differs is counted and queried. The rail cannot change it; an operator concludes it.
func TestConclude_aFrozenPayout(t *testing.T) {
	t.Parallel()
	l := newLost(t)
	l.says(rail.Succeeded, "1")
	l.looks()
	figures, err := l.Store.Unknowns(t.Context())
	if err != nil || len(figures) != 1 || figures[0].Frozen != 1 || figures[0].Payouts != 1 || figures[0].Stuck != 0 {
		t.Fatalf("Unknowns() = %+v, %v; want 1 payout that is frozen and not stuck", figures, err)
	}
	l.says(rail.Succeeded)
	l.looks()
	l.Want(l.p, "settling")
	body, err := l.Operators.Doubts(t.Context(), "", 10)
	if err != nil || !strings.Contains(string(body), `"frozen":true`) || !strings.Contains(string(body), `"lastAnswer":"success 47500 NGN`) &&
		!strings.Contains(string(body), `"lastAnswer":"success `) {
		t.Fatalf("Doubts() = %s, %v; want the frozen payout with its last answer", body, err)
	}
	l.landed()
	if _, err := l.conclude("ada", "paid"); err != nil {
		t.Fatal(err)
	}
	l.Want(l.p, "settled")
	if figures, err = l.Store.Unknowns(t.Context()); err != nil || len(figures) != 0 {
		t.Errorf("Unknowns() after the conclusion = %+v, %v; want none", figures, err)
	}
	l.Balanced()
}

// Evidence from before the last send says nothing about that send.
func TestConclude_evidenceOfAnEarlierSend(t *testing.T) {
	t.Parallel()
	l := newLost(t)
	l.answers = func() (rail.Status, error) { return rail.Status{}, rail.ErrNoSuchRef }
	for range 6 {
		l.Hurry()
		l.looks()
	}
	if l.orders < 2 {
		t.Fatalf("sent %d times", l.orders)
	}
	l.landed()
	_, err := l.conclude("ada", "failed", func(o *operators.PayoutOrder) { o.Sends = 1 })
	l.refused(err, "payout_sent_again")
	orders := l.orders
	for range 6 {
		l.Hurry()
		l.looks()
	}
	if l.Want(l.p, "settling"); l.orders != orders {
		t.Error("sent again while the evidence is taken")
	}
	if _, err := l.conclude("ada", "failed", func(o *operators.PayoutOrder) { o.Sends = orders }); err != nil {
		t.Fatal(err)
	}
	l.Want(l.p, "needs_review payout_failed")
}

func TestConclude_secondOperator(t *testing.T) {
	t.Parallel()
	l := newLost(t)
	l.With(func(d *fixture.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(40_000, 0)}
	})
	l.landed()
	body, err := l.conclude("ada", "failed")
	if err != nil || !strings.Contains(body, `"approval":{"status":"waiting_for_second_operator","action":"conclude_payout","requestedBy":"ada","expiresAt":"`) || !strings.Contains(body, `"stopped":true`) {
		t.Fatalf("the first: %s, %v", body, err)
	}
	l.answers = func() (rail.Status, error) { return rail.Status{}, rail.ErrNoSuchRef }
	for range 6 {
		l.Hurry()
		l.looks()
	}
	if l.Want(l.p, "settling"); l.orders != 1 {
		t.Fatal("sent while a second operator was waited for")
	}
	_, err = l.conclude("ada", "failed")
	l.refused(err, "second_operator_required")
	if body, err = l.conclude("bob", "failed", func(o *operators.PayoutOrder) { o.Evidence = "another ticket" }); err != nil || !strings.Contains(body, `"requestedBy":"bob"`) {
		t.Fatalf("the second has other evidence: %s, %v", body, err)
	}
	if body, err = l.conclude("ada", "failed", func(o *operators.PayoutOrder) { o.Evidence = "another ticket" }); err != nil || strings.Contains(body, "approval") {
		t.Fatalf("another confirms it: %s, %v", body, err)
	}
	l.Want(l.p, "needs_review payout_failed")
	if got := fixture.Ask[string](l.Payments, `SELECT detail->>'reason' FROM audit WHERE action = 'conclude_payout'`); got != "the rail says so (asked for by bob: the rail says so)" {
		t.Errorf("audit %q", got)
	}
	if n := fixture.Ask[int](l.Payments, `SELECT count(*) FROM audit WHERE action = 'resolve.requested' AND detail->>'action' = 'conclude_payout'`); n != 2 {
		t.Errorf("%d requests in the audit", n)
	}
	if n := fixture.Ask[int](l.Payments, `SELECT count(*) FROM approvals`); n != 0 {
		t.Error("what was confirmed may be confirmed again")
	}
	l.Balanced()
}

func TestAskTheRailNow(t *testing.T) {
	t.Parallel()
	l := newLost(t)
	askNow := func(operator string) (idempotency.Answer, error) {
		return l.Operators.AskPayout(t.Context(), l.id, operators.PayoutOrder{Operator: operator, Reason: "the customer calls"}, &fault.Problems{}, idempotency.Key{})
	}
	l.SQL(`UPDATE payouts SET next_at = now() + interval '1 hour', taken_until = NULL`)
	l.says(rail.Succeeded)
	a, err := askNow("ada")
	if err != nil || !strings.Contains(string(a.Body), `"id":"`+l.id) {
		t.Fatalf("AskPayout() = %s, %v; want the payout %s", a.Body, err, l.id)
	}
	if err := l.Step(); err != nil { // it is due at once
		t.Fatal(err)
	}
	l.Want(l.p, "settled")
	if got := fixture.Ask[string](l.Payments, `SELECT operator || ' ' || (detail->>'reason') FROM audit WHERE action = 'ask_rail'`); got != "ada the customer calls" {
		t.Errorf("audit %q", got)
	}
	if l.orders != 1 {
		t.Errorf("sent %d times", l.orders)
	}
	l.With(func(d *fixture.Deps) { d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.Zero} })
	for range 2 { // each time two operators, because no approval is kept
		if a, err = askNow("ada"); err != nil || !strings.Contains(string(a.Body), `"action":"ask_rail"`) {
			t.Fatalf("AskPayout() of the first operator = %s, %v; want a request of ask_rail", a.Body, err)
		}
		if a, err = askNow("bob"); err != nil || strings.Contains(string(a.Body), "approval") {
			t.Fatalf("AskPayout() of the second operator = %s, %v; want it done", a.Body, err)
		}
	}
}

func TestConclude_refusals(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := w.ConfirmedWith("0123456789")
	o := w.Find(p.Reference).Payout
	good := operators.PayoutOrder{Operator: "ada", Outcome: "paid", Evidence: "e", Reason: "r", Sends: -1}
	for name, edit := range map[string]func(*operators.PayoutOrder){
		"no reason": func(o *operators.PayoutOrder) { o.Reason = "" }, "no evidence": func(o *operators.PayoutOrder) { o.Evidence = "" },
		"no outcome": func(o *operators.PayoutOrder) { o.Outcome = "" }, "no such outcome": func(o *operators.PayoutOrder) { o.Outcome = "succeeded" },
	} {
		bad := good
		edit(&bad)
		if _, err := w.Operators.ConcludePayout(t.Context(), o.ID, bad, &fault.Problems{}, idempotency.Key{}); fault.As(err).Kind != fault.Invalid {
			t.Errorf("ConcludePayout() with %s = %v, want it invalid", name, err)
		}
	}
	for _, id := range []string{"pyo_00000000000000000000000000", p.Reference, ""} {
		if _, err := w.Operators.ConcludePayout(t.Context(), id, good, &fault.Problems{}, idempotency.Key{}); fault.As(err).Code != "payout_not_found" {
			t.Errorf("ConcludePayout(%q) = %v, want payout_not_found", id, err)
		}
	}
	if _, err := w.Operators.ConcludePayout(t.Context(), o.ID, good, &fault.Problems{}, idempotency.Key{}); fault.As(err).Code != "payout_not_sent" {
		t.Errorf("not sent: %v", err)
	}
	if _, err := w.Operators.AskPayout(t.Context(), o.ID, good, &fault.Problems{}, idempotency.Key{}); fault.As(err).Code != "payout_not_sent" {
		t.Errorf("not sent: %v", err)
	}
	if fixture.Ask[bool](w, `SELECT stopped FROM payouts`) {
		t.Error("a payout that has not left is stopped")
	}
	w.Pay(p)
}

// The same request under one key concludes once, and its answer is replayed.
func TestConclude_underAKey(t *testing.T) {
	t.Parallel()
	l := newLost(t)
	k := idempotency.Key{Scope: "s", Key: "k1", Hash: [32]byte{1}}
	order := operators.PayoutOrder{Operator: "ada", Outcome: "paid", Evidence: "e", Reason: "r", Sends: -1}
	if _, err := l.Operators.ConcludePayout(t.Context(), l.id, order, &fault.Problems{}, k); fault.As(err).Code != "payout_in_flight" {
		t.Fatal(err)
	}
	l.landed() // a temporary refusal is not stored under the key
	first, err := l.Operators.ConcludePayout(t.Context(), l.id, order, &fault.Problems{}, k)
	again, repeated := l.Operators.ConcludePayout(t.Context(), l.id, order, &fault.Problems{}, k)
	if errors.Join(err, repeated) != nil || string(first.Body) != string(again.Body) || !again.Replayed {
		t.Fatalf("%s, %v; again %s, %v", first.Body, err, again.Body, repeated)
	}
	if n := fixture.Ask[int](l.Payments, `SELECT count(*) FROM audit`); n != 1 {
		t.Errorf("%d notes", n)
	}
}

// A process that was stopped between its claim and its order sends nothing after the lease ends, because an operator
// may have concluded the payout meanwhile.
func TestConclude_aWorkerThatWasStopped(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	var stopped time.Duration
	w.With(func(d *fixture.Deps) { d.Now = func() time.Time { return time.Now().Add(stopped) } })
	p := w.ConfirmedWith("0123456789")
	orders := 0
	w.Rig(fixture.Rigged{
		OnSend: func(rail.Order) (rail.Status, error) {
			orders++
			return rail.Status{}, sim.ErrTimeout
		},
		OnQuery: func(string) (rail.Status, error) { return rail.Status{}, rail.ErrNoSuchRef },
	})
	w.CrashAt(func(step string) bool {
		if step == "claimed" {
			stopped = time.Minute
			w.SQL(`UPDATE payouts SET lease_until = now() - interval '1 second'`)
			order := operators.PayoutOrder{Operator: "ada", Outcome: "failed", Evidence: "e", Reason: "r", Sends: -1}
			if _, err := w.Operators.ConcludePayout(t.Context(), w.Find(p.Reference).Payout.ID, order, &fault.Problems{}, idempotency.Key{}); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	if w.Want(p, "needs_review payout_failed"); orders != 0 {
		t.Errorf("sent %d times after it was concluded", orders)
	}
	w.Balanced()
}

// A payout past the time of R6 is counted as stuck. A payout that is only followed after its success is not open.
func TestFiguresOfStuckPayouts(t *testing.T) {
	t.Parallel()
	l := newLost(t)
	l.SQL(`UPDATE payouts SET first_sent_at = now() - interval '73 hours', created_at = now() - interval '73 hours'`)
	l.looks()
	if l.Payments.Alerts.Load() != l.alerts+1 {
		t.Error("nobody was called")
	}
	all, err := l.Store.Unknowns(t.Context())
	if err != nil || len(all) != 1 || all[0].Stuck != 1 || all[0].Frozen != 0 || all[0].Oldest < 73*time.Hour {
		t.Fatalf("Unknowns() after 73 hours = %+v, %v; want 1 stuck payout of that age", all, err)
	}
	l.says(rail.Succeeded)
	l.looks()
	if all, err = l.Store.Unknowns(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("Unknowns() after the success = %+v, %v; want none", all, err)
	}
	if !fixture.Ask[bool](l.Payments, `SELECT next_at IS NOT NULL FROM payouts`) {
		t.Error("a success is followed no more")
	}
}
