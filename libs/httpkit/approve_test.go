package httpkit_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/person"
	"causeway.internal/libs/testkit/authenticator"
)

type anything struct{}

func (*anything) Read(*httpkit.Input) {}

// A change through the operators' console is refused without an approval by a passkey of that operator over this very
// request, and an approval serves once. Reads, and the tokens of scripts, need none.
func TestForOperators_approval(t *testing.T) {
	key := []byte(strings.Repeat("k", 32))
	acts := 0
	s := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), httpkit.Verifier{Audience: "a", Keys: [][]byte{key}, Now: time.Now})
	do := func(context.Context, anything) (map[string]any, error) { acts++; return map[string]any{}, nil }
	httpkit.Handle(s, "POST /v1/admin/x", httpkit.ForOperators, do)
	httpkit.Handle(s, "GET /v1/admin/x", httpkit.ForOperators, do)
	site := passkey.Site{RPID: "ops.example.com", Origin: "https://ops.example.com"}
	adas, bens := authenticator.New(t, site), authenticator.New(t, site)
	const body = `{"action":"accept"}`
	change := passkey.Change{Operator: "ada.obi", Method: "POST", Path: "/v1/admin/x?y=1", Body: []byte(body), IdempotencyKey: "k", At: time.Now()}
	in := func(alter func(*passkey.Change)) passkey.Change { c := change; alter(&c); return c }
	console := httpkit.Identity{
		Subject: httpkit.Operator, Operator: "ada.obi", Door: person.Operator, Approver: &httpkit.Approver{Site: site, Keys: []passkey.Key{adas.Key(t)}},
	}
	bare := console
	bare.Approver = nil
	token := httpkit.Identity{Subject: httpkit.Operator, Operator: "ada.obi"}
	good := adas.Approve(t, change).Header()
	for _, tc := range []struct {
		name     string
		who      httpkit.Identity
		method   string
		approval string
		status   int
		code     string
	}{
		{"a read", console, "GET", "", 200, ""},
		{"a token", token, "POST", "", 200, ""},
		{"no approval", console, "POST", "", 403, "approval_required"},
		{"an operator without passkeys", bare, "POST", good, 403, "approval_required"},
		{"nonsense", console, "POST", "nonsense", 403, "approval_invalid"},
		{"another's passkey", console, "POST", bens.Approve(t, change).Header(), 403, "approval_invalid"},
		{"another operator", console, "POST", adas.Approve(t, in(func(c *passkey.Change) { c.Operator = "ben.ade" })).Header(), 403, "approval_invalid"},
		{"another body", console, "POST", adas.Approve(t, in(func(c *passkey.Change) { c.Body = []byte(`{}`) })).Header(), 403, "approval_invalid"},
		{"another path", console, "POST", adas.Approve(t, in(func(c *passkey.Change) { c.Path = "/v1/admin/x" })).Header(), 403, "approval_invalid"},
		{"another key", console, "POST", adas.Approve(t, in(func(c *passkey.Change) { c.IdempotencyKey = "l" })).Header(), 403, "approval_invalid"},
		{"an old one", console, "POST", adas.Approve(t, in(func(c *passkey.Change) { c.At = c.At.Add(-6 * time.Minute) })).Header(), 403, "approval_invalid"},
		{"a good one", console, "POST", good, 200, ""},
		{"the same again", console, "POST", good, 403, "approval_invalid"},
	} {
		before := acts
		r := httptest.NewRequest(tc.method, "/v1/admin/x?y=1", strings.NewReader(body))
		if tc.method == http.MethodGet {
			r = httptest.NewRequest(tc.method, "/v1/admin/x?y=1", nil)
		}
		r.Header.Set("Idempotency-Key", "k")
		if tc.approval != "" {
			r.Header.Set(passkey.Header, tc.approval)
		}
		who := tc.who
		who.Audience, who.IssuedAt = "a", time.Now().UnixMilli()
		sent := []byte(body)
		if tc.method == http.MethodGet {
			sent = nil
		}
		header, err := who.Bind(r, sent).Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(httpkit.IdentityHeader, header)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		said, _ := io.ReadAll(w.Body)
		if w.Code != tc.status || !strings.Contains(string(said), tc.code) || (acts > before) != (tc.status == 200) {
			t.Errorf("%s: got %d %s and %d acts, want %d %s", tc.name, w.Code, said, acts-before, tc.status, tc.code)
		}
	}
}
