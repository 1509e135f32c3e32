package proxy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
)

// A refusal of the proxy is a page for a person on a page's route, and the one error shape for everybody else.
func TestProxy_refusesPeopleWithAPage(t *testing.T) {
	w := start(t, http.HandlerFunc(echo), func(o *proxy.Options) {
		o.Gates = []proxy.Gate{refusing{}}
		o.Page = func(w http.ResponseWriter, r *http.Request, f *fault.Error) {
			w.WriteHeader(httpkit.Status(f.Kind))
			_, _ = io.WriteString(w, "page for "+r.Header.Get(httpkit.RequestIDHeader))
		}
	})
	a := w.do(t, "GET", "/pay/CW-ABCDEFGHJKMN", "", "", "Accept", "text/html,*/*", "X-Request-Id", "req_mine")
	if a.StatusCode != http.StatusTooManyRequests || string(a.body) != "page for req_mine" || a.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("refuse a person's request: got %d %s, want 429 and the page for req_mine", a.StatusCode, a.body)
	}
	w.do(t, "GET", "/pay/CW-ABCDEFGHJKMN", "", "", "Accept", "*/*").refused(t, 429, "rate_limited")
	w.do(t, "GET", "/v1/public/x", "", "", "Accept", "text/html").refused(t, 429, "rate_limited")
}

// A handler of the gateway asks a service in the name of its caller, and gets an error when the service is away.
func TestTarget_Ask(t *testing.T) {
	verifier := httpkit.Verifier{Audience: string(route.Payments), Keys: [][]byte{signKey}, Now: time.Now}
	var who httpkit.Identity
	service := func(w http.ResponseWriter, r *http.Request) {
		var err error
		if who, err = verifier.Verify(r); err != nil {
			t.Errorf("identity: %v", err)
		}
		if r.URL.Path == "/v1/checkout/gone" {
			w.Header().Set("Retry-After", "9")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+string(body))
	}
	var ask *proxy.Target
	w := start(t, http.HandlerFunc(service), func(o *proxy.Options) {
		ask = o.Targets[route.Payments]
		o.Targets[route.Self] = proxy.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reply, err := ask.Ask(r.Context(), http.MethodPost, "/v1/checkout/"+r.URL.Query().Get("of")+"?x=1", []byte(`{}`))
			if err != nil {
				httpkit.WriteError(w, r.Header.Get(httpkit.RequestIDHeader), err)
				return
			}
			_ = json.NewEncoder(w).Encode(reply)
		}), otherKey)
	})
	a := w.do(t, "GET", "/pay/CW-ABCDEFGHJKMN?of=it", "", "", "X-Request-Id", "req_mine")
	var reply proxy.Reply
	if err := json.Unmarshal(a.body, &reply); err != nil || reply.Status != 200 || string(reply.Body) != "POST /v1/checkout/it?x=1 {}" {
		t.Fatalf("ask another service: got %s, %v, want 200 and the request as it was sent", a.body, err)
	}
	if who.Subject != httpkit.Public || who.RequestID != "req_mine" || who.ClientIP == "" || who.MerchantID != "" {
		t.Errorf("asked in the name of %+v", who)
	}
	a = w.do(t, "GET", "/pay/CW-ABCDEFGHJKMN?of=gone", "", "")
	if err := json.Unmarshal(a.body, &reply); err != nil || reply.Status != 503 || reply.RetryAfter != "9" {
		t.Errorf("ask a service that is away: got %s, %v, want 503 and 9 seconds to wait", a.body, err)
	}
	w.upstream.Close()
	w.do(t, "GET", "/pay/CW-ABCDEFGHJKMN?of=it", "", "").refused(t, 503, "upstream_unavailable")
	if _, err := ask.Ask(t.Context(), "GET", "/", nil); err == nil || !strings.Contains(err.Error(), "outside of a call") {
		t.Errorf("asking outside of a call: got error %v, want one that says so", err)
	}
}
