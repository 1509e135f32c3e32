package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "16") // the parallel tests wait for slow callers and compute little
	goleak.VerifyTestMain(m)
}

var (
	signKey  = []byte("payments identity key, 32 bytes!")
	otherKey = []byte("wallets identity key, 32 bytes!!")
)

// keys are secrets and their permissions.
type keys map[string]*apikey.Key

func (k keys) Find(_ context.Context, secret string, _ netip.Addr) (*apikey.Key, error) {
	if key := k[secret]; key != nil {
		return key, nil
	}
	return nil, apikey.ErrInvalid
}

func (k keys) FindPublic(ctx context.Context, publicKey string, from netip.Addr) (*apikey.Key, error) {
	return k.Find(ctx, publicKey, from)
}

var (
	testSecret  = credential.Generate(credential.Secret, tenant.Test)
	liveSecret  = credential.Generate(credential.Secret, tenant.Live)
	bareSecret  = credential.Generate(credential.Secret, tenant.Test)
	readSecret  = credential.Generate(credential.Secret, tenant.Test)
	goneSecret  = credential.Generate(credential.Secret, tenant.Test)
	fencedKey   = credential.Generate(credential.Secret, tenant.Test)
	strangeKey  = credential.Generate(credential.Secret, tenant.Test)
	operatorKey = "op_token"
)

func ring() keys {
	make := func(id int64, mode tenant.Mode, grants ...string) *apikey.Key {
		k := apikey.Key{ID: id, MerchantID: "acme", Mode: mode, Permissions: grants}.Compiled()
		return &k
	}
	gone := make(4, tenant.Test, "*")
	gone.RevokedAt = time.Unix(1, 0)
	fenced := make(5, tenant.Test, "*")
	fenced.AllowedCIDRs = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	return keys{
		testSecret: make(1, tenant.Test, "*"), liveSecret: make(2, tenant.Live, "*"), readSecret: make(3, tenant.Test, "payment:read"),
		bareSecret: make(6, tenant.Test), goneSecret: gone, fencedKey: fenced,
	}
}

func table() []route.Route {
	return append(route.Table(),
		route.Route{Method: "GET", Pattern: "/v1/public/{id}", Upstream: route.Payments, Access: route.Open},
		route.Route{Method: "POST", Pattern: "/v1/public/{id}", Upstream: route.Payments, Access: route.Open},
		route.Route{Method: "PATCH", Pattern: "/v1/public/{id}", Upstream: route.Payments, Access: route.Keyed, Permission: apikey.ReportManage},
	)
}

type fixture struct {
	url      string
	gateway  *httptest.Server
	upstream *httptest.Server
}

type option func(*proxy.Options)

// start runs a gateway before a service that verifies identities and then calls h.
func start(t *testing.T, h http.Handler, options ...option) *fixture {
	t.Helper()
	upstream := httptest.NewServer(h)
	t.Cleanup(upstream.Close)
	w := &fixture{upstream: upstream}
	w.gateway = httptest.NewServer(door(t, upstream.URL, options...))
	w.url = w.gateway.URL
	t.Cleanup(w.gateway.Close)
	return w
}

func door(t testing.TB, upstream string, options ...option) *proxy.Proxy {
	t.Helper()
	router, err := route.NewRouter(table())
	if err != nil {
		t.Fatal(err)
	}
	payments, err := proxy.Service(upstream, signKey)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(payments.Close)
	sum := sha256.Sum256([]byte(operatorKey))
	operators, err := identity.ParseOperators("ops:" + hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	o := proxy.Options{
		Router: router, Callers: identity.NewResolver(ring(), operators, nil, time.Now), Telemetry: telemetrytest.ForTest(t), Now: time.Now,
		Targets: map[route.Upstream]*proxy.Target{
			route.Payments: payments, route.Wallets: proxy.Local(http.HandlerFunc(own), otherKey), route.Reports: proxy.Local(http.HandlerFunc(own), otherKey),
			route.Dispatcher: proxy.Local(http.HandlerFunc(own), otherKey), route.Self: proxy.Local(http.HandlerFunc(own), otherKey),
		},
	}
	for _, f := range options {
		f(&o)
	}
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// own plays the gateway's own routes.
func own(w http.ResponseWriter, r *http.Request) {
	who, err := httpkit.Verifier{Audience: "gateway", Keys: [][]byte{otherKey}, Now: time.Now}.Verify(r)
	if err != nil {
		httpkit.WriteError(w, "", err)
		return
	}
	body, _ := io.ReadAll(r.Body)
	reply(w, map[string]any{"identity": who, "body": string(body)})
}

// echo answers with what the service received: the verified identity, the headers and the body.
func echo(w http.ResponseWriter, r *http.Request) {
	who, err := httpkit.Verifier{Audience: "payments", Keys: [][]byte{otherKey, signKey}, Now: time.Now}.Verify(r)
	if err != nil {
		httpkit.WriteError(w, "", fault.New(fault.Unauthenticated, "identity_invalid", "%v", err))
		return
	}
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Server", "secret/1.0")
	w.Header().Set("X-Causeway-Internal", "yes")
	w.Header().Set("Access-Control-Allow-Origin", "https://evil.example")
	w.Header().Set("X-Request-Id", "the service's own")
	reply(w, map[string]any{"identity": who, "headers": r.Header, "body": string(body), "uri": r.RequestURI, "host": r.Host, "length": r.ContentLength})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v)
}

type echoed struct {
	Identity httpkit.Identity
	Headers  http.Header
	Body     string
	URI      string
	Length   int64
}

type answer struct {
	*http.Response
	body []byte
}

func (w *fixture) do(t *testing.T, method, path, key, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1])
	}
	return w.send(t, r)
}

func (w *fixture) send(t *testing.T, r *http.Request) answer {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res, raw}
}

// refused checks an answer against the error shape of docs/api-contract.md#errors.
func (a answer) refused(t *testing.T, status int, code string) {
	t.Helper()
	var body struct {
		Success *bool
		Message string
		Error   struct{ Code, Message, RequestID string }
	}
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Fatalf("%s is not the error shape: %v", a.body, err)
	}
	if a.StatusCode != status || body.Error.Code != code || body.Success == nil || *body.Success || body.Message != body.Error.Message ||
		body.Message == "" || body.Error.RequestID != a.Header.Get("X-Request-Id") || body.Error.RequestID == "" {
		t.Errorf("%d %s, want %d %s", a.StatusCode, a.body, status, code)
	}
	if passing := status == 429 || status == 502 || status == 503 || status == 504; passing && a.Header.Get("Retry-After") == "" {
		t.Errorf("%d without Retry-After", status)
	}
	if status == 401 && a.Header.Get("WWW-Authenticate") == "" {
		t.Error("401 without WWW-Authenticate")
	}
	a.stamped(t)
}

// stamped checks what every response carries.
func (a answer) stamped(t *testing.T) {
	t.Helper()
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
		if got := a.Header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("header %s: got %q, want %s once", name, got, want)
		}
	}
	if ids := a.Header.Values("X-Request-Id"); len(ids) != 1 || ids[0] == "" {
		t.Errorf("X-Request-Id %q", ids)
	}
	if len(a.Header.Values("Cache-Control")) != 1 || a.Header.Get("Server") != "" || a.Header.Get("X-Causeway-Internal") != "" {
		t.Errorf("headers %v", a.Header)
	}
}

func (a answer) echoed(t *testing.T) echoed {
	t.Helper()
	var e echoed
	if err := json.Unmarshal(a.body, &e); err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("read the echo: got %d %s, %v, want 200", a.StatusCode, a.body, err)
	}
	a.stamped(t)
	return e
}

func TestProxy_forwards(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	body := "{\"a\": 1,\r\n  \"a\": 2, \"e\":\"\u00e9\", bad json"
	a := w.do(t, "POST", "/v1/payments?&", testSecret, body,
		"Content-Type", "application/json", "Idempotency-Key", "k-1", "X-Request-Id", "mine-1", "User-Agent", "shop/2")
	e := a.echoed(t)
	if e.Body != body || e.URI != "/v1/payments?&" || e.Length != int64(len(body)) {
		t.Errorf("the service saw %q %q of length %d", e.URI, e.Body, e.Length)
	}
	id := e.Identity
	if id.Subject != httpkit.Merchant || id.MerchantID != "acme" || id.KeyID != 1 || id.Mode != tenant.Test || id.RequestID != "mine-1" ||
		len(id.Permissions) != 11 || id.ClientIP != "127.0.0.1" || id.Operator != "" {
		t.Errorf("identity %+v", id)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Idempotency-Key": "k-1", "X-Request-Id": "mine-1", "User-Agent": "shop/2", "Authorization": "",
	} {
		if e.Headers.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, e.Headers.Get(name), want)
		}
	}
	if a.Header.Get("X-Request-Id") != "mine-1" || a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("headers %v", a.Header)
	}
}

// Only the gateway's identity reaches a service, whatever a caller sends and in any spelling.
func TestProxy_spoofedHeaders(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	forged, err := httpkit.Identity{Subject: httpkit.Operator, Method: "POST", Path: "/v1/payments", Audience: "payments", IssuedAt: time.Now().UnixMilli()}.Sign(signKey)
	if err != nil {
		t.Fatal(err)
	}
	spoof := []string{
		"X-Causeway-Identity", forged, "x-causeway-identity", forged, "X_causeway_identity", forged, "X-Causeway_Identity", forged,
		"X-Causeway-Merchant", "evil", "X-Forwarded-For", "1.2.3.4", "Forwarded", "for=1.2.3.4", "X-Real-Ip", "1.2.3.4",
		"Cookie", "a=b", "Traceparent", "00-11111111111111111111111111111111-2222222222222222-01", "Baggage", "a=b",
		"Connection", "X-Request-Id, Content-Type", "Te", "trailers", "X-Timestamp", "1", "X-Signature", "2", "X-Other", "3",
	}
	for _, path := range []string{"/v1/payments", "/v1/rails/sim/webhook"} {
		e := w.do(t, "POST", path, testSecret, "{}", spoof...).echoed(t)
		if e.Identity.Subject == httpkit.Operator || e.Identity.ClientIP != "127.0.0.1" {
			t.Errorf("%s: identity %+v", path, e.Identity)
		}
		for name, values := range e.Headers {
			plain := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
			if strings.HasPrefix(plain, "x-causeway-") && (name != "X-Causeway-Identity" || len(values) != 1) {
				t.Errorf("%s: %s reached the service", path, name)
			}
			switch plain {
			case "authorization", "cookie", "forwarded", "x-forwarded-for", "x-real-ip", "baggage", "te", "x-timestamp", "x-signature", "connection":
				t.Errorf("%s: %s: %q reached the service", path, name, values)
			}
		}
		if parent := e.Headers.Get("Traceparent"); parent == "" || strings.Contains(parent, "1111111111111111") {
			t.Errorf("%s: the service continues the trace %q, want the gateway's own", path, parent)
		}
		if passes := e.Headers.Get("X-Other") != ""; passes != (path == "/v1/rails/sim/webhook") {
			t.Errorf("%s: X-Other passes: %v", path, passes)
		}
	}
}

func TestProxy_refuses(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	long := strings.Repeat("x", 256<<10+1)
	for name, tc := range map[string]struct {
		method, path, key, body string
		status                  int
		code                    string
		headers                 []string
	}{
		"unknown route":       {"GET", "/nowhere", testSecret, "", 404, "route_not_found", nil},
		"trailing slash":      {"GET", "/v1/payments/", testSecret, "", 404, "route_not_found", nil},
		"dots":                {"GET", "/v1/payments/%2e%2e", testSecret, "", 404, "route_not_found", nil},
		"other method":        {"DELETE", "/v1/payments", testSecret, "", 405, "method_not_allowed", nil},
		"trace":               {"TRACE", "/v1/payments", testSecret, "", 405, "method_not_allowed", nil},
		"no key":              {"POST", "/v1/payments", "", "{}", 401, "api_key_missing", nil},
		"basic":               {"POST", "/v1/payments", "", "{}", 401, "api_key_missing", []string{"Authorization", "Basic YTpi"}},
		"mistyped key":        {"POST", "/v1/payments", testSecret + "x", "{}", 401, "api_key_invalid", nil},
		"unknown key":         {"POST", "/v1/payments", strangeKey, "{}", 401, "api_key_invalid", nil},
		"public key":          {"POST", "/v1/payments", credential.Generate(credential.Public, tenant.Test), "{}", 401, "signature_missing", nil},
		"revoked key":         {"POST", "/v1/payments", goneSecret, "{}", 401, "api_key_revoked", nil},
		"two keys":            {"POST", "/v1/payments", testSecret, "{}", 401, "api_key_ambiguous", []string{"X-Api-Key", liveSecret}},
		"two headers":         {"POST", "/v1/payments", testSecret, "{}", 401, "api_key_ambiguous", []string{"Authorization", "Bearer " + testSecret}},
		"operator's token":    {"POST", "/v1/payments", operatorKey, "{}", 401, "api_key_invalid", nil},
		"other address":       {"POST", "/v1/payments", fencedKey, "{}", 403, "ip_not_allowed", nil},
		"spoofed address":     {"POST", "/v1/payments", fencedKey, "{}", 403, "ip_not_allowed", []string{"X-Forwarded-For", "203.0.113.7"}},
		"no permission":       {"POST", "/v1/payments", readSecret, "{}", 403, "permission_missing", nil},
		"live in the sandbox": {"POST", "/v1/sandbox/payments/CW-X/expire", liveSecret, "", 404, "route_not_found", nil},
		"key for an operator": {"GET", "/v1/admin/keys", testSecret, "", 401, "operator_token_invalid", nil},
		"no operator":         {"GET", "/v1/admin/keys", "", "", 401, "operator_token_missing", nil},
		"large body":          {"POST", "/v1/payments", testSecret, long, 413, "body_too_large", nil},
		"long url":            {"GET", "/v1/payments/x?" + strings.Repeat("y", 5000), testSecret, "", 400, "url_too_long", nil},
		"large headers":       {"GET", "/v1/payments/x", testSecret, "", 400, "headers_too_large", []string{"X-Big", strings.Repeat("y", 17<<10)}},
		"large for everybody": {"POST", "/v1/public/x", "", long, 413, "body_too_large", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.do(t, tc.method, tc.path, tc.key, tc.body, tc.headers...)
			a.refused(t, tc.status, tc.code)
			if tc.status == 405 && a.Header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if tc.status == 403 && tc.code == "permission_missing" && !strings.Contains(string(a.body), "payment:create") {
				t.Errorf("%s does not name the permission", a.body)
			}
		})
	}
}

func TestProxy_accepts(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	for name, tc := range map[string]struct {
		method, path, key string
		headers           []string
		subject           httpkit.Subject
	}{
		"X-API-Key":            {"GET", "/v1/payments/CW-X", "", []string{"X-API-Key", testSecret}, httpkit.Merchant},
		"both, the same":       {"GET", "/v1/payments/CW-X", testSecret, []string{"X-Api-Key", testSecret}, httpkit.Merchant},
		"basic and X-API-Key":  {"GET", "/v1/payments/CW-X", "", []string{"Authorization", "Basic YTpi", "X-Api-Key", testSecret}, httpkit.Merchant},
		"lower-case scheme":    {"GET", "/v1/payments/CW-X", "", []string{"Authorization", "bearer " + testSecret}, httpkit.Merchant},
		"read only":            {"GET", "/v1/payments/CW-X", readSecret, nil, httpkit.Merchant},
		"live":                 {"POST", "/v1/payments", liveSecret, nil, httpkit.Merchant},
		"test in the sandbox":  {"POST", "/v1/sandbox/payments/CW-X/deposits", testSecret, nil, httpkit.Merchant},
		"public":               {"GET", "/v1/public/x", "", nil, httpkit.Public},
		"public with any key":  {"GET", "/v1/public/x", goneSecret, nil, httpkit.Public},
		"public with nonsense": {"POST", "/v1/public/x", "nonsense", []string{"X-Api-Key", "more"}, httpkit.Public},
		"escaped path":         {"GET", "/v1/payments/a%2Fb%20c?&&", testSecret, nil, httpkit.Merchant},
		"bare question mark":   {"GET", "/v1/payments/x?", testSecret, nil, httpkit.Merchant},
	} {
		t.Run(name, func(t *testing.T) {
			e := w.do(t, tc.method, tc.path, tc.key, "", tc.headers...).echoed(t)
			if e.Identity.Subject != tc.subject || (tc.subject == httpkit.Public && (e.Identity.MerchantID != "" || e.Identity.KeyID != 0 || e.Identity.Mode != "")) {
				t.Errorf("identity %+v", e.Identity)
			}
		})
	}
	a := w.do(t, "GET", "/v1/admin/keys?limit=2", operatorKey, "")
	if e := a.echoed(t); e.Identity.Subject != httpkit.Operator || e.Identity.Operator != "ops" || e.Identity.Audience != "gateway" {
		t.Errorf("identity %+v", e.Identity)
	}
}

func TestProxy_trustedProxy(t *testing.T) {
	proxies, err := identity.ParseProxies("127.0.0.1, 10.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, http.HandlerFunc(echo), func(o *proxy.Options) { o.Addresses = proxies })
	for forwarded, want := range map[string]string{
		"203.0.113.7":                        "203.0.113.7",
		"6.6.6.6, 203.0.113.7, 10.1.2.3":     "203.0.113.7",
		"203.0.113.7, nonsense":              "127.0.0.1",
		"":                                   "127.0.0.1",
		"10.9.9.9":                           "10.9.9.9",
		"::ffff:203.0.113.9":                 "203.0.113.9",
		"2001:db8::1":                        "2001:db8::1",
		strings.Repeat("10.0.0.1, ", 100):    "127.0.0.1",
		"6.6.6.6" + strings.Repeat(",x", 40): "127.0.0.1",
	} {
		e := w.do(t, "GET", "/v1/public/x", "", "", "X-Forwarded-For", forwarded).echoed(t)
		if e.Identity.ClientIP != want {
			t.Errorf("%q: client %s, want %s", forwarded, e.Identity.ClientIP, want)
		}
	}
	if a := w.do(t, "GET", "/v1/payments/x", fencedKey, "", "X-Forwarded-For", "203.0.113.7"); a.StatusCode != http.StatusOK {
		t.Errorf("the fenced key is refused from its own network: %d", a.StatusCode)
	}
}

func TestProxy_requestID(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	for sent, kept := range map[string]bool{
		"abc-1.2_3:X": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "has space": false, "caf\u00e9": false, "": false, "a/b": false, "<script>": false,
	} {
		got := w.do(t, "GET", "/nowhere", "", "", "X-Request-Id", sent).Header.Get("X-Request-Id")
		if (got == sent) != kept || (!kept && !strings.HasPrefix(got, "req_")) {
			t.Errorf("%q became %q", sent, got)
		}
	}
}

func TestProxy_chunkedBodies(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	send := func(size int) answer {
		r, err := http.NewRequestWithContext(t.Context(), "POST", w.url+"/v1/payments", io.MultiReader(bytes.NewReader(make([]byte, size))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+testSecret)
		return w.send(t, r)
	}
	if e := send(256 << 10).echoed(t); len(e.Body) != 256<<10 || e.Length != 256<<10 {
		t.Errorf("the service saw %d bytes, declared %d", len(e.Body), e.Length)
	}
	send(256<<10+1).refused(t, 413, "body_too_large")
}

func TestProxy_head(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	a := w.do(t, "HEAD", "/v1/payments/CW-X", testSecret, "")
	if a.StatusCode != http.StatusOK || len(a.body) != 0 {
		t.Errorf("send HEAD: got %d %q, want 200 without a body", a.StatusCode, a.body)
	}
	a.stamped(t)
}

func TestProxy_cors(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	for name, tc := range map[string]struct {
		method, path, wanted string
		status               int
		origin               bool
	}{
		"public":               {"GET", "/v1/public/x", "", 200, true},
		"public refused":       {"POST", "/v1/public/" + strings.Repeat("x", 400), "", 200, true},
		"keyed":                {"GET", "/v1/payments/x", "", 200, false},
		"unknown":              {"GET", "/nowhere", "", 404, false},
		"pre-flight public":    {"OPTIONS", "/v1/public/x", "POST", 204, true},
		"pre-flight keyed":     {"OPTIONS", "/v1/payments", "POST", 204, false},
		"pre-flight half":      {"OPTIONS", "/v1/public/x", "PATCH", 204, false},
		"options without want": {"OPTIONS", "/v1/public/x", "", 204, false},
		"pre-flight unknown":   {"OPTIONS", "/nowhere", "GET", 404, false},
	} {
		a := w.do(t, tc.method, tc.path, testSecret, "", "Origin", "https://shop.example", "Access-Control-Request-Method", tc.wanted)
		got := a.Header.Values("Access-Control-Allow-Origin")
		if a.StatusCode != tc.status || (len(got) == 1 && got[0] == "*") != tc.origin || len(got) > 1 || a.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: got %d and the origins %q, want %d", name, a.StatusCode, got, tc.status)
		}
		if tc.status == 204 && a.Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow", name)
		}
		a.stamped(t)
	}
}

// A service's bad answer, or none, reaches the caller in the error shape and with its status.
func TestProxy_badUpstream(t *testing.T) {
	for name, tc := range map[string]struct {
		h      http.HandlerFunc
		status int
		code   string
	}{
		"plain 404": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "pq: no such host db-1", 404) }, 502, "upstream_failed"},
		"plain 500": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "goroutine 1", 500) }, 502, "upstream_failed"},
		"no type":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 502, "upstream_failed"},
		"refuses us": {func(w http.ResponseWriter, _ *http.Request) {
			httpkit.WriteError(w, "", fault.New(fault.Unauthenticated, "identity_invalid", "x"))
		}, 502, "upstream_failed"},
		"breaks off":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 502, "upstream_failed"},
		"large headers": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Big", strings.Repeat("x", 1<<20)) }, 502, "upstream_failed"},
		"its own error": {func(w http.ResponseWriter, r *http.Request) {
			httpkit.WriteError(w, r.Header.Get("X-Request-Id"), fault.New(fault.Conflict, "busy", "It is busy."))
		}, 409, "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, tc.h)
			w.do(t, "GET", "/v1/payments/CW-SECRETREF", testSecret, "").refused(t, tc.status, tc.code)
		})
	}
}

// A service that refuses because somebody has closed what the call needs is not counted as an error of the system: the
// share of errors is what alerts and the objective of creates watch. The mark does not reach the caller.
func TestProxy_closedIsNoError(t *testing.T) {
	shut := fault.New(fault.Unavailable, "live_disabled", "Live payments are not open yet.").Closed()
	down := fault.New(fault.Unavailable, "service_unavailable", "The database is away.")
	for _, tc := range []struct {
		name, path string
		f          *fault.Error
		page       int // the status of the page that has asked the service
		class      string
	}{
		{"closed", "/v1/payments/CW-SECRETREF", shut, 0, "closed"},
		{"down", "/v1/payments/CW-SECRETREF", down, 0, "5xx"},
		{"a page about something closed", "/pay/CW-ABCDEFGHJKMN", shut, http.StatusServiceUnavailable, "closed"},
		{"a page that helps itself", "/pay/CW-ABCDEFGHJKMN", shut, http.StatusOK, "2xx"},
		{"a page about something down", "/pay/CW-ABCDEFGHJKMN", down, http.StatusServiceUnavailable, "5xx"},
	} {
		telemetry := telemetrytest.ForTest(t)
		w := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			httpkit.WriteError(w, r.Header.Get("X-Request-Id"), tc.f)
		}), func(o *proxy.Options) {
			o.Telemetry = telemetry
			service := o.Targets[route.Payments]
			o.Targets[route.Self] = proxy.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := service.Ask(r.Context(), http.MethodGet, "/v1/checkout/x", nil); err != nil {
					t.Errorf("%s: asking the service: %v", tc.name, err)
				}
				w.WriteHeader(tc.page)
			}), otherKey)
		})
		a := w.do(t, "GET", tc.path, testSecret, "")
		if tc.page == 0 {
			a.refused(t, http.StatusServiceUnavailable, tc.f.Code)
		}
		if marks := a.Header.Values(httpkit.ClosedHeader); len(marks) > 0 {
			t.Errorf("%s: the caller got %s %v, want none", tc.name, httpkit.ClosedHeader, marks)
		}
		if got, want := counted(t, telemetry.Registry), map[string]float64{tc.class: 1}; !maps.Equal(got, want) {
			t.Errorf("%s: counted %v, want %v", tc.name, got, want)
		}
	}
}

// counted is how many requests were counted in each class that has any.
func counted(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "gateway_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if n := m.GetCounter().GetValue(); label.GetName() == "class" && n > 0 {
					out[label.GetValue()] += n
				}
			}
		}
	}
	return out
}

func TestProxy_upstreamDown(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	w.upstream.Close()
	a := w.do(t, "GET", "/v1/payments/CW-X", testSecret, "")
	a.refused(t, 503, "upstream_unavailable")
	if bytes.Contains(a.body, []byte("127.0.0.1")) {
		t.Errorf("%s names an internal host", a.body)
	}
}

func TestProxy_upstreamSlow(t *testing.T) {
	hold := make(chan struct{})
	w := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}), func(o *proxy.Options) { o.CallTime = 50 * time.Millisecond })
	defer close(hold)
	w.do(t, "POST", "/v1/payments", testSecret, "{}").refused(t, 504, "upstream_timeout")
}

// A response that breaks off half-way is cut, so that it does not look whole.
func TestProxy_upstreamBreaksHalfWay(t *testing.T) {
	w := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{"success":true`))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/v1/payments/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", testSecret)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
	}
	if err == nil {
		t.Error("half an answer reads as a whole one")
	}
}

type panicking struct{}

func (panicking) Admit(context.Context, *proxy.Call) (func(int), error) { panic("a secret detail") }

type recording struct{ statuses chan int }

func (r recording) Admit(_ context.Context, c *proxy.Call) (func(int), error) {
	if c.Route == nil || c.RequestID == "" || !c.Caller.IP.IsValid() {
		return nil, errors.New("the gate has no route, request id or address")
	}
	return func(status int) { r.statuses <- status }, nil
}

type refusing struct{}

func (refusing) Admit(context.Context, *proxy.Call) (func(int), error) {
	return nil, fault.New(fault.RateLimited, "rate_limited", "Too many requests.").After(3 * time.Second)
}

func TestProxy_gates(t *testing.T) {
	seen := recording{make(chan int, 1)}
	w := start(t, http.HandlerFunc(echo), func(o *proxy.Options) { o.Gates = []proxy.Gate{seen, refusing{}} })
	a := w.do(t, "GET", "/v1/public/x", "", "")
	a.refused(t, 429, "rate_limited")
	if a.Header.Get("Retry-After") != "3" {
		t.Errorf("Retry-After %s", a.Header.Get("Retry-After"))
	}
	if got := <-seen.statuses; got != http.StatusTooManyRequests {
		t.Errorf("status at the gate after the next one refused: got %d, want 429", got)
	}
	w = start(t, http.HandlerFunc(echo), func(o *proxy.Options) { o.Gates = []proxy.Gate{seen} })
	w.do(t, "GET", "/v1/public/x", "", "").echoed(t)
	if got := <-seen.statuses; got != http.StatusOK {
		t.Errorf("status at the gate: got %d, want 200", got)
	}
}

type metering struct{}

func (metering) Admit(_ context.Context, c *proxy.Call) (func(int), error) {
	c.Quota.Tighten(proxy.Quota{Limit: 300, Remaining: 250, Reset: 2500 * time.Millisecond})
	c.Quota.Tighten(proxy.Quota{Limit: 20, Remaining: 7, Reset: 6500 * time.Millisecond})
	c.Quota.Tighten(proxy.Quota{Limit: 50, Remaining: 8, Reset: time.Second})
	return nil, nil
}

// Answers and refusals alike carry what is left of the tightest limit.
func TestProxy_quota(t *testing.T) {
	for _, gates := range [][]proxy.Gate{{metering{}}, {metering{}, refusing{}}} {
		w := start(t, http.HandlerFunc(echo), func(o *proxy.Options) { o.Gates = gates })
		h := w.do(t, "GET", "/v1/public/x", "", "").Header
		if h.Get("RateLimit-Limit") != "20" || h.Get("RateLimit-Remaining") != "7" || h.Get("RateLimit-Reset") != "7" {
			t.Errorf("read the quota: got the header %v, want 7 of 20 left for 7 seconds", h)
		}
	}
}

func TestProxy_panic(t *testing.T) {
	w := start(t, http.HandlerFunc(echo), func(o *proxy.Options) { o.Gates = []proxy.Gate{panicking{}} })
	a := w.do(t, "POST", "/v1/payments", testSecret, "{}")
	a.refused(t, 500, "internal")
	if bytes.Contains(a.body, []byte("secret detail")) {
		t.Errorf("panic in a gate: got %s, want nothing of the panic's text", a.body)
	}
}

// A request with fewer bytes than it declares reaches no service and keeps no connection.
func TestProxy_shortBody(t *testing.T) {
	called := make(chan struct{}, 1)
	w := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called <- struct{}{} }))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/payments HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: 10\r\n\r\nabc", testSecret)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body)
	answer{res, raw}.refused(t, 400, "body_unreadable")
	select {
	case <-called:
		t.Error("the service was called")
	default:
	}
}

func TestNew_needsTargets(t *testing.T) {
	router, err := route.NewRouter(route.Table())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proxy.New(proxy.Options{Router: router, Telemetry: telemetrytest.ForTest(t), Now: time.Now}); err == nil {
		t.Error("a table without targets is taken")
	}
	for _, bad := range []string{"", "payments:8080", "ftp://x", "http://x/base", "http://", "http://a b"} {
		if _, err := proxy.Service(bad, signKey); err == nil {
			t.Errorf("%q is taken for a service", bad)
		}
	}
}
