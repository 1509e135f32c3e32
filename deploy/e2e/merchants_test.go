//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestMerchants: a merchant is made, approved, bounded and suspended by operators, and sees itself; what its terms or
// its suspension exclude is refused, and its deposits and reads go on.
func TestMerchants(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator, id := c.With(s.AdminToken), unique("acme")
	path := "/v1/admin/merchants/" + id
	made := operator.Call(t, http.MethodPost, "/v1/admin/merchants", api.Object{"merchantId": id, "name": "Acme Stores", "country": "NG"}).Want(t, http.StatusCreated)
	if made.Text(t, "merchant.status") != "draft" {
		t.Errorf("make a merchant: got %s, want a draft", made.Body)
	}
	live := api.Object{"merchantId": id, "name": "till", "mode": "live", "permissions": []string{"*"}}
	refusedAs(t, operator, "/v1/admin/keys", live, http.StatusConflict, "merchant_unknown")
	mine := key(t, s, c, "test", id, "*")
	if a := mine.Call(t, http.MethodGet, "/v1/merchant", nil).Want(t, http.StatusOK); a.Text(t, "merchant.name") != "Acme Stores" {
		t.Errorf("ask for the own merchant: got %s, want its name", a.Body)
	}
	operator.Call(t, http.MethodPost, path+"/approve", nil).Want(t, http.StatusOK)
	operator.Call(t, http.MethodPost, "/v1/admin/keys", live).Want(t, http.StatusCreated)
	if a := operator.Call(t, http.MethodGet, "/v1/admin/merchants?search="+id, nil).Want(t, http.StatusOK); a.Len(t, "merchants") != 1 {
		t.Errorf("search the merchant: got %s, want it alone", a.Body)
	}

	bound := func(terms api.Object, code string) {
		t.Helper()
		operator.Call(t, http.MethodPatch, path, terms).Want(t, http.StatusOK)
		inForce(t, operator, path)
		api.Eventually(t, settle, "the terms to hold", func() bool {
			a := mine.Call(t, http.MethodPost, "/v1/payments", transfer(nil))
			return code == "" && a.Status == http.StatusCreated || code != "" && codeOf(a) == code
		})
	}
	bound(api.Object{"networks": []string{"trc20"}}, "network_not_enabled")
	wallet := api.Object{"network": "erc20", "crypto": "USDT"}
	if a := mine.Call(t, http.MethodPost, "/v1/wallets", wallet).Want(t, http.StatusForbidden); codeOf(a) != "network_not_enabled" {
		t.Errorf("a wallet on another network: got %s, want network_not_enabled", a.Body)
	}
	bound(api.Object{"networks": []string{}, "limits": []api.Object{{"fiatCurrency": "NGN", "maximum": 100}}}, "validation_failed")
	bound(api.Object{"limits": []api.Object{}, "types": []string{"gift"}}, "type_not_enabled")
	bound(api.Object{"types": []string{}, "dailyLimits": []api.Object{{"fiatCurrency": "NGN", "maximum": 1}}}, "") // test mode has no limit of a day

	paid := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	operator.Call(t, http.MethodPost, path+"/suspend", api.Object{"reason": "chargebacks"}).Want(t, http.StatusOK)
	inForce(t, operator, path)
	for _, create := range []string{"/v1/payments", "/v1/wallets", "/v1/withdrawals"} {
		refusedAs(t, mine, create, api.Object{}, http.StatusForbidden, "merchant_suspended")
	}
	deposit(t, mine, paid, nil)
	awaitPayment(t, mine, paid, "confirmed", func(a *api.Answer) bool { return !a.Null("payment.confirmedAt") })
	operator.Call(t, http.MethodPost, path+"/resume", api.Object{"reason": "settled"}).Want(t, http.StatusOK)
	awaitStatus(t, mine, paid, "settled")
}

// codeOf is the code of a refusal, "" of an answer that is none.
func codeOf(a *api.Answer) string {
	code, _ := a.At("error.code")
	text, _ := code.(string)
	return text
}

// refusedAs makes a call that is answered with this status and code.
func refusedAs(t *testing.T, c *api.Client, path string, body any, status int, code string) {
	t.Helper()
	if a := c.Call(t, http.MethodPost, path, body, bad).Want(t, status); codeOf(a) != code {
		t.Errorf("%s answers %s, want %s", path, a.Body, code)
	}
}

// inForce waits until payments knows a merchant's newest status and terms.
func inForce(t *testing.T, operator *api.Client, path string) {
	t.Helper()
	api.Eventually(t, settle, "payments to know the merchant", func() bool {
		knows, _ := operator.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK).At("merchant.inForce")
		return knows == true
	})
}

// TestPauses: an operator pauses the quotes of one merchant, with a reason, and ends the pause; others go on.
func TestPauses(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator, id := c.With(s.AdminToken), unique("paused")
	mine := key(t, s, c, "test", id, "*")
	order := api.Object{"paused": "quotes", "merchantId": id, "reason": "under review"}
	made := operator.Call(t, http.MethodPost, "/v1/admin/pauses", order).Want(t, http.StatusCreated)
	refusedAs(t, operator, "/v1/admin/pauses", order, http.StatusConflict, "already_paused")
	api.Eventually(t, settle, "quotes of the merchant to stop", func() bool {
		return codeOf(mine.Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Once)) == "quotes_paused"
	})
	create(t, c, transfer(nil))
	const everything = `"paused":"quotes","fiatCurrency":null,"network":null,"rail":null` // as the pause without its merchant
	if a := c.Call(t, http.MethodGet, "/v1/networks", nil).Want(t, http.StatusOK); strings.Contains(string(a.Body), everything) {
		t.Errorf("the public sees the pause of a merchant: %s", a.Body)
	}
	one := "/v1/admin/pauses/" + made.Number(t, "pause.id").RatString()
	operator.Call(t, http.MethodDelete, one, api.Object{"reason": "reviewed"}).Want(t, http.StatusOK)
	operator.Call(t, http.MethodDelete, one, nil).Want(t, http.StatusNotFound)
	api.Eventually(t, settle, "quotes of the merchant to go on", func() bool {
		return mine.Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Once).Status == http.StatusCreated
	})
	for _, order := range []api.Object{
		{"paused": "quotes"},
		{"paused": "deposits", "reason": "x"},
		{"paused": "refunds", "merchantId": id, "reason": "x"},
		{"paused": "quotes", "rail": "sim", "reason": "x"},
		{"paused": "quotes", "until": "2001-01-01T00:00:00Z", "reason": "x"},
	} {
		operator.Call(t, http.MethodPost, "/v1/admin/pauses", order, bad).Want(t, http.StatusBadRequest)
	}
}
