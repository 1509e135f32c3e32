//go:build integration

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/gateway/internal/store"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
)

// statements notes every statement that a pool sends, and every batch.
type statements struct {
	mu   sync.Mutex
	sent []string
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.note(q.SQL)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.note("batch")
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (s *statements) note(sql string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, sql)
}

// taken returns the statements since its last call.
func (s *statements) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.sent
	s.sent = nil
	return out
}

// TestRoundTrips_warmKey: requests of a cached key send the database nothing, by any form of credential, except one
// insert for each signed request that is no read.
func TestRoundTrips_warmKey(t *testing.T) {
	cfg, err := pgxpool.ParseConfig(pg.URL(t, migrations.FS))
	if err != nil {
		t.Fatal(err)
	}
	sent := &statements{}
	cfg.ConnConfig.Tracer = sent
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	base64Key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	peppers, err := apikey.ParsePeppers(base64Key)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.Parse("k1:" + base64Key)
	if err != nil {
		t.Fatal(err)
	}
	keys := store.New(pool)
	cache := apikey.NewCache(keys, limit.NewLookups(false, time.Now), peppers, ring, apikey.CacheBounds{TTL: time.Hour, Size: 100}, time.Now)
	cache.CaughtUp(time.Now().Add(time.Hour))
	made, err := apikey.NewRegistry(keys, peppers, ring, cache, shard.First, time.Now).Create(t.Context(), apikey.Order{
		MerchantID: "acme", Name: "shop", Mode: tenant.Test, Permissions: []string{"*"},
	}, audit.Entry{Actor: "operator:ops"}, apikey.Once{})
	if err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"success":true}`))
	}))
	t.Cleanup(service.Close)
	w := &fixture{base: door(t, service.URL, keys, cache), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}

	plain := func(method, path string) { w.call(t, method, path, made.Secret, "{}").want(t, 200, "") }
	signed := func(method, path, body string) {
		w.signed(t, made.Key.PublicKey, made.Secret, method, path, body).want(t, 200, "")
	}
	sent.taken()
	for name, tc := range map[string]struct {
		cold, warm int // statements of the first request, and of each after it
		send       func(n int)
	}{
		"secret, POST": {1, 0, func(int) { plain("POST", "/v1/payments") }},
		"signed, GET":  {1, 0, func(n int) { signed("GET", fmt.Sprint("/v1/payments/CW-", n), "") }},
	} {
		for n := range 50 {
			tc.send(n)
			want := tc.warm
			if n == 0 {
				want = tc.cold
			}
			if got := sent.taken(); len(got) != want {
				t.Errorf("%s, request %d: %d statements, want %d: %v", name, n, len(got), want, got)
			}
		}
	}
	for n := range 50 {
		signed("POST", "/v1/payments", fmt.Sprint(n))
		if got := sent.taken(); len(got) != 1 || !strings.HasPrefix(got[0], "INSERT INTO signed_requests") {
			t.Errorf("signed POST %d: %v, want one insert", n, got)
		}
		plain("PATCH", "/v1/webhooks/endpoints/x")
		plain("GET", "/v1/wallets")
		if got := sent.taken(); len(got) != 0 {
			t.Errorf("requests with the secret: %v", got)
		}
	}
}

// door is the gateway's handler with everything that looks up keys, before one service for every route.
func door(t *testing.T, service string, keys *store.Store, cache *apikey.Cache) (base string) {
	t.Helper()
	router, err := route.NewRouter(route.Table())
	if err != nil {
		t.Fatal(err)
	}
	targets := map[route.Upstream]*proxy.Target{}
	for _, name := range []route.Upstream{route.Payments, route.Wallets, route.Reports, route.Dispatcher, route.Self} {
		if targets[name], err = proxy.Service(service, []byte(strings.Repeat("k", 32))); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(targets[name].Close)
	}
	p, err := proxy.New(proxy.Options{
		Router: router, Callers: identity.NewResolver(cache, nil, nil, time.Now), Replays: keys, Targets: targets,
		Gates: []proxy.Gate{limit.NewRates(false, time.Now)}, Slots: limit.NewInFlight(16, 16, 0, time.Second),
		Telemetry: telemetrytest.ForTest(t), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return server.URL
}
