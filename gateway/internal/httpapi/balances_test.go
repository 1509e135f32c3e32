package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/httpapi"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
)

// said is a service that gives one answer.
type said struct {
	reply httpapi.Reply
	err   error
	asked int
}

func (s *said) ask(_ context.Context, path string) (httpapi.Reply, error) {
	if s.asked++; path != "/v1/balances" {
		panic(path)
	}
	return s.reply, s.err
}

// TestBalances_composed: a key sees fiat only with payment:read, and an answer with one half missing fails.
func TestBalances_composed(t *testing.T) {
	const crypto, fiat = `{"success":true,"balances":[{"crypto":"USDT"}]}`, `{"success":true,"fiat":[{"currency":"NGN","available":1.50,"pending":0}]}`
	away := fault.New(fault.Unavailable, "upstream_unavailable", "away")
	ok := func(body string) said { return said{reply: httpapi.Reply{Status: 200, Body: []byte(body)}} }
	for name, c := range map[string]struct {
		grants            []string
		wallets, payments said
		status            int
		want              string
		asked             int
	}{
		"both":                           {[]string{"wallet:read", "payment:read"}, ok(crypto), ok(fiat), 200, `{"success":true,"balances":[{"crypto":"USDT"}],"fiat":[{"currency":"NGN","available":1.50,"pending":0}]}`, 1},
		"wallet:read alone":              {[]string{"wallet:read"}, ok(crypto), ok(fiat), 200, crypto, 0},
		"payments is down":               {[]string{"*"}, ok(crypto), said{err: away}, 503, `"upstream_unavailable"`, 1},
		"payments refuses":               {[]string{"*"}, ok(crypto), said{reply: httpapi.Reply{Status: 503, Body: []byte(`{"e":1}`), RetryAfter: "3"}}, 503, `{"e":1}`, 1},
		"payments of an earlier release": {[]string{"*"}, ok(crypto), said{reply: httpapi.Reply{Status: 404, Body: []byte(`{"e":3}`)}}, 503, `"upstream_unavailable"`, 1},
		"payments has no list":           {[]string{"*"}, ok(crypto), ok(`{"success":true}`), 500, `"internal"`, 1},
		"wallets is down":                {[]string{"*"}, said{err: away}, ok(fiat), 503, `"upstream_unavailable"`, 0},
		"wallets refuses":                {[]string{"*"}, said{reply: httpapi.Reply{Status: 429, Body: []byte(`{"e":2}`), RetryAfter: "3"}}, ok(fiat), 429, `{"e":2}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			key := []byte("identity key of balances, 32 byte")
			s := httpkit.NewServer(telemetrytest.ForTest(t).Log, prometheus.NewRegistry(), httpkit.Verifier{Audience: "gateway", Keys: [][]byte{key}, Now: time.Now})
			k := &apikey.Key{Permissions: c.grants}
			k.Grants = apikey.Compile(c.grants)
			k.Effective = k.Grants.List()
			(&httpapi.API{Caller: func(context.Context) *apikey.Key { return k }, Payments: c.payments.ask, Wallets: c.wallets.ask}).Register(s)
			r := httptest.NewRequest(http.MethodGet, "/v1/balances", nil)
			who := httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "acme", KeyID: 7, Mode: tenant.Test, RequestID: "req_1", Audience: "gateway", IssuedAt: time.Now().UnixMilli()}
			header, err := who.Bind(r, nil).Sign(key)
			if err != nil {
				t.Fatalf("sign an identity: %v", err)
			}
			r.Header.Set(httpkit.IdentityHeader, header)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if body := strings.TrimSpace(w.Body.String()); w.Code != c.status || !strings.Contains(body, c.want) || c.payments.asked != c.asked {
				t.Errorf("GET /v1/balances = %d %s after %d questions to payments, want %d %s after %d", w.Code, body, c.payments.asked, c.status, c.want, c.asked)
			}
			if got, want := w.Header().Get("Retry-After"), c.payments.reply.RetryAfter+c.wallets.reply.RetryAfter; want != "" && got != want {
				t.Errorf("Retry-After = %q, want %q", got, want)
			}
		})
	}
}
