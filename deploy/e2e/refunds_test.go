//go:build integration

package e2e

import (
	"net/http"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
)

// refundWithin is how long the simulated chain takes at most to confirm a refund (docs/api-contract.md#refunds).
const refundWithin = 30 * time.Second

// A merchant refunds a payment that was paid after it was cancelled. The simulated chain confirms the refund, and the
// events come in the order of its life.
func TestRefunds(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", "local", "payment:create", "payment:read", "refund:create")
	other := key(t, s, c, "test", unique("other"), "payment:create", "payment:read", "refund:create")
	r, path := hooks(t, s.WebhookSecret)
	made := create(t, mine, transfer(api.Object{"network": "tron", "callbackUrl": r.URL(path)}))
	ref := made.Text(t, "payment.reference")
	refunds := "/v1/payments/" + ref + "/refunds"
	cancel(t, mine, ref)
	refuse(t, mine, refunds, api.Object{"reason": "cancelled"}, http.StatusConflict, "")
	deposit(t, mine, ref, nil)
	awaitStatus(t, mine, ref, "needs_review")
	api.Eventually(t, settle, "the deposit to be deep enough", func() bool {
		a := mine.Call(t, http.MethodPost, refunds, api.Object{"reason": "cancelled"}).Want(t, http.StatusConflict)
		return a.Text(t, "error.code") == "no_refund_address"
	})
	mine.Call(t, http.MethodPost, "/v1/payments/"+ref+"/refund-address", api.Object{"address": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}).Want(t, http.StatusOK)

	refuse(t, mine, refunds, api.Object{"reason": "cancelled", "amount": 1e9}, http.StatusConflict, "")
	refuse(t, mine, refunds, api.Object{}, http.StatusBadRequest, "")
	refuse(t, other, refunds, api.Object{"reason": "cancelled"}, http.StatusNotFound, "")
	began := time.Now()
	refund := mine.Call(t, http.MethodPost, refunds, api.Object{"reason": "cancelled"}).Want(t, http.StatusCreated)
	refuse(t, mine, refunds, api.Object{"reason": "cancelled"}, http.StatusConflict, "")
	done := awaitStatus(t, mine, ref, "refunded")
	if took := time.Since(began); took > refundWithin {
		t.Errorf("the refund was confirmed after %s, want at most %s", took, refundWithin)
	}
	if id := done.Text(t, item("payment.refunds", 0, "id")); id != refund.Text(t, "refund.id") || done.Text(t, item("payment.refunds", 0, "status")) != "confirmed" {
		t.Errorf("the payment shows %s, want refund %s confirmed", done.Body, refund.Text(t, "refund.id"))
	}
	if list := mine.Call(t, http.MethodGet, refunds, nil).Want(t, http.StatusOK); list.Len(t, "refunds") != 1 {
		t.Errorf("refunds %s, want one", list.Body)
	}
	awaitExactly(t, r, path, "payment.pending", "payment.cancelled", "payment.needs_review", "payment.refund_address_changed", "payment.refund_requested",
		"payment.refund_approved", "payment.refund_signing", "payment.refund_sent", "payment.refund_confirmed", "payment.refunded")
	clean(t, r)
}

// wallets refuses an order to an address that is its own by then. The refund fails, the merchant gets the event, and
// the same money is refunded again.
func TestRefunds_orderRefused(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	r, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, transfer(api.Object{"network": "tron", "callbackUrl": r.URL(path)})).Text(t, "payment.reference")
	owe(t, c, ref)
	const owned = "TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL"
	value[string](t, s, "wallets", `INSERT INTO own_accounts (mode, family, address, told) VALUES ('test', 'tron', $1, true) RETURNING address`, owned)
	refunds := "/v1/payments/" + ref + "/refunds"
	for _, to := range []struct{ address, status string }{{owned, "failed"}, {anotherTron, "confirmed"}} {
		c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/refund-address", api.Object{"address": to.address}).Want(t, http.StatusOK)
		made := c.Call(t, http.MethodPost, refunds, api.Object{"reason": "cancelled"}).Want(t, http.StatusCreated).Text(t, "refund.id")
		api.Eventually(t, refundWithin, "the refund to be "+to.status, func() bool {
			return value[string](t, s, "payments", `SELECT state FROM refunds WHERE id = $1`, made) == to.status
		})
		if why := value[string](t, s, "payments", `SELECT failure FROM refunds WHERE id = $1`, made); (why == "destination_owned") != (to.status == "failed") {
			t.Errorf("read why refund %s ended: got %q, want destination_owned of the failed one alone", made, why)
		}
	}
	awaitStatus(t, c, ref, "refunded")
	awaitCallbacks(t, r, path, "payment.refund_failed", "payment.refund_confirmed", "payment.refunded")
	clean(t, r)
}

// refunded refunds a payment that was paid after it was cancelled, and returns the id of the refund.
func refunded(t testing.TB, c *api.Client) string {
	t.Helper()
	ref := create(t, c, transfer(api.Object{"network": "tron"})).Text(t, "payment.reference")
	cancel(t, c, ref)
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "needs_review")
	c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/refund-address", api.Object{"address": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}).Want(t, http.StatusOK)
	id := ""
	api.Eventually(t, settle, "the refund to be taken", func() bool {
		a := c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/refunds", api.Object{"reason": "cancelled"}).Want(t, http.StatusCreated, http.StatusConflict)
		if a.Status == http.StatusCreated {
			id = a.Text(t, "refund.id")
		}
		return id != ""
	})
	awaitStatus(t, c, ref, "refunded")
	return id
}
