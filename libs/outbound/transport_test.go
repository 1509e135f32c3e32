package outbound

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// far is a server whose connections are counted as they open and announced as they close.
type far struct {
	*httptest.Server
	opened atomic.Int32
	closed chan struct{}
	client *Client
}

func newFar(t *testing.T, secure, http2 bool, idle time.Duration, h http.HandlerFunc) *far {
	t.Helper()
	return prepareFar(t, secure, http2, idle, h, func(*far) Config { return Config{} })
}

// prepareFar is newFar with a say before the server starts, and in what the client may.
func prepareFar(t *testing.T, secure, http2 bool, idle time.Duration, h http.HandlerFunc, prepare func(*far) Config) *far {
	t.Helper()
	f := &far{Server: httptest.NewUnstartedServer(h), closed: make(chan struct{}, 1000)}
	f.EnableHTTP2, f.Config.IdleTimeout = http2, idle
	f.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			f.opened.Add(1)
		case http.StateClosed:
			f.closed <- struct{}{}
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	cfg := prepare(f)
	if secure {
		f.StartTLS()
		cfg.RootCAs = x509.NewCertPool()
		cfg.RootCAs.AddCert(f.Certificate())
	} else {
		f.Start()
	}
	t.Cleanup(f.Close)
	f.client = client(t, cfg)
	return f
}

// closeIdle closes connections that speak HTTP/2, until n of any kind are closed. The transport takes one for busy for
// a moment after its last answer.
func (f *far) closeIdle(n int) {
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for n > 0 {
		select {
		case <-f.closed:
			n--
		case <-again.C:
			f.client.transport.CloseIdleConnections()
		}
	}
}

func (f *far) post(t *testing.T, want Class) Result {
	t.Helper()
	res := f.client.Post(t.Context(), f.URL+"/hook", http.Header{"webhook-id": {"evt_1"}}, []byte("{}"))
	if res.Class != want {
		t.Errorf("got %s (%v), want %s", res.Class, res.Err, want)
	}
	return res
}

// TestPost_afterServerClosed posts where the server has closed the kept connection meanwhile. That is noticed before
// the request is written, so nothing fails and nothing is sent twice.
func TestPost_afterServerClosed(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			var asked atomic.Int32
			f := newFar(t, secure, false, time.Millisecond, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
			for range 5 {
				f.post(t, OK)
				<-f.closed
			}
			if asked.Load() != 5 || f.opened.Load() != 5 {
				t.Errorf("%d requests over %d connections", asked.Load(), f.opened.Load())
			}
		})
	}
}

// TestPost_keepsConnections posts with every length of body that leaves the connection as it was, and those that do
// not.
func TestPost_keepsConnections(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter)
		kept   bool
	}{
		"nothing":            {func(http.ResponseWriter) {}, true},
		"no content":         {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, true},
		"short":              {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "ok") }, true},
		"more than is shown": {func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 60<<10)) }, true},
		"chunked": {func(w http.ResponseWriter) {
			for range 3 {
				_, _ = io.WriteString(w, "part")
				_ = http.NewResponseController(w).Flush()
			}
		}, true},
		"interim first":         {func(w http.ResponseWriter) { w.WriteHeader(http.StatusEarlyHints); _, _ = io.WriteString(w, "ok") }, true},
		"a failure":             {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway); _, _ = w.Write(make([]byte, 5000)) }, true},
		"longer than is read":   {func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 70<<10)) }, false},
		"the server has enough": {func(w http.ResponseWriter) { w.Header().Set("Connection", "close") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t, false, false, time.Minute, func(w http.ResponseWriter, _ *http.Request) { tc.answer(w) })
			want := OK
			if name == "a failure" {
				want = ServerError
			}
			for range 3 {
				f.post(t, want)
			}
			if kept := f.opened.Load() == 1; kept != tc.kept {
				t.Errorf("%d connections", f.opened.Load())
			}
		})
	}
}

// TestPost_answersToNobody sends one response too many after each. The client hangs up, so that it is not taken for the
// response to the next request, which another merchant's delivery may be.
func TestPost_answersToNobody(t *testing.T) {
	const one = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	for name, late := range map[string]bool{"with the response": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			hungUp := make(chan struct{}, 2)
			url := wild(t, func(c net.Conn) {
				readHead(c)
				if late {
					_, _ = io.WriteString(c, one)
					_, _ = io.WriteString(c, strings.Replace(one, "200", "500", 1))
				} else {
					_, _ = io.WriteString(c, one+strings.Replace(one, "200", "500", 1))
				}
				_, _ = io.Copy(io.Discard, c) // until the client hangs up
				hungUp <- struct{}{}
			})
			c := client(t, Config{})
			for range 2 {
				if res := c.Post(t.Context(), url, nil, nil); res.Class != OK {
					t.Errorf("got %s: %v", res.Class, res.Err)
				}
				<-hungUp
			}
		})
	}
}

// TestPost_answeredUnread posts more than a server reads before it answers and closes. Its answer counts, not that it
// closed.
func TestPost_answeredUnread(t *testing.T) {
	url := wild(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_, _ = io.WriteString(c, "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")
	})
	c := client(t, Config{})
	for _, size := range []int{2 << 10, 64 << 10, 8 << 20} {
		for range 20 { // the transport's own close races with its write
			if res := c.Post(t.Context(), url, nil, make([]byte, size)); res.Class != Gone {
				t.Errorf("%d bytes: got %s: %v", size, res.Class, res.Err)
			}
		}
	}
}

// TestPost_canceledThenAgain cancels attempts, some of which end just then: no deadline of one reaches the next.
func TestPost_canceledThenAgain(t *testing.T) {
	f := newFar(t, false, false, time.Minute, func(http.ResponseWriter, *http.Request) {})
	for n := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { f.client.Post(ctx, f.URL, nil, nil) })
		for range n % 50 * 20 { // it ends at another moment each time
			if f.opened.Load() < 0 {
				break
			}
		}
		cancel()
		over.Wait()
		f.post(t, OK)
	}
}

// TestPost_http2 posts to a server that chooses HTTP/2: over one connection, with the same times, limits and classes.
func TestPost_http2(t *testing.T) {
	var protocol atomic.Int32
	f := newFar(t, true, true, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		protocol.Store(int32(r.ProtoMajor))
		if r.URL.User != nil || r.Header.Get("Webhook-Id") != "evt_1" {
			t.Errorf("got %v", r.Header)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 2000))
	})
	for n := range 3 {
		res := f.post(t, OK)
		// No word on the wait: the transport may bring an answer before it says that it has asked.
		if len(res.Excerpt) != excerptOK || !res.Remote.IsValid() || res.Timing.Total <= 0 {
			t.Errorf("got %+v", res)
		}
		if first := n == 0; (res.Timing.Connect > 0) != first || (res.Timing.TLS > 0) != first {
			t.Errorf("post %d: %+v", n, res.Timing)
		}
	}
	if protocol.Load() != 2 || f.opened.Load() != 1 {
		t.Errorf("HTTP/%d over %d connections", protocol.Load(), f.opened.Load())
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { f.post(t, OK) })
	}
	all.Wait()
	if f.opened.Load() != 1 {
		t.Errorf("%d connections", f.opened.Load())
	}
}

// TestPost_http2AllAtOnce has many attempts find out together that a server speaks HTTP/2. Every connection that none
// of them needs is closed.
func TestPost_http2AllAtOnce(t *testing.T) {
	f := newFar(t, true, true, time.Minute, func(http.ResponseWriter, *http.Request) {})
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() { f.post(t, OK) })
	}
	all.Wait()
	f.client.Close()
	f.closeIdle(int(f.opened.Load()))
}

// TestPost_http2NoMore meets a server that spoke HTTP/2 and now speaks HTTP/1.1.
func TestPost_http2NoMore(t *testing.T) {
	f := newFar(t, true, true, time.Minute, func(http.ResponseWriter, *http.Request) {})
	f.post(t, OK)
	f.closeIdle(1)
	f.TLS.NextProtos = []string{"http/1.1"}
	for range 3 {
		f.post(t, OK)
	}
	if f.opened.Load() != 2 {
		t.Errorf("%d connections, want one of each protocol", f.opened.Load())
	}
}

// TestPost_http2SwitchesProtocols meets a server that spoke HTTP/2 and switches from HTTP/1.1 to something else since.
func TestPost_http2SwitchesProtocols(t *testing.T) {
	f := newFar(t, true, true, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	})
	f.post(t, OK)
	f.closeIdle(1)
	f.TLS.NextProtos = []string{"http/1.1"}
	if res := f.post(t, ServerError); res.Status != http.StatusSwitchingProtocols {
		t.Errorf("got %+v", res)
	}
}

// TestPost_wire shows what an endpoint receives, byte for byte, and what is never sent.
func TestPost_wire(t *testing.T) {
	const host = "\r\nHost: ADDR\r\nUser-Agent: a\r\nContent-Length: 2\r\n"
	with := func(name, value string) http.Header { return http.Header{"User-Agent": {"a"}, name: {value}} }
	for _, tc := range []struct {
		url    string // ADDR is the server, PORT its port
		header http.Header
		wire   string // "" where it is refused
	}{
		{"http://ADDR", with("webhook-id", "e"), "POST / HTTP/1.1" + host + "webhook-id: e\r\n\r\n{}"},
		{"http://ADDR/b c?d=e f#g", with("x", "y"), "POST /b%20c?d=e%20f HTTP/1.1" + host + "x: y\r\n\r\n{}"},
		{
			"http://bücher.test:PORT/", with("x", "y"),
			"POST / HTTP/1.1" + strings.Replace(host, "ADDR", "xn--bcher-kva.test:PORT", 1) + "x: y\r\n\r\n{}",
		},
		{"http://u:p@ADDR/", with("x", "y"), "POST / HTTP/1.1" + host + "Authorization: Basic dTpw\r\nx: y\r\n\r\n{}"},
		{"http://u:p@ADDR/", with("Authorization", "own"), "POST / HTTP/1.1" + host + "Authorization: own\r\n\r\n{}"},
		{"http://ADDR/", http.Header{"x": {"y\r\nz: w"}}, ""},
		{"http://ADDR/", http.Header{"x\r\ny": {"z"}}, ""},
		{"http://ADDR/", http.Header{"content-length": {"0"}}, ""},
		{"http://ADDR/", http.Header{"Host": {"b.test"}}, ""},
		{"http://ADDR/\r\nx: y", nil, ""},
		{"http://ADDR\r\nx: y/", nil, ""},
		{"http:///x", nil, ""},
		{"http://:PORT/x", nil, ""},
		{"unix:///x", nil, ""},
		{"", nil, ""},
	} {
		got := make(chan string, 1)
		addr := strings.TrimPrefix(wild(t, func(c net.Conn) {
			var raw bytes.Buffer
			if r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &raw))); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			got <- raw.String()
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		}), "http://")
		_, port, _ := net.SplitHostPort(addr)
		at := strings.NewReplacer("ADDR", addr, "PORT", port)
		here := func(int) netip.Addr { return netip.MustParseAddr("127.0.0.1") }
		res := client(t, Config{Resolver: resolver(t, here)}).Post(t.Context(), at.Replace(tc.url), tc.header, []byte("{}"))
		if tc.wire == "" {
			if res.Class != Internal || len(got) > 0 {
				t.Errorf("post to %q with %v: %s (%v) and %d requests, want %s and none", tc.url, tc.header, res.Class, res.Err, len(got), Internal)
			}
			continue
		}
		if res.Class != OK {
			t.Errorf("post to %q: %s (%v)", tc.url, res.Class, res.Err)
			continue
		}
		if raw := <-got; raw != at.Replace(tc.wire) {
			t.Errorf("post to %q sent %q, want %q", tc.url, raw, at.Replace(tc.wire))
		}
	}
}

// TestPost_keepsNoMoreThanItMay leaves no more connections to a host open than Config says.
func TestPost_keepsNoMoreThanItMay(t *testing.T) {
	const most, atOnce = 2, 5
	var here sync.WaitGroup
	here.Add(atOnce)
	f := newFar(t, false, false, time.Minute, func(http.ResponseWriter, *http.Request) { here.Done(); here.Wait() })
	f.client = client(t, Config{PerHost: most})
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() { f.post(t, OK) })
	}
	all.Wait()
	for range atOnce - most {
		<-f.closed
	}
	f.client.Close()
	for range most {
		<-f.closed
	}
}

// BenchmarkPost is attempts over kept connections, many at a time, beside those by net/http's own client.
func BenchmarkPost(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer s.Close()
	const atATime = 32
	body := []byte(strings.Repeat("x", 600))
	run := func(b *testing.B, post func() error) {
		b.ReportAllocs()
		b.SetParallelism(atATime)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := post(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.Run("outbound", func(b *testing.B) {
		c := New(Config{Policy: loopback, PerHost: 2 * atATime})
		defer c.Close()
		run(b, func() error { return c.Post(b.Context(), s.URL, http.Header{"webhook-id": {"evt_1"}}, body).Err })
	})
	b.Run("net/http", func(b *testing.B) {
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * atATime}, Timeout: Total}
		defer c.CloseIdleConnections()
		run(b, func() error {
			res, err := c.Post(s.URL, "application/json", strings.NewReader(string(body)))
			if err != nil {
				return err
			}
			defer res.Body.Close()
			_, err = io.Copy(io.Discard, res.Body)
			return err
		})
	})
}
