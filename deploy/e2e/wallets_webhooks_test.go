//go:build integration

package e2e

import (
	"net/http"
	"strconv"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestWallet_webhooks: every status that a wallet enters reaches the merchant's registered endpoints, signed, with the
// metadata of its creation, numbered without a gap; payments hear nothing of the money.
func TestWallet_webhooks(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("hooked"), "*")
	r, path := hooks(t)
	endpoint(t, mine, r, path)
	id := makeWallet(t, mine, api.Object{"network": "trc20", "crypto": "USDT", "metadata": api.Object{"order": "A-17"}}).Text(t, "wallet.id")
	payWallet(t, mine, id, api.Object{"amount": "25"})
	awaitWallet(t, mine, id, "confirmed", "25")
	payWallet(t, mine, id, api.Object{"amount": "0.5"})
	awaitWallet(t, mine, id, "confirmed", "25.5")
	want := []struct{ kind, status, amount string }{
		{"wallet.watching", "watching", "0"},
		{"wallet.deposit_detected", "deposit_detected", "25"},
		{"wallet.confirmed", "confirmed", "25"},
		{"wallet.deposit_detected", "deposit_detected", "25.5"},
		{"wallet.confirmed", "confirmed", "25.5"},
	}
	var kinds []string
	for _, w := range want {
		kinds = append(kinds, w.kind)
	}
	awaitExactly(t, r, path, kinds...)
	for i, d := range events(r, path) {
		w, body := want[i], api.Parse(t, d.Body)
		if d.Type != w.kind || body.Text(t, "type") != w.kind || body.Text(t, "id") != d.ID || body.Text(t, "mode") != "test" ||
			body.Text(t, "data.wallet.id") != id || body.Text(t, "data.wallet.status") != w.status || body.Text(t, "data.wallet.amount") != w.amount ||
			body.Text(t, "data.wallet.metadata.order") != "A-17" || body.Number(t, "data.wallet.sequence").Cmp(api.Rat(strconv.Itoa(i+1))) != 0 {
			t.Errorf("event %d is %s", i+1, d.Body)
		}
		sameSet(t, "an event's wallet", body.Keys(t, "data.wallet"), "sequence", "id", "address", "network", "crypto", "status", "amount", "confirmations",
			"createdAt", "expiresAt", "metadata")
	}
	clean(t, r)
	// The list holds back what is younger than the oldest transaction that is still open, so it may lag behind deliveries.
	api.Eventually(t, settle, "every event in the list", func() bool {
		return mine.Call(t, http.MethodGet, "/v1/events?limit=100", nil).Want(t, http.StatusOK).Len(t, "events") == len(want)
	})
}
