package attempt

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/outbound"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-3": 0, "soon": 0, "99999999999": 7 * 24 * time.Hour, "1.5": 0,
		"Wed, 01 Apr 2026 12:01:00 GMT": time.Minute, "Wed, 01 Apr 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// Whatever an endpoint answers must fit into text columns.
func TestOutcome_isAlwaysText(t *testing.T) {
	s := New(nil, nil, nil, time.Now)
	o := s.outcome(outbound.Result{
		Class: outbound.Reset, Err: &outbound.StatusError{Status: 500},
		Header: http.Header{"Server": {"a\x00\xff" + strings.Repeat("é", 2000)}},
	}, time.Now(), 1)
	for _, text := range []string{o.Headers, o.Detail} {
		if strings.ContainsRune(text, 0) || strings.ToValidUTF8(text, "") != text || len(text) > 4096 {
			t.Errorf("%q", text)
		}
	}
}
