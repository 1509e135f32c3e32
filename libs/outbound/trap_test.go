package outbound

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"causeway.internal/libs/outbound/guard"
)

// friendly is the one address that the clients of TestTraps may reach.
var friendly = netip.MustParseAddr("127.0.0.2")

// trap listens on every address of the machine and counts the connections that it accepts on another address than the
// friendly one.
type trap struct {
	port     string
	accepted atomic.Int32
}

func setTrap(t *testing.T) *trap {
	t.Helper()
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	tr := &trap{}
	_, tr.port, _ = net.SplitHostPort(listener.Addr().String())
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }),
		ConnState: func(c net.Conn, state http.ConnState) {
			local, err := netip.ParseAddrPort(c.LocalAddr().String())
			if state == http.StateNew && (err != nil || local.Addr().Unmap() != friendly) {
				tr.accepted.Add(1)
			}
		},
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return tr
}

// serveFriendly serves on the friendly address.
func serveFriendly(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	listener, err := net.Listen("tcp", friendly.String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func spellings(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("guard/testdata/forbidden.txt")
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for line := range strings.Lines(string(raw)) {
		if host := strings.TrimSpace(line); !strings.HasPrefix(host, "#") {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) < 80 {
		t.Fatalf("only %d spellings", len(hosts))
	}
	return hosts
}

// meant is the address that a lenient reader could take a spelling for; loopback where the Go parser reads none.
func meant(host string) netip.Addr {
	addr, err := netip.ParseAddr(strings.Replace(strings.Trim(host, "[]"), "%25", "%", 1))
	if err != nil {
		return netip.MustParseAddr("127.0.0.1")
	}
	return addr.WithZone("")
}

// TestTraps takes every spelling of an address that nobody may reach by every way there is: written into the URL, as
// the answer of a name server, as its answer to the second look-up, as the target of a redirect, and through the proxy
// that the environment names. No listener on any address of this machine may accept a connection.
func TestTraps(t *testing.T) {
	policy := guard.Policy{Allow: []netip.Prefix{netip.PrefixFrom(friendly, friendly.BitLen())}}
	ways := map[string]func(t *testing.T, tr *trap, host string) Class{
		"literal": func(t *testing.T, tr *trap, host string) Class {
			c := client(t, Config{Policy: policy, Resolver: resolver(t, func(int) netip.Addr { return meant(host) })})
			return c.Post(t.Context(), "http://"+host+":"+tr.port+"/", nil, nil).Class
		},
		"name": func(t *testing.T, tr *trap, host string) Class {
			c := client(t, Config{Policy: policy, Resolver: resolver(t, func(int) netip.Addr { return meant(host) })})
			return c.Post(t.Context(), "http://merchant.test:"+tr.port+"/", nil, nil).Class
		},
		"rebinding": func(t *testing.T, tr *trap, host string) Class {
			var rebound atomic.Bool
			c := client(t, Config{Policy: policy, Resolver: resolver(t, func(int) netip.Addr {
				if rebound.Load() {
					return meant(host)
				}
				return friendly
			})})
			if first := c.Post(t.Context(), "http://merchant.test:"+tr.port+"/", nil, nil); first.Class != OK {
				t.Errorf("the friendly address was not reached: %v", first.Err)
			}
			rebound.Store(true)
			return c.Post(t.Context(), "http://merchant.test:"+tr.port+"/", nil, nil).Class
		},
		"redirect": func(t *testing.T, tr *trap, host string) Class {
			s := serveFriendly(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://"+host+":"+tr.port+"/")
				w.WriteHeader(http.StatusTemporaryRedirect)
			})
			return client(t, Config{Policy: policy}).Post(t.Context(), s.URL, nil, nil).Class
		},
	}
	for way, post := range ways {
		t.Run(way, func(t *testing.T) {
			tr := setTrap(t)
			for _, host := range spellings(t) {
				switch class := post(t, tr, host); {
				case way == "redirect" && class != Redirect:
					t.Errorf("a redirect to %s ended as %s", host, class)
				case class == OK:
					t.Errorf("%s was reached", host)
				}
			}
			if n := tr.accepted.Load(); n > 0 {
				t.Errorf("the trap accepted %d connections", n)
			}
		})
	}
	t.Run("proxy", func(t *testing.T) {
		tr := setTrap(t)
		for _, host := range spellings(t) {
			for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
				t.Setenv(name, "http://"+host+":"+tr.port)
			}
			s := serveFriendly(t, func(http.ResponseWriter, *http.Request) {})
			if res := client(t, Config{Policy: policy}).Post(t.Context(), s.URL, nil, nil); res.Class != OK {
				t.Errorf("with the proxy %s: %s %v", host, res.Class, res.Err)
			}
		}
		if n := tr.accepted.Load(); n > 0 {
			t.Errorf("the trap accepted %d connections", n)
		}
	})
}
