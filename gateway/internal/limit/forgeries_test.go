package limit_test

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

// published knows keys by their public ids.
type published map[string]*apikey.Key

func (p published) Find(context.Context, string, netip.Addr) (*apikey.Key, error) {
	return nil, apikey.ErrInvalid
}

func (p published) FindPublic(_ context.Context, id string, _ netip.Addr) (*apikey.Key, error) {
	return p[id], nil
}

// Bad signatures of a key stop the next ones from their address before a body is read. They stop neither the key at
// other addresses nor other keys at that address, and good signatures cost nothing.
func TestForgeries(t *testing.T) {
	clock := &clock{time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)}
	one, two := credential.Generate(credential.Public, tenant.Test), credential.Generate(credential.Public, tenant.Live)
	forgeries := limit.NewForgeries(false, clock.now)
	for range 500 {
		if err := forgeries.Allow(1, netip.MustParseAddr(flooder)); err != nil {
			t.Fatalf("good signatures are bounded: %v", err)
		}
	}
	r := identity.NewResolver(published{one: {ID: 1, Mode: tenant.Test}, two: {ID: 2, Mode: tenant.Live}}, nil, forgeries, clock.now)
	u, err := url.ParseRequestURI("/v1/payments")
	if err != nil {
		t.Fatal(err)
	}
	for _, access := range []route.Access{route.Keyed, route.Open} {
		rt := &route.Route{Access: access, Knows: access == route.Open}
		send := func(key, ip string) (code string) {
			c, err := r.Resolve(t.Context(), rt, http.Header{
				"X-Api-Key": {key}, "X-Timestamp": {strconv.FormatInt(clock.at.UnixMilli(), 10)},
				"X-Signature": {strings.Repeat("0", 64)},
			}, netip.MustParseAddr(ip))
			if err != nil {
				if f := fault.As(err); f.Kind != fault.RateLimited || f.RetryAfter < time.Second {
					t.Fatal(err)
				}
				return "limited"
			}
			_ = r.Prove(&c, rt, &http.Request{Method: http.MethodPost, URL: u}, []byte("{}"))
			return "read"
		}
		flood := func() (read int) {
			for range 500 {
				if send(one, flooder) == "read" {
					read++
				}
			}
			return read
		}
		clock.at = clock.at.Add(time.Hour)
		if read := flood(); read != 100 {
			t.Errorf("%d of 500 bodies are read, want 100", read)
		}
		if send(one, other) != "read" || send(two, flooder) != "read" {
			t.Error("forgeries stop the key elsewhere, or other keys at their address")
		}
		clock.at = clock.at.Add(time.Second)
		if read := flood(); read != 5 {
			t.Errorf("%d bodies are read a second later, want 5", read)
		}
	}
}
