//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestOperatorDecides: a failed payout is listed, retried to another account and settled; a cancelled payment that was
// paid is refunded once an address is known.
func TestOperatorDecides(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	body := transfer(api.Object{"receiver": api.Object{"bankCode": "058", "accountNumber": "0000000003"}})
	ref := create(t, c, body).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "needs_review")
	resolve := "/v1/admin/payments/" + ref + "/resolve"
	if !inReview(t, operator, ref) {
		t.Error("the payment is not in the operators' list")
	}
	c.Call(t, http.MethodGet, "/v1/admin/payments", nil).Want(t, http.StatusUnauthorized)
	refuse(t, c, resolve, api.Object{"action": "accept"}, http.StatusUnauthorized, "")
	refuse(t, operator, resolve, api.Object{"action": "burn"}, http.StatusBadRequest, "")
	refuse(t, operator, resolve, api.Object{"action": "accept"}, http.StatusConflict, "")
	refuse(t, operator, "/v1/admin/payments/CW-AAAAAAAAAAAA/resolve", api.Object{"action": "accept"}, http.StatusNotFound, "")
	again := api.Object{"action": "retry_payout", "receiver": api.Object{"bankCode": "044", "accountNumber": "1111111111"}, "reason": "account closed"}
	operator.Call(t, http.MethodPost, resolve, again).Want(t, http.StatusOK)
	settled := awaitStatus(t, c, ref, "settled")
	if settled.Text(t, "payment.receiver.accountNumber") != "******1111" {
		t.Errorf("settled: %s", settled.Body)
	}

	ref = create(t, c, transfer(api.Object{"network": "tron"})).Text(t, "payment.reference")
	cancel(t, c, ref)
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "needs_review")
	resolve = "/v1/admin/payments/" + ref + "/resolve"
	refund := api.Object{"action": "mark_refunded", "txHash": "f00d", "reason": "paid after it was cancelled"}
	refuse(t, operator, resolve, refund, http.StatusConflict, "The payer's refund address has to be given first")
	refuse(t, c, "/v1/payments/"+ref+"/refund-address", api.Object{"address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}, http.StatusBadRequest, "")
	c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/refund-address", api.Object{"address": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}).Want(t, http.StatusOK)
	// the deposit has to be deep before it can be given back; until then it is not booked
	api.Eventually(t, settle, "the refund", func() bool {
		return operator.Call(t, http.MethodPost, resolve, refund).Want(t, http.StatusOK, http.StatusConflict).Status == http.StatusOK
	})
	awaitStatus(t, c, ref, "refunded")
}

func inReview(t testing.TB, operator *api.Client, ref string) bool {
	t.Helper()
	cursor := ""
	for range 50 {
		page := operator.Call(t, http.MethodGet, "/v1/admin/payments?status=needs_review&limit=100"+cursor, nil).Want(t, http.StatusOK)
		for i := range page.Len(t, "payments") {
			if page.Text(t, item("payments", i, "reference")) == ref {
				return true
			}
		}
		if page.Null("pagination.nextCursor") {
			return false
		}
		cursor = "&cursor=" + page.Text(t, "pagination.nextCursor")
	}
	return false
}

// TestOverLimitAndAccept: a small quote is paid far beyond the currency's maximum. It waits, an operator sees what accepting pays,
// and it pays that and no more.
func TestOverLimitAndAccept(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path), "chargeFrom": "fiat", "fiatAmount": 5000})).Text(t, "payment.reference")
	deposit(t, c, ref, api.Object{"amount": 50_000_000})
	held := awaitStatus(t, c, ref, "needs_review")
	if exception(held) != "over_limit" {
		t.Fatalf("held: %s", held.Body)
	}
	resolve := "/v1/admin/payments/" + ref + "/resolve"
	differs := operator.Call(t, http.MethodPost, resolve, api.Object{"action": "accept", "payoutAmount": 72_000_000_000})
	differs.Want(t, http.StatusConflict)
	if differs.Text(t, "error.code") != "payout_amount_differs" || differs.Text(t, "message") != "Accepting would pay 4500.00 NGN now" {
		t.Errorf("another amount: %s", differs.Body)
	}
	refuse(t, operator, resolve, api.Object{"action": "mark_refunded", "txHash": "f00d", "payoutAmount": 4500}, http.StatusBadRequest, "")
	accepted := operator.Call(t, http.MethodPost, resolve, api.Object{"action": "accept", "payoutAmount": 4500})
	accepted.Want(t, http.StatusOK)
	settled := awaitStatus(t, c, ref, "settled")
	if settled.Number(t, "payment.payout.amount").Cmp(api.Rat("4500")) != 0 || exception(settled) != "overpaid" {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitCallbacks(t, hook, path, "payment.overpaid", "payment.needs_review", "payment.settled")
	clean(t, hook)
}
