package proxy_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/telemetry"
)

// The cost of the proxy per request with a cached key, without any network: routing, key, identity, headers.
func BenchmarkDoor_local(b *testing.B) {
	p := door(b, "http://127.0.0.1:1", func(o *proxy.Options) {
		o.Telemetry = telemetry.Discard("bench")
		o.Telemetry.Log = slog.New(slog.DiscardHandler)
		o.Targets[route.Dispatcher] = proxy.Local(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), otherKey)
	})
	r := httptest.NewRequest(http.MethodGet, "/v1/webhooks/secret", nil)
	r.Header.Set("Authorization", "Bearer "+testSecret)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != http.StatusNoContent {
			b.Fatalf("pass a request on: got %d %s, want 204", w.Code, w.Body)
		}
	}
}

// A create through the gateway, over loopback, beside the same through a bare reverse proxy. The CPU of client, proxy
// and service together is reported; the difference of the two rows is what the gateway adds.
func BenchmarkProxy_overNetwork(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, body)
	}))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bare", func(b *testing.B) {
		transport := &http.Transport{MaxIdleConnsPerHost: 256}
		defer transport.CloseIdleConnections()
		load(b, &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	})
	b.Run("gateway", func(b *testing.B) {
		load(b, door(b, upstream.URL, func(o *proxy.Options) {
			o.Telemetry = telemetry.Discard("bench")
			o.Telemetry.Log = slog.New(slog.DiscardHandler)
		}))
	})
}

const body = `{"success":true,"payment":{"reference":"CW-7KQ2M9XHTB4N","type":"transfer","status":"pending","fiatAmount":50000}}`

func load(b *testing.B, h http.Handler) {
	server := httptest.NewServer(h)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	before := cpu(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+"/v1/payments", strings.NewReader(body+body+body))
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+testSecret)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", "some-key-of-the-caller")
			res, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode != http.StatusCreated {
				b.Errorf("send a load's request: got %d, want 201", res.StatusCode)
				return
			}
		}
	})
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
