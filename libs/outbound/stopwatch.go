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

func (w *stopwatch) attach(ctx context.Context) context.Context {
	locked := func(f func(now time.Time)) {
		w.mu.Lock()
		defer w.mu.Unlock()
		f(time.Now())
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { locked(func(now time.Time) { w.dns = now }) },
		DNSDone:      func(httptrace.DNSDoneInfo) { locked(func(now time.Time) { w.timing.DNS = now.Sub(w.dns) }) },
		ConnectStart: func(string, string) { locked(func(now time.Time) { w.dial = now }) },
		ConnectDone: func(_, _ string, err error) {
			locked(func(now time.Time) {
				if err == nil {
					w.timing.Connect = now.Sub(w.dial)
				}
			})
		},
		TLSHandshakeStart: func() { locked(func(now time.Time) { w.shake = now }) },
		TLSHandshakeDone: func(tls.ConnectionState, error) {
			locked(func(now time.Time) { w.timing.TLS = now.Sub(w.shake) })
		},
		GotConn: func(info httptrace.GotConnInfo) {
			locked(func(time.Time) {
				w.gotConn = true
				if tcp, ok := info.Conn.RemoteAddr().(*net.TCPAddr); ok {
					w.remote = netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap(), tcp.AddrPort().Port())
				}
			})
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { locked(func(now time.Time) { w.sent = now }) },
		GotFirstResponseByte: func() {
			locked(func(now time.Time) {
				w.firstByte = true
				if !w.sent.IsZero() {
					w.timing.Wait = now.Sub(w.sent)
				}
			})
		},
	})
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
