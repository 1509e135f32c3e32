//go:build integration

package e2e

import (
	"maps"
	"net/http"
	"strconv"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestWebhooks_events: a merchant without any webhook catches up by cursor, misses nothing and meets nothing twice. The
// list is in the order in which events were accepted, which may differ from the order of their sequences.
func TestWebhooks_events(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("events"), "*")
	reference := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	deposit(t, mine, reference, nil)
	awaitStatus(t, mine, reference, "settled")
	bySequence, listed := map[string]string{}, 0
	cursor := ""
	api.Eventually(t, settle, "every event in the list", func() bool {
		page := mine.Call(t, http.MethodGet, "/v1/events?limit=2&cursor="+cursor, nil).Want(t, http.StatusOK)
		for n := range page.Len(t, "events") {
			event := "events." + strconv.Itoa(n)
			bySequence[page.Number(t, event+".data.payment.sequence").RatString()] = page.Text(t, event+".type")
			listed++
		}
		if !page.Null("pagination.nextCursor") {
			cursor = page.Text(t, "pagination.nextCursor")
		}
		return listed >= 5
	})
	want := map[string]string{
		"1": "payment.pending", "2": "payment.confirming", "3": "payment.confirmed", "4": "payment.settling", "5": "payment.settled",
	}
	if listed != len(want) || !maps.Equal(bySequence, want) {
		t.Errorf("listed %d events, by their sequences %v, want each of %v once", listed, bySequence, want)
	}
}
