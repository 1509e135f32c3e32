package limit_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"causeway.internal/gateway/internal/limit"
)

// served keeps the connections that a bounded listener accepts.
func served(t *testing.T, c *limit.Connections) (addr string, accepted chan net.Conn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = make(chan net.Conn, 64)
	bound, done := c.Listener(l), make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := bound.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String(), accepted
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// refused reports whether the other side has closed the connection.
func refused(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is open: %v", err)
	}
}

// One address holds so many connections and no more; closing one, once or twice, makes room for one.
func TestConnections_perAddress(t *testing.T) {
	c := limit.NewConnections(3, 100, func(netip.Addr) bool { return false })
	addr, accepted := served(t, c)
	var held []net.Conn
	for range 3 {
		dial(t, addr)
		held = append(held, <-accepted)
	}
	for range 5 {
		refused(t, dial(t, addr))
	}
	if n := testutil.ToFloat64(c); n != 5 {
		t.Errorf("%v refusals are counted", n)
	}
	_, _ = held[0].Close(), held[0].Close()
	dial(t, addr)
	fourth := <-accepted
	refused(t, dial(t, addr))
	for _, conn := range append(held[1:], fourth) {
		_ = conn.Close()
	}
	if n := limit.HeldConnections(c); n != 0 {
		t.Errorf("%d addresses are remembered with no connection left", n)
	}
}

// Trusted proxies carry everybody's requests and are bounded by the total alone.
func TestConnections_exempt(t *testing.T) {
	c := limit.NewConnections(1, 4, func(a netip.Addr) bool { return a.IsLoopback() })
	addr, accepted := served(t, c)
	for range 4 {
		dial(t, addr)
		conn := <-accepted
		defer conn.Close()
	}
	refused(t, dial(t, addr))
}
