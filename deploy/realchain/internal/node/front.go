// Package node is what the nodes of every chain have in common: a front door for clients that can be broken on purpose,
// and a control API that pays, mines and rearranges the chain.
package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// The ways in which the front door can be out of order.
const (
	rpcServing = ""       // requests go to the node
	rpcRefuse  = "refuse" // nothing listens on the port
	rpcError   = "error"  // every request is answered 503
	rpcHang    = "hang"   // requests are accepted and not answered until the door works again or the client gives up
)

const maxRequest = 5 << 20

// Front is the port that clients use: a proxy to the node that can be broken on purpose. Its address stays the
// same through every failure.
type Front struct {
	mu       sync.Mutex
	server   *http.Server
	addr     string
	proxy    *httputil.ReverseProxy
	mode     atomic.Value                                  // string
	changed  chan struct{}                                 // closed at the next change of mode, guarded by mu
	busy     sync.RWMutex                                  // held while the chain is being rearranged
	rewrite  func(context.Context, []byte) ([]byte, error) // of every request; nil for none
	Requests atomic.Int64
}

// NewFront opens a port in front of a node that listens at inner.
func NewFront(listen, inner string, rewrite func(context.Context, []byte) ([]byte, error)) (*Front, error) {
	target, err := url.Parse(inner)
	if err != nil {
		return nil, fmt.Errorf("reading the node's address: %w", err)
	}
	f := &Front{addr: listen, changed: make(chan struct{}), rewrite: rewrite}
	f.mode.Store(rpcServing)
	f.proxy = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	return f, f.open()
}

// open listens; the first call fixes the port for ever.
func (f *Front) open() error {
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return fmt.Errorf("opening the clients' port: %w", err)
	}
	f.addr = listener.Addr().String()
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second}
	go func(s *http.Server) { _ = s.Serve(listener) }(f.server)
	return nil
}

// ServeHTTP proxies, or fails as set.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Requests.Add(1)
	if !f.await(r.Context()) {
		return
	}
	if f.mode.Load() == rpcError {
		http.Error(w, "the node is out of order on purpose", http.StatusServiceUnavailable)
		return
	}
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the request could not be read", http.StatusBadRequest)
		return
	}
	f.busy.RLock()
	defer f.busy.RUnlock()
	if f.rewrite != nil {
		if request, err = f.rewrite(r.Context(), request); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(request)), int64(len(request))
	f.proxy.ServeHTTP(w, r)
}

// Addr is where it listens, for ever.
func (f *Front) Addr() string { return f.addr }

// Mode is how it is out of order; "" while it serves.
func (f *Front) Mode() string { return f.mode.Load().(string) }

// Alone runs an operation while no request is at the node.
func (f *Front) Alone(operation func()) {
	f.busy.Lock()
	defer f.busy.Unlock()
	operation()
}

// await blocks while the door hangs; false means that the client has gone.
func (f *Front) await(ctx context.Context) bool {
	for {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		if f.mode.Load() != rpcHang {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// Set changes the mode. Leaving refuse opens the same port again.
func (f *Front) Set(mode string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if mode != rpcServing && mode != rpcRefuse && mode != rpcError && mode != rpcHang {
		return Refusal("mode must be refuse, error or hang")
	}
	before := f.mode.Swap(mode)
	close(f.changed)
	f.changed = make(chan struct{})
	switch {
	case mode == rpcRefuse && before != rpcRefuse:
		return f.server.Close()
	case mode != rpcRefuse && before == rpcRefuse:
		return f.open()
	}
	return nil
}

// Close ends it.
func (f *Front) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.server.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("closing the clients' port: %w", err)
	}
	return nil
}
