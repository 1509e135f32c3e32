//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestOperatorLists: what waits for operators is listed for them alone, page by page, as the document describes it.
func TestOperatorLists(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	lists := map[string]string{
		"/v1/admin/holds": "payments", "/v1/admin/payouts": "payouts", "/v1/admin/deposits/unattributed": "deposits", "/v1/admin/differences?status=all": "differences",
		"/v1/admin/owed?to=payer&mode=test": "owed", "/v1/admin/unclaimed?status=all": "unclaimed",
	}
	for path, name := range lists {
		c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
		operator.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Len(t, name)
	}
	operator.Call(t, http.MethodGet, "/v1/admin/holds?cursor=nonsense", nil, bad).Want(t, http.StatusBadRequest)
	operator.Call(t, http.MethodGet, "/v1/admin/holds?limit=0", nil, bad).Want(t, http.StatusBadRequest)

	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/cancel", api.Object{}).Want(t, http.StatusOK)
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "needs_review")
	found := false
	for cursor := ""; !found; {
		page := operator.Call(t, http.MethodGet, "/v1/admin/holds?limit=2"+cursor, nil).Want(t, http.StatusOK)
		for i := range page.Len(t, "payments") {
			at := "payments." + string(rune('0'+i))
			if page.Null(at + ".reference") { // another test's gift
				continue
			}
			if page.Text(t, at+".reference") == ref {
				found = true
				if page.Text(t, at+".hold") != "paid_late" || page.Text(t, at+".screenings.0.stage") != "deposit" || page.Text(t, at+".screenings.0.verdict") != "clear" {
					t.Errorf("held: %s", page.Body)
				}
			}
		}
		if page.Null("pagination.nextCursor") {
			break
		}
		cursor = "&cursor=" + page.Text(t, "pagination.nextCursor")
	}
	if !found {
		t.Errorf("%s is not on the list of holds", ref)
	}
	api.Eventually(t, settle, "the money to be on the list of what is owed", func() bool {
		return count(t, s, "payments", `SELECT count(*) FROM owed o JOIN payments p ON p.id = o.payment_id WHERE p.reference = $1 AND o.owed_to = 'payer'`, ref) == 1
	})
	operator.Call(t, http.MethodGet, "/v1/admin/owed?asset=DOGE", nil, bad).Want(t, http.StatusBadRequest)
}
