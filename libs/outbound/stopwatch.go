package outbound

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"time"
)

// stopwatch takes the times of one attempt. The transport may call its hooks from a background dial even after the
// attempt has ended, hence the lock.
type stopwatch struct {
	mu                            sync.Mutex
	began, dns, dial, shake, sent time.Time
	timing                        Timing
	remote                        netip.AddrPort
	gotConn, firstByte            bool
}

// attach returns a context whose request is timed by the transport's hooks.
func (w *stopwatch) attach(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { w.again() },
		DNSStart:             func(httptrace.DNSStartInfo) { w.start(&w.dns) },
		DNSDone:              func(httptrace.DNSDoneInfo) { w.stop(&w.dns, &w.timing.DNS) },
		ConnectStart:         func(string, string) { w.start(&w.dial) },
		ConnectDone:          w.dialled,
		TLSHandshakeStart:    func() { w.start(&w.shake) },
		TLSHandshakeDone:     w.shaken,
		GotConn:              func(info httptrace.GotConnInfo) { w.got(remoteOf(info.Conn)) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { w.start(&w.sent) },
		GotFirstResponseByte: w.answer,
	})
}

func remoteOf(c net.Conn) netip.AddrPort {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

func (w *stopwatch) start(at *time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*at = time.Now()
}

// stop takes the time of a phase that has begun.
func (w *stopwatch) stop(began *time.Time, took *time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !began.IsZero() {
		*took = time.Since(*began)
	}
}

func (w *stopwatch) dialled(_, _ string, err error) {
	if err == nil {
		w.stop(&w.dial, &w.timing.Connect)
	}
}

func (w *stopwatch) shaken(_ tls.ConnectionState, err error) {
	if err == nil {
		w.stop(&w.shake, &w.timing.TLS)
	}
}

// again forgets the connection of the first try when the transport looks for another, whose dial may hang.
func (w *stopwatch) again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gotConn, w.firstByte, w.remote, w.sent = false, false, netip.AddrPort{}, time.Time{}
}

func (w *stopwatch) got(remote netip.AddrPort) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gotConn, w.remote = true, remote
}

func (w *stopwatch) answer() {
	w.stop(&w.sent, &w.timing.Wait)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.firstByte = true
}

// read ends the attempt.
func (w *stopwatch) read() (Timing, netip.AddrPort) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timing.Total = time.Since(w.began)
	return w.timing, w.remote
}

func (w *stopwatch) connected() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gotConn
}

func (w *stopwatch) answered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.firstByte
}
