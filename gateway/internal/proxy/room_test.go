package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/proxy"
)

// Three hundred connections that each send all but the last byte of a large body take no more memory than there is room for.
// Those for whom none is left are told to come back, small bodies pass meanwhile, and the room is given back.
func TestProxy_bodiesInFlight(t *testing.T) {
	const senders, size, room = 300, 250 << 10, 8 << 20
	w := start(t, http.HandlerFunc(echo), slots, func(o *proxy.Options) { o.HeldMax = room })
	before := memory()
	part := []byte(strings.Repeat("x", size-1))
	answered := make(chan int, senders)
	sent := make(chan error, senders)
	for range senders {
		conn := w.dial(t)
		go func() {
			fmt.Fprintf(conn, "POST /v1/payments HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n", testSecret, size)
			_, err := conn.Write(part)
			sent <- err
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				answered <- 0
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			if res.StatusCode == http.StatusServiceUnavailable && (res.Header.Get("Retry-After") == "" || !res.Close) {
				t.Error("a refused body is not told when to come back, on another connection")
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
	if taken := memory() - before; taken > 3*room {
		t.Errorf("%d MiB are taken, there is room for %d", taken>>20, room>>20)
	}
	count := map[int]int{}
	for range senders {
		count[<-answered]++
	}
	// The others wait for their last byte until their time is over.
	if held := count[http.StatusBadRequest]; held == 0 || held > room/(128<<10) || count[http.StatusServiceUnavailable] != senders-held {
		t.Errorf("answers by status: %v", count)
	}
	large := strings.Repeat("x", 256<<10)
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
