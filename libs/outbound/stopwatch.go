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

// attach returns a context whose request is timed. A dial finds the stopwatch by the context, since few requests dial.
func (w *stopwatch) attach(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, stopwatchKey{}, w), &httptrace.ClientTrace{
		TLSHandshakeStart:    func() { w.start(&w.shake) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { w.stop(&w.shake, &w.timing.TLS) },
		GotConn:              w.got,
		WroteRequest:         func(httptrace.WroteRequestInfo) { w.start(&w.sent) },
		GotFirstResponseByte: w.answer,
	})
}

type stopwatchKey struct{}

type dial func(ctx context.Context, network, addr string) (net.Conn, error)

// timed times the phases of a dial for the request that asked for it.
func timed(d dial) dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		w, ok := ctx.Value(stopwatchKey{}).(*stopwatch)
		if !ok {
			return d(ctx, network, addr)
		}
		return d(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			DNSStart:     func(httptrace.DNSStartInfo) { w.start(&w.dns) },
			DNSDone:      func(httptrace.DNSDoneInfo) { w.stop(&w.dns, &w.timing.DNS) },
			ConnectStart: func(string, string) { w.start(&w.dial) },
			ConnectDone:  w.dialled,
		}), network, addr)
	}
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

func (w *stopwatch) got(info httptrace.GotConnInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gotConn = true
	if tcp, ok := info.Conn.RemoteAddr().(*net.TCPAddr); ok {
		at := tcp.AddrPort()
		w.remote = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
}

func (w *stopwatch) answer() {
	w.stop(&w.sent, &w.timing.Wait)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.firstByte = true
}

func (w *stopwatch) read(total time.Duration) (Timing, netip.AddrPort) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timing.Total = total
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
