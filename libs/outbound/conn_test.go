package outbound

import (
	"bufio"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
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
	cfg := Config{}
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

// closeIdle closes connections that speak HTTP/2, until n of any kind are closed. The transport takes one for busy for a moment
// after its last answer.
func (f *far) closeIdle(n int) {
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for n > 0 {
		select {
		case <-f.closed:
			n--
		case <-again.C:
			f.client.http2.CloseIdleConnections()
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

// TestPost_afterServerClosed posts where the server has closed the kept connection meanwhile. That is noticed before the
// request is written, so nothing fails and nothing is sent twice.
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

// TestPost_keepsConnections posts with every length of body that leaves the connection as it was, and those that do not.
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

// TestPost_answersToNobody sends one response too many after each. It must not be taken for that of the next request, which
// another merchant's delivery may be.
func TestPost_answersToNobody(t *testing.T) {
	const one = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	for name, late := range map[string]bool{"with the response": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			sent := make(chan struct{}, 2)
			url := wild(t, func(c net.Conn) {
				readHead(c)
				if late {
					_, _ = io.WriteString(c, one)
					_, _ = io.WriteString(c, strings.Replace(one, "200", "500", 1))
				} else {
					_, _ = io.WriteString(c, one+strings.Replace(one, "200", "500", 1))
				}
				sent <- struct{}{}
			})
			c := client(t, Config{})
			for range 2 {
				if res := c.Post(t.Context(), url, nil, nil); res.Class != OK {
					t.Errorf("got %s: %v", res.Class, res.Err)
				}
				<-sent
			}
		})
	}
}

// TestPost_answeredUnread posts more than a server reads before it answers and closes. What it said counts, not that it closed.
func TestPost_answeredUnread(t *testing.T) {
	url := wild(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_, _ = io.WriteString(c, "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")
	})
	c := client(t, Config{})
	for range 3 {
		if res := c.Post(t.Context(), url, nil, make([]byte, 8<<20)); res.Class != Gone {
			t.Errorf("got %s: %v", res.Class, res.Err)
		}
	}
}

// TestPost_canceledThenAgain ends attempts of which some are over just then: no deadline of one reaches the next.
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

// TestPost_http2AllAtOnce has many attempts find out together that a server speaks HTTP/2. Every connection that none of them
// needs is closed.
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

// TestPost_http2NoMore meets a server that spoke HTTP/2 and speaks HTTP/1.1 since.
func TestPost_http2NoMore(t *testing.T) {
	f := newFar(t, true, true, time.Minute, func(http.ResponseWriter, *http.Request) {})
	f.post(t, OK)
	origin := f.URL
	if !f.client.pool.speaksHTTP2(origin) {
		t.Error("that it speaks HTTP/2 was not kept in mind")
	}
	f.closeIdle(1)
	f.TLS.NextProtos = []string{"http/1.1"}
	for range 3 {
		f.post(t, OK)
	}
	if f.client.pool.speaksHTTP2(origin) {
		t.Error("that it speaks HTTP/2 is still believed")
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

// TestRequest_wire shows what an endpoint receives, byte for byte, and what is never sent.
func TestRequest_wire(t *testing.T) {
	for _, tc := range []struct {
		url    string
		header http.Header
		wire   string // "" where it is refused
		dials  string
	}{
		{"http://a.test", http.Header{"webhook-id": {"e"}}, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\nwebhook-id: e\r\n\r\n{}", "a.test:80"},
		{"https://a.test/b c?d=e f#g", nil, "POST /b%20c?d=e%20f HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\n{}", "a.test:443"},
		{"http://[::1]:8080/", nil, "POST / HTTP/1.1\r\nHost: [::1]:8080\r\nContent-Length: 2\r\n\r\n{}", "[::1]:8080"},
		{"http://[::1]/", nil, "POST / HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 2\r\n\r\n{}", "[::1]:80"},
		{"http://a.test:/", nil, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\n{}", "a.test:80"},
		{"http://bücher.test/", nil, "POST / HTTP/1.1\r\nHost: xn--bcher-kva.test\r\nContent-Length: 2\r\n\r\n{}", "xn--bcher-kva.test:80"},
		{
			"http://u:p@a.test/", nil, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\nAuthorization: Basic dTpw\r\n\r\n{}", "a.test:80",
		},
		{
			"http://u:p@a.test/",
			http.Header{"Authorization": {"own"}},
			"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\nAuthorization: own\r\n\r\n{}", "a.test:80",
		},
		{"http://a.test/", http.Header{"x": {"y\r\nz: w"}}, "", ""},
		{"http://a.test/", http.Header{"x\r\ny": {"z"}}, "", ""},
		{"http://a.test/", http.Header{"content-length": {"0"}}, "", ""},
		{"http://a.test/", http.Header{"Host": {"b.test"}}, "", ""},
		{"http://a.test/\r\nx: y", nil, "", ""},
		{"http://a.test\r\nx: y/", nil, "", ""},
		{"http:///x", nil, "", ""},
		{"http://:80/x", nil, "", ""},
		{"unix:///x", nil, "", ""},
		{"", nil, "", ""},
	} {
		r, err := newRequest(tc.url, tc.header, []byte("{}"))
		if tc.wire == "" {
			if err == nil {
				t.Errorf("%q %v is not refused", tc.url, tc.header)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tc.url, err)
			continue
		}
		raw := string(r.append(nil))
		if raw != tc.wire || r.address != tc.dials {
			t.Errorf("%q dials %s and sends %q", tc.url, r.address, raw)
		}
		if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw))); err != nil {
			t.Errorf("%q: %v", tc.url, err)
		}
	}
}

// TestPool keeps no more than it may, the youngest, and none for longer.
func TestPool(t *testing.T) {
	f := newFar(t, false, false, time.Minute, func(http.ResponseWriter, *http.Request) {})
	link := func() *conn {
		socket, _, err := f.client.dial(t.Context(), &stopwatch{}, f.Listener.Addr().String(), false)
		if err != nil {
			t.Fatal(err)
		}
		return newConn(socket, nil)
	}
	p := &pool{perHost: 2, idle: map[string][]*conn{}, http2: map[string]bool{}}
	a, b, c := link(), link(), link()
	for _, each := range []*conn{a, b, c} {
		p.put("x", each)
	}
	if c.quiet() {
		t.Error("the third is still open")
	}
	if p.take("y") != nil || p.take("x") != b || p.take("x") != a || p.take("x") != nil || p.count != 0 {
		t.Error("not the two that were put in, the last one first")
	}
	c = link()
	p.put("x", c)
	c.idle = c.idle.Add(-idle)
	if p.take("x") != nil || c.quiet() {
		t.Error("got one that was idle for too long")
	}
	p.put("x", a)
	p.put("y", b)
	a.idle = a.idle.Add(-idle)
	if old := p.expired(time.Now().Add(-idle)); !slices.Equal(old, []*conn{a}) || p.count != 1 || p.sweep == nil {
		t.Errorf("%d of 2 expired, %d left", len(old), p.count)
	}
	p.count = idleMax
	p.put("z", a)
	if b.quiet() || p.count != idleMax {
		t.Error("the pool grew over its limit")
	}
	p.count = 1
	p.close()
	if a.quiet() || p.count != 0 {
		t.Error("closing left a connection open")
	}
	b = link()
	p.put("x", b)
	if b.quiet() {
		t.Error("a closed pool took a connection")
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
