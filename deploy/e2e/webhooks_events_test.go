//go:build integration

package e2e

import (
	"net/http"
	"slices"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestWebhooks_events: a merchant without any webhook catches up by cursor and misses nothing.
func TestWebhooks_events(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("events"), "*")
	reference := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	deposit(t, mine, reference, nil)
	awaitStatus(t, mine, reference, "settled")
	var types []string
	cursor := ""
	api.Eventually(t, settle, "every event in the list", func() bool {
		page := mine.Call(t, http.MethodGet, "/v1/events?limit=2&cursor="+cursor, nil).Want(t, http.StatusOK)
		for n := range page.Len(t, "events") {
			types = append(types, page.Text(t, "events."+string(rune('0'+n))+".type"))
		}
		if !page.Null("pagination.nextCursor") {
			cursor = page.Text(t, "pagination.nextCursor")
		}
		return len(types) >= 5
	})
	if want := []string{"payment.pending", "payment.confirming", "payment.confirmed", "payment.settling", "payment.settled"}; !slices.Equal(types, want) {
		t.Errorf("listed %v, want %v", types, want)
	}
}
