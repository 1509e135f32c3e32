//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

const withdrawalsPath = "/v1/withdrawals"

// TestFiatWithdrawals: a balance is paid to a settlement account once, the merchant's endpoints hear of each step, and
// neither more than the balance nor another merchant's money can be withdrawn.
func TestFiatWithdrawals(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	own := creditedMerchant(t)
	credit(t, own)
	account := settlementAccount(t, own, "0123456789")
	hook, path := hooks(t)
	endpoint(t, own, hook, path, "withdrawal.requested", "withdrawal.approved", "withdrawal.sending", "withdrawal.paid")

	order := api.Object{"currency": "NGN", "amount": 40000.5, "settlementAccountId": account}
	var id string
	for range 2 {
		made := own.Call(t, http.MethodPost, withdrawalsPath, order, api.Header("Idempotency-Key", account)).Want(t, http.StatusCreated)
		id = made.Text(t, "withdrawal.id")
	}
	refuse(t, own, withdrawalsPath, order, http.StatusConflict, "")
	shown := func() string {
		return own.Call(t, http.MethodGet, withdrawalsPath+"/"+id, nil).Want(t, http.StatusOK).Text(t, "withdrawal.status")
	}
	api.Eventually(t, soon, "the withdrawal to be paid", func() bool { return shown() == "paid" })
	if n := count(t, s, "payments", `SELECT count(*) FROM sim_transfers WHERE ref LIKE replace($1, '_', '-') || '-%' AND amount = 40000.5`, id); n != 1 {
		t.Errorf("the bank made %d transfers, want 1", n)
	}
	left := own.Call(t, http.MethodGet, "/v1/balances", nil).Want(t, http.StatusOK)
	if got := left.Number(t, "fiat.0.available").FloatString(2); got != "9499.50" {
		t.Errorf("balances after the withdrawal = %s, want 9 499.50 NGN", left.Body)
	}
	awaitCallbacks(t, hook, path, "withdrawal.requested", "withdrawal.approved", "withdrawal.sending", "withdrawal.paid")

	fails := settlementAccount(t, own, "0000000003")
	failing := own.Call(t, http.MethodPost, withdrawalsPath, api.Object{"currency": "NGN", "amount": 100, "settlementAccountId": fails}).Want(t, http.StatusCreated)
	id = failing.Text(t, "withdrawal.id")
	api.Eventually(t, soon, "the withdrawal to fail", func() bool { return shown() == "failed" })
	if list := own.Call(t, http.MethodGet, withdrawalsPath+"?limit=1", nil).Want(t, http.StatusOK); list.Len(t, "withdrawals") != 1 ||
		list.Text(t, "withdrawals.0.failure") != "payout_failed" || list.Null("pagination.nextCursor") {
		t.Errorf("the first page = %s, want the failed withdrawal and another page", list.Body)
	}

	other := key(t, s, c, "test", unique("other"), "*")
	other.Call(t, http.MethodGet, withdrawalsPath+"/"+id, nil).Want(t, http.StatusNotFound)
	refuse(t, other, withdrawalsPath, order, http.StatusNotFound, "")
	operator := c.With(s.AdminToken)
	operator.Call(t, http.MethodGet, "/v1/admin/withdrawals", nil).Want(t, http.StatusOK)
	for _, decision := range []string{"approve", "refuse"} {
		refuse(t, operator, "/v1/admin/withdrawals/"+id+"/"+decision, api.Object{"reason": "late"}, http.StatusConflict, "")
		refuse(t, own, "/v1/admin/withdrawals/"+id+"/"+decision, api.Object{"reason": "late"}, http.StatusUnauthorized, "")
	}
}
