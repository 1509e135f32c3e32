//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// silent makes a payment whose bank takes the order and never answers, and gives its reference and its payout's id.
func silent(t testing.TB, c *api.Client) (ref, payout string) {
	t.Helper()
	ref = create(t, c, transfer(nil)).Text(t, "payment.reference")
	c.Call(t, http.MethodPost, "/v1/sandbox/payouts/"+ref+"/outcome", api.Object{"outcome": "timeout"}).Want(t, http.StatusOK)
	deposit(t, c, ref, nil)
	return ref, awaitStatus(t, c, ref, "settling").Text(t, "payment.payout.id")
}

// doubt finds a payout in the operators' list.
func doubt(t testing.TB, operator *api.Client, payout string) (page *api.Answer, at string) {
	t.Helper()
	api.Eventually(t, soon, "the payout in the operators' list", func() bool {
		for cursor := ""; ; {
			page = operator.Call(t, http.MethodGet, "/v1/admin/payouts?limit=100"+cursor, nil).Want(t, http.StatusOK)
			for i := range page.Len(t, "payouts") {
				if at = strings.TrimSuffix(item("payouts", i, ""), "."); page.Text(t, at+".id") == payout {
					return true
				}
			}
			if page.Null("pagination.nextCursor") {
				return false
			}
			cursor = "&cursor=" + page.Text(t, "pagination.nextCursor")
		}
	})
	return page, at
}

// conclude sends an operator's word until no order can be on its way any more.
func conclude(t testing.TB, operator *api.Client, payout string, body api.Object) (answer *api.Answer) {
	t.Helper()
	api.Eventually(t, settle, "the conclusion", func() bool {
		answer = operator.Call(t, http.MethodPost, "/v1/admin/payouts/"+payout+"/conclude", body, api.Once)
		answer.Want(t, http.StatusOK, http.StatusConflict, http.StatusServiceUnavailable)
		later := map[int]string{http.StatusConflict: "payout_in_flight", http.StatusServiceUnavailable: "busy"}[answer.Status]
		if later != "" && (answer.Text(t, "error.code") != later || answer.Header.Get("Retry-After") == "") {
			t.Fatalf("concluded: %s", answer.Body)
		}
		return answer.Status == http.StatusOK
	})
	return answer
}

// TestOperatorConcludesPayout: a payout that its bank never answers is listed, asked about, and concluded on evidence;
// each act is in the audit, and what the bank says later is heard.
func TestOperatorConcludesPayout(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	ref, payout := silent(t, c)
	page, at := doubt(t, operator, payout)
	if page.Text(t, at+".status") != "unknown" || page.Text(t, at+".lastAnswer") != "unsure" || page.Null(at+".firstSentAt") || page.Text(t, at+".concluded") != "" {
		t.Errorf("listed: %s", page.Body)
	}
	path := "/v1/admin/payouts/" + payout
	ask := api.Object{"reason": "the receiver calls"}
	refuse(t, c, path+"/ask", ask, http.StatusUnauthorized, "")
	refuse(t, operator, path+"/ask", api.Object{}, http.StatusBadRequest, "")
	operator.Call(t, http.MethodPost, path+"/ask", ask).Want(t, http.StatusOK)
	failed := api.Object{"outcome": "failed", "evidence": "ticket 77", "reason": "the bank never had it", "sends": 1}
	refuse(t, c, path+"/conclude", failed, http.StatusUnauthorized, "")
	refuse(t, operator, path+"/conclude", api.Object{"outcome": "failed"}, http.StatusBadRequest, "")
	refuse(t, operator, "/v1/admin/payouts/pyo_00000000000000000000000000/conclude", failed, http.StatusNotFound, "")
	if a := conclude(t, operator, payout, failed); a.Text(t, "payout.status") != "failed" || a.Text(t, "payout.concluded") != "failed" {
		t.Errorf("concluded: %s", a.Body)
	}
	if a := awaitStatus(t, c, ref, "needs_review"); exception(a) != "payout_failed" {
		t.Errorf("needs_review: %s", a.Body)
	}
	refuse(t, operator, path+"/conclude", failed, http.StatusConflict, "")
	for action, want := range map[string]int{"ask_rail": 1, "conclude_payout": 1} {
		if n := count(t, s, "payments", `SELECT count(*) FROM audit WHERE action = $1 AND detail->>'payoutId' = $2 AND detail->>'reason' <> ''`, action, payout); n != want {
			t.Errorf("%d notes of %s in the audit", n, action)
		}
	}
	operator.Call(t, http.MethodPost, "/v1/admin/payments/"+ref+"/resolve", api.Object{"action": "retry_payout", "reason": "it was never made"}).Want(t, http.StatusOK)
	awaitStatus(t, c, ref, "settled")

	ref, payout = silent(t, c)
	conclude(t, operator, payout, api.Object{"outcome": "paid", "evidence": "statement of today, line 3", "reason": "the bank's letter"})
	awaitStatus(t, c, ref, "settled")
	paidOnce(t, s, ref)

	// The payout is concluded as failed, and then the bank reports it paid: payments believes the bank and sends the
	// event.
	ref, payout = silent(t, c)
	conclude(t, operator, payout, api.Object{"outcome": "failed", "evidence": "ticket 78", "reason": "by telephone"})
	awaitStatus(t, c, ref, "needs_review")
	c.Call(t, http.MethodPost, "/v1/sandbox/payouts/"+payout+"/outcome", api.Object{"outcome": "succeed"}).Want(t, http.StatusOK)
	awaitStatus(t, c, ref, "settled")
	page, at = doubt(t, operator, payout)
	if told, _ := page.At(at + ".contradicted"); told != true {
		t.Errorf("listed: %s", page.Body)
	}
	paidOnce(t, s, ref)
}

// twoConclude: above the amount one operator asks about a payout and another confirms, and nothing is sent meanwhile.
func twoConclude(t *testing.T, s *stack.Stack) {
	c := client(t, s)
	first, second := c.With(s.AdminToken), c.With(s.SecondToken)
	ref, payout := silent(t, c)
	path := "/v1/admin/payouts/" + payout
	ask := api.Object{"reason": "the receiver calls"}
	if a := first.Call(t, http.MethodPost, path+"/ask", ask).Want(t, http.StatusOK); a.Text(t, "approval.action") != "ask_rail" {
		t.Errorf("asked: %s", a.Body)
	}
	refuse(t, first, path+"/ask", ask, http.StatusConflict, "You have asked for this already. Another operator has to confirm it.")
	if _, waits := second.Call(t, http.MethodPost, path+"/ask", ask).Want(t, http.StatusOK).At("approval"); waits {
		t.Error("the second operator's word was not enough")
	}
	failed := api.Object{"outcome": "failed", "evidence": "ticket 77", "reason": "the bank never had it"}
	if a := conclude(t, first, payout, failed); a.Text(t, "approval.action") != "conclude_payout" || a.Text(t, "payout.status") != "unknown" {
		t.Errorf("concluded by one: %s", a.Body)
	}
	if page, at := doubt(t, first, payout); page.Text(t, at+".concluded") != "" {
		t.Errorf("listed: %s", page.Body)
	} else if stopped, _ := page.At(at + ".stopped"); stopped != true {
		t.Errorf("not stopped: %s", page.Body)
	}
	refuse(t, first, path+"/conclude", failed, http.StatusConflict, "")
	if a := conclude(t, second, payout, failed); a.Text(t, "payout.concluded") != "failed" {
		t.Errorf("concluded by two: %s", a.Body)
	}
	if a := awaitStatus(t, c, ref, "needs_review"); exception(a) != "payout_failed" {
		t.Errorf("needs_review: %s", a.Body)
	}
	if n := count(t, s, "payments", `SELECT count(*) FROM audit WHERE action = 'conclude_payout' AND operator = 'second' AND detail->>'reason' LIKE '%(asked for by local: %'`); n != 1 {
		t.Errorf("%d notes in the audit", n)
	}
}
