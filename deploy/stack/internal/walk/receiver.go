package walk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// hook is one callback as it arrived.
type hook struct {
	id, kind string
	err      error // why it cannot be trusted
}

// receiver is the merchant's end of the callbacks.
type receiver struct {
	url     string
	secret  string
	server  *http.Server
	arrived chan struct{}

	mu    sync.Mutex
	seen  map[string]bool
	hooks []hook
}

func listen(secret string) (*receiver, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for callbacks: %w", err)
	}
	r := &receiver{
		url: "http://" + listener.Addr().String() + "/callbacks", secret: secret,
		arrived: make(chan struct{}, 1), seen: map[string]bool{},
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

func (r *receiver) close() {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	_ = r.server.Shutdown(ctx)
}

// ServeHTTP verifies a callback and answers 204; a repeated one is answered and not shown again.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	var event struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	err = verify(r.secret, request.Header, body, time.Now())
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	if err == nil && event.ID != request.Header.Get("webhook-id") {
		err = fmt.Errorf("the body's id %s differs from the header's", event.ID)
	}
	r.mu.Lock()
	id := request.Header.Get("webhook-id")
	if !r.seen[id] {
		r.seen[id] = true
		r.hooks = append(r.hooks, hook{id: id, kind: event.Type, err: err})
	}
	r.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// take returns what has arrived since it was last asked.
func (r *receiver) take() []hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	hooks := r.hooks
	r.hooks = nil
	return hooks
}
