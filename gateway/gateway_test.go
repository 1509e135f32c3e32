//go:build integration

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"go.uber.org/goleak"

	"causeway.internal/gateway/internal/route"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/command"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/port"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // they wait for clocks more than they compute
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const operatorToken = "op_secret"

// fixture is a running gateway on a database of its own, before a service that echoes the identity it was handed.
type fixture struct {
	base, ops string
	environ   map[string]string
	router    routers.Router
	client    *http.Client
}

// described finds the operations of the document, on whatever address they are served. Making it checks the whole
// document.
var described = sync.OnceValues(func() (routers.Router, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil
	return legacy.NewRouter(doc)
})

func start(t *testing.T) *fixture {
	t.Helper()
	return startOn(t, pg.URL(t, migrations.FS))
}

// startOn is start on an existing database; settings replace those of the environment.
func startOn(t *testing.T, database string, settings ...string) *fixture {
	t.Helper()
	key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	verifier := httpkit.Verifier{Audience: "payments", Keys: [][]byte{[]byte(strings.Repeat("k", 32))}, Now: time.Now}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := verifier.Verify(r)
		if err != nil {
			httpkit.WriteError(w, "", err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "identity": who})
	}))
	t.Cleanup(service.Close)
	sum := sha256.Sum256([]byte(operatorToken))
	w := &fixture{
		base: "http://" + port.Free(t), ops: "http://" + port.Free(t),
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second},
	}
	w.environ = map[string]string{
		"DATABASE_URL": database, "HTTP_ADDR": w.base[len("http://"):], "OPS_ADDR": w.ops[len("http://"):],
		"KEY_PEPPERS": key, "MASTER_KEYS": "k1:" + key, "OPERATOR_TOKENS": "ops:" + hex.EncodeToString(sum[:]), "LOG_LEVEL": "error",
		"SECOND_OPERATOR": "false",
	}
	for _, name := range []string{"PAYMENTS", "WALLETS", "REPORTS", "DISPATCHER"} {
		w.environ[name+"_URL"], w.environ[name+"_IDENTITY_KEYS"] = service.URL, key
	}
	for i := 0; i < len(settings); i += 2 {
		w.environ[settings[i]] = settings[i+1]
	}
	var err error
	if w.router, err = described(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- program.Run(ctx, command.Input{Environ: w.environ}) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("the gateway stopped with %v", err)
		}
	})
	eventually(t, func() bool {
		res, err := w.client.Get(w.ops + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return w
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	late := time.After(2 * time.Minute) // the machine may be busy
	for pause := 10 * time.Millisecond; !holds(); pause = min(2*pause, 200*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-late:
			t.Fatal("waited in vain")
		}
	}
}

type answer struct {
	*http.Response
	raw  []byte
	body map[string]any
}

// call sends a request and checks the answers of the gateway's own routes against the document.
func (w *fixture) call(t *testing.T, method, path, token, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{Response: res}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(a.raw, &a.body); err != nil {
			t.Fatalf("read the answer %s: %v", a.raw, err)
		}
	}
	if strings.HasPrefix(path, "/v1/admin") || res.StatusCode >= 400 {
		w.validate(t, r, a)
	}
	return a
}

// merchant makes an approved merchant.
func (w *fixture) merchant(t *testing.T, id string) {
	t.Helper()
	w.call(t, "POST", "/v1/admin/merchants", operatorToken, `{"merchantId":"`+id+`","name":"`+id+` stores","country":"NG"}`).want(t, 201, "")
	w.call(t, "POST", "/v1/admin/merchants/"+id+"/approve", operatorToken, "").want(t, 200, "")
}

func (w *fixture) validate(t *testing.T, r *http.Request, a answer) {
	t.Helper()
	rt, params, err := w.router.FindRoute(r)
	if err != nil {
		t.Errorf("%s %s is not in the document: %v", r.Method, r.URL.Path, err)
		return
	}
	options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: true}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: rt, Options: options},
		Status:                 a.StatusCode, Header: a.Header, Options: options,
	}
	input.SetBodyBytes(a.raw)
	if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
		t.Errorf("%s %s -> %d %s breaks the document: %v", r.Method, r.URL.Path, a.StatusCode, a.raw, err)
	}
}

func (a answer) want(t *testing.T, status int, code string) answer {
	t.Helper()
	got := ""
	if e, ok := a.body["error"].(map[string]any); ok {
		got, _ = e["code"].(string)
	}
	if a.StatusCode != status || got != code {
		t.Fatalf("%s %s: %d %s, want %d %q", a.Request.Method, a.Request.URL.Path, a.StatusCode, a.raw, status, code)
	}
	return a
}

func (a answer) key(t *testing.T) map[string]any {
	t.Helper()
	key, ok := a.body["key"].(map[string]any)
	if !ok {
		t.Fatalf("%s holds no key", a.raw)
	}
	return key
}

func TestGateway_keyLife(t *testing.T) {
	t.Parallel()
	w := start(t)
	made := w.call(t, "POST", "/v1/admin/keys", operatorToken,
		`{"merchantId":"acme","name":"shop","mode":"test","permissions":["payment:create"],"tier":"unlimited"}`).want(t, 201, "")
	key := made.key(t)
	want := []string{"createdAt", "expiresAt", "id", "merchantId", "mode", "name", "permissions", "publicKey", "secret", "tier"}
	if got := slices.Sorted(maps.Keys(key)); !slices.Equal(got, want) {
		t.Errorf("the answer has %v, the schema KeyCreated lists %v", got, want)
	}
	secret, ok := key["secret"].(string)
	if !ok || !strings.HasPrefix(secret, "sk_test_") {
		t.Fatalf("secret %v", key["secret"])
	}
	one := "/v1/admin/keys/" + fmt.Sprint(key["id"])

	used := w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 200, "")
	who, _ := used.body["identity"].(map[string]any)
	if who["mer"] != "acme" || who["key"] != key["id"] || who["mod"] != "test" {
		t.Errorf("identity %v", who)
	}
	w.call(t, "POST", "/v1/payments", "", "{}", "X-API-Key", secret).want(t, 200, "")
	w.call(t, "GET", "/v1/payments/CW-ABCDEFGHJKMN", secret, "").want(t, 403, "permission_missing")
	w.call(t, "POST", "/v1/payments", secret[:len(secret)-1]+"-", "{}").want(t, 401, "api_key_invalid")

	read := w.call(t, "GET", one, operatorToken, "").want(t, 200, "").key(t)
	if read["secret"] != nil || read["revokedAt"] != nil || read["publicKey"] != key["publicKey"] {
		t.Errorf("read %v", read)
	}
	gone := w.call(t, "DELETE", one, operatorToken, "").want(t, 200, "").key(t)
	if gone["revokedAt"] == nil {
		t.Errorf("revoked %v", gone)
	}
	w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 401, "api_key_revoked")
	again := w.call(t, "DELETE", one, operatorToken, "").want(t, 200, "").key(t)
	if again["revokedAt"] != gone["revokedAt"] {
		t.Error("the second revocation changed the first")
	}
	w.call(t, "DELETE", "/v1/admin/keys/999999", operatorToken, "").want(t, 404, "api_key_not_found")
	w.call(t, "GET", "/v1/admin/keys/nonsense", operatorToken, "").want(t, 404, "api_key_not_found")
}

func TestGateway_liveAndExpiry(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.merchant(t, "acme")
	ends := time.Now().Add(700 * time.Millisecond)
	live := w.call(t, "POST", "/v1/admin/keys", operatorToken,
		`{"merchantId":"acme","name":"shop","mode":"live","permissions":["*"],"expiresAt":"`+ends.UTC().Format(time.RFC3339Nano)+`"}`).want(t, 201, "")
	secret, _ := live.key(t)["secret"].(string)
	w.call(t, "POST", "/v1/sandbox/payments/CW-ABCDEFGHJKMN/expire", secret, "").want(t, 404, "route_not_found")
	fenced := w.call(t, "POST", "/v1/admin/keys", operatorToken,
		`{"merchantId":"acme","name":"office","mode":"test","permissions":["*"],"allowedCidrs":["203.0.113.0/24","2001:db8::1"]}`).want(t, 201, "")
	inside, _ := fenced.key(t)["secret"].(string)
	w.call(t, "POST", "/v1/payments", inside, "{}").want(t, 403, "ip_not_allowed")
	eventually(t, func() bool { return time.Now().After(ends) })
	w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 401, "api_key_expired")
}

func TestGateway_createKeyRefuses(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.call(t, "POST", "/v1/admin/keys", "", "{}").want(t, 401, "operator_token_missing")
	w.call(t, "POST", "/v1/admin/keys", "guess", "{}").want(t, 401, "operator_token_invalid")
	w.call(t, "POST", "/v1/admin/keys", operatorToken, "{").want(t, 400, "invalid_json")
	w.call(t, "POST", "/v1/admin/keys", operatorToken, "<a/>", "Content-Type", "text/xml").want(t, 415, "unsupported_media_type")
	a := w.call(t, "POST", "/v1/admin/keys", operatorToken,
		`{"merchantId":"`+strings.Repeat("x", 51)+`","name":"","mode":"prod","permissions":["payment:create","everything"],"tier":"gold",
		"allowedCidrs":["1.2.3.4/99"],"expiresAt":"2020-01-01T00:00:00Z"}`).want(t, 400, "validation_failed")
	e, _ := a.body["error"].(map[string]any)
	list, _ := e["fields"].([]any)
	var fields []string
	for _, item := range list {
		f, _ := item.(map[string]any)
		fields = append(fields, fmt.Sprint(f["field"]))
	}
	slices.Sort(fields)
	if want := []string{"allowedCidrs[0]", "expiresAt", "merchantId", "mode", "name", "permissions[1]", "tier"}; !slices.Equal(fields, want) {
		t.Errorf("fields %v, want %v at once", fields, want)
	}
	if n := len(w.keys(t, "")); n != 0 {
		t.Errorf("%d keys were made", n)
	}
}

func (w *fixture) keys(t *testing.T, query string) []any {
	t.Helper()
	keys, ok := w.call(t, "GET", "/v1/admin/keys"+query, operatorToken, "").want(t, 200, "").body["keys"].([]any)
	if !ok {
		t.Fatal("no keys")
	}
	return keys
}

func TestGateway_createKeyOnce(t *testing.T) {
	t.Parallel()
	w := start(t)
	const body = `{"merchantId":"acme","name":"shop","mode":"test","permissions":["*"]}`
	var wg sync.WaitGroup
	answers := make(chan answer, 16)
	for range 16 {
		wg.Go(func() { answers <- w.call(t, "POST", "/v1/admin/keys", operatorToken, body, "Idempotency-Key", "one") })
	}
	wg.Wait()
	close(answers)
	var first []byte
	replayed := 0
	for a := range answers {
		a.want(t, 201, "")
		if a.Header.Get("Idempotent-Replayed") == "true" {
			replayed++
		}
		if first == nil {
			first = a.raw
		}
		if !bytes.Equal(first, a.raw) {
			t.Errorf("%s and %s differ", first, a.raw)
		}
	}
	if replayed != 15 || len(w.keys(t, "")) != 1 {
		t.Errorf("%d replays, %d keys", replayed, len(w.keys(t, "")))
	}
	w.call(t, "POST", "/v1/admin/keys", operatorToken, body+" ", "Idempotency-Key", "one").want(t, 422, "idempotency_key_reused")
}

func TestGateway_listKeys(t *testing.T) {
	t.Parallel()
	w := start(t)
	for i := range 3 {
		w.call(t, "POST", "/v1/admin/keys", operatorToken,
			fmt.Sprintf(`{"merchantId":"m%d","name":"shop","mode":"test","permissions":["*"]}`, i)).want(t, 201, "")
	}
	page := w.call(t, "GET", "/v1/admin/keys?limit=2", operatorToken, "").want(t, 200, "")
	p, _ := page.body["pagination"].(map[string]any)
	next, _ := p["nextCursor"].(string)
	if p["hasMore"] != true || next == "" || p["limit"] != 2.0 {
		t.Fatalf("pagination %v", p)
	}
	rest := w.call(t, "GET", "/v1/admin/keys?limit=2&cursor="+next, operatorToken, "").want(t, 200, "")
	keys, _ := rest.body["keys"].([]any)
	if p, _ := rest.body["pagination"].(map[string]any); p["hasMore"] != false || p["nextCursor"] != nil || len(keys) != 1 {
		t.Errorf("the last page: %s", rest.raw)
	}
	if n := len(w.keys(t, "?merchantId=m1&mode=test")); n != 1 {
		t.Errorf("%d keys of m1", n)
	}
	for _, query := range []string{"?limit=0", "?limit=x", "?mode=prod", "?cursor=!", "?cursor=AAAA"} {
		w.call(t, "GET", "/v1/admin/keys"+query, operatorToken, "").want(t, 400, "validation_failed")
	}
}

func TestGateway_verbs(t *testing.T) {
	t.Parallel()
	w := start(t)
	var out bytes.Buffer
	args := []string{"--merchant", "acme", "--name", "cli", "--mode", "test", "--permissions", "payment:create,payment:read"}
	if err := createKey(t.Context(), command.Input{Args: args, Environ: w.environ, Out: &out}); err != nil {
		t.Fatal(err)
	}
	var key struct{ Secret, PublicKey, MerchantID string }
	if err := json.Unmarshal(out.Bytes(), &key); err != nil || key.MerchantID != "acme" {
		t.Fatalf("create a key for acme: got %s, %v", out.String(), err)
	}
	w.call(t, "POST", "/v1/payments", key.Secret, "{}").want(t, 200, "")
	for _, bad := range [][]string{{}, {"--merchant", "x"}, {"--mode", "prod"}, {"extra"}, {"--allowed-cidrs", "x"}, {"--expires", "x"}} {
		if err := createKey(t.Context(), command.Input{Args: bad, Environ: w.environ, Out: io.Discard}); err == nil {
			t.Errorf("keys create %v is taken", bad)
		}
	}
	environ := map[string]string{"DATABASE_OWNER_URL": w.environ["DATABASE_URL"]}
	if err := program.Run(t.Context(), command.Input{Args: []string{"migrate"}, Environ: environ}); err != nil {
		t.Errorf("migrating again: %v", err)
	}
	for _, bad := range [][]string{{"work"}, {"keys"}, {"serve", "x"}, {"keys", "delete"}} {
		if err := program.Run(t.Context(), command.Input{Args: bad, Environ: w.environ}); err == nil {
			t.Errorf("gateway %v is taken", bad)
		}
	}
}

func TestGateway_document(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.call(t, "GET", "/openapi.yaml", "", "").want(t, 200, "")
	if !bytes.Equal(a.raw, openAPI) || a.Header.Get("Access-Control-Allow-Origin") != "*" || a.Header.Get("Content-Type") != "application/yaml; charset=utf-8" {
		t.Errorf("get the document: got the header %v, want YAML for every origin", a.Header)
	}
	res, err := w.client.Get(w.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	metrics, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(metrics), `gateway_requests_total{class="2xx",route="GET /openapi.yaml"} 1`) {
		t.Errorf("metrics do not count by route pattern: %v", err)
	}
	for _, r := range route.Table() {
		if !strings.Contains(string(metrics), `route="`+r.Name()+`"`) {
			t.Errorf("%s is not in the metrics", r.Name())
		}
	}
}
