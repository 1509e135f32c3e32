package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The secrets of the merchant and of its endpoint whe_1.
const (
	testSecret     = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	endpointSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// api is an API with two events that refuses every request without this key.
type api struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // method, path and body
	events []string
	failed int // number of first reads of the events that fail
}

func serve(t *testing.T) *api {
	t.Helper()
	a := &api{events: []string{
		`{"id":"evt_1","type":"payment.pending","createdAt":"2026-04-01T13:30:00.000Z","mode":"test","data":{"payment":{"reference":"CW-A","exception":null}}}`,
		`{"id":"evt_2","type":"payment.settled","createdAt":"2026-04-01T13:30:02.000Z","mode":"test","data":{"payment":{"reference":"CW-A","exception":"overpaid"}}}`,
	}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.answer))
	t.Cleanup(a.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return a
}

func (a *api) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.Method+" "+r.URL.RequestURI()+" "+string(body))
	if token := r.Header.Get("Authorization"); token != "Bearer sk_test_x" && token != "Bearer op_x" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w,
			`{"success":false,"message":"No such key","error":{"code":"api_key_invalid","message":"No such key","requestId":"req_1"}}`)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	switch path := r.URL.Path; {
	case path == "/v1/webhooks/secret":
		_, _ = io.WriteString(w, `{"success":true,"secret":"`+testSecret+`","previous":{"expiresAt":"2026-04-02T13:30:00.000Z"}}`)
	case path == "/v1/webhooks/endpoints/whe_1/secret":
		_, _ = io.WriteString(w, `{"success":true,"secret":"`+endpointSecret+`","previous":null}`)
	case path == "/v1/webhooks/endpoints":
		_, _ = io.WriteString(w, `{"success":true,"endpoints":[{"id":"whe_1"}]}`)
	case path == "/v1/events" && a.failed > 0:
		a.failed--
		w.WriteHeader(http.StatusServiceUnavailable)
	case path == "/v1/events" && r.URL.Query().Get("cursor") == "":
		_, _ = io.WriteString(w,
			`{"success":true,"events":[`+a.events[0]+`],"pagination":{"limit":100,"nextCursor":"c1","hasMore":true}}`)
	case path == "/v1/events" && r.URL.Query().Get("cursor") == "c1":
		_, _ = io.WriteString(w,
			`{"success":true,"events":[`+a.events[1]+`],"pagination":{"limit":100,"nextCursor":"c2","hasMore":false}}`)
	default:
		_, _ = io.WriteString(w,
			`{"success":true,"keys":[],"key":{"id":7,"secret":"sk_test_new","permissions":["*"]},"payment":{"reference":"CW-A","status":"settled"},"replay":{"state":"finished"}}`)
	}
}

func (a *api) saw(text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Contains(strings.Join(a.asked, "\n"), text)
}

// call runs the tool as a shell would.
func (a *api) call(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	environ := map[string]string{"CAUSEWAY_URL": a.URL + "/", "API_KEY": "sk_test_x", "ADMIN_TOKEN": "op_x"}
	return typed(t, environ, "", args...)
}

// typed runs the tool with this environment and standard input.
func typed(t *testing.T, environ map[string]string, in string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	c := &cli{in: strings.NewReader(in), out: &o, errs: &e, environ: environ, now: time.Now}
	status = c.run(t.Context(), args)
	return status, o.String(), e.String()
}

func TestListen_forwards(t *testing.T) {
	a := serve(t)
	a.failed = 1
	key, err := readSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := key.verify(r.Header, time.Now(), body); err != nil {
			t.Errorf("verify the webhook %s: %v", body, err)
		}
		got = append(got, string(body))
		w.WriteHeader(http.StatusTeapot)
	}))
	defer hook.Close()
	status, out, errs := a.call(t, "listen", "--forward", hook.URL, "--count", "2", "--since", "1h")
	if status != 0 || len(got) != 2 || got[0] != a.events[0] || got[1] != a.events[1] {
		t.Fatalf("%d %q %q: forwarded %q", status, out, errs, got)
	}
	if !strings.Contains(out, "payment.settled") || !strings.Contains(out, "CW-A (overpaid)  -> 418") ||
		!strings.Contains(errs, "trying again") {
		t.Errorf("forward two events: got %s and %s, want a payment.settled, an answer 418, and another try", out, errs)
	}
	if !a.saw("from=20") {
		t.Error("it does not begin at a time")
	}
}

// With --endpoint the secret of a registered endpoint signs.
func TestListen_endpoint(t *testing.T) {
	a := serve(t)
	key, err := readSecret(endpointSecret)
	if err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := key.verify(r.Header, time.Now(), body); err != nil {
			t.Errorf("verify the webhook %s: %v", body, err)
		}
	}))
	defer hook.Close()
	if status, out, errs := a.call(t, "listen", "--forward", hook.URL, "--count", "1", "--endpoint", "whe_1"); status != 0 || !strings.Contains(out, "-> 200") {
		t.Errorf("forward with the secret of an endpoint: got the status %d, %q, %q; want the answer 200", status, out, errs)
	}
}

func TestListen_json(t *testing.T) {
	a := serve(t)
	status, out, _ := a.call(t, "listen", "--json", "--count", "1", "--type", "payment.pending")
	var line struct{ Event json.RawMessage }
	if err := json.Unmarshal([]byte(out), &line); status != 0 || err != nil || string(line.Event) != a.events[0] {
		t.Errorf("listen with --json: got the status %d, %q, %v; want the event as it came", status, out, err)
	}
	if !a.saw("type=payment.pending") {
		t.Error("the type is not asked for")
	}
}

// firstLine signals the first line that is written.
type firstLine struct {
	bytes.Buffer
	once sync.Once
	told chan string
}

func (f *firstLine) Write(p []byte) (int, error) {
	f.once.Do(func() { f.told <- string(p) })
	return f.Buffer.Write(p)
}

func TestListen_receives(t *testing.T) {
	a := serve(t)
	errs := &firstLine{told: make(chan string, 1)}
	var out bytes.Buffer
	done := make(chan int, 1)
	environ := map[string]string{"BASE_URL": a.URL, "API_KEY": "sk_test_x"}
	go func() {
		c := &cli{out: &out, errs: errs, environ: environ, now: time.Now}
		done <- c.run(t.Context(), []string{"listen", "--receive", "127.0.0.1:0", "--count", "2"})
	}()
	endpoint := strings.Fields(<-errs.told)[4]
	key, err := readSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	send := func(body string, tamper func(h http.Header)) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint+"/hook", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		key.sign(r.Header, "evt_1", time.Now(), []byte(body))
		tamper(r.Header)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	if status := send(a.events[0], func(h http.Header) { h.Set("webhook-id", "evt_2") }); status != http.StatusUnauthorized {
		t.Errorf("a forged webhook is answered %d", status)
	}
	if status := send(a.events[0], func(http.Header) {}); status != http.StatusNoContent {
		t.Errorf("a good webhook is answered %d", status)
	}
	if status := <-done; status != 0 || !strings.Contains(out.String(), "signature ok") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("receive a webhook: got the status %d, %q; want 0 and one line that says that the signature is right", status, out.String())
	}
}

func TestVerify_refuses(t *testing.T) {
	key, err := readSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	now, body := time.Now(), []byte(`{}`)
	good := http.Header{}
	key.sign(good, "evt_1", now, body)
	if err := key.verify(good, now, body); err != nil {
		t.Error(err)
	}
	good.Set("webhook-signature", "v1,AAAA "+good.Get("webhook-signature")) // while a secret is replaced, both sign
	if err := key.verify(good, now, body); err != nil {
		t.Errorf("verify a webhook with two signatures: %v", err)
	}
	if err := key.verify(good, now.Add(6*time.Minute), body); err == nil {
		t.Error("an old one is taken")
	}
	if err := key.verify(good, now, []byte(`{ }`)); err == nil {
		t.Error("another body is taken")
	}
	if err := key.verify(http.Header{}, now, body); err == nil {
		t.Error("an unsigned one is taken")
	}
	for _, bad := range []string{"", "whsec_", "whsec_!", "MDEy"} {
		if _, err := readSecret(bad); err == nil {
			t.Errorf("the secret %q is taken", bad)
		}
	}
}

// The vector of the Standard Webhooks specification's reference libraries.
func TestSign_vector(t *testing.T) {
	key, err := readSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	key.sign(h, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got := h.Get("webhook-signature"); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("sign the vector of Standard Webhooks: got %s, want v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", got)
	}
}

func TestPay_asks(t *testing.T) {
	a := serve(t)
	status, out, errs := a.call(t, "pay", "--type", "gift", "--amount", "12.50", "--simulate", "over", "--wait", "--callback", "http://x")
	if status != 0 || !strings.Contains(out, "CW-A is settled") {
		t.Fatalf("pay and wait: got the status %d, %q, %q; want 0 and a settled payment", status, out, errs)
	}
	for _, want := range []string{
		`POST /v1/payments {"callbackUrl":"http://x","crypto":"USDT","fiatAmount":12.50,"fiatCurrency":"NGN","network":"tron","payer":{"chatId":"causeway-cli"},"type":"gift"}`,
		`POST /v1/checkout/CW-A/simulate {"scenario":"over"}`,
	} {
		if !a.saw(want) {
			t.Errorf("not asked: %s\n%s", want, strings.Join(a.asked, "\n"))
		}
	}
}

func TestTrigger_asks(t *testing.T) {
	a := serve(t)
	for want, args := range map[string][]string{
		`POST /v1/sandbox/payments/CW-A/deposits {"amount":"5","confirmations":0}`: {"deposit", "CW-A", "--amount", "5", "--confirmations", "0"},
		`POST /v1/sandbox/wallets/wal_1/deposits {"amount":"5"}`:                   {"deposit", "--amount", "5", "wal_1"},
		`POST /v1/sandbox/payments/CW-A/expire {}`:                                 {"expire", "CW-A"},
		`POST /v1/sandbox/payouts/CW-A/outcome {"outcome":"fail"}`:                 {"payout", "CW-A", "fail"},
	} {
		if status, _, errs := a.call(t, append([]string{"trigger"}, args...)...); status != 0 || !a.saw(want) {
			t.Errorf("%v: %d %s, want %s", args, status, errs, want)
		}
	}
}

func TestKeys_asks(t *testing.T) {
	a := serve(t)
	for want, args := range map[string][]string{
		`GET /v1/me`: {"me"},
		`GET /v1/admin/keys?limit=20&merchantId=acme`:                                                       {"list", "--merchant", "acme"},
		`POST /v1/admin/keys {"merchantId":"acme","mode":"live","name":"shop","permissions":["a:b","c:d"]}`: {"create", "--merchant", "acme", "--name", "shop", "--mode", "live", "--permissions", "a:b,c:d"},
		`POST /v1/admin/keys/7/rotate {"overlapMinutes":0}`:                                                 {"rotate", "7", "--overlap", "0"},
		`DELETE /v1/admin/keys/7`:                                                                           {"revoke", "7"},
	} {
		if status, _, errs := a.call(t, append([]string{"keys"}, args...)...); status != 0 || !a.saw(want) {
			t.Errorf("%v: %d %s, want %s", args, status, errs, want)
		}
	}
	if _, out, _ := a.call(t, "keys", "rotate", "7"); !strings.Contains(out, "secret (shown this once): sk_test_new") {
		t.Errorf("rotate a key: got %s, want the new secret, shown once", out)
	}
}

func TestRun_misuse(t *testing.T) {
	a := serve(t)
	for _, args := range [][]string{
		{},
		{"fly"},
		{"pay", "--fly"},
		{"pay", "now"},
		{"pay", "--amount", "1,5"},
		{"trigger"},
		{"trigger", "deposit"},
		{"trigger", "rain", "CW-A"},
		{"keys"},
		{"keys", "forge"},
		{"keys", "rotate"},
		{"listen", "here"},
		{"listen", "--forward", "ftp://x"},
		{"listen", "--since", "soon"},
	} {
		if status, _, errs := a.call(t, args...); status != statusUsage || !strings.Contains(errs, "Try: causeway") {
			t.Errorf("run %v: got the status %d, %s; want a refusal that says what to try", args, status, errs)
		}
	}
	status, _, errs := a.call(t, "keys", "me", "--key", "sk_test_wrong")
	if status != statusFailed || !strings.Contains(errs, "No such key (401 api_key_invalid, request req_1)") {
		t.Errorf("use an unknown key: got the status %d, %s; want the code and the request's id", status, errs)
	}
	for _, environ := range []map[string]string{nil, {"CAUSEWAY_URL": a.URL}} {
		if status, _, errs := typed(t, environ, "", "keys", "me"); status != statusUsage {
			t.Errorf("ask with the settings %v: got the status %d, %s; want %d", environ, status, errs, statusUsage)
		}
	}
}
