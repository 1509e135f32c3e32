//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// magic makes a transfer whose account number forces what the simulated bank does (docs/api-contract.md#sandbox), and
// pays it.
func magic(t testing.TB, number string) (s *stack.Stack, c *api.Client, ref string, awaitEvents func(...string)) {
	t.Helper()
	s, c = shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	body := transfer(api.Object{"callbackUrl": hook.URL(path), "receiver": api.Object{"bankCode": "058", "accountNumber": number}})
	ref = create(t, c, body).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	return s, c, ref, func(types ...string) {
		t.Helper()
		awaitCallbacks(t, hook, path, types...)
		clean(t, hook)
	}
}

// TestPayoutFails: a final failure at the rail needs a person.
func TestPayoutFails(t *testing.T) {
	t.Parallel()
	_, c, ref, events := magic(t, "0000000003")
	if a := awaitStatus(t, c, ref, "needs_review"); exception(a) != "payout_failed" || !a.Null("payment.settledAt") {
		t.Errorf("needs_review: %s", a.Body)
	}
	events("payment.settling", "payment.needs_review")
}

// TestPayoutReturned: money that comes back needs a person. Payments may learn of the success before, or of the return
// alone.
func TestPayoutReturned(t *testing.T) {
	t.Parallel()
	_, c, ref, events := magic(t, "0000000004")
	if a := awaitStatus(t, c, ref, "needs_review"); exception(a) != "payout_returned" {
		t.Errorf("needs_review: %s", a.Body)
	}
	events("payment.needs_review")
}

// TestPayoutReturnedAfterSuccess: the merchant receives an event for the success and one for the return that follows.
func TestPayoutReturnedAfterSuccess(t *testing.T) {
	t.Parallel()
	_, c, ref, events := magic(t, "0123456789")
	awaitStatus(t, c, ref, "settled")
	events("payment.settled")
	outcome := "/v1/sandbox/payouts/" + ref + "/outcome"
	c.Call(t, http.MethodPost, outcome, api.Object{"outcome": "return"}).Want(t, http.StatusOK)
	if a := awaitStatus(t, c, ref, "needs_review"); exception(a) != "payout_returned" {
		t.Errorf("needs_review: %s", a.Body)
	}
	events("payment.settled", "payment.needs_review")
}

// TestPayoutFoundByQuery: a timeout is an unknown outcome; the query finds that the payout was made.
func TestPayoutFoundByQuery(t *testing.T) {
	t.Parallel()
	s, c, ref, events := magic(t, "0000000005")
	if a := awaitStatus(t, c, ref, "settled"); exception(a) != "" {
		t.Errorf("settled: %s", a.Body)
	}
	events("payment.settling", "payment.settled")
	paidOnce(t, s, ref)
}

// TestPayoutNeverMade: the query finds conclusively that nothing was made, so it is sent again under the same
// reference.
func TestPayoutNeverMade(t *testing.T) {
	t.Parallel()
	s, c, ref, events := magic(t, "0000000006")
	if a := awaitStatus(t, c, ref, "settled"); exception(a) != "" {
		t.Errorf("settled: %s", a.Body)
	}
	events("payment.settling", "payment.settled")
	paidOnce(t, s, ref)
}

// paidOnce asks the simulated bank's own statement, which nothing of payments can rewrite, how often it paid.
func paidOnce(t testing.TB, s *stack.Stack, ref string) {
	t.Helper()
	n := count(t, s, "payments", `SELECT count(*) FROM sim_transfers WHERE ref LIKE lower($1) || '-%'`, ref)
	if n != 1 {
		t.Errorf("the bank's statement holds %d transfers for %s, want 1", n, ref)
	}
}
