package proxy_test

import (
	"bufio"
	"bytes"
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

// slots admits two calls at a time and makes a third wait less long than slow callers have, so that a slot that a slow
// caller takes shows.
func slots(o *proxy.Options) {
	o.Slots = limit.NewInFlight(2, 2, 0, 2*time.Second) // a slow machine takes half a second for a large answer
	o.BodyTime, o.WriteTime = 5*time.Second, 5*time.Second
}

func (w *fixture) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatalf("dial the proxy: got a %T, want a TCP connection", conn)
	}
	return tcp
}

// Callers that send a body slowly hold no slot, on public and on keyed routes, and are refused in time.
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
		late := time.NewTimer(5200 * time.Millisecond)
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

// Callers that do not read their answers hold no slot, and lose their connection.
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

// An answer that is longer than the gateway keeps in memory is streamed.
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

// endless streams reports and public objects until their reader has gone.
func endless(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/settlements" && r.URL.Path != "/v1/public/endless" {
		echo(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/csv")
	for line := bytes.Repeat([]byte("x"), 32<<10); ; {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// reports admits six long answers, three of a key, of which test keys cannot take two.
func reports(o *proxy.Options) {
	o.Slots, o.Long = limit.NewInFlight(16, 16, 4, 500*time.Millisecond), limit.NewLong(6, 3, 2, 500*time.Millisecond)
	o.WriteTime = 30 * time.Second // nothing is cut while a test looks at what slow readers hold
}

// impatient cuts readers that read nothing after less than a second.
func impatient(o *proxy.Options) {
	reports(o)
	o.WriteTime, o.LeastPace = 500*time.Millisecond, 128<<10
}

// ask sends a request on a socket of its own, from which nothing reads.
func (w *fixture) ask(t *testing.T, path, key string) *net.TCPConn {
	t.Helper()
	conn := w.dial(t)
	if err := conn.SetReadBuffer(32 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", path, key)
	return conn
}

// status waits for the head of an answer and reads no further.
func status(t *testing.T, conn net.Conn) string {
	t.Helper()
	head := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, head); err != nil {
		t.Fatal(err)
	}
	return string(head[len("HTTP/1.1 "):])
}

// ended waits until the other side ends a connection, without reading it.
func ended(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetWriteDeadline(time.Now().Add(30 * time.Second))
	for more := bytes.Repeat([]byte("x"), 1<<20); ; {
		if _, err := conn.Write(more); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the connection of a reader who reads nothing is kept")
			return
		} else if err != nil {
			return
		}
	}
}

// Sixteen readers of a report that read nothing hold none of the slots that others need. A key has a few reports at a
// time, and test keys leave some to live ones.
func TestProxy_slowReadersOfReports(t *testing.T) {
	t.Parallel()
	w := start(t, http.HandlerFunc(endless), reports)
	var slow []*net.TCPConn
	for range 16 {
		conn := w.ask(t, "/v1/settlements", testSecret)
		switch got := status(t, conn); {
		case got == "200" && len(slow) < 3:
			slow = append(slow, conn)
		case got != "429" || len(slow) < 3:
			t.Fatalf("report %d of a key: %s", len(slow)+1, got)
		}
	}
	for range 20 {
		w.do(t, "GET", "/v1/payments/CW-X", testSecret, "").echoed(t)
	}
	full := w.do(t, "GET", "/v1/settlements", testSecret, "")
	full.refused(t, 429, "rate_limited")
	if full.Header.Get("Retry-After") == "" {
		t.Error("a 429 without Retry-After")
	}
	one := w.ask(t, "/v1/settlements", readSecret)
	if got := status(t, one); got != "200" {
		t.Fatalf("the last report that test keys may take: %s", got)
	}
	w.do(t, "GET", "/v1/settlements", readSecret, "").refused(t, 503, "overloaded")
	live := w.ask(t, "/v1/settlements", liveSecret)
	if got := status(t, live); got != "200" {
		t.Fatalf("a live key's report beside those of test keys: %s", got)
	}
}

// Readers of reports that read nothing are cut, which frees their slots.
func TestProxy_slowReadersAreCut(t *testing.T) {
	t.Parallel()
	w := start(t, http.HandlerFunc(endless), impatient)
	var slow []*net.TCPConn
	for _, key := range []string{testSecret, testSecret, testSecret, readSecret, liveSecret} {
		slow = append(slow, w.ask(t, "/v1/settlements", key))
	}
	for _, conn := range slow {
		if got := status(t, conn); got != "200" {
			t.Errorf("ask for a report: got %s, want 200", got)
		}
		ended(t, conn)
	}
	if got := status(t, w.ask(t, "/v1/settlements", testSecret)); got != "200" {
		t.Errorf("ask for a report after the slow readers are gone: got %s, want 200", got)
	}
}

// A reader that is slower than the connection but keeps the pace gets the whole answer, however long that takes, and so
// does the reader of a service that sends little. It runs before the parallel tests: their endless answers would keep
// the reader off the processor until it is late.
func TestProxy_steadyReader(t *testing.T) {
	const pieces, size = 24, 512 << 10
	w := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		piece := bytes.Repeat([]byte("x"), size)
		if r.URL.Query().Has("from") {
			piece = piece[:1]
		}
		for range pieces {
			<-tick.C
			if _, err := w.Write(piece); err != nil {
				t.Error(err)
			}
			_ = http.NewResponseController(w).Flush()
		}
	}), func(o *proxy.Options) {
		reports(o)
		o.WriteTime, o.LeastPace = 4*time.Second, 128<<10
	})
	t.Run("a service that sends little", func(t *testing.T) {
		t.Parallel()
		if a := w.do(t, "GET", "/v1/settlements?from=x", testSecret, ""); len(a.body) != pieces {
			t.Errorf("read a report of a slow service: got %d bytes, want %d", len(a.body), pieces)
		}
	})
	t.Run("a steady reader", func(t *testing.T) {
		t.Parallel()
		res, err := http.ReadResponse(bufio.NewReaderSize(&steady{Conn: w.ask(t, "/v1/settlements", testSecret)}, 64<<10), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if n, err := io.Copy(io.Discard, res.Body); n != pieces*size || err != nil {
			t.Errorf("read a report steadily: got %d bytes, %v, want %d", n, err, pieces*size)
		}
	})
}

// steady takes 2 MiB a second of a connection.
type steady struct {
	net.Conn
	tick *time.Ticker
}

func (s *steady) Read(b []byte) (int, error) {
	if s.tick == nil {
		s.tick = time.NewTicker(time.Second / 128)
	}
	<-s.tick.C
	return s.Conn.Read(b[:min(len(b), 16<<10)])
}

// When the memory for answers is used up, large ones are streamed and bounded as long answers, so that their readers
// hold no slot of the others; small ones need no memory of the budget.
func TestProxy_noRoom(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 200<<10)
	w := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/payments" {
			endless(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, big)
	}), reports, func(o *proxy.Options) { o.HeldMax = 1 })
	if a := w.do(t, "GET", "/v1/payments", testSecret, ""); string(a.body) != big {
		t.Errorf("%d of %d bytes came", len(a.body), len(big))
	}
	for range 3 {
		if got := status(t, w.ask(t, "/v1/settlements", testSecret)); got != "200" {
			t.Fatalf("ask for a slow answer: got %s, want 200", got)
		}
	}
	w.do(t, "GET", "/v1/payments", testSecret, "").refused(t, 429, "rate_limited")
	if a := w.do(t, "GET", "/v1/payments", liveSecret, ""); string(a.body) != big {
		t.Errorf("%d of %d bytes came to another key", len(a.body), len(big))
	}
	for range 20 {
		w.do(t, "GET", "/v1/payments/CW-X", testSecret, "").echoed(t)
	}
}

// A list that becomes longer than the memory for answers leaves its slot and continues as a long answer, or is refused
// as a whole.
func TestProxy_outgrown(t *testing.T) {
	t.Parallel()
	w := start(t, http.HandlerFunc(endless), reports)
	for range 3 {
		conn := w.ask(t, "/v1/public/endless", "")
		if got := status(t, conn); got != "200" {
			t.Fatalf("ask for an endless answer: got %s, want 200", got)
		}
	}
	a := w.do(t, "GET", "/v1/public/endless", "", "")
	a.refused(t, 429, "rate_limited")
	for range 20 {
		w.do(t, "GET", "/v1/payments/CW-X", testSecret, "").echoed(t)
	}
}

// The reader of such a list is cut when it reads nothing.
func TestProxy_outgrownIsCut(t *testing.T) {
	t.Parallel()
	w := start(t, http.HandlerFunc(endless), impatient)
	for range 3 {
		conn := w.ask(t, "/v1/public/endless", "")
		if got := status(t, conn); got != "200" {
			t.Fatalf("ask for an endless answer: got %s, want 200", got)
		}
		ended(t, conn)
	}
}
