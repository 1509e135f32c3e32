//go:build integration

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
)

// raw opens a socket to the gateway.
func (w *fixture) raw(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", w.environ["HTTP_ADDR"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Three hundred sockets that send a header one byte at a time delay no other request and are cut, however regularly
// they send.
func TestHostile_slowLoris(t *testing.T) {
	t.Parallel()
	w := start(t)
	secret, _ := w.makeKey(t)
	var wg sync.WaitGroup
	for range 300 {
		conn := w.raw(t)
		if _, err := io.WriteString(conn, "POST /v1/payments HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			tick := time.NewTicker(500 * time.Millisecond)
			defer tick.Stop()
			late := time.After(time.Minute)
			for {
				select {
				case <-tick.C:
				case <-late:
					t.Error("a socket that sends a byte at a time is still open after a minute")
					return
				}
				if _, err := conn.Write([]byte("a")); err != nil {
					return
				}
				_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
				if _, err := conn.Read(make([]byte, 512)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					return
				}
			}
		})
	}
	for range 20 {
		w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 200, "")
	}
	wg.Wait()
}

// An address at its bound of connections gets no more, and one more for each that it closes.
func TestHostile_connections(t *testing.T) {
	t.Parallel()
	w := startOn(t, pg.URL(t, migrations.FS), "CONNECTIONS_PER_ADDRESS_MAX", "20")
	var held []net.Conn
	for range 20 {
		conn := w.raw(t)
		if _, err := io.WriteString(conn, "GET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 12)); err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	if _, err := w.client.Get(w.base + "/v1/me"); err == nil {
		t.Error("the 21st connection is served")
	}
	_ = held[0].Close()
	eventually(t, func() bool {
		res, err := w.client.Get(w.base + "/v1/me")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == 401
	})
}

// Sixteen sockets that request settlements and read nothing delay no other request, with sixteen slots in all: they
// hold slots of long answers, a few for each key, and are cut.
func TestHostile_slowReaders(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		for line := bytes.Repeat([]byte("x"), 32<<10); r.URL.Path == "/v1/settlements"; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}))
	t.Cleanup(service.Close)
	w := startOn(t, pg.URL(t, migrations.FS), "PAYMENTS_URL", service.URL, "IN_FLIGHT_MAX", "16")
	var secrets []string
	for range 4 {
		secret, _ := w.makeKey(t)
		secrets = append(secrets, secret)
	}
	heads := map[string]int{}
	for i := range 16 {
		conn := w.raw(t)
		fmt.Fprintf(conn, "GET /v1/settlements HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", secrets[i/5])
		head := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(conn, head); err != nil {
			t.Fatal(err)
		}
		heads[string(head)]++
	}
	if heads["HTTP/1.1 200"] != 13 || heads["HTTP/1.1 429"] != 3 {
		t.Errorf("%v, want four reports for each of three keys and one for the fourth", heads)
	}
	if n := w.metric(t, `gateway_slots_taken{pool="long",traffic="test"}`); n != 13 {
		t.Errorf("the metrics show %d long answers, want 13", n)
	}
	for range 50 {
		if a := w.call(t, "GET", "/v1/payments/CW-ABCDEFGHJKMN", secrets[0], ""); a.StatusCode != 200 {
			t.Fatalf("get a payment beside slow readers: got %d %s, want 200", a.StatusCode, a.raw)
		}
	}
	eventually(t, func() bool {
		return w.metric(t, "gateway_readers_cut_total") == 13 && w.metric(t, `gateway_slots_taken{pool="long",traffic="test"}`) == 0
	})
}

// A flood of invented keys is refused before it reaches the database. A cached key keeps working at the same address.
func TestHostile_unknownKeys(t *testing.T) {
	t.Parallel()
	w := start(t)
	secret, _ := w.makeKey(t)
	w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 200, "")
	begun := time.Now()
	const calls = 800
	keys := make(chan string, calls)
	for range calls {
		keys <- credential.Generate(credential.Secret, tenant.Test)
	}
	close(keys)
	var refused atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for key := range keys {
				switch a := w.call(t, "GET", "/v1/payments", key, ""); a.StatusCode {
				case 401:
				case 429:
					refused.Add(1)
					if a.want(t, 429, "too_many_guesses").Header.Get("Retry-After") == "" {
						t.Error("a 429 without Retry-After")
					}
				case 503: // the queue before the look-ups is full, on a slow machine
					refused.Add(1)
					a.want(t, 503, "overloaded")
				default:
					t.Errorf("use an unknown key: got %d %s, want 401, 429 or 503", a.StatusCode, a.raw)
				}
			}
		})
	}
	wg.Wait()
	most := 100 + 5*(int(time.Since(begun)/time.Second)+1)
	if got := w.metric(t, `gateway_key_lookups_total{result="unknown"}`); got > most || int(refused.Load()) < calls-most {
		t.Errorf("%d look-ups and %d refusals of %d made-up keys, want at most %d look-ups", got, refused.Load(), calls, most)
	}
	w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 200, "")
}

// metric reads one series of /metrics.
func (w *fixture) metric(t *testing.T, series string) int {
	t.Helper()
	res, err := w.client.Get(w.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(all)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), series+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatalf("%s is not in the metrics", series)
	return 0
}

// A body with too large a Content-Length is refused before it is read, and one without when it is too large. In both
// cases the service receives nothing and the gateway keeps none of it.
func TestHostile_oversize(t *testing.T) {
	t.Parallel()
	w := start(t)
	secret, _ := w.makeKey(t)
	head := func(more string) string {
		return "POST /v1/payments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret + "\r\nContent-Type: application/json\r\n" + more + "\r\n"
	}
	for name, tc := range map[string]struct{ head, body string }{
		"declared, asking first": {head("Content-Length: 1073741824\r\nExpect: 100-continue\r\n"), ""},
		"declared":               {head("Content-Length: 1073741824\r\n"), strings.Repeat("x", 1<<20)},
		"chunked":                {head("Transfer-Encoding: chunked\r\n"), strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", 64<<10, strings.Repeat("y", 64<<10)), 8)},
	} {
		conn := w.raw(t)
		go func() { _, _ = io.WriteString(conn, tc.head+tc.body) }()
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		got := make([]byte, 12)
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != "HTTP/1.1 413" {
			t.Errorf("send %s: got %q, %v, want HTTP/1.1 413", name, got, err)
		}
	}
}
