//go:build integration

package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

var name = regexp.MustCompile(`"((?:[a-z]{3}_[0-9a-z]{20,}|CW-[A-Z0-9]+))"`)

// TestNames_carryTheShard: every id and reference that a merchant is shown carries the code of the shard, and the
// answer about a shard that does not exist is that about an unknown name.
func TestNames_carryTheShard(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook := receive(t)
	mine := key(t, s, c, "test", unique("names"), "*")
	hooked := endpoint(t, mine, hook, "/names")
	wallet := mine.Call(t, http.MethodPost, "/v1/wallets", api.Object{"network": "tron", "crypto": "USDT"}).Want(t, http.StatusCreated).Text(t, "wallet.id")
	create(t, mine, request(nil))
	ref := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	deposit(t, mine, ref, nil)
	awaitStatus(t, mine, ref, "settled")
	awaitCallbacks(t, hook, "/names", "payment.settled")
	seen := map[string]bool{}
	for _, path := range []string{
		"/v1/payments", "/v1/payments/" + ref, "/v1/wallets", "/v1/wallets/" + wallet, "/v1/webhooks/endpoints/" + hooked, "/v1/webhooks/deliveries", "/v1/events",
	} {
		body := mine.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Body
		for _, found := range name.FindAllStringSubmatch(string(body), -1) {
			text := found[1]
			prefix, code, _ := strings.Cut(text, "_")
			if reference.MatchString(text) || (len(code) == 28 && strings.HasSuffix(code, "aa")) {
				seen[prefix[:3]] = true
				continue
			}
			t.Errorf("GET %s shows the name %s, want one that carries AA", path, text)
		}
	}
	for _, prefix := range []string{"CW-", "pyo", "wal", "evt", "dlv", "whe"} {
		if !seen[prefix] {
			t.Errorf("read a merchant's lists: no name begins with %s, got %v", prefix, seen)
		}
	}
	for _, known := range []string{"/v1/payments/" + ref, "/v1/checkout/" + ref, "/v1/wallets/" + wallet, "/v1/webhooks/endpoints/" + hooked} {
		elsewhere := strings.Replace(strings.Replace(known, "CW-AA", "CW-ZZ", 1), wallet, wallet[:30]+"zz", 1)
		elsewhere = strings.Replace(elsewhere, hooked, hooked[:30]+"zz", 1)
		mine.Call(t, http.MethodGet, known, nil).Want(t, http.StatusOK)
		mine.Call(t, http.MethodGet, elsewhere, nil).Want(t, http.StatusNotFound)
	}
}
