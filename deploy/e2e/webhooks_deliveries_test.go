//go:build integration

package e2e

import (
	"net/http"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/receiver"
)

// TestWebhooks_deliveries: attempts are shown with what came of them, a delivery can be sent again by hand, and a range
// of them counted and replayed.
func TestWebhooks_deliveries(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("deliveries"), "*")
	r := receive(t)
	path := "/" + unique("x")
	id := endpoint(t, mine, r, path, "payment.pending")
	began := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	r.Fault(path, receiver.FailFirst(1, receiver.Status(http.StatusTeapot)))
	create(t, mine, transfer(nil))
	r.AwaitAccepted(t, settle, path, 1)
	var first *api.Answer
	api.Eventually(t, soon, "the delivery to be recorded", func() bool {
		first = mine.Call(t, http.MethodGet, "/v1/webhooks/deliveries?status=delivered&endpointId="+id, nil).Want(t, http.StatusOK)
		return first.Len(t, "deliveries") == 1
	})
	last := first.Len(t, "deliveries.0.attempts") - 1
	if first.Text(t, "deliveries.0.attempts.0.class") != "http_4xx" || first.Text(t, item("deliveries.0.attempts", last, "class")) != "ok" {
		t.Errorf("the attempts: %s", first.Body)
	}
	delivery := first.Text(t, "deliveries.0.id")
	mine.Call(t, http.MethodPost, "/v1/webhooks/deliveries/"+delivery+"/retry", nil).Want(t, http.StatusOK)
	accepts := func(n int) {
		t.Helper()
		r.Await(t, soon, "the event once more", func([]receiver.Delivery) bool { return len(r.Accepted(path)) >= n })
	}
	accepts(2)
	api.Eventually(t, soon, "the retry to be recorded", func() bool {
		return mine.Call(t, http.MethodGet, "/v1/webhooks/deliveries/"+delivery, nil).Text(t, "delivery.status") == "delivered"
	})
	body := api.Object{"endpointId": id, "from": began, "status": "delivered", "dryRun": true}
	if dry := mine.Call(t, http.MethodPost, "/v1/webhooks/replays", body).Want(t, http.StatusOK); dry.Number(t, "replay.total").Cmp(api.Rat("1")) != 0 {
		t.Errorf("the dry run: %s", dry.Body)
	}
	body["dryRun"] = false
	replay := mine.Call(t, http.MethodPost, "/v1/webhooks/replays", body).Want(t, http.StatusOK).Text(t, "replay.id")
	accepts(3)
	for _, verb := range []string{"pause", "resume"} {
		mine.Call(t, http.MethodPost, "/v1/webhooks/replays/"+replay+"/"+verb, nil).Want(t, http.StatusOK)
	}
	api.Eventually(t, soon, "the replay to finish", func() bool {
		return mine.Call(t, http.MethodGet, "/v1/webhooks/replays/"+replay, nil).Text(t, "replay.state") == "finished"
	})
	all := r.Accepted(path)
	for _, d := range all {
		if d.ID != all[0].ID {
			t.Errorf("a repetition has the id %s, not %s", d.ID, all[0].ID)
		}
	}
}
