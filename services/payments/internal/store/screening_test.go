//go:build integration

package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/screen"
)

const (
	clean = "TCleanSender1111111111111111111111"
	dirty = "TDirtySender1111111111111111111111"
)

// watch is a screener whose verdicts the test sets.
type watch struct {
	mu   sync.Mutex
	bad  []string
	down bool
}

func (s *watch) set(down bool, bad ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.bad = down, bad
}

func (s *watch) Screen(_ context.Context, _ tenant.Mode, _ string, addresses []string) (change.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return change.Verdict{}, errors.New("the screener does not answer")
	}
	v := change.Verdict{Lists: "list 1"}
	for _, a := range addresses {
		if slices.Contains(s.bad, a) {
			v.Hit, v.Reason = true, screen.Sanctioned
		}
	}
	return v, nil
}

// screened is a fixture that screens, with its screener.
func screened(t *testing.T) (*fixture, *watch) {
	w, s := newFixture(t), &watch{}
	w.fill(8)
	w.with(func(d *app.Deps) {
		d.Screening, d.Policy.Screen, d.Pauses = admission.NewScreening(s, d.Log), true, admission.NewPauses(w.store.Pauses)
	})
	return w, s
}

// from delivers a snapshot of a transfer that names its sender.
func (w *fixture) from(p payment.Payment, sender string, c coin) {
	w.t.Helper()
	m := w.message(p, c)
	m.Senders = []string{sender}
	w.deliver(m)
}

func (w *fixture) decisions(p payment.Payment) []string {
	return ask[[]string](w, `SELECT coalesce(array_agg(stage || ' ' || verdict || ' ' || reason || ' ' || lists ORDER BY id), '{}') FROM screenings WHERE payment_id = $1`, p.ID)
}

func TestScreening_clearMoneyIsPaidOut(t *testing.T) {
	t.Parallel()
	w, _ := screened(t)
	p := w.made(command())
	w.from(p, clean, coin{key: "t1", amount: "31.25", version: 1})
	w.from(p, clean, coin{key: "t1", amount: "31.25", version: 2, depth: enough})
	w.want(p, "confirmed")
	w.pay(p)
	if got := w.decisions(p); !slices.Equal(got, []string{"deposit clear  list 1", "payout clear  list 1"}) {
		t.Errorf("kept: %q", got)
	}
	w.balanced()
}

func TestScreening_aHitAtDepositWaitsForAPerson(t *testing.T) {
	t.Parallel()
	w, s := screened(t)
	s.set(false, dirty)
	p := w.made(command())
	w.from(p, dirty, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "needs_review screening_hold")
	if got := w.decisions(p); !slices.Equal(got, []string{"deposit hit sanctioned_address list 1"}) {
		t.Errorf("kept: %q", got)
	}
	if n := ask[int](w, `SELECT count(*) FROM payouts`); n != 0 {
		t.Errorf("%d payouts of held money", n)
	}
	if _, err := w.app.Resolve(t.Context(), p.Reference, operators.Order{Operator: "ada", Action: operators.ActionAccept, Reason: "a mistake of the list"}, noProblems(), idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.pay(p) // the list still has the sender, and the operator's decision overrules it for this money
	w.balanced()
}

// A sender is listed between the deposit and the payout.
func TestScreening_aHitBeforeThePayoutHoldsIt(t *testing.T) {
	t.Parallel()
	w, s := screened(t)
	p := w.made(command())
	w.from(p, dirty, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "confirmed")
	s.set(false, dirty)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.want(p, "needs_review screening_hold")
	if got := ask[string](w, `SELECT state || ' ' || sends FROM payouts WHERE payment_id = $1`, p.ID); got != "withdrawn 0" {
		t.Errorf("payout %s", got)
	}
	if got := w.decisions(p); !slices.Equal(got, []string{"deposit clear  list 1", "payout hit sanctioned_address list 1"}) {
		t.Errorf("kept: %q", got)
	}
	w.balanced()
}

// Without a verdict no payment is confirmed and no payout leaves.
func TestScreening_failsClosed(t *testing.T) {
	t.Parallel()
	w, s := screened(t)
	s.set(true)
	p := w.made(command())
	w.from(p, clean, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "confirming")
	if err := w.app.Rescreen(t.Context()); err == nil {
		t.Error("nobody was told that transfers wait")
	}
	w.want(p, "confirming")
	s.set(false)
	if err := w.app.Rescreen(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(p, "confirmed")
	s.set(true)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.want(p, "confirmed")
	if got := w.row(p); got != "created 0" {
		t.Errorf("payout %s", got)
	}
	s.set(false)
	w.pay(p)
}

// Refund addresses are screened too. A refusal is stored although the request fails, and a missing verdict refuses.
func TestScreening_refundAddress(t *testing.T) {
	t.Parallel()
	w, s := screened(t)
	const bad, good = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
	p := w.made(command())
	refund := func(to string, k idempotency.Key) error {
		_, err := w.app.RefundAddress(t.Context(), owner, p.Reference, to, noProblems(), k)
		return err
	}
	s.set(false, bad)
	for range 2 { // with a key, too: a refusal by validation is not stored under it
		if err := refund(bad, idempotency.Key{Scope: "refund", Key: "k"}); fault.As(err).Kind != fault.Invalid || len(fault.As(err).Fields) != 1 {
			t.Fatalf("a sanctioned address: %v", err)
		}
	}
	if err := refund("nonsense", idempotency.Key{}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("no address: %v", err)
	}
	const setTo = `SELECT refund_address FROM payments WHERE id = $1`
	if to := ask[string](w, setTo, p.ID); to != "" {
		t.Errorf("a refund goes to %s", to)
	}
	if err := refund(good, idempotency.Key{Scope: "refund", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	s.set(true)
	if err := refund(bad, idempotency.Key{}); fault.As(err).Kind != fault.Unavailable {
		t.Errorf("while nobody can say: %v", err)
	}
	if to := ask[string](w, setTo, p.ID); to != good {
		t.Errorf("a refund goes to %s", to)
	}
	const hit = "refund hit sanctioned_address list 1"
	if got := w.decisions(p); !slices.Equal(got, []string{hit, "refund clear  list 1"}) {
		t.Errorf("kept: %q", got)
	}
	if got := ask[[]string](w, `SELECT addresses FROM screenings WHERE payment_id = $1 AND verdict = 'hit' LIMIT 1`, p.ID); !slices.Equal(got, []string{bad}) {
		t.Errorf("the refused address is kept as %q", got)
	}
	// The list shows the earlier verdicts to the operator who decides on the payment.
	s.set(false, dirty)
	w.from(p, dirty, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "needs_review screening_hold")
	body, err := w.app.Holds(t.Context(), "", 10)
	if err != nil || strings.Count(string(body), `{"stage":"refund","verdict":"hit","reason":"sanctioned_address","lists":"list 1"`) != 1 {
		t.Errorf("operators see %s, %v", body, err)
	}
}

// Dust of a listed sender holds nothing, because anybody can send it.
func TestScreening_dustFromAListHoldsNothing(t *testing.T) {
	t.Parallel()
	w, s := screened(t)
	s.set(false, dirty)
	p := w.made(command())
	w.from(p, dirty, coin{key: "dust", amount: "0.01", version: 1, depth: enough})
	w.from(p, clean, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.pay(p)
}

// After the command has returned, a pause stops every unclaimed payout. Other rails continue.
func TestPause_payouts(t *testing.T) {
	t.Parallel()
	w, _ := screened(t)
	p := w.made(command())
	w.from(p, clean, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	for _, other := range []admission.Pause{
		{What: admission.PausePayouts, Currency: "KES"}, {What: admission.PausePayouts, Network: "bsc"}, {What: admission.PausePayouts, Rail: "other"}, {What: admission.PauseQuotes},
	} {
		other.Operator = "cli:ada"
		if err := w.store.Pause(t.Context(), other, false); err != nil {
			t.Fatal(err)
		}
	}
	stop := admission.Pause{What: admission.PausePayouts, Currency: "NGN", Network: "tron", Rail: "sim", Operator: "cli:ada"}
	if err := w.store.Pause(t.Context(), stop, false); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Pause(t.Context(), stop, false); err == nil {
		t.Error("paused twice")
	}
	for range 3 {
		w.sql(`UPDATE payouts SET next_at = now(), taken_until = NULL`)
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.row(p); got != "created 0" {
		t.Fatalf("payout %s", got)
	}
	if err := w.store.Pause(t.Context(), stop, true); err != nil {
		t.Fatal(err)
	}
	w.pay(p)
	if n := ask[int](w, `SELECT count(*) FROM audit WHERE operator = 'cli:ada' AND action IN ('payouts.paused', 'payouts.resumed', 'quotes.paused')`); n != 6 {
		t.Errorf("%d notes in the audit", n)
	}
}

func TestPause_quotes(t *testing.T) {
	t.Parallel()
	w, _ := screened(t)
	stop := admission.Pause{What: admission.PauseQuotes, Network: "tron", Operator: "cli:ada"}
	if err := w.store.Pause(t.Context(), stop, false); err != nil {
		t.Fatal(err)
	}
	if err := w.app.Pauses.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.create(command(), idempotency.Key{}); err == nil || err.Error() == "" {
		t.Error("a paused network quotes")
	}
	if n := ask[int](w, `SELECT count(*) FROM payments`); n != 0 {
		t.Errorf("%d payments", n)
	}
	if body, err := w.app.Networks(); err != nil || !strings.Contains(string(body), `"pauses":[{"paused":"quotes","fiatCurrency":null,"network":"tron"`) {
		t.Errorf("%s, %v", body, err)
	}
	if err := w.store.Pause(t.Context(), stop, true); err != nil {
		t.Fatal(err)
	}
	if err := w.app.Pauses.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.made(command())
}
