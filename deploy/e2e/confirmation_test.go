//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// TestConfirmation: three merchants who resolve their own reports against a sender put it on the operators' list and
// hold nobody's payment. An operator's confirmation does, until it is withdrawn, and every decision is kept with its
// operator.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	const list = "/v1/admin/reports/confirmations"

	// A gift is paid out when it is claimed, so its sender is known before its payout is screened.
	free, held, freed := fundedGift(t, s, c), fundedGift(t, s, c), fundedGift(t, s, c)
	for _, sender := range []string{free.sender, held.sender, freed.sender} {
		for range 3 {
			convict(t, key(t, s, c, "test", unique("accuser"), "*"), sender)
		}
		api.Eventually(t, soon, "payments to hear of the third merchant", func() bool {
			return count(t, s, "payments", `SELECT count(*) FROM fraud_signals WHERE mode = 'test' AND address = lower($1) AND merchants = 3`, sender) == 1
		})
	}
	c.With("").Call(t, http.MethodPost, claimPath(free.ref), account("0123456789")).Want(t, http.StatusOK)
	awaitStatus(t, c, free.ref, "settled")

	listed := func(state, address string) bool {
		t.Helper()
		for cursor := ""; ; {
			page := operator.Call(t, http.MethodGet, list+"?mode=test&limit=100&state="+state+cursor, nil).Want(t, http.StatusOK)
			for i := range page.Len(t, "subjects") {
				if page.Text(t, item("subjects", i, "walletAddress")) == address {
					return true
				}
			}
			if page.Null("pagination.nextCursor") {
				return false
			}
			cursor = "&cursor=" + page.Text(t, "pagination.nextCursor")
		}
	}
	decide := func(address, action string) *api.Answer {
		t.Helper()
		return operator.Call(t, http.MethodPost, list, api.Object{"mode": "test", "walletAddress": address, "action": action, "reason": "looked into it"})
	}
	if !listed("waiting", held.sender) || listed("confirmed", held.sender) {
		t.Error("the address does not wait for an operator")
	}
	answer := decide(held.sender, "confirm").Want(t, http.StatusOK)
	if on, _ := answer.At("data.subject.confirmed"); on != true || answer.Text(t, "data.subject.decision.operator") != "local" || answer.Text(t, "data.subject.decision.reason") != "looked into it" {
		t.Errorf("confirmed: %s", answer.Body)
	}
	if listed("waiting", held.sender) || !listed("confirmed", held.sender) {
		t.Error("a confirmed address still waits")
	}
	decide(freed.sender, "confirm").Want(t, http.StatusOK)
	decide(freed.sender, "withdraw").Want(t, http.StatusOK)
	if listed("waiting", freed.sender) || listed("confirmed", freed.sender) {
		t.Error("a withdrawn address still waits")
	}
	signalled := func(address string, confirmed bool) func() bool {
		return func() bool {
			return count(t, s, "payments", `SELECT count(*) FROM fraud_signals WHERE mode = 'test' AND address = $1 AND confirmed = $2`, address, confirmed) == 1
		}
	}
	api.Eventually(t, soon, "payments to hear of the confirmation", signalled(held.sender, true))
	c.With("").Call(t, http.MethodPost, claimPath(held.ref), account("0123456789")).Want(t, http.StatusOK)
	if a := awaitStatus(t, c, held.ref, "needs_review"); exception(a) != "screening_hold" {
		t.Errorf("money of a confirmed address: %s", a.Body)
	}
	api.Eventually(t, soon, "the decisions to be kept", func() bool {
		return count(t, s, "reports", `SELECT count(*) FROM accused_decisions WHERE address = $1 AND operator = 'local'`, freed.sender) == 2
	})
	// A confirmation that was taken back before payments looked holds nothing either.
	convict(t, key(t, s, c, "test", unique("accuser"), "*"), freed.sender) // whose signal is the newest
	api.Eventually(t, soon, "payments to hear of the fourth merchant", func() bool {
		return count(t, s, "payments", `SELECT count(*) FROM fraud_signals WHERE mode = 'test' AND address = $1 AND merchants = 4 AND NOT confirmed`, freed.sender) == 1
	})
	c.With("").Call(t, http.MethodPost, claimPath(freed.ref), account("0123456789")).Want(t, http.StatusOK)
	awaitStatus(t, c, freed.ref, "settled")
	if !listed("waiting", freed.sender) {
		t.Error("a further merchant does not have the address looked at again")
	}

	if a := decide(unique("0x"), "confirm").Want(t, http.StatusConflict); a.Text(t, "error.code") != "not_accused" {
		t.Errorf("an address that nobody accuses: %s", a.Body)
	}
	for _, body := range []api.Object{
		{},
		{"mode": "both", "walletAddress": "x", "action": "confirm", "reason": "y"},
		{"mode": "test", "walletAddress": "x", "action": "block", "reason": "y"},
		{"mode": "test", "walletAddress": "x", "action": "confirm"},
	} {
		operator.Call(t, http.MethodPost, list, body, bad).Want(t, http.StatusBadRequest)
	}
	for _, who := range []*api.Client{c, c.With("")} {
		who.Call(t, http.MethodGet, list, nil).Want(t, http.StatusUnauthorized)
		who.Call(t, http.MethodPost, list, api.Object{"mode": "test", "walletAddress": free.sender, "action": "confirm", "reason": "mine"}).Want(t, http.StatusUnauthorized)
	}
}

// paidGift is a gift whose money is there, and who sent it.
type paidGift struct{ ref, sender string }

func fundedGift(t *testing.T, s *stack.Stack, c *api.Client) paidGift {
	t.Helper()
	g := paidGift{ref: create(t, c, gift(nil)).Text(t, "payment.reference")}
	deposit(t, c, g.ref, nil)
	awaitStatus(t, c, g.ref, "confirmed")
	g.sender = value[string](t, s, "payments", `SELECT lower(d.senders[1]) FROM deposits d JOIN payments p ON p.id = d.payment_id WHERE p.reference = $1`, g.ref)
	return g
}

// convict has a merchant file a fraud report against an address and find it right himself.
func convict(t *testing.T, merchant *api.Client, address string) {
	t.Helper()
	id := file(t, merchant, api.Object{"complaintType": "fraud", "fraudsterWalletAddress": address}).Text(t, "data.report.reportId")
	for _, to := range []string{"processing", "resolved"} {
		merchant.Call(t, http.MethodPatch, "/v1/reports/"+id, api.Object{"status": to}).Want(t, http.StatusOK)
	}
}
