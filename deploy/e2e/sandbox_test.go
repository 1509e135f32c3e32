//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestSimulateDeposit: the incumbent's way to pay, whole, in part and step by step.
func TestSimulateDeposit(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	made := create(t, c, transfer(nil))
	ref := made.Text(t, "payment.reference")
	path := "/v1/sandbox/payments/" + ref + "/simulate-deposit"
	amount, _ := part(t, made, 1, 2)
	c.Call(t, http.MethodPost, path, api.Object{"amount": amount, "steps": 1}).Want(t, http.StatusOK)
	awaitPayment(t, c, ref, "underpaid", func(a *api.Answer) bool { return exception(a) == "underpaid" })
	c.Call(t, http.MethodPost, path, nil).Want(t, http.StatusOK)
	awaitPayment(t, c, ref, "seen in full", func(a *api.Answer) bool { return exception(a) != "underpaid" })
	refuse(t, c, path, api.Object{"steps": -1}, http.StatusBadRequest, "")
	key(t, s, c, "live", unique("sandbox"), "*").Call(t, http.MethodPost, path, api.Object{}, bad).Want(t, http.StatusNotFound)
}

// TestDepositStates: late money for expired and cancelled payments; none for a request that has no address, or one that
// is settled.
func TestDepositStates(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	expire(t, c, ref)
	deposit(t, c, ref, nil)
	awaitPayment(t, c, ref, "paid late", func(a *api.Answer) bool { return exception(a) == "paid_late" })
	ref = create(t, c, transfer(nil)).Text(t, "payment.reference")
	cancel(t, c, ref)
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "needs_review")
	ref = create(t, c, request(nil)).Text(t, "payment.reference")
	refuse(t, c, "/v1/sandbox/payments/"+ref+"/deposits", api.Object{}, http.StatusConflict, "")
}

// TestPayoutOutcome: a payout takes the requested outcome, by its payment's reference before it is sent and by its id
// after.
func TestPayoutOutcome(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	order := func(name, outcome string) *api.Answer {
		t.Helper()
		return c.Call(t, http.MethodPost, "/v1/sandbox/payouts/"+name+"/outcome", api.Object{"outcome": outcome}).Want(t, http.StatusOK)
	}
	walk := func(outcome string) string {
		ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
		if outcome != "" {
			order(ref, outcome)
		}
		deposit(t, c, ref, nil)
		return ref
	}
	failing, returning, silent, plain := walk("fail"), walk("return"), walk("timeout"), walk("")
	if a := awaitStatus(t, c, failing, "needs_review"); exception(a) != "payout_failed" {
		t.Errorf("ordered to fail: got %s", a.Body)
	}
	if a := awaitStatus(t, c, returning, "needs_review"); exception(a) != "payout_returned" {
		t.Errorf("ordered to return: got %s", a.Body)
	}
	paid := awaitStatus(t, c, plain, "settled")
	order(paid.Text(t, "payment.payout.id"), "return")
	if a := awaitStatus(t, c, plain, "needs_review"); exception(a) != "payout_returned" {
		t.Errorf("returned after it was settled: %s", a.Body)
	}
	awaitStatus(t, c, silent, "settling")
	order(silent, "succeed")
	awaitStatus(t, c, silent, "settled")
	for name, status := range map[string]int{"pyo_00000000000000000000000000": 404, "nonsense": 404, "CW-AAAAAAAAAAAA": 404} {
		refuse(t, c, "/v1/sandbox/payouts/"+name+"/outcome", api.Object{"outcome": "fail"}, status, "")
	}
	refuse(t, c, "/v1/sandbox/payouts/"+plain+"/outcome", api.Object{"outcome": "explode"}, http.StatusBadRequest, "")
	refuse(t, c, "/v1/sandbox/payouts/"+failing+"/outcome", api.Object{"outcome": "succeed"}, http.StatusConflict, "")
}
