package limit

import (
	"net"
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/identity"
)

// Connections bounds the connections that one address may hold open, and those of all addresses, so that slow or silent
// sockets exhaust neither memory nor descriptors. The addresses of one IPv6 subscriber count as one.
type Connections struct {
	each, all int
	exempt    func(netip.Addr) bool
	refused   prometheus.Counter

	mu   sync.Mutex
	held map[netip.Addr]int
	sum  int
}

// NewConnections makes the bound. Exempt addresses, such as trusted proxies that forward for everybody, count in the
// total alone.
func NewConnections(each, all int, exempt func(netip.Addr) bool) *Connections {
	return &Connections{each: each, all: all, exempt: exempt, held: map[netip.Addr]int{}, refused: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "gateway_connections_refused_total", Help: "Connections that were closed at once because their address, or all, held too many.",
	})}
}

// Describe implements prometheus.Collector.
func (c *Connections) Describe(ch chan<- *prometheus.Desc) { c.refused.Describe(ch) }

// Collect implements prometheus.Collector.
func (c *Connections) Collect(ch chan<- prometheus.Metric) { c.refused.Collect(ch) }

// Listener bounds the connections of a listener. It closes a connection beyond the bound before it reads a byte or
// starts a goroutine.
func (c *Connections) Listener(l net.Listener) net.Listener { return &boundListener{l, c} }

type boundListener struct {
	net.Listener
	bound *Connections
}

// Accept implements net.Listener.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, counted := l.bound.caller(conn)
		if l.bound.enter(from, counted) {
			return &boundConn{Conn: conn, leave: sync.OnceFunc(func() { l.bound.leave(from, counted) })}, nil
		}
		l.bound.refused.Inc()
		_ = conn.Close()
	}
}

func (c *Connections) caller(conn net.Conn) (from netip.Addr, counted bool) {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}, false
	}
	plain := at.Addr().Unmap().WithZone("")
	return identity.Network(plain), !c.exempt(plain)
}

func (c *Connections) enter(from netip.Addr, counted bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sum >= c.all || (counted && c.held[from] >= c.each) {
		return false
	}
	c.sum++
	if counted {
		c.held[from]++
	}
	return true
}

func (c *Connections) leave(from netip.Addr, counted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum--
	if !counted {
		return
	}
	if c.held[from]--; c.held[from] == 0 {
		delete(c.held, from)
	}
}

type boundConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *boundConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
