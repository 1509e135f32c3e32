package outbound

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/outbound/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}

func client(t *testing.T, cfg Config) *Client {
	t.Helper()
	if cfg.Policy.Allow == nil {
		cfg.Policy = loopback
	}
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// wild answers each accepted connection with f, for responses that net/http would never write.
func wild(t *testing.T, f func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

func readHead(c net.Conn) {
	_, _ = http.ReadRequest(bufio.NewReader(c))
}

func TestPost_ok(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || string(body) != "hello" || r.Header.Get("webhook-id") != "evt_1" || r.ContentLength != 5 {
			t.Errorf("got %s %q %v", r.Method, body, r.Header)
		}
		if r.Header.Get("Accept-Encoding") != "" {
			t.Error("compression was offered")
		}
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Set-Cookie", "a=b")
		_, _ = io.WriteString(w, strings.Repeat("x", 2000))
	})
	c := client(t, Config{})
	for i := range 3 {
		res := c.Post(t.Context(), s.URL+"/hook", http.Header{"Webhook-Id": {"evt_1"}}, []byte("hello"))
		if res.Err != nil || res.Class != OK || res.Status != 200 || len(res.Excerpt) != 512 {
			t.Fatalf("got %+v", res)
		}
		if res.Header.Get("Retry-After") != "7" || res.Header.Get("Set-Cookie") != "" {
			t.Fatalf("kept headers %v", res.Header)
		}
		if res.Remote.String() != s.Listener.Addr().String() || res.Timing.Total <= 0 {
			t.Fatalf("remote %v timing %+v", res.Remote, res.Timing)
		}
		if reused := res.Timing.Connect == 0; reused != (i > 0) {
			t.Fatalf("post %d: connection reused: %v", i, reused)
		}
	}
}

func TestPost_classesByStatus(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &code)
		if code/100 == 3 {
			w.Header().Set("Location", "/200")
		}
		w.WriteHeader(code)
		if code/100 >= 4 {
			_, _ = io.WriteString(w, strings.Repeat("e", 9000))
		}
	})
	c := client(t, Config{})
	for code, want := range map[int]Class{
		200: OK, 201: OK, 202: OK, 204: OK, 299: OK, 301: Redirect, 302: Redirect, 304: Redirect, 307: Redirect, 308: Redirect,
		400: ClientError, 401: ClientError, 404: ClientError, 410: Gone, 429: Throttled, 500: ServerError, 502: ServerError, 503: ServerError,
	} {
		res := c.Post(t.Context(), fmt.Sprintf("%s/%d", s.URL, code), nil, []byte("{}"))
		if res.Class != want || res.Status != code || (res.Err == nil) != (want == OK) {
			t.Errorf("post, answered with %d: got %+v, want the class %v", code, res, want)
		}
		if code >= 400 && len(res.Excerpt) != 4096 {
			t.Errorf("%d: excerpt of %d bytes", code, len(res.Excerpt))
		}
		if want == Redirect && code != 304 && res.Header.Get("Location") != "/200" {
			t.Errorf("%d: location not kept", code)
		}
	}
}

func TestPost_hostileResponses(t *testing.T) {
	const total = 300 * time.Millisecond
	hang := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) } // until the client gives up
	for name, tc := range map[string]struct {
		f     func(c net.Conn)
		class Class
	}{
		"hangs before the head": {func(c net.Conn) { readHead(c); hang(c) }, TimeoutResponse},
		"never reads":           {func(c net.Conn) { hang(c) }, TimeoutResponse},
		"head, then hangs": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
			hang(c)
		}, OK},
		"body of one byte at a time": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for range 1000 {
				<-tick.C
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
			}
		}, OK},
		"endless body": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			chunk := make([]byte, 32<<10)
			for {
				if _, err := c.Write(chunk); err != nil {
					return
				}
			}
		}, OK},
		"huge head": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			line := []byte("X-Filler: " + strings.Repeat("a", 8000) + "\r\n")
			for range 1250 {
				if _, err := c.Write(line); err != nil {
					return
				}
			}
			_, _ = io.WriteString(c, "\r\n")
		}, Malformed},
		"flood of 1xx": {func(c net.Conn) {
			readHead(c)
			for range 100_000 {
				if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"); err != nil {
					return
				}
			}
		}, Malformed},
		"huge number of headers": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+strings.Repeat("a:\n", 11000))
			hang(c)
		}, Malformed},
		"half a line, then hangs": {func(c net.Conn) { readHead(c); _, _ = io.WriteString(c, "HTT"); hang(c) }, TimeoutResponse},
		"half a trailer, then hangs": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n")
			hang(c)
		}, OK},
		"refusal whose body hangs": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\nabc")
			hang(c)
		}, TimeoutResponse},
		"switches protocols": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nx")
			hang(c)
		}, ServerError},
		"status that is none": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok")
			hang(c)
		}, ServerError},
		"no HTTP":              {func(c net.Conn) { readHead(c); _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n\r\n") }, Malformed},
		"closes at once":       {func(net.Conn) {}, Reset},
		"closes after request": {func(c net.Conn) { readHead(c) }, Reset},
		"resets": {func(c net.Conn) {
			readHead(c)
			_ = c.(*net.TCPConn).SetLinger(0)
		}, Reset},
		"body breaks off": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
		}, OK},
		"body is reset": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
			_ = c.(*net.TCPConn).SetLinger(0)
		}, OK},
		"chunk breaks off": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc")
		}, OK},
		"body of a refusal breaks off": {func(c net.Conn) {
			readHead(c)
			_, _ = io.WriteString(c, "HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\nabc")
		}, Reset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, Config{Total: total})
			began := time.Now()
			res := c.Post(t.Context(), wild(t, tc.f), nil, []byte("{}"))
			if took := time.Since(began); took > total+time.Second {
				t.Errorf("took %v", took)
			}
			if res.Class != tc.class || (res.Err == nil) != (tc.class == OK) {
				t.Errorf("got %s (%v), want %s", res.Class, res.Err, tc.class)
			}
			if len(res.Excerpt) > 4096 {
				t.Errorf("kept %d bytes", len(res.Excerpt))
			}
		})
	}
}

func TestPost_connectFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secure.Config.ErrorLog = nil
	t.Cleanup(secure.Close)
	old := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	t.Cleanup(old.Close)
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	pool.AddCert(old.Certificate())
	_, port, _ := net.SplitHostPort(secure.Listener.Addr().String())
	silent := wild(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	for name, tc := range map[string]struct {
		url   string
		cfg   Config
		class Class
	}{
		"refused":           {"http://" + closed, Config{}, Refused},
		"plain on TLS port": {strings.Replace(plain.URL, "http:", "https:", 1), Config{}, TLS},
		"unknown authority": {secure.URL, Config{}, TLS},
		"known authority":   {secure.URL, Config{RootCAs: pool}, OK},
		"wrong host": {
			"https://other.test:" + port, Config{RootCAs: pool, Resolver: resolver(t, func(int) netip.Addr { return netip.MustParseAddr("127.0.0.1") })}, TLS,
		},
		"TLS 1.1 only":    {old.URL, Config{RootCAs: pool}, TLS},
		"silent TLS":      {strings.Replace(silent, "http:", "https:", 1), Config{Total: 200 * time.Millisecond}, TimeoutConnect},
		"no such name":    {"http://name.invalid/", Config{Resolver: resolver(t, nil)}, DNS},
		"blocked":         {plain.URL, Config{Policy: guard.Policy{Allow: []netip.Prefix{}}}, Blocked},
		"not a URL":       {"http://a b/", Config{}, Internal},
		"scheme it lacks": {"ftp://127.0.0.1/", Config{}, Internal},
	} {
		t.Run(name, func(t *testing.T) {
			if res := client(t, tc.cfg).Post(t.Context(), tc.url, nil, nil); res.Class != tc.class {
				t.Errorf("got %s: %v", res.Class, res.Err)
			}
		})
	}
}

func TestPost_canceledByCaller(t *testing.T) {
	arrived := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { close(arrived); <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if res := client(t, Config{}).Post(ctx, s.URL, nil, nil); res.Class != Canceled {
		t.Fatalf("got %s: %v", res.Class, res.Err)
	}
}

// overdue is a context whose deadline has passed a moment before it says so.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

func TestPost_canceledByDeadlineOfCaller(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	if res := client(t, Config{}).Post(overdue{t.Context()}, s.URL, nil, nil); res.Class != Canceled {
		t.Fatalf("got %s: %v", res.Class, res.Err)
	}
}

func TestPost_ignoresProxyOfTheEnvironment(t *testing.T) {
	var hits atomic.Int32
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	res := client(t, Config{Resolver: resolver(t, func(int) netip.Addr { return netip.MustParseAddr("10.0.0.1") })}).
		Post(t.Context(), "http://merchant.test/", nil, nil)
	if res.Class != Blocked || hits.Load() != 0 {
		t.Fatalf("got %s, %d hits on the proxy", res.Class, hits.Load())
	}
}

// TestPost_rebinding gives a public address first and loopback on the second look-up; the trap listener must stay
// untouched on every attempt because the guard judges the socket, not the name.
func TestPost_rebinding(t *testing.T) {
	var hits atomic.Int32
	trap := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(trap.Listener.Addr().String())
	strict := guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/32")}}
	r := resolver(t, func(n int) netip.Addr {
		if n < 2 { // the first look-up asks A and AAAA
			return netip.MustParseAddr("192.0.2.7")
		}
		return netip.MustParseAddr("127.0.0.1")
	})
	c := client(t, Config{Policy: strict, Resolver: r, Total: 150 * time.Millisecond})
	var last Class
	for range 4 {
		last = c.Post(t.Context(), "http://rebind.test:"+port+"/", nil, nil).Class
	}
	if last != Blocked || hits.Load() != 0 {
		t.Fatalf("got %s, %d hits on the trap", last, hits.Load())
	}
}

func TestErrors_areTyped(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) })
	res := client(t, Config{}).Post(t.Context(), s.URL, nil, nil)
	if e, ok := errors.AsType[*StatusError](res.Err); !ok || e.Status != 418 {
		t.Fatalf("got %v", res.Err)
	}
	res = client(t, Config{Policy: guard.Policy{Allow: []netip.Prefix{}}}).Post(t.Context(), s.URL, nil, nil)
	if e, ok := errors.AsType[*guard.Blocked](res.Err); !ok || e.Why != "loopback" {
		t.Fatalf("got %v", res.Err)
	}
}
