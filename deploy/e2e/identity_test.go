//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/stack"
	"causeway.internal/libs/wire"
)

// directCall is a request to a service past the gateway, with the identity of another one.
type directCall struct{ method, path, body string }

// TestCopiedIdentity: an identity that was copied opens no service for another request, a second time, or later. The
// table is printed (-v).
func TestCopiedIdentity(t *testing.T) {
	t.Parallel()
	s, _ := shared(t)
	for service, at := range map[string]struct{ path, otherPath, method, otherMethod string }{
		wire.Payments:   {"/v1/payments", "/v1/sandbox/payouts/pyo_x/outcome", http.MethodPost, http.MethodGet},
		wire.Wallets:    {"/v1/wallets", "/v1/sandbox/wallets/wal_x/deposits", http.MethodPost, http.MethodGet},
		wire.Reports:    {"/v1/reports/RPT-AAAAAA", "/v1/reports/RPT-BBBBBB", http.MethodPatch, http.MethodGet},
		wire.Dispatcher: {"/v1/webhooks/endpoints", "/v1/webhooks/replays", http.MethodPost, http.MethodGet},
	} {
		door := s.Doors[service]
		own := directCall{at.method, at.path, `{"a":1}`}
		bound := func(issued time.Time) string {
			return signed(t, door, who(service, issued).Bind(own.request(t, door, ""), []byte(own.body)))
		}
		copied, now := bound(time.Now()), time.Now()
		unbound := who(service, now)
		unbound.Method, unbound.Path = own.method, own.path
		for _, c := range []struct {
			what, header string
			as           directCall
			refused      bool
		}{
			{"another method", copied, directCall{at.otherMethod, at.path, ""}, true},
			{"another path", copied, directCall{at.method, at.otherPath, own.body}, true},
			{"another query", copied, directCall{at.method, at.path + "?a=1", own.body}, true},
			{"another body", copied, directCall{at.method, at.path, `{"a":2}`}, true},
			{"no body", copied, directCall{at.method, at.path, ""}, true},
			{"older than 10 s", bound(now.Add(-11 * time.Second)), own, true},
			{"more than 10 s ahead", bound(now.Add(15 * time.Second)), own, true},
			{"of another service", signed(t, door, who("gateway", now).Bind(own.request(t, door, ""), []byte(own.body))), own, true},
			{"that binds no body", signed(t, door, unbound), own, true},
			{"its own request", copied, own, false},
			{"its own request again", copied, own, true},
		} {
			status := c.as.send(t, door, c.header)
			if (status == http.StatusUnauthorized) != c.refused || status >= http.StatusInternalServerError {
				t.Errorf("%s: the identity %s: %d", service, c.what, status)
			}
			t.Logf("| %s | %s | %d |", service, c.what, status)
		}
	}
}

func who(audience string, issued time.Time) httpkit.Identity {
	return httpkit.Identity{
		Subject: httpkit.Merchant, MerchantID: "copied", KeyID: 1, Mode: tenant.Test, RequestID: "req_1", Audience: audience,
		IssuedAt: issued.UnixMilli(),
	}
}

func signed(t *testing.T, at stack.Door, i httpkit.Identity) string {
	t.Helper()
	header, err := i.Sign(at.IdentityKey)
	if err != nil {
		t.Fatal(err)
	}
	return header
}

func (k directCall) request(t *testing.T, at stack.Door, header string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), k.method, at.URL+k.path, strings.NewReader(k.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(httpkit.IdentityHeader, header)
	return r
}

func (k directCall) send(t *testing.T, at stack.Door, header string) int {
	t.Helper()
	res, err := http.DefaultClient.Do(k.request(t, at, header))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
