package payment_test

import (
	"testing"

	"causeway.internal/libs/tenant"
	. "causeway.internal/services/payments/internal/payment"
)

// A live payment above the bound is confirmed only after a second host has confirmed its money.
func TestWitness(t *testing.T) {
	says := func(w Witness) func(*Deposit) { return func(d *Deposit) { d.Witness = w } }
	begin := func(mode tenant.Mode, usd string) *fixture { // the due is worth 100 dollars
		w := newFixture(t, Transfer, func(p *Payment) { p.Mode = mode })
		w.policy.WitnessUSD = dec(usd)
		return w
	}
	for name, c := range map[string]struct {
		mode    tenant.Mode
		bound   string
		witness Witness
		status  Status
		want    Exception
	}{
		"confirmed":                    {tenant.Live, "50", "confirmed", StatusConfirmed, None},
		"nobody answered yet":          {tenant.Live, "50", WitnessPending, StatusConfirming, None},
		"one host alone":               {tenant.Live, "50", WitnessAlone, StatusNeedsReview, ExceptionUnverified},
		"of a wallets that asks none":  {tenant.Live, "50", "", StatusConfirmed, None},
		"pending, at the bound":        {tenant.Live, "100", WitnessPending, StatusConfirmed, None},
		"alone, at the bound":          {tenant.Live, "100", WitnessAlone, StatusConfirmed, None},
		"alone, in test mode":          {tenant.Test, "50", WitnessAlone, StatusConfirmed, None},
		"pending, and the rule is off": {tenant.Live, "0", WitnessPending, StatusConfirmed, None},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(c.mode, c.bound)
			w.deposit("a", "100", deep, says(c.witness))
			w.is(c.status, c.want)
		})
	}
	t.Run("confirmed later", func(t *testing.T) {
		w := begin(tenant.Live, "50")
		w.deposit("a", "100", deep, says(WitnessPending))
		w.is(StatusConfirming, None)
		w.deposit("a", "100", deep, says("confirmed"))
		w.is(StatusConfirmed, None)
	})
	t.Run("small deposits that make a large payment", func(t *testing.T) {
		w := begin(tenant.Live, "99")
		for _, key := range []string{"a", "b", "c", "d"} {
			w.deposit(key, "25", deep, says("confirmed"))
			if key == "b" {
				w.deposit(key, "25", deep, says(WitnessPending))
			}
		}
		w.is(StatusConfirming, None)
		w.deposit("b", "25", deep, says(WitnessAlone))
		w.is(StatusNeedsReview, ExceptionUnverified)
	})
	t.Run("a small quote that is overpaid is large", func(t *testing.T) {
		w := begin(tenant.Live, "150")
		w.deposit("a", "200", deep, says(WitnessPending))
		w.is(StatusConfirming, ExceptionOverpaid)
	})
	t.Run("a person accepts it", func(t *testing.T) {
		w := begin(tenant.Live, "50")
		w.deposit("a", "100", deep, says(WitnessAlone))
		w.is(StatusNeedsReview, ExceptionUnverified)
		w.must(Accept{Rows: w.rows})
		w.is(StatusConfirmed, None)
		w.payout("159000")
	})
}

// The weakest answer about transfers on their chain is the one that people see.
func TestDoubt(t *testing.T) {
	t.Parallel()
	row := func(w Witness, reverted bool) Deposit { return Deposit{Witness: w, Reverted: reverted} }
	for name, c := range map[string]struct {
		rows []Deposit
		want Witness
	}{
		"nothing":                   {nil, ""},
		"confirmed and not asked":   {[]Deposit{row("confirmed", false), row("", false)}, ""},
		"one that waits":            {[]Deposit{row("confirmed", false), row(WitnessPending, false)}, WitnessPending},
		"one that one host shows":   {[]Deposit{row(WitnessAlone, false), row(WitnessPending, false)}, WitnessAlone},
		"the other way round":       {[]Deposit{row(WitnessPending, false), row(WitnessAlone, false)}, WitnessAlone},
		"one that left its chain":   {[]Deposit{row(WitnessAlone, true), row("confirmed", false)}, ""},
		"a doubt about what stayed": {[]Deposit{row(WitnessAlone, true), row(WitnessPending, false)}, WitnessPending},
	} {
		if got := Doubt(c.rows); got != c.want {
			t.Errorf("doubt %s: got %q, want %q", name, got, c.want)
		}
	}
}
