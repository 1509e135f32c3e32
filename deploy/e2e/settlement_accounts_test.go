//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

const settlementAccounts = "/v1/settlement-accounts"

// settlementAccount is the id of a confirmed account of a merchant.
func settlementAccount(t testing.TB, own *api.Client, number string) string {
	t.Helper()
	made := own.Call(t, http.MethodPost, settlementAccounts, api.Object{
		"currency": "NGN", "receiver": api.Object{"bankCode": "058", "accountNumber": number},
	}).Want(t, http.StatusCreated)
	id := made.Text(t, "settlementAccount.id")
	own.Call(t, http.MethodPost, settlementAccounts+"/"+id+"/confirm", api.Object{"accountNumber": number}).Want(t, http.StatusOK)
	return id
}

// TestSettlementAccounts: it takes two permissions and the number twice to name an account that money may go to, and
// the merchant hears of each step.
func TestSettlementAccounts(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("accounts")
	manager, owner := key(t, s, c, "test", merchant, "settlement:manage"), key(t, s, c, "test", merchant, "withdrawal:create", "payment:read")
	hook, heard := hooks(t)
	endpoint(t, key(t, s, c, "test", merchant, "webhook:manage"), hook, heard, "settlement_account.added", "settlement_account.confirmed", "settlement_account.deleted")
	body := api.Object{"currency": "NGN", "receiver": api.Object{"bankCode": "058", "accountNumber": "0123456789"}}
	owner.Call(t, http.MethodPost, settlementAccounts, body).Want(t, http.StatusForbidden)
	made := manager.Call(t, http.MethodPost, settlementAccounts, body).Want(t, http.StatusCreated)
	path := settlementAccounts + "/" + made.Text(t, "settlementAccount.id")
	if made.Text(t, "settlementAccount.status") != "unconfirmed" || made.Text(t, "settlementAccount.receiver.accountName") == "" {
		t.Errorf("a proposed account = %s, want it unconfirmed, with the name that the bank gives", made.Body)
	}
	manager.Call(t, http.MethodPost, path+"/confirm", api.Object{"accountNumber": "0123456789"}).Want(t, http.StatusForbidden)
	refuse(t, owner, path+"/confirm", api.Object{"accountNumber": "0123456780"}, http.StatusConflict, "")
	active := owner.Call(t, http.MethodPost, path+"/confirm", api.Object{"accountNumber": "0123456789"}).Want(t, http.StatusOK)
	if active.Text(t, "settlementAccount.status") != "active" || !active.Null("settlementAccount.heldUntil") {
		t.Errorf("a confirmed account = %s, want it active, without a hold in test mode", active.Body)
	}
	refuse(t, owner, path+"/confirm", api.Object{"accountNumber": "0123456789"}, http.StatusConflict, "")
	if list := owner.Call(t, http.MethodGet, settlementAccounts, nil).Want(t, http.StatusOK); list.Len(t, "settlementAccounts") != 1 {
		t.Errorf("the accounts = %s, want one", list.Body)
	}
	owner.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK)
	key(t, s, c, "test", unique("other"), "*").Call(t, http.MethodGet, path, nil).Want(t, http.StatusNotFound)
	owner.Call(t, http.MethodDelete, path, nil).Want(t, http.StatusForbidden)
	manager.Call(t, http.MethodDelete, path, nil).Want(t, http.StatusOK)
	owner.Call(t, http.MethodGet, path, nil).Want(t, http.StatusNotFound)
	awaitCallbacks(t, hook, heard, "settlement_account.added", "settlement_account.confirmed", "settlement_account.deleted")
	refuse(t, manager, settlementAccounts, api.Object{"currency": "NGN", "receiver": api.Object{"bankCode": "058", "accountNumber": "0000000001"}}, http.StatusBadRequest, "")
}
