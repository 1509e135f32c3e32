//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

const settlementSettings = "/v1/settlement-settings"

// creditedMerchant is a client of a new merchant whose payments without a receiver are credited to the balance.
func creditedMerchant(t *testing.T) *api.Client {
	t.Helper()
	s, c := shared(t)
	own := key(t, s, c, "test", unique("credited"), "*")
	a := own.Call(t, http.MethodPatch, settlementSettings, api.Object{"merchantPayments": "balance"}).Want(t, http.StatusOK)
	if got := a.Text(t, "settings.merchantPayments"); got != "balance" {
		t.Errorf("PATCH %s = %s, want balance", settlementSettings, a.Body)
	}
	return own
}

// credit pays one payment of 50 000 NGN into the balance, of which 49 500 NGN arrive. Blocks of the simulated bsc are
// final soon.
func credit(t testing.TB, own *api.Client) {
	t.Helper()
	ref := create(t, own, merchant(api.Object{"receiver": nil, "fiatAmount": 50000, "chargeFrom": "fiat", "network": "bep20"})).Text(t, "payment.reference")
	deposit(t, own, ref, nil)
	awaitStatus(t, own, ref, "settled")
}

// TestBalances: money of payments without a receiver is the merchant's once its transfers are final, for the merchant
// that chose so, and only keys that may read payments see it.
func TestBalances(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	own := creditedMerchant(t)
	id := own.Call(t, http.MethodGet, "/v1/me", nil).Want(t, http.StatusOK).Text(t, "merchant.id")
	before := own.Call(t, http.MethodGet, "/v1/balances", nil).Want(t, http.StatusOK)
	if before.Len(t, "fiat") != 4 || before.Len(t, "balances") != 0 || before.Number(t, "fiat.0.available").Sign() != 0 {
		t.Errorf("balances of a new merchant = %s, want four currencies with nothing and no wallets", before.Body)
	}
	credit(t, own)
	credit(t, own)
	after := own.Call(t, http.MethodGet, "/v1/balances", nil).Want(t, http.StatusOK)
	if after.Text(t, "fiat.0.currency") != "NGN" || after.Number(t, "fiat.0.available").FloatString(2) != "99000.00" || after.Number(t, "fiat.0.pending").Sign() != 0 {
		t.Errorf("balances after two payments = %s, want 99 000 NGN available", after.Body)
	}

	wallets := key(t, s, c, "test", id, "wallet:read")
	a := wallets.Call(t, http.MethodGet, "/v1/balances", nil).Want(t, http.StatusOK)
	if _, fiat := a.At("fiat"); fiat || a.Len(t, "balances") != 0 {
		t.Errorf("balances for wallet:read alone = %s, want those of wallets and no fiat", a.Body)
	}
	reader := key(t, s, c, "test", id, "payment:read")
	reader.Call(t, http.MethodGet, "/v1/balances", nil).Want(t, http.StatusForbidden)
	if got := reader.Call(t, http.MethodGet, settlementSettings, nil).Want(t, http.StatusOK).Text(t, "settings.merchantPayments"); got != "balance" {
		t.Errorf("settings = %s, want balance", got)
	}
	reader.Call(t, http.MethodPatch, settlementSettings, api.Object{"merchantPayments": "self"}).Want(t, http.StatusForbidden)
	own.Call(t, http.MethodPatch, settlementSettings, api.Object{"merchantPayments": "else"}, bad).Want(t, http.StatusBadRequest)
}
