package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"causeway.internal/libs/version"
)

// Check is one condition of readiness.
type Check struct {
	Name  string
	Ready func(context.Context) error
}

// readyBound is how long all checks together may take; probes commonly give up after a few seconds.
const readyBound = 2 * time.Second

// Ops serves GET /healthz, which answers while the process runs, GET /readyz, which answers 200 only while every check
// passes and otherwise names the failing ones, GET /metrics, and GET /debug/pprof/ for `go tool pprof`. It belongs on a
// port that the public cannot reach.
func (t *Telemetry) Ops(checks ...Check) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok", "service": t.Service, "version": version.Read().Version})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		results, ready := Examine(r.Context(), checks)
		status, word := http.StatusOK, "ready"
		if !ready {
			status, word = http.StatusServiceUnavailable, "not ready"
		}
		writeJSON(w, status, map[string]any{"status": word, "checks": results})
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.Registry, promhttp.HandlerOpts{Registry: t.Registry}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// Examine asks every check at once, within the time of a readiness request, and returns "ok" or the problem of each.
func Examine(ctx context.Context, checks []Check) (results map[string]string, ready bool) {
	ctx, cancel := context.WithTimeout(ctx, readyBound)
	defer cancel()
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	results, ready = make(map[string]string, len(checks)), true
	for _, check := range checks {
		wg.Go(func() {
			err := bounded(ctx, check.Ready)
			mu.Lock()
			defer mu.Unlock()
			results[check.Name] = "ok"
			if err != nil {
				results[check.Name], ready = err.Error(), false
			}
		})
	}
	wg.Wait()
	return results, ready
}

var errSlow = errors.New("no answer in time")

// bounded gives up on a check that ignores its context, so that a probe always gets an answer.
func bounded(ctx context.Context, ready func(context.Context) error) error {
	answer := make(chan error, 1)
	go func() { answer <- ready(ctx) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return errSlow
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the prober may be gone
}
