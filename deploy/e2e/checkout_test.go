//go:build integration

package e2e

import (
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

// TestSimulate: whoever knows the reference of a test payment plays its payer, in each way once; a live payment has no
// such route, and neither has one that takes no money.
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
			t.Errorf("%s: %s", scenario, settled.Body)
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
		t.Errorf("%s", a.Body)
	}
	body["reference"] = "CW-AAAAAAAAAAAA"
	refuse(t, c.With(""), "/v1/payments/verify-receiver", body, http.StatusNotFound, "")
}
