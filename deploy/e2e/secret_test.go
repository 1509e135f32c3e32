//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestWebhookSecret: one secret per merchant and mode, made when it is first asked for; only its owner with the
// permission sees it, and after a rotation callbacks verify under the old and the new one.
func TestWebhookSecret(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("secret")
	mine := key(t, s, c, "test", merchant, "*")
	first := mine.Call(t, http.MethodGet, "/v1/webhooks/secret", nil).Want(t, http.StatusOK)
	old := first.Text(t, "secret")
	for name, other := range map[string]*api.Client{
		"live mode": key(t, s, c, "live", merchant, "*"), "another merchant": key(t, s, c, "test", unique("secret"), "*"),
	} {
		if got := other.Call(t, http.MethodGet, "/v1/webhooks/secret", nil).Want(t, http.StatusOK).Text(t, "secret"); got == old {
			t.Errorf("%s has the same secret", name)
		}
	}
	key(t, s, c, "test", merchant, "payment:*").Call(t, http.MethodGet, "/v1/webhooks/secret", nil).Want(t, http.StatusForbidden)
	if again := key(t, s, c, "test", merchant, "webhook:manage").Call(t, http.MethodGet, "/v1/webhooks/secret", nil).Text(t, "secret"); again != old {
		t.Error("another key of the merchant has another secret")
	}

	fresh := mine.Call(t, http.MethodPost, "/v1/webhooks/secret/rotate", nil).Want(t, http.StatusOK).Text(t, "secret")
	if fresh == old {
		t.Fatal("the rotation kept the secret")
	}
	byOld, oldPath := hooks(t, old)
	byFresh, freshPath := hooks(t, fresh)
	create(t, mine, transfer(api.Object{"callbackUrl": byOld.URL(oldPath)}))
	create(t, mine, transfer(api.Object{"callbackUrl": byFresh.URL(freshPath)}))
	byOld.AwaitAccepted(t, soon, oldPath, 1)
	byFresh.AwaitAccepted(t, soon, freshPath, 1)
}
