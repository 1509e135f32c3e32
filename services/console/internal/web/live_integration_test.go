//go:build integration

package web_test

import (
	"net/http"
	"testing"
	"time"

	"causeway.internal/services/console/internal/people"
)

// A stream whose last look took longer than a write may take ends whole: the browser reports no fault, and asks again.
func TestConsole_streamEndsWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	s.invited(t, b, "ada@acme.example", people.Owner)
	const write, look = 200 * time.Millisecond, 600 * time.Millisecond
	s.later.Store(int64(write - 10*time.Second)) // by this clock a write must have ended 10 s from now
	s.api = func(w http.ResponseWriter, _ *http.Request) {
		<-time.After(look)
		w.WriteHeader(http.StatusBadGateway)
	}
	b.get("/live?of=/console/payments/CW-AAZGQGXUXSA5HA&version=1").want(t, 200, "/live", "retry: 3000")
}
