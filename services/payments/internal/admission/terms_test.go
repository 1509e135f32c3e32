//go:build integration

package admission_test

import (
	"errors"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/fixture"
)

func termed(t *testing.T) *fixture.Payments {
	t.Helper()
	w := fixture.New(t)
	w.Fill(8)
	w.With(func(d *fixture.Deps) {
		d.Terms, d.Pauses = admission.NewTerms(w.Store.BindingTerms), admission.NewPauses(w.Store.Pauses)
	})
	return w
}

// keep tells payments the terms of the fixture's merchant, as a gateway does.
func keep(t *testing.T, w *fixture.Payments, term admission.Term) {
	t.Helper()
	term.MerchantID = fixture.Owner.MerchantID
	if _, err := w.Operators.KeepTerms(t.Context(), term); err != nil {
		t.Fatalf("keep %+v: got %v, want no error", term, err)
	}
	if err := errors.Join(w.Deps.Terms.Load(t.Context()), w.Deps.Pauses.Load(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return fault.As(err).Code
}

// A suspended merchant creates nothing, nobody fulfils its requests, and no payout of it begins; its deposits are
// counted. Other merchants go on, and after the resumption everything does.
func TestTerms_suspended(t *testing.T) {
	t.Parallel()
	w := termed(t)
	paid := w.Make(fixture.Command())
	requested := w.Make(fixture.Request())
	keep(t, w, admission.Term{Version: 2, Suspended: true, Reason: "chargebacks", Operator: "operator:ada"})
	if _, err := w.Create(fixture.Command(), idempotency.Key{}); code(err) != "merchant_suspended" {
		t.Errorf("create: got %v, want merchant_suspended", err)
	}
	if _, err := w.Fulfil(requested.Reference, idempotency.Key{}); code(err) != "merchant_suspended" {
		t.Errorf("fulfil: got %v, want merchant_suspended", err)
	}
	w.See(paid, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	for range 3 {
		w.SQL(`UPDATE payouts SET next_at = now(), taken_until = NULL`)
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.PayoutRow(paid); got != "created 0" {
		t.Fatalf("the payout of a suspended merchant: got %s, want created 0", got)
	}
	keep(t, w, admission.Term{Version: 3})
	w.Pay(paid)
	w.Make(fixture.Command())
	if n := fixture.Ask[int](w, `SELECT count(*) FROM audit WHERE action = 'merchant.terms'`); n != 2 {
		t.Errorf("the audit has %d changes of terms, want 2", n)
	}
}

// Of two versions the newer one holds, in whatever order they come, and a repetition changes nothing.
func TestTerms_newestWins(t *testing.T) {
	t.Parallel()
	w := termed(t)
	keep(t, w, admission.Term{Version: 5, Suspended: true})
	keep(t, w, admission.Term{Version: 5})
	keep(t, w, admission.Term{Version: 4})
	if _, err := w.Create(fixture.Command(), idempotency.Key{}); code(err) != "merchant_suspended" {
		t.Errorf("after an overtaken resumption: got %v, want merchant_suspended", err)
	}
	keep(t, w, admission.Term{Version: 6})
	w.Make(fixture.Command())
}

// A payment that the terms do not enable is refused, and one that they enable is taken.
func TestTerms_bound(t *testing.T) {
	t.Parallel()
	w := termed(t)
	limit := func(amount string) map[money.Currency]decimal.Decimal {
		return map[money.Currency]decimal.Decimal{money.NGN: decimal.RequireFromString(amount)}
	}
	for i, c := range []struct {
		term admission.Term
		want string
	}{
		{admission.Term{Currencies: []string{"KES"}}, "currency_not_enabled"},
		{admission.Term{Networks: []string{"bsc"}}, "network_not_enabled"},
		{admission.Term{Types: []string{"gift"}}, "type_not_enabled"},
		{admission.Term{Limits: limit("1000")}, "validation_failed"},
		{admission.Term{Currencies: []string{"NGN"}, Networks: []string{"tron"}, Types: []string{"transfer"}, Limits: limit("100000000")}, ""},
		{admission.Term{}, ""},
	} {
		c.term.Version = int64(i + 1)
		keep(t, w, c.term)
		if _, err := w.Create(fixture.Command(), idempotency.Key{}); code(err) != c.want {
			t.Errorf("create under %+v: got %v, want %q", c.term, err, c.want)
		}
	}
}

// A pause of one merchant leaves others alone, ends by itself, and makes room for another one.
func TestPause_merchant(t *testing.T) {
	t.Parallel()
	w := termed(t)
	load := func() {
		t.Helper()
		if err := w.Deps.Pauses.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	other := admission.Pause{What: admission.PauseQuotes, MerchantID: "another", Operator: "ada"}
	mine := admission.Pause{What: admission.PauseQuotes, MerchantID: fixture.Owner.MerchantID, Operator: "ada", Reason: "under review"}
	payouts := admission.Pause{What: admission.PausePayouts, MerchantID: fixture.Owner.MerchantID, Operator: "ada"}
	w.Pause(other)
	load()
	p := w.Make(fixture.Command())
	w.Pause(mine)
	w.Pause(payouts)
	load()
	if _, err := w.Create(fixture.Command(), idempotency.Key{}); code(err) != "quotes_paused" {
		t.Errorf("create while the merchant is paused: got %v, want quotes_paused", err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	for range 3 {
		w.SQL(`UPDATE payouts SET next_at = now(), taken_until = NULL`)
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.PayoutRow(p); got != "created 0" {
		t.Errorf("a payout while the merchant is paused: got %s, want created 0", got)
	}
	w.SQL(`UPDATE pauses SET until = clock_timestamp() WHERE merchant_id <> 'another'`)
	load()
	w.Pay(p)
	w.Make(fixture.Command())
	w.Pause(mine)
	if _, err := w.Store.Pause(t.Context(), admission.Pause{What: admission.PauseRefunds, MerchantID: "m", Operator: "ada"}, idempotency.Key{}, nil); err == nil {
		t.Error("a pause of refunds of one merchant is taken, want a refusal")
	}
}
