//go:build integration

package e2e

import (
	"net/http"
	"testing"
)

// TestSearchOfOperators: operators find a payment by its payout's id or reference, and by the last four digits of the
// account within one mode.
func TestSearchOfOperators(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	const path = "/v1/admin/payments"
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "settled")
	id := value[string](t, s, "payments", `SELECT id FROM payments WHERE reference = $1`, ref)
	found := func(query string) bool {
		answer := operator.Call(t, http.MethodGet, path+query, nil).Want(t, http.StatusOK)
		return len(items(t, answer, "payments", func(at string) bool { return answer.Text(t, at+".id") == id })) == 1
	}
	for _, column := range []string{"id", "reference"} {
		name := value[string](t, s, "payments", `SELECT `+column+` FROM payouts WHERE payment_id = $1`, id)
		if !found("?payout=" + name) {
			t.Errorf("look for the payout %s: got no payment %s", name, id)
		}
	}
	if !found("?accountEnds=6789&mode=test&merchantId=local") {
		t.Errorf("look for the account that ends with 6789: got no payment %s", id)
	}
	if found("?accountEnds=6789&mode=live") || found("?accountEnds=0000&mode=test") {
		t.Error("look for an account of the other mode, and for other digits: got the payment, want none")
	}
	for _, query := range []string{"?accountEnds=6789", "?accountEnds=678&mode=test", "?accountEnds=0123456789&mode=test"} {
		operator.Call(t, http.MethodGet, path+query, nil, bad).Want(t, http.StatusBadRequest)
	}
	c.Call(t, http.MethodGet, path+"?accountEnds=6789&mode=test", nil).Want(t, http.StatusUnauthorized)
}
