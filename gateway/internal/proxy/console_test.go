package proxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/httpkit"
)

// console serves pages of the service behind the gateway as both consoles.
func console(t *testing.T, w *fixture, options ...option) *fixture {
	t.Helper()
	return start(t, http.NotFoundHandler(), append(options, func(o *proxy.Options) {
		all := table()
		away := map[string]string{route.MerchantsPath: "operators.example", route.OperatorsPath: "pay.example"}
		for path, to := range map[string]route.Upstream{route.MerchantsPath: route.Console, route.OperatorsPath: route.ConsoleOperators} {
			target, err := proxy.Service(w.upstream.URL, otherKey)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(target.Close)
			o.Targets[to] = target
			all = append(all, route.Consoles(path, to, away[path])...)
		}
		router, err := route.NewRouter(all)
		if err != nil {
			t.Fatal(err)
		}
		o.Router = router
	})...)
}

// pages plays a console: it verifies the gateway's identity and answers with what it saw.
func pages(w http.ResponseWriter, r *http.Request) {
	audience := "console"
	if strings.HasPrefix(r.URL.Path, "/operators") {
		audience = "console-operators"
	}
	if _, err := (httpkit.Verifier{Audience: audience, Keys: [][]byte{otherKey}, Now: time.Now}).Verify(r); err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	body, _ := io.ReadAll(r.Body)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Set-Cookie", "__Host-session=1; Path=/; Secure; HttpOnly; SameSite=Lax")
	h.Add("Set-Cookie", "second=2")
	h.Set("Content-Security-Policy", "default-src 'self'")
	h.Set("Referrer-Policy", "same-origin")
	if r.URL.Path == "/console/away" {
		http.Redirect(w, r, "/console", http.StatusSeeOther)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/missing") {
		w.WriteHeader(http.StatusNotFound)
	}
	fmt.Fprintf(w, "%s %s %s|%s|%s|%s|%s", r.Method, r.URL.Path, r.Host, r.Header.Get("Cookie"), r.Header.Get("Origin"), r.Header.Get("X-Api-Key"), body)
}

// A console is not served at the host of the other one, where its scripts could act for the people of the other.
func TestProxy_consoleAtItsHost(t *testing.T) {
	w := console(t, start(t, http.HandlerFunc(pages)))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for target, want := range map[string]int{
		"pay.example/console": 200, "operators.example/operators": 200, "10.0.0.1:8080/console": 200, "gateway/operators/live": 200,
		"operators.example/console": 404, "OPERATORS.example:8443/console/keys": 404, "operators.example/console/live": 404,
		"pay.example/operators": 404, "pay.example:443/operators/x": 404, "pay.example/operators/live": 404,
	} {
		host, path, _ := strings.Cut(target, "/")
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if method == http.MethodPost && strings.HasSuffix(path, "/live") {
				continue
			}
			r, err := http.NewRequestWithContext(t.Context(), method, w.url+"/"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			a, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(a.Body)
			if err := errors.Join(err, a.Body.Close()); err != nil {
				t.Fatal(err)
			}
			if a.StatusCode != want || want == 404 && !strings.Contains(string(body), "route_not_found") {
				t.Errorf("%s %s: got %d %s, want %d", method, target, a.StatusCode, body, want)
			}
		}
	}
}

// The pages of a console pass with their cookies, forms, redirects and errors, and its own headers of security. No
// other origin may read them.
func TestProxy_console(t *testing.T) {
	w := console(t, start(t, http.HandlerFunc(pages)))
	host := strings.TrimPrefix(w.url, "http://")
	for target, want := range map[string]string{
		"GET /console":                   "GET /console " + host + "|console=1|https://x.example||",
		"POST /console/payments/CW-X":    "POST /console/payments/CW-X " + host + "|console=1|https://x.example||a=b",
		"DELETE /console/keys/1":         "DELETE /console/keys/1 " + host + "|console=1|https://x.example||a=b",
		"GET /console/a%2Fb/c":           "GET /console/a/b/c " + host + "|console=1|https://x.example||",
		"GET /console/somewhere/missing": "GET /console/somewhere/missing " + host + "|console=1|https://x.example||",
	} {
		method, path, _ := strings.Cut(target, " ")
		body := ""
		if method != http.MethodGet {
			body = "a=b"
		}
		a := w.do(t, method, path, "", body, "Cookie", "console=1", "Origin", "https://x.example", "X-Api-Key", testSecret, "X-Causeway-Identity", "x")
		if string(a.body) != want {
			t.Errorf("%s: got %d %s, want %s", target, a.StatusCode, a.body, want)
		}
		h := a.Header
		if len(h.Values("Set-Cookie")) != 2 || h.Get("Content-Security-Policy") != "default-src 'self'" || h.Get("Referrer-Policy") != "same-origin" ||
			h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "" ||
			h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: headers %v", target, h)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/console/away", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/console" {
		t.Errorf("a redirect: got %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections() //nolint:forcetypeassert // it is one
	for _, path := range []string{"/console/", "/console/../v1/payments", "/console//x", "/console/%2e%2e/v1", "/consoles", "/operator"} {
		w.do(t, "GET", path, "", "").refused(t, http.StatusNotFound, "route_not_found")
	}
	// Each console gets its own cookies and the language, and nothing of the other one, which may have the same host.
	const both = "__Host-console=m1; __Host-operators=o1;language=fr; console=m2 ; console-browser=m3; __Host-operators-browser=o2; operators=o3; " +
		"consoles=x; __Host-=x; language2=x; =console; Console=x; a=console=1"
	for path, want := range map[string]string{
		"/console/x":   "__Host-console=m1; language=fr; console=m2; console-browser=m3",
		"/operators/x": "__Host-operators=o1; language=fr; __Host-operators-browser=o2; operators=o3",
	} {
		if a := w.do(t, "GET", path, "", "", "Cookie", both); !strings.Contains(string(a.body), "|"+want+"|") {
			t.Errorf("%s with the cookies of both consoles: got %s, want %s", path, a.body, want)
		}
		if a := w.do(t, "GET", path, "", "", "Cookie", "other=1"); !strings.Contains(string(a.body), host+"||") {
			t.Errorf("%s with a cookie of neither console: got %s, want none", path, a.body)
		}
	}
	start(t, http.NotFoundHandler()).do(t, "GET", "/operators/x", "", "").refused(t, http.StatusNotFound, "route_not_found") // which has no console
	if a := w.do(t, "OPTIONS", "/console/x", "", "", "Access-Control-Request-Method", "POST", "Origin", "https://x.example"); a.Header.Get("Access-Control-Allow-Methods") != "" {
		t.Errorf("another origin may call a console: %v", a.Header)
	}
}

// Events reach a browser as they happen. Browsers that listen hold none of the slots of other calls, and an address has
// only a share of those.
func TestProxy_consoleEvents(t *testing.T) {
	events := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/console/live" {
			pages(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, "data: now\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	w := console(t, start(t, http.HandlerFunc(events)), slots, func(o *proxy.Options) { o.Live = limit.NewLive(8, 2, 100*time.Millisecond) })
	var open []io.Closer
	for range 2 {
		conn := w.dial(t)
		fmt.Fprint(conn, "GET /console/live HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		line := make([]byte, len("data: now"))
		if _, err := io.ReadFull(res.Body, line); err != nil || string(line) != "data: now" {
			t.Fatalf("listen: got %q, %v", line, err)
		}
		open = append(open, conn)
	}
	w.do(t, "GET", "/console/live", "", "").refused(t, http.StatusTooManyRequests, "rate_limited")
	for range 5 {
		if a := w.do(t, "GET", "/console/x", "", ""); a.StatusCode != http.StatusOK {
			t.Errorf("read a page beside listeners: got %d %s", a.StatusCode, a.body)
		}
	}
	for _, one := range open {
		_ = one.Close()
	}
}
