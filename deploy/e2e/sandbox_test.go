//go:build integration

package e2e

import (
	"net/http"
	"strings"
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

// TestSandboxTroubles: what a test forces on one payment comes to the state that a live payment would have, and goes on
// as a live one would.
func TestSandboxTroubles(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	start := func(outcome api.Object) string {
		t.Helper()
		ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
		deposit(t, c, ref, outcome)
		return ref
	}
	dropped := start(api.Object{"outcome": "reorg_dropped"})
	held, over := start(api.Object{"outcome": "screening_hold"}), start(api.Object{"outcome": "over_limit"})
	plain := start(api.Object{})
	awaitPayment(t, c, dropped, "reorged", func(a *api.Answer) bool { return exception(a) == "reorged" })
	// The transfer is in another block after two seconds. Where a message takes longer, the payment learns of that first.
	shown := false
	for range 5 {
		again := start(api.Object{"outcome": "reorg"})
		awaitStatus(t, c, again, "settled")
		timeline := c.Call(t, http.MethodGet, "/v1/payments/"+again+"/timeline", nil).Want(t, http.StatusOK)
		if shown = strings.Contains(string(timeline.Body), `"reorged"`); shown {
			break
		}
	}
	if !shown {
		t.Error("the timeline of no reorganised payment shows it")
	}
	deposit(t, c, dropped, nil)
	awaitStatus(t, c, dropped, "settled")
	for ref, want := range map[string]string{held: "screening_hold", over: "over_limit"} {
		if a := awaitStatus(t, c, ref, "needs_review"); exception(a) != want {
			t.Errorf("a deposit that is to be held by %s: %s", want, a.Body)
		}
	}
	awaitStatus(t, c, plain, "settled")
	path := "/v1/sandbox/payments/" + plain + "/deposits"
	for _, outcome := range []string{"lost", ""} {
		refuse(t, c, path, api.Object{"outcome": outcome}, http.StatusBadRequest, "")
	}
}

// TestSandboxOutages: a merchant of test mode loses its prices or a network, and nobody else does; the same request
// succeeds after the outage.
func TestSandboxOutages(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("outage")
	mine := key(t, s, c, "test", merchant, "*")
	const outages = "/v1/sandbox/outages"
	for code, body := range map[string]api.Object{
		"rate_unavailable": {"what": "rates"}, "network_unavailable": {"what": "network", "network": "erc20"},
	} {
		mine.Call(t, http.MethodPost, outages, body).Want(t, http.StatusOK)
		api.Eventually(t, soon, code, func() bool {
			a := mine.Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Once)
			return a.Status == http.StatusServiceUnavailable && a.Text(t, "error.code") == code
		})
		create(t, c, transfer(nil))
		over := api.Object{"seconds": 0}
		for name, value := range body {
			over[name] = value
		}
		mine.Call(t, http.MethodPost, outages, over).Want(t, http.StatusOK)
		api.Eventually(t, soon, "the end of "+code, func() bool {
			return mine.Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Once).Status == http.StatusCreated
		})
	}
	refuse(t, mine, outages, api.Object{"what": "network"}, http.StatusBadRequest, "")
	refuse(t, mine, outages, api.Object{"what": "rates", "seconds": 601}, http.StatusBadRequest, "")
	key(t, s, c, "live", merchant, "*").Call(t, http.MethodPost, outages, api.Object{"what": "rates"}, bad).Want(t, http.StatusNotFound)
}
