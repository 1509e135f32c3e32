package evm

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

// front is the JSON-RPC port that clients use: a proxy to the node that can be broken on purpose. Its address stays the
// same through every failure.
type front struct {
	mu       sync.Mutex
	server   *http.Server
	addr     string
	proxy    *httputil.ReverseProxy
	mode     atomic.Value  // string
	changed  chan struct{} // closed at the next change of mode, guarded by mu
	busy     sync.RWMutex  // held while the chain is being rearranged
	finality *finality
	requests atomic.Int64
}

func newFront(listen, inner string, final *finality) (*front, error) {
	target, err := url.Parse(inner)
	if err != nil {
		return nil, fmt.Errorf("reading the node's address: %w", err)
	}
	f := &front{addr: listen, changed: make(chan struct{}), finality: final}
	f.mode.Store(rpcServing)
	f.proxy = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	return f, f.open()
}

// open listens; the first call fixes the port for ever.
func (f *front) open() error {
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return fmt.Errorf("opening the JSON-RPC port: %w", err)
	}
	f.addr = listener.Addr().String()
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second}
	go func(s *http.Server) { _ = s.Serve(listener) }(f.server)
	return nil
}

// ServeHTTP proxies, or fails as set.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests.Add(1)
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
	if request, err = f.finality.rewrite(r.Context(), request); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(request)), int64(len(request))
	f.proxy.ServeHTTP(w, r)
}

// await blocks while the door hangs; false means that the client has gone.
func (f *front) await(ctx context.Context) bool {
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

// set changes the mode. Leaving refuse opens the same port again.
func (f *front) set(mode string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if mode != rpcServing && mode != rpcRefuse && mode != rpcError && mode != rpcHang {
		return refusal("mode must be refuse, error or hang")
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

func (f *front) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.server.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("closing the JSON-RPC port: %w", err)
	}
	return nil
}
