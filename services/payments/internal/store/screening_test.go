//go:build integration

package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/screen"
)

const (
	clean = "TCleanSender1111111111111111111111"
	dirty = "TDirtySender1111111111111111111111"
)

// watch is a screener that a test commands.
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

func (s *watch) Screen(_ context.Context, _ payment.Mode, addresses []string) (app.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return app.Verdict{}, errors.New("the screener does not answer")
	}
	v := app.Verdict{Lists: "list 1"}
	for _, a := range addresses {
		if slices.Contains(s.bad, a) {
			v.Hit, v.Reason = true, screen.Sanctioned
		}
	}
	return v, nil
}

// screened is a world that screens, with its screener.
func screened(t *testing.T) (*world, *watch) {
	w, s := newWorld(t), &watch{}
	w.fill(8)
	deps := w.app.Deps
	deps.Screener, deps.Policy.Screen, deps.Pauses = s, true, app.NewPauses(w.store)
	w.app = app.New(deps)
	w.worker = app.NewPayoutWorker(w.app, w.store, 8, deps.Log)
	return w, s
}

// from delivers a snapshot of a transfer that names its sender.
func (w *world) from(p payment.Payment, sender string, c coin) {
	w.t.Helper()
	m := w.message(p, c)
	m.Senders = []string{sender}
	if err := w.app.DepositChanged(w.t.Context(), "from-"+p.ID+c.key+time.Now().String(), m); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) decisions(p payment.Payment) []string {
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
	if _, err := w.app.Resolve(t.Context(), p.Reference, app.Order{Operator: "ada", Action: app.ActionAccept, Reason: "a mistake of the list"}, noProblems(), app.Key{}); err != nil {
		t.Fatal(err)
	}
	w.pay(p) // the list still names the sender: a person's word stands for this money
	w.balanced()
}

// Between the deposit and the payout the list has grown.
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

// Nobody can say: nothing moves, neither to confirmed nor out, until somebody can.
func TestScreening_failsClosed(t *testing.T) {
	t.Parallel()
	w, s := screened(t)
	s.set(true)
	p := w.made(command())
	w.from(p, clean, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "confirming")
	if err := w.app.Rescreen(t.Context(), w.store); err == nil {
		t.Error("nobody was told that transfers wait")
	}
	w.want(p, "confirming")
	s.set(false)
	if err := w.app.Rescreen(t.Context(), w.store); err != nil {
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

// Anybody can send dust from anywhere to anybody: it holds nothing.
func TestScreening_dustFromAListHoldsNothing(t *testing.T) {
	t.Parallel()
	w, s := screened(t)
	s.set(false, dirty)
	p := w.made(command())
	w.from(p, dirty, coin{key: "dust", amount: "0.01", version: 1, depth: enough})
	w.from(p, clean, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.pay(p)
}

// A pause stops every payout that has not been claimed, from the moment the verb has returned; other rails go on.
func TestPause_payouts(t *testing.T) {
	t.Parallel()
	w, _ := screened(t)
	p := w.made(command())
	w.from(p, clean, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	for _, other := range []app.Pause{
		{What: app.PausePayouts, Currency: "KES"}, {What: app.PausePayouts, Network: "bsc"}, {What: app.PausePayouts, Rail: "other"}, {What: app.PauseQuotes},
	} {
		other.Operator = "cli:ada"
		if err := w.store.Pause(t.Context(), other, false); err != nil {
			t.Fatal(err)
		}
	}
	stop := app.Pause{What: app.PausePayouts, Currency: "NGN", Network: "tron", Rail: "sim", Operator: "cli:ada"}
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
	stop := app.Pause{What: app.PauseQuotes, Network: "tron", Operator: "cli:ada"}
	if err := w.store.Pause(t.Context(), stop, false); err != nil {
		t.Fatal(err)
	}
	if err := w.app.Pauses.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.create(command(), app.Key{}); err == nil || err.Error() == "" {
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
