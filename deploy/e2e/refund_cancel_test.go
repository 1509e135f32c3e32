//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// cancelTries bounds the refunds until one is cancelled before the simulated chain sends it, which takes a second.
const cancelTries = 5

// An operator cancels an approved refund. It fails as cancelled and its money is refunded again, or it goes on because
// the simulated chain was quicker, and its payment is refunded once.
func TestRefunds_cancelled(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	for range cancelTries {
		r, path := hooks(t, s.WebhookSecret)
		ref := create(t, c, transfer(api.Object{"network": "tron", "callbackUrl": r.URL(path)})).Text(t, "payment.reference")
		owe(t, c, ref)
		c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/refund-address", api.Object{"address": anotherTron}).Want(t, http.StatusOK)
		refunds := "/v1/payments/" + ref + "/refunds"
		id := c.Call(t, http.MethodPost, refunds, api.Object{"reason": "cancelled"}).Want(t, http.StatusCreated).Text(t, "refund.id")
		refuse(t, operator, "/v1/admin/refunds/"+id+"/cancel", api.Object{}, http.StatusBadRequest, "")
		operator.Call(t, http.MethodPost, "/v1/admin/refunds/"+id+"/cancel", api.Object{"reason": "the payer called"}).Want(t, http.StatusOK, http.StatusConflict)
		status := ""
		api.Eventually(t, refundWithin, "the refund to end", func() bool {
			status = c.Call(t, http.MethodGet, refunds, nil).Want(t, http.StatusOK).Text(t, item("refunds", 0, "status"))
			return status == "failed" || status == "confirmed"
		})
		refuse(t, operator, "/v1/admin/refunds/"+id+"/cancel", api.Object{"reason": "again"}, http.StatusConflict,
			"A refund that is "+status+" cannot be cancelled, only one that is approved or signing")
		if status == "confirmed" {
			awaitStatus(t, c, ref, "refunded")
			continue
		}
		if why := c.Call(t, http.MethodGet, refunds, nil).Want(t, http.StatusOK).Text(t, item("refunds", 0, "failure")); why != "cancelled" {
			t.Errorf("read why refund %s failed: got %q, want cancelled", id, why)
		}
		c.Call(t, http.MethodPost, refunds, api.Object{"reason": "to the same address after all"}).Want(t, http.StatusCreated)
		awaitStatus(t, c, ref, "refunded")
		awaitCallbacks(t, r, path, "payment.refund_failed", "payment.refund_confirmed", "payment.refunded")
		clean(t, r)
		return
	}
	t.Errorf("cancel %d refunds at once after their approval: got each of them sent, want one cancelled", cancelTries)
}
