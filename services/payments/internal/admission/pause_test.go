//go:build integration

package admission_test

import (
	"errors"
	"strings"
	"testing"

	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/fixture"
)

// After the command has returned, a pause stops every unclaimed payout. Other rails continue.
func TestPause_payouts(t *testing.T) {
	t.Parallel()
	w, _ := fixture.Screened(t)
	p := w.Make(fixture.Command())
	seeFrom(w, p, fixture.CleanSender, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	for _, other := range []admission.Pause{
		{What: admission.PausePayouts, Currency: "KES"}, {What: admission.PausePayouts, Network: "bsc"}, {What: admission.PausePayouts, Rail: "other"}, {What: admission.PauseQuotes},
	} {
		other.Operator = "cli:ada"
		w.Pause(other)
	}
	stop := admission.Pause{What: admission.PausePayouts, Currency: "NGN", Network: "tron", Rail: "sim", Operator: "cli:ada"}
	w.Pause(stop)
	if _, err := w.Store.Pause(t.Context(), stop, idempotency.Key{}, nil); !errors.Is(err, admission.ErrPaused) {
		t.Errorf("pause the same again: got %v, want %v", err, admission.ErrPaused)
	}
	for range 3 {
		w.SQL(`UPDATE payouts SET next_at = now(), taken_until = NULL`)
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.PayoutRow(p); got != "created 0" {
		t.Fatalf("payout %s", got)
	}
	w.Resume(stop)
	w.Pay(p)
	if n := fixture.Ask[int](w, `SELECT count(*) FROM audit WHERE operator = 'cli:ada' AND action IN ('payouts.paused', 'payouts.resumed', 'quotes.paused')`); n != 6 {
		t.Errorf("%d notes in the audit", n)
	}
}

func TestPause_quotes(t *testing.T) {
	t.Parallel()
	w, _ := fixture.Screened(t)
	stop := admission.Pause{What: admission.PauseQuotes, Network: "tron", Operator: "cli:ada"}
	w.Pause(stop)
	if err := w.Deps.Pauses.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(fixture.Command(), idempotency.Key{}); err == nil || err.Error() == "" {
		t.Error("a paused network quotes")
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 0 {
		t.Errorf("%d payments", n)
	}
	if body, err := w.Pricing.Networks(""); err != nil || !strings.Contains(string(body), `"pauses":[{"paused":"quotes","fiatCurrency":null,"network":"tron"`) {
		t.Errorf("Networks() = %s, %v; want tron with its pause of quotes", body, err)
	}
	w.Resume(stop)
	if err := w.Deps.Pauses.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Make(fixture.Command())
}
