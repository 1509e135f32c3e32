//go:build integration

package e2e

import (
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// part is a share of what a payment asks for, down to 4 digits, as a JSON number.
func part(t testing.TB, made *api.Answer, numerator, denominator int64) (json.Number, *big.Rat) {
	t.Helper()
	share := api.Floor(new(big.Rat).Mul(made.Number(t, "payment.cryptoAmount"), big.NewRat(numerator, denominator)), 4)
	return json.Number(share.FloatString(4)), share
}

func exception(a *api.Answer) string {
	value, _ := a.At("payment.exception")
	text, _ := value.(string)
	return text
}

// TestShortThenToppedUp: several transfers add up; the exception goes when the rest arrives.
func TestShortThenToppedUp(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	made := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path)}))
	ref := made.Text(t, "payment.reference")
	amount, share := part(t, made, 1, 3)
	deposit(t, c, ref, api.Object{"amount": amount})
	short := awaitPayment(t, c, ref, "underpaid", func(a *api.Answer) bool { return exception(a) == "underpaid" })
	if short.Text(t, "payment.status") != "pending" || short.Number(t, "payment.receivedAmount").Cmp(share) != 0 {
		t.Errorf("short: %s", short.Body)
	}
	deposit(t, c, ref, nil) // what is still owed
	settled := awaitStatus(t, c, ref, "settled")
	if !settled.Null("payment.exception") || settled.Len(t, "payment.transfers") != 2 ||
		settled.Number(t, "payment.receivedAmount").Cmp(made.Number(t, "payment.cryptoAmount")) != 0 {
		t.Errorf("topped up: %s", settled.Body)
	}
	awaitCallbacks(t, hook, path, "payment.underpaid", "payment.settled")
	clean(t, hook)
}

// TestDustCompletesAPayment: 3.125 USDT are due and 3.09375 came; the page asks for 0.03125, which alone would be dust,
// and takes it.
func TestDustCompletesAPayment(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	made := create(t, c, transfer(api.Object{"chargeFrom": "fiat", "fiatAmount": 5000}))
	ref := made.Text(t, "payment.reference")
	share := func(numerator, denominator int64) json.Number {
		due := made.Number(t, "payment.cryptoAmount")
		return json.Number(api.Floor(new(big.Rat).Mul(due, big.NewRat(numerator, denominator)), 6).FloatString(6))
	}
	deposit(t, c, ref, api.Object{"amount": share(1, 1000)})
	dust := awaitPayment(t, c, ref, "seen", func(a *api.Answer) bool { return a.Len(t, "payment.transfers") == 1 })
	if dust.Text(t, "payment.status") != "pending" || !dust.Null("payment.exception") ||
		dust.Number(t, "payment.ignoredAmount").Cmp(dust.Number(t, "payment.receivedAmount")) != 0 {
		t.Errorf("dust alone: %s", dust.Body)
	}
	deposit(t, c, ref, api.Object{"amount": share(989, 1000)})
	awaitPayment(t, c, ref, "underpaid", func(a *api.Answer) bool { return exception(a) == "underpaid" })
	page := c.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil)
	page.Want(t, http.StatusOK)
	left := page.Number(t, "payment.remainingAmount")
	if sum := new(big.Rat).Add(left, page.Number(t, "payment.receivedAmount")); sum.Cmp(made.Number(t, "payment.cryptoAmount")) != 0 {
		t.Errorf("the page asks for %s: %s", left.FloatString(6), page.Body)
	}
	deposit(t, c, ref, api.Object{"amount": json.Number(left.FloatString(6))})
	settled := awaitStatus(t, c, ref, "settled")
	if !settled.Null("payment.exception") || settled.Number(t, "payment.payout.amount").Cmp(big.NewRat(4500, 1)) != 0 {
		t.Errorf("settled: %s", settled.Body)
	}
}

// TestAmountAsText: the sandbox alone also takes its amount as a decimal string.
func TestAmountAsText(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	made := create(t, c, transfer(nil))
	ref := made.Text(t, "payment.reference")
	amount, _ := part(t, made, 1, 1)
	deposit(t, c, ref, api.Object{"amount": string(amount)})
	awaitStatus(t, c, ref, "settled")
}

// TestWithinTolerance: −0.5 % and +1 % of the quote pay the quoted payout without exception.
func TestWithinTolerance(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for name, share := range map[string][2]int64{"a little short": {9951, 10000}, "a little over": {10099, 10000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := create(t, c, transfer(api.Object{"fiatAmount": 90000}))
			ref := made.Text(t, "payment.reference")
			amount, _ := part(t, made, share[0], share[1])
			deposit(t, c, ref, api.Object{"amount": amount})
			settled := awaitStatus(t, c, ref, "settled")
			if !settled.Null("payment.exception") || settled.Number(t, "payment.payout.amount").Cmp(api.Rat("90000")) != 0 {
				t.Errorf("settled: %s", settled.Body)
			}
		})
	}
}

// shared out: g is the part of the quote's payout and fee that came, down to the minor unit; the rest of it after its
// fee is paid.
func shareOf(t testing.TB, made *api.Answer, gross int64, received, fee *big.Rat) *big.Rat {
	t.Helper()
	g := new(big.Rat).Mul(big.NewRat(gross, 1), received)
	g = api.Floor(g.Quo(g, made.Number(t, "payment.cryptoAmount")), 2)
	return g.Sub(g, fee)
}

// TestOverpaid: a transfer pays out in proportion to what came, less the fee of that, and shows both.
func TestOverpaid(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	made := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path), "chargeFrom": "fiat", "fiatAmount": 30000}))
	ref := made.Text(t, "payment.reference")
	amount, received := part(t, made, 3, 2)
	deposit(t, c, ref, api.Object{"amount": amount})
	settled := awaitStatus(t, c, ref, "settled")
	want := shareOf(t, made, 30000, received, big.NewRat(500, 1))
	if exception(settled) != "overpaid" || settled.Number(t, "payment.payout.amount").Cmp(want) != 0 ||
		settled.Number(t, "payment.charge.fiat").Cmp(big.NewRat(500, 1)) != 0 {
		t.Errorf("want a payout of %s: %s", want.FloatString(2), settled.Body)
	}
	awaitCallbacks(t, hook, path, "payment.overpaid", "payment.settled")
	clean(t, hook)
}

// expire closes a payment's window as the timer would.
func expire(t testing.TB, c *api.Client, ref string) {
	t.Helper()
	c.Call(t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/expire", nil).Want(t, http.StatusOK)
}

// TestUnderpaidWhenTheWindowCloses: a transfer goes on with a payout in proportion.
func TestUnderpaidWhenTheWindowCloses(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	made := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path), "fiatAmount": 40000}))
	ref := made.Text(t, "payment.reference")
	amount, received := part(t, made, 1, 2)
	deposit(t, c, ref, api.Object{"amount": amount})
	awaitPayment(t, c, ref, "underpaid", func(a *api.Answer) bool { return exception(a) == "underpaid" })
	expire(t, c, ref)
	settled := awaitStatus(t, c, ref, "settled")
	want := shareOf(t, made, 40500, received, big.NewRat(500, 1))
	if exception(settled) != "underpaid" || settled.Number(t, "payment.payout.amount").Cmp(want) != 0 {
		t.Errorf("want a payout of %s: %s", want.FloatString(2), settled.Body)
	}
	awaitCallbacks(t, hook, path, "payment.underpaid", "payment.settled")
	clean(t, hook)
}

// TestExpiresUnpaid: nothing came, the window closes, the callback says so.
func TestExpiresUnpaid(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path)})).Text(t, "payment.reference")
	expire(t, c, ref)
	expired := awaitStatus(t, c, ref, "expired")
	if !expired.Null("payment.exception") || expired.Number(t, "payment.receivedAmount").Sign() != 0 {
		t.Errorf("expired: %s", expired.Body)
	}
	awaitExactly(t, hook, path, "payment.pending", "payment.expired")
	clean(t, hook)
}

// TestPaidLate: money that is first seen after the window, at an unchanged rate, is still paid out, as paid_late.
func TestPaidLate(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path)})).Text(t, "payment.reference")
	expire(t, c, ref)
	awaitStatus(t, c, ref, "expired")
	deposit(t, c, ref, nil)
	settled := awaitStatus(t, c, ref, "settled")
	if exception(settled) != "paid_late" {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitCallbacks(t, hook, path, "payment.expired", "payment.confirming", "payment.settled")
	clean(t, hook)
}

// TestConfirmingComesFirst: a deposit is an event as soon as it is seen, before it has its network's confirmations.
func TestConfirmingComesFirst(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	made := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path), "network": "base", "crypto": "USDC"}))
	deposit(t, c, made.Text(t, "payment.reference"), api.Object{"confirmations": 1})
	awaitCallbacks(t, hook, path, "payment.confirming")
	for _, d := range hook.Accepted(path) {
		if d.Type != "payment.confirming" {
			continue
		}
		event := api.Parse(t, d.Body)
		if event.Text(t, "data.payment.status") != "confirming" || !event.Null("data.payment.confirmedAt") ||
			event.Number(t, "data.payment.receivedAmount").Cmp(made.Number(t, "payment.cryptoAmount")) != 0 {
			t.Errorf("confirming: %s", d.Body)
		}
	}
}

// TestBadDeposits: what the sandbox refuses.
func TestBadDeposits(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	for field, values := range map[string][]any{
		"amount":        {0, -1, "x", true, num("1.1234567"), num("1e30")},
		"confirmations": {-1, num("1.5"), "2"},
	} {
		for _, value := range values {
			a := c.Call(t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/deposits", api.Object{field: value}, bad).Want(t, http.StatusBadRequest)
			if !slices.Contains(a.FieldErrors(), field) {
				t.Errorf("%s = %v: the error names %v", field, value, a.FieldErrors())
			}
		}
	}
	if a := get(t, c, ref); a.Text(t, "payment.status") != "pending" || a.Len(t, "payment.transfers") != 0 {
		t.Errorf("a refused deposit arrived: %s", a.Body)
	}
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "settled") // a field is wrong before a state is
	for _, amount := range []any{0, -1, num("1e16")} {
		a := c.Call(t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/deposits", api.Object{"amount": amount}, bad).Want(t, http.StatusBadRequest)
		if !slices.Equal(a.FieldErrors(), []string{"amount"}) {
			t.Errorf("amount %v of a settled payment: %s", amount, a.Body)
		}
	}
	c.Call(t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/deposits", api.Object{"amount": 1}, bad).Want(t, http.StatusConflict)
}
