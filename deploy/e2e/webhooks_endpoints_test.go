//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/receiver"
)

// endpoint registers a path of a receiver, which then verifies with the endpoint's own secret.
func endpoint(t testing.TB, c *api.Client, r *receiver.Receiver, path string, types ...string) (id string) {
	t.Helper()
	if types == nil {
		types = []string{}
	}
	id = c.Call(t, http.MethodPost, "/v1/webhooks/endpoints", api.Object{"url": r.URL(path), "types": types}).
		Want(t, http.StatusOK).Text(t, "endpoint.id")
	r.Secrets(path, c.Call(t, http.MethodGet, "/v1/webhooks/endpoints/"+id+"/secret", nil).Want(t, http.StatusOK).Text(t, "secret"))
	return id
}

// TestWebhooks_endpoints: an event goes to the callbackUrl and to every registered endpoint of merchant and mode that
// asked for its type, each signed with its own secret.
func TestWebhooks_endpoints(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("endpoints"), "*")
	r := receive(t)
	all, some := "/"+unique("all"), "/"+unique("some")
	id := endpoint(t, mine, r, all)
	endpoint(t, mine, r, some, "payment.confirmed", "payment.settled")
	r.Secrets("/callback", mine.Call(t, http.MethodGet, "/v1/webhooks/secret", nil).Text(t, "secret"))

	reference := create(t, mine, transfer(api.Object{"callbackUrl": r.URL("/callback")})).Text(t, "payment.reference")
	deposit(t, mine, reference, nil)
	awaitStatus(t, mine, reference, "settled")
	whole := []string{"payment.pending", "payment.confirming", "payment.confirmed", "payment.settling", "payment.settled"}
	for _, path := range []string{"/callback", all} {
		awaitExactly(t, r, path, whole...)
	}
	awaitExactly(t, r, some, "payment.confirmed", "payment.settled")
	if a := r.Audit(nil); len(a.Invalid)+len(a.Doubled) > 0 { // the filtered path has gaps of right
		t.Errorf("invalid %v, doubled %v", a.Invalid, a.Doubled)
	}

	tested := mine.Call(t, http.MethodPost, "/v1/webhooks/endpoints/"+id+"/test", nil).Want(t, http.StatusOK)
	if tested.Text(t, "delivery.type") != "webhook.test" || tested.Text(t, "delivery.attempts.0.class") != "ok" {
		t.Errorf("the test send: %s", tested.Body)
	}
	old := mine.Call(t, http.MethodGet, "/v1/webhooks/endpoints/"+id+"/secret", nil).Text(t, "secret")
	if fresh := mine.Call(t, http.MethodPost, "/v1/webhooks/endpoints/"+id+"/rotate", nil).Want(t, http.StatusOK).Text(t, "secret"); fresh == old {
		t.Error("the rotation kept the secret")
	}
	if list := mine.Call(t, http.MethodGet, "/v1/webhooks/endpoints?limit=1", nil).Want(t, http.StatusOK); list.Text(t, "endpoints.0.id") != id {
		t.Errorf("the first page: %s", list.Body)
	}
	mine.Call(t, http.MethodDelete, "/v1/webhooks/endpoints/"+id, nil).Want(t, http.StatusOK)
	mine.Call(t, http.MethodGet, "/v1/webhooks/endpoints/"+id, nil).Want(t, http.StatusNotFound)
	key(t, s, c, "test", unique("none"), "payment:*").Call(t, http.MethodGet, "/v1/webhooks/endpoints", nil).Want(t, http.StatusForbidden)
}

// TestWebhooks_goneAndEnabledAgain: a 410 disables the endpoint, its events are held, and enabling it sends every one.
func TestWebhooks_goneAndEnabledAgain(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("gone"), "*")
	r := receive(t)
	path := "/" + unique("gone")
	id := endpoint(t, mine, r, path)
	r.Fault(path, receiver.Status(http.StatusGone))
	reference := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	api.Eventually(t, soon, "the endpoint to be disabled", func() bool {
		got := mine.Call(t, http.MethodGet, "/v1/webhooks/endpoints/"+id, nil)
		return !got.Null("endpoint.disabledReason") && got.Text(t, "endpoint.disabledReason") == "gone"
	})
	deposit(t, mine, reference, nil)
	awaitStatus(t, mine, reference, "settled")
	r.Fault(path, nil)
	mine.Call(t, http.MethodPatch, "/v1/webhooks/endpoints/"+id, api.Object{"enabled": true}).Want(t, http.StatusOK)
	awaitCallbacks(t, r, path, "payment.pending", "payment.confirming", "payment.confirmed", "payment.settling", "payment.settled")
	clean(t, r)
}
