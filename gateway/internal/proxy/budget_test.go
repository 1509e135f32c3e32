package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

// Three hundred connections that each send all but the last byte of a large body take no more memory than the budget.
// The gateway asks the others to retry, lets small bodies pass meanwhile, and frees the memory when a request ends.
func TestProxy_bodiesInFlight(t *testing.T) {
	const senders, size, budget = 300, 250 << 10, 8 << 20
	w := start(t, http.HandlerFunc(echo), slots, func(o *proxy.Options) { o.HeldMax = budget })
	before := memory()
	part := []byte(strings.Repeat("x", size-1))
	answered := make(chan int, senders)
	sent := make(chan error, senders)
	measured := make(chan struct{})
	for range senders {
		conn := w.dial(t)
		go func() {
			fmt.Fprintf(conn, "POST /v1/payments HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n", testSecret, size)
			_, err := conn.Write(part)
			sent <- err
			<-measured
			_ = conn.CloseWrite() // the rest of the body never comes; the gateway has closed the refused ones
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				answered <- 0
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			if res.StatusCode == http.StatusServiceUnavailable && (res.Header.Get("Retry-After") == "" || !res.Close) {
				t.Error("the refusal of a body has no Retry-After, or keeps the connection")
			}
			answered <- res.StatusCode
		}()
	}
	for range senders {
		if err := <-sent; err != nil {
			t.Errorf("a sender was cut off: %v", err)
		}
	}
	small := strings.Repeat("x", 4<<10)
	if e := w.do(t, "POST", "/v1/payments", testSecret, small).echoed(t); e.Body != small {
		t.Errorf("a small body came as %d bytes", len(e.Body))
	}
	if taken := memory() - before; taken > 3*budget {
		t.Errorf("%d MiB are taken, there is room for %d", taken>>20, budget>>20)
	}
	close(measured)
	count := map[int]int{}
	for range senders {
		count[<-answered]++
	}
	// The others waited for their last byte, in memory.
	if held := count[http.StatusBadRequest]; held == 0 || held > budget/(128<<10) || count[http.StatusServiceUnavailable] != senders-held {
		t.Errorf("answers by status: %v", count)
	}
	large := strings.Repeat("x", 256<<10)
	if e := w.do(t, "POST", "/v1/payments", testSecret, large).echoed(t); e.Body != large {
		t.Errorf("a large body came as %d bytes", len(e.Body))
	}
}

// The smallest memory that the settings allow holds the largest body.
func TestProxy_leastRoom(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", httpkit.BodyMax)
	w := start(t, http.HandlerFunc(echo), func(o *proxy.Options) { o.HeldMax = proxy.HeldLeast })
	if e := w.do(t, "POST", "/v1/payments", testSecret, large).echoed(t); e.Body != large {
		t.Errorf("a large body came as %d bytes", len(e.Body))
	}
}

// memory is what the heap keeps.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Readers of one test key that read nothing take a part of the memory for answers, and stalled senders a part of the
// memory for bodies, also under the signatures of another key. A live key, and the public elsewhere, are served as
// before.
func TestProxy_budgetOfOneCaller(t *testing.T) {
	t.Parallel()
	const size, budget = 200 << 10, 4 << 20
	big := strings.Repeat("x", size)
	public, secret := credential.Generate(credential.Public, tenant.Live), credential.Generate(credential.Secret, tenant.Live)
	known := ring()
	key := apikey.Key{ID: 9, MerchantID: "acme", Mode: tenant.Live, Permissions: []string{"*"}, Signing: apikey.SigningKey(secret)}.Compiled()
	known[public] = &key
	w := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			echo(w, r)
			return
		}
		_, _ = io.WriteString(w, big)
	}), func(o *proxy.Options) {
		o.Callers, o.HeldMax = identity.NewResolver(known, nil, nil, time.Now), budget
		o.Addresses = identity.Proxies{netip.MustParsePrefix("127.0.0.0/8")}
		o.Long = nobody{}
	})
	forged := "X-Forwarded-For: 203.0.113.7\r\n"
	for i, h := range signedHeaders(public, testSecret, time.Now(), "POST", "/v1/payments", "") {
		forged += h + []string{": ", "\r\n"}[i%2]
	}
	for range 2 * budget / size {
		conn := w.dial(t)
		fmt.Fprintf(conn, "POST /v1/payments HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", forged, size, big[1:])
	}
	from := []string{"X-Forwarded-For", "203.0.113.8"}
	for _, sender := range []string{liveSecret, ""} {
		path := "/v1/payments"
		if sender == "" {
			path = "/v1/public/x"
		}
		if e := w.do(t, "POST", path, sender, big, from...).echoed(t); e.Body != big {
			t.Errorf("a body of %d bytes came beside those that stall", len(e.Body))
		}
	}
	var slow []*net.TCPConn
	for range 2 * budget / size {
		conn := w.dial(t)
		if err := conn.SetReadBuffer(32 << 10); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, strings.Repeat("GET /v1/payments HTTP/1.1\r\nHost: x\r\nX-API-Key: "+testSecret+"\r\n\r\n", 40))
		slow = append(slow, conn)
	}
	for _, conn := range slow {
		status(t, conn)
	}
	if a := w.do(t, "GET", "/v1/payments", liveSecret, ""); string(a.body) != big {
		t.Errorf("%d of %d bytes came to a live key: %d", len(a.body), len(big), a.StatusCode)
	}
}

// nobody admits no caller.
type nobody struct{}

func (nobody) Admit(context.Context, *proxy.Call) (func(int), error) {
	return nil, fault.New(fault.RateLimited, "rate_limited", "No.")
}
