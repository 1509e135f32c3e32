//go:build integration

package e2e

import (
	"fmt"
	"math/big"
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

func simulate(t testing.TB, c *api.Client, reference, scenario string) *api.Answer {
	t.Helper()
	return c.With("").Call(t, http.MethodPost, "/v1/checkout/"+reference+"/simulate", api.Object{"scenario": scenario})
}

// TestCheckoutOptions: an unfulfilled request shows what it would cost, and fulfilment asks exactly that.
func TestCheckoutOptions(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	nobody := c.With("")
	ref := create(t, c, request(nil)).Text(t, "payment.reference")
	shown := nobody.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK)
	var price *big.Rat
	for i := range shown.Len(t, "payment.options") {
		at := "payment.options." + big.NewInt(int64(i)).String()
		if shown.Text(t, at+".network") == "tron" && shown.Text(t, at+".crypto") == "USDT" {
			price = shown.Number(t, at+".cryptoAmount")
		}
	}
	paid := nobody.Call(t, http.MethodPost, fulfilPath(ref), fulfilment()).Want(t, http.StatusOK)
	if price == nil || price.Cmp(paid.Number(t, "payment.cryptoAmount")) != 0 {
		t.Errorf("shown %s, asked %s", shown.Body, paid.Body)
	}
	if after := nobody.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil); after.Null("payment.options") {
		t.Error("null options")
	} else if _, has := after.At("payment.options"); has {
		t.Errorf("a fulfilled request offers options: %s", after.Body)
	}
}

// TestSimulate: a holder of a test payment's reference plays its payer, in each way once. A live payment has no such
// route, and neither has one that takes no money.
func TestSimulate(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for scenario, want := range map[string]string{"full": "", "partial": "underpaid", "over": "overpaid", "late": "paid_late"} {
		ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
		simulate(t, c, ref, scenario).Want(t, http.StatusOK)
		if scenario == "partial" {
			awaitPayment(t, c, ref, want, func(a *api.Answer) bool { return exception(a) == want })
			refuse(t, c.With(""), "/v1/checkout/"+ref+"/simulate", api.Object{"scenario": "late"}, http.StatusConflict, "")
			simulate(t, c, ref, "full").Want(t, http.StatusOK)
			want = ""
		}
		if settled := awaitStatus(t, c, ref, "settled"); exception(settled) != want {
			t.Errorf("simulate %s: the settled payment has exception %q, want %q: %s", scenario, exception(settled), want, settled.Body)
		}
		simulate(t, c, ref, "full").Want(t, http.StatusConflict)
	}
	ref := create(t, c, request(nil)).Text(t, "payment.reference")
	for _, scenario := range []string{"full", "late"} {
		refuse(t, c.With(""), "/v1/checkout/"+ref+"/simulate", api.Object{"scenario": scenario}, http.StatusConflict, "")
	}
	refuse(t, c.With(""), "/v1/checkout/"+ref+"/simulate", api.Object{"scenario": "never"}, http.StatusBadRequest, "")
	refuse(t, c.With(""), "/v1/checkout/CW-AAAAAAAAAAAA/simulate", api.Object{"scenario": "full"}, http.StatusNotFound, "")
}

// TestVerifyFor: a payment's reference says in which mode and currency an account is looked up.
func TestVerifyFor(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	ref := create(t, c, gift(api.Object{"fiatCurrency": "GHS", "fiatAmount": 500})).Text(t, "payment.reference")
	body := api.Object{"bankCode": "XYZ9", "accountNumber": "ab12345", "reference": ref}
	a := c.With("").Call(t, http.MethodPost, "/v1/payments/verify-receiver", body).Want(t, http.StatusOK)
	if a.Text(t, "receiver.fiatCurrency") != "GHS" {
		t.Errorf("verify the receiver of a payment in GHS: got %s, want fiatCurrency GHS", a.Body)
	}
}

// TestVerifyNeedsReason: without a key nobody learns an account's name but the recipient of a gift that can be claimed,
// and nothing tells why another reference is refused.
func TestVerifyNeedsReason(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	nobody := c.With("")
	const path = "/v1/payments/verify-receiver"
	look := func(reference string) api.Object {
		return api.Object{"bankCode": "058", "accountNumber": "0123456789", "reference": reference}
	}
	cancelled := create(t, c, gift(nil)).Text(t, "payment.reference")
	c.Call(t, http.MethodPost, "/v1/payments/"+cancelled+"/cancel", nil).Want(t, http.StatusOK)
	claimed := create(t, c, gift(nil)).Text(t, "payment.reference")
	nobody.Call(t, http.MethodPost, claimPath(claimed), api.Object{"receiver": api.Object{"bankCode": "058", "accountNumber": "0123456789"}}).
		Want(t, http.StatusOK)
	settled := create(t, c, transfer(nil)).Text(t, "payment.reference")
	deposit(t, c, settled, nil)
	awaitStatus(t, c, settled, "settled")
	var said string
	for what, body := range map[string]api.Object{
		"no reference": {"bankCode": "058", "accountNumber": "0123456789"}, "an empty one": look(""), "an unknown one": look("CW-AAAAAAAAAAAA"),
		"no reference at all": look("hello"), "a cancelled gift": look(cancelled), "a claimed gift": look(claimed), "a settled transfer": look(settled),
		"a pending transfer": look(create(t, c, transfer(nil)).Text(t, "payment.reference")),
		"an open request":    look(create(t, c, request(nil)).Text(t, "payment.reference")),
		"nothing":            {},
	} {
		a := refuse(t, nobody, path, body, http.StatusUnauthorized, "")
		if a.Text(t, "error.code") != "reference_required" || (said != "" && a.Text(t, "message") != said) {
			t.Errorf("verify a receiver with %s: got %s, want code reference_required and message %q", what, a.Body, said)
		}
		said = a.Text(t, "message")
	}
	for what, body := range map[string]api.Object{"gift": gift(nil), "transfer": transfer(nil), "request": request(nil)} {
		ref := create(t, c, body).Text(t, "payment.reference")
		if what == "gift" {
			a := nobody.Call(t, http.MethodPost, path, look(ref)).Want(t, http.StatusOK)
			if a.Text(t, "receiver.accountName") == "" {
				t.Errorf("verify a receiver by the reference of a gift: got %s, want an account name", a.Body)
			}
		}
		key(t, s, c, "test", unique("other"), "payment:create").Call(t, http.MethodPost, path, look(ref), bad).Want(t, http.StatusNotFound)
		c.Call(t, http.MethodPost, path, look(ref)).Want(t, http.StatusOK)
	}
	for _, badly := range []*api.Client{c.With("sk_test_nonsense"), key(t, s, c, "test", unique("reader"), "payment:read")} {
		refuse(t, badly, path, look(""), http.StatusUnauthorized, "")
		badly.Call(t, http.MethodPost, path, look(create(t, c, gift(nil)).Text(t, "payment.reference"))).Want(t, http.StatusOK)
	}
}

// TestVerifyLimit: the look-ups for one payment are counted, whatever account they are for.
func TestVerifyLimit(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	nobody := c.With("")
	ref := create(t, c, gift(nil)).Text(t, "payment.reference")
	body := func(i int) api.Object {
		return api.Object{"bankCode": "058", "accountNumber": fmt.Sprintf("01234567%02d", i), "reference": ref}
	}
	for i := range 10 {
		nobody.Call(t, http.MethodPost, "/v1/payments/verify-receiver", body(i)).Want(t, http.StatusOK)
	}
	a := refuse(t, nobody, "/v1/payments/verify-receiver", body(10), http.StatusTooManyRequests, "")
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	c.Call(t, http.MethodPost, "/v1/payments/verify-receiver", body(10)).Want(t, http.StatusOK)
}
