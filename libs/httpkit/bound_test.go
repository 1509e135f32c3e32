package httpkit_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/httpkit"
)

const thing = `{"name":"bob"}`

// post is a request as the gateway sends it, without its identity.
func post(method, path, body, idempotencyKey string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if idempotencyKey != "" {
		r.Header.Set("Idempotency-Key", idempotencyKey)
	}
	return r
}

// A header that was copied serves no other request, no second time, and none that is later than the longest answer.
func TestServer_copiedIdentity(t *testing.T) {
	now := time.Now().Truncate(time.Millisecond)
	s := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), httpkit.Verifier{
		Audience: "payments", Keys: [][]byte{newKey}, BoundOnly: true, Now: func() time.Time { return now },
	})
	httpkit.Handle(s, "POST /v1/things", httpkit.ForMerchants, echo)
	httpkit.Handle(s, "PATCH /v1/things", httpkit.ForMerchants, echo)
	httpkit.Handle(s, "POST /v1/others", httpkit.ForMerchants, echo)
	const path = "/v1/things?x=1"
	status := func(header string, r *http.Request) int {
		r.Header.Set(httpkit.IdentityHeader, header)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	issued := func(at time.Time) httpkit.Identity {
		i := identity()
		i.IssuedAt = at.UnixMilli()
		return i.Bind(post(http.MethodPost, path, thing, "k1"), []byte(thing))
	}
	copied := sign(t, issued(now), newKey)
	for name, r := range map[string]*http.Request{
		"another path":            post(http.MethodPost, "/v1/others?x=1", thing, "k1"),
		"another query":           post(http.MethodPost, "/v1/things?x=2", thing, "k1"),
		"another method":          post(http.MethodPatch, path, thing, "k1"),
		"another body":            post(http.MethodPost, path, `{"name":"eve"}`, "k1"),
		"no body":                 post(http.MethodPost, path, "", "k1"),
		"another Idempotency-Key": post(http.MethodPost, path, thing, "k2"),
		"no Idempotency-Key":      post(http.MethodPost, path, thing, ""),
	} {
		if got := status(copied, r); got != http.StatusUnauthorized {
			t.Errorf("%s: %d, want 401", name, got)
		}
	}
	if got := status(copied, post(http.MethodPost, path, thing, "k1")); got != http.StatusCreated {
		t.Errorf("the request itself, after the copies: %d, want 201", got)
	}
	if got := status(copied, post(http.MethodPost, path, thing, "k1")); got != http.StatusUnauthorized {
		t.Errorf("a second time: %d, want 401", got)
	}
	for off, want := range map[time.Duration]int{
		-10 * time.Second: http.StatusCreated, -11 * time.Second: http.StatusUnauthorized,
		10 * time.Second: http.StatusCreated, 11 * time.Second: http.StatusUnauthorized,
	} {
		if got := status(sign(t, issued(now.Add(off)), newKey), post(http.MethodPost, path, thing, "k1")); got != want {
			t.Errorf("issued %v from now: %d, want %d", off, got, want)
		}
	}
}

// An identity that was issued ahead of this clock is taken once in the whole of its life.
func TestServer_identityOnce(t *testing.T) {
	now := time.Now().Truncate(time.Millisecond)
	s := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), httpkit.Verifier{
		Audience: "payments", Keys: [][]byte{newKey}, Now: func() time.Time { return now },
	})
	httpkit.Handle(s, "POST /v1/things", httpkit.ForMerchants, echo)
	fresh := func(ahead time.Duration) string {
		i := identity()
		i.IssuedAt = now.Add(ahead).UnixMilli()
		return sign(t, i.Bind(post(http.MethodPost, "/v1/things?x=1", thing, ""), []byte(thing)), newKey)
	}
	status := func(header string) int {
		r := post(http.MethodPost, "/v1/things?x=1", thing, "")
		r.Header.Set(httpkit.IdentityHeader, header)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	copied := fresh(10 * time.Second)
	for second := range 60 {
		want := http.StatusUnauthorized
		if second == 0 {
			want = http.StatusCreated
		}
		if got := status(copied); got != want {
			t.Errorf("after %d s: %d, want %d", second, got, want)
		}
		if got := status(fresh(0)); got != http.StatusCreated {
			t.Errorf("another after %d s: %d, want 201", second, got)
		}
		now = now.Add(time.Second)
	}
}

// Gateways of earlier releases bind method and path only. A service accepts their identities until
// BOUND_IDENTITIES_ONLY is set.
func TestServer_unboundIdentity(t *testing.T) {
	for only, want := range map[bool]int{false: http.StatusCreated, true: http.StatusUnauthorized} {
		s := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), httpkit.Verifier{
			Audience: "payments", Keys: [][]byte{newKey}, BoundOnly: only, Now: time.Now,
		})
		httpkit.Handle(s, "POST /v1/things", httpkit.ForMerchants, echo)
		r := post(http.MethodPost, "/v1/things?x=1", thing, "k1")
		r.Header.Set(httpkit.IdentityHeader, sign(t, identity(), newKey))
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != want {
			t.Errorf("BOUND_IDENTITIES_ONLY=%t: %d, want %d", only, w.Code, want)
		}
	}
}

// The cost of the identity of a 1 kB create: signed at the gateway, verified on the whole way through a service.
func BenchmarkIdentity(b *testing.B) {
	body := `{"name":"bob","more":"` + strings.Repeat("x", 1000) + `"}`
	path := "/v1/things?x=1"
	s := newServer()
	for name, form := range map[string]func(*http.Request) httpkit.Identity{
		"unbound": func(*http.Request) httpkit.Identity { return identity() },
		"bound":   func(r *http.Request) httpkit.Identity { return identity().Bind(r, []byte(body)) },
	} {
		r := post(http.MethodPost, path, body, "some-key-of-the-caller")
		b.Run("sign/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := form(r).Sign(newKey); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("sign and serve/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := post(http.MethodPost, path, body, "some-key-of-the-caller")
				header, err := form(r).Sign(newKey)
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set(httpkit.IdentityHeader, header)
				w := httptest.NewRecorder()
				if s.ServeHTTP(w, r); w.Code != http.StatusCreated {
					b.Fatalf("serve a create: got %d %s, want 201", w.Code, w.Body)
				}
			}
		})
	}
}
