package outbound

import (
	"context"
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

// attach returns a context whose request is timed by the transport's hooks. A dial finds the stopwatch by the context.
func (w *stopwatch) attach(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, stopwatchKey{}, w), &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { w.got(remoteOf(info.Conn)) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { w.start(&w.sent) },
		GotFirstResponseByte: w.answer,
	})
}

type stopwatchKey struct{}

// dialling returns a context whose dial is timed.
func (w *stopwatch) dialling(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { w.start(&w.dns) },
		DNSDone:      func(httptrace.DNSDoneInfo) { w.stop(&w.dns, &w.timing.DNS) },
		ConnectStart: func(string, string) { w.start(&w.dial) },
		ConnectDone:  w.dialled,
	})
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
