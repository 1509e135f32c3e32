//go:build integration

package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/receiver"
)

// TestShop: the fields of the merchant's shop are shown wherever the payment is, and one order has one payment at a
// time.
func TestShop(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	order := unique("order")
	shop := api.Object{"merchantReference": order, "description": "Two books – ẹ̀kọ́", "locale": "fr-CI", "returnUrl": "http://localhost:3000/thanks?order=1"}
	body := transfer(api.Object{"callbackUrl": hook.URL(path)})
	for k, v := range shop {
		body[k] = v
	}
	made := c.Call(t, http.MethodPost, "/v1/payments", body).Want(t, http.StatusCreated)
	ref := made.Text(t, "payment.reference")
	if _, ok := made.At("payment.merchantReference"); ok {
		t.Errorf("the answer to a create has a field of the shop: %s", made.Body)
	}
	taken := func() {
		t.Helper()
		a := c.Call(t, http.MethodPost, "/v1/payments", body).Want(t, http.StatusConflict)
		if a.Text(t, "error.code") != "merchant_reference_used" {
			t.Errorf("create a second payment of the order: got %s, want merchant_reference_used", a.Body)
		}
	}
	taken()
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "settled")
	awaitCallbacks(t, hook, path, "payment.settled")
	all := hook.Accepted(path)
	at := slices.IndexFunc(all, func(d receiver.Delivery) bool { return d.Type == "payment.settled" })
	listed := c.Call(t, http.MethodGet, "/v1/payments?merchantReference="+url.QueryEscape(order), nil).Want(t, http.StatusOK)
	checkout := c.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK)
	for where, shown := range map[string]*api.Answer{
		"payment.": get(t, c, ref), "payments.0.": listed, "data.payment.": api.Parse(t, all[at].Body), "payment": checkout,
	} {
		for field, want := range shop {
			if got := shown.Text(t, strings.TrimSuffix(where, ".")+"."+field); got != fmt.Sprint(want) {
				t.Errorf("read %s of %s: got %q, want %q", field, where, got, want)
			}
		}
	}
	if n := listed.Len(t, "payments"); n != 1 {
		t.Errorf("list the payments of the order: got %d, want 1", n)
	}
	taken() // it is paid
	clean(t, hook)
}
