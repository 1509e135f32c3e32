package proxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/proxy"
)

// slots lets two calls in at a time and makes a third wait less long than slow callers are borne with, so that a slot
// that one of them took shows.
func slots(o *proxy.Options) {
	o.Slots = limit.NewInFlight(2, 2, 2*time.Second)
	o.BodyTime, o.WriteTime = 4*time.Second, 4*time.Second
}

func (w *world) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatalf("a %T", conn)
	}
	return tcp
}

// Callers who send a body slowly hold no slot, on public routes as on keyed ones, and are told so in time.
func TestProxy_slowSenders(t *testing.T) {
	t.Parallel()
	w := start(t, http.HandlerFunc(echo), slots)
	var slow []net.Conn
	for i := range 24 {
		conn := w.dial(t)
		head := "POST /v1/payments/gifts/CW-AAAAAAAAAAAA/claim/confirm HTTP/1.1\r\nHost: x\r\n"
		if i%2 == 1 {
			head = "POST /v1/payments HTTP/1.1\r\nHost: x\r\nX-API-Key: " + testSecret + "\r\n"
		}
		fmt.Fprintf(conn, "%sContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", head)
		slow = append(slow, conn)
	}
	for range 5 {
		w.do(t, "GET", "/v1/payments/CW-X", testSecret, "").echoed(t)
	}
	for _, conn := range slow {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		answer{res, raw}.refused(t, 400, "body_too_slow")
		if !res.Close {
			t.Error("the connection of a slow sender is kept")
		}
	}
}

// A body that arrives within its time leaves no deadline behind that would end the call or the connection.
func TestProxy_bodyTimeEndsWithTheBody(t *testing.T) {
	t.Parallel()
	w := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		late := time.NewTimer(4200 * time.Millisecond)
		defer late.Stop()
		select {
		case <-late.C:
		case <-r.Context().Done():
		}
		echo(w, r)
	}), slots)
	if e := w.do(t, "POST", "/v1/payments", testSecret, "{}").echoed(t); e.Body != "{}" {
		t.Errorf("the service saw %q", e.Body)
	}
}

// Callers who do not read their answers hold no slot, and lose their connection.
func TestProxy_slowReaders(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 900<<10)
	w := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/public/big" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, big)
			return
		}
		echo(w, r)
	}), slots)
	var slow []*net.TCPConn
	for range 4 {
		conn := w.dial(t)
		if err := conn.SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, strings.Repeat("GET /v1/public/big HTTP/1.1\r\nHost: x\r\n\r\n", 20))
		w.do(t, "GET", "/v1/payments/CW-X", testSecret, "").echoed(t)
		slow = append(slow, conn)
	}
	for range 5 {
		w.do(t, "GET", "/v1/payments/CW-X", testSecret, "").echoed(t)
	}
	if a := w.do(t, "GET", "/v1/public/big", "", ""); string(a.body) != big || a.ContentLength != int64(len(big)) {
		t.Errorf("%d bytes came, %d were announced", len(a.body), a.ContentLength)
	}
	for _, conn := range slow { // nothing is read, and yet each connection is ended from the other side
		_ = conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
		var err error
		for err == nil {
			_, err = conn.Write([]byte(big))
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection whose answers are not read is kept")
		}
	}
}

// What is longer than the gateway keeps in memory is passed on as it comes.
func TestProxy_longAnswer(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 200<<10) // 3 MiB and more
	w := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		_, _ = io.WriteString(w, long)
	}), slots)
	for range 3 {
		if a := w.do(t, "GET", "/v1/payments/CW-X", testSecret, ""); string(a.body) != long {
			t.Errorf("%d bytes came of %d", len(a.body), len(long))
		}
	}
}
