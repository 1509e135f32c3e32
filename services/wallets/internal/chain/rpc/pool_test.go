package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"causeway.internal/services/wallets/internal/chain"
)

// node answers every call with its height, or with the test's answer.
type node struct {
	*httptest.Server
	mu     sync.Mutex
	height int64
	asked  map[string]int
	raw    func(w http.ResponseWriter)
	busy   atomic.Int64
	most   atomic.Int64
}

func newNode(t *testing.T, height int64) *node {
	n := &node{height: height, asked: map[string]int{}}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := n.busy.Add(1)
		defer n.busy.Add(-1)
		for most := n.most.Load(); now > most && !n.most.CompareAndSwap(most, now); most = n.most.Load() {
		}
		var call struct{ Method string }
		_ = json.NewDecoder(r.Body).Decode(&call)
		n.mu.Lock()
		n.asked[call.Method]++
		raw, height := n.raw, n.height
		n.mu.Unlock()
		if raw != nil {
			raw(w)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%d}`, height)
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *node) set(raw func(w http.ResponseWriter)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.raw = raw
}

func (n *node) count(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[method]
}

func ask(ctx context.Context, e *Endpoint) (int64, error) {
	result, err := e.Call(ctx, "height")
	if err != nil {
		return 0, err
	}
	return NewReader(result).Int()
}

func newPool(t *testing.T, log *bytes.Buffer, nodes ...*node) *Pool {
	t.Helper()
	cfg := Config{Network: "test", Timeout: 5 * time.Second, Lag: 5, Height: ask, Verify: func(ctx context.Context, e *Endpoint) error {
		_, err := e.Call(ctx, "verify")
		return err
	}}
	for _, n := range nodes {
		cfg.URLs = append(cfg.URLs, n.URL+"/secret-key")
	}
	p, err := New(cfg, slog.New(slog.NewTextHandler(log, nil)), NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Pool) height(t *testing.T) (int64, error) {
	var h int64
	err := p.Read(t.Context(), func(e *Endpoint) (err error) {
		h, err = ask(t.Context(), e)
		return err
	})
	return h, err
}

func (p *Pool) outcomes(outcome string) int {
	sum := 0
	for _, e := range p.endpoints {
		sum += int(testutil.ToFloat64(p.metrics.answers.WithLabelValues("test", e.Name, outcome)))
	}
	return sum
}

// The pool leaves a failing endpoint for the next one, lets it rest, and verifies it before it is used again.
func TestRead_failOver(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	var log bytes.Buffer
	p := newPool(t, &log, a, b)
	want := func(height int64) {
		t.Helper()
		if h, err := p.height(t); err != nil || h != height {
			t.Fatalf("%d, %v; want %d", h, err, height)
		}
	}
	want(1)
	if b.count("verify") != 0 {
		t.Error("the first endpoint was not preferred")
	}
	a.set(func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	want(2)
	want(2)
	if a.count("height") != 2 || !strings.Contains(log.String(), "RPC endpoint marked bad") || strings.Contains(log.String(), "secret-key") {
		t.Errorf("asked %d times; log: %s", a.count("height"), log.String())
	}
	a.set(nil)
	b.Close()
	if _, err := p.height(t); err == nil {
		t.Error("an endpoint that asked for rest was used")
	}
	for _, e := range p.endpoints {
		e.mu.Lock()
		e.until = time.Time{}
		e.mu.Unlock()
	}
	checked := a.count("verify")
	want(1)
	if a.count("verify") != checked+1 {
		t.Error("an endpoint was used after a failure without proving its chain again")
	}
	if p.outcomes("failed") < 2 || p.outcomes("garbage") != 0 {
		t.Errorf("%v failed, %v garbage", p.outcomes("failed"), p.outcomes("garbage"))
	}
}

// A malformed answer is counted separately from an unavailable endpoint.
func TestRead_garbage(t *testing.T) {
	for name, body := range map[string]string{
		"HTML page":     "<!DOCTYPE html><html>Just a moment…</html>",
		"empty":         "",
		"cut":           `{"jsonrpc":"2.0","id":1,"result":`,
		"no result":     `{"jsonrpc":"2.0","id":1}`,
		"trailing data": `{"jsonrpc":"2.0","id":1,"result":1} {}`,
		"two answers":   `[{"result":1}]`,
		"wrong type":    `{"result":"1"}`,
		"huge number":   `{"result":1e400}`,
		"negative":      `{"result":-1}`,
		"fraction":      `{"result":1.5}`,
		"nested":        strings.Repeat("[", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 1)
			var log bytes.Buffer
			p := newPool(t, &log, n)
			if _, err := p.height(t); err != nil {
				t.Fatal(err)
			}
			n.set(func(w http.ResponseWriter) { fmt.Fprint(w, body) })
			if h, err := p.height(t); err == nil || p.outcomes("garbage") != 1 ||
				testutil.ToFloat64(p.metrics.healthy.WithLabelValues("test", p.endpoints[0].Name)) != 0 {
				t.Errorf("%d, %v, counted %v", h, err, p.outcomes("garbage"))
			}
			n.set(nil)
			if h, err := p.height(t); err != nil || h != 1 {
				t.Errorf("%d, %v after it mended", h, err)
			}
		})
	}
}

// The pool leaves an endpoint that answers but does not advance for one that does, but not for one that is merely a
// little ahead.
func TestJudge(t *testing.T) {
	for other, left := range map[int64]bool{100: false, 105: false, 106: true, 1 << 40: true} {
		a, b := newNode(t, 100), newNode(t, other)
		var log bytes.Buffer
		p := newPool(t, &log, a, b)
		if _, err := p.height(t); err != nil {
			t.Fatal(err)
		}
		p.Judge(t.Context(), 100)
		want := int64(100)
		if left {
			want = other
		}
		if h, err := p.height(t); err != nil || h != want || (p.outcomes("lagging") == 1) != left {
			t.Errorf("other at %d: read from %d, %v, lagging %v", other, h, err, p.outcomes("lagging"))
		}
	}
}

// The health of hosts is that of the last reads, with no access key.
func TestStates(t *testing.T) {
	a := newNode(t, 100)
	var log bytes.Buffer
	p := newPool(t, &log, a)
	if _, err := p.height(t); err != nil {
		t.Fatal(err)
	}
	p.Judge(t.Context(), 100)
	got := p.metrics.States()
	if len(got) != 1 || !got[0].Healthy || got[0].Outcome != "ok" || got[0].Head != 100 || got[0].AnsweredAt.IsZero() || got[0].Host != "127.0.0.1" {
		t.Errorf("read the health of a host that answers: got %+v", got)
	}
	a.set(func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
	if _, err := p.height(t); err == nil {
		t.Fatal("read from a host that fails: got no error")
	}
	if got = p.metrics.States(); got[0].Healthy || got[0].Outcome != "failed" || got[0].FailedAt.IsZero() || got[0].Head != 100 {
		t.Errorf("read the health of a host that fails: got %+v", got)
	}
}

func TestRead_noBlockIsAnAnswer(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	var log bytes.Buffer
	p := newPool(t, &log, a, b)
	if err := p.Read(t.Context(), func(*Endpoint) error { return chain.ErrNoBlock }); !errors.Is(err, chain.ErrNoBlock) || b.count("verify") != 0 {
		t.Errorf("read a block that is not there: got %v, want ErrNoBlock of the first endpoint", err)
	}
	if err := p.Read(t.Context(), func(*Endpoint) error { return ErrMoved }); !errors.Is(err, ErrMoved) || p.outcomes("failed")+p.outcomes("garbage") != 0 {
		t.Errorf("read a block that moved: got %v, want ErrMoved and no failure counted", err)
	}
}

// No more calls than allowed are in flight, and none begins before its turn.
func TestEndpoint_bounds(t *testing.T) {
	n := newNode(t, 1)
	p, err := New(Config{
		Network: "test", URLs: []string{n.URL}, Timeout: 20 * time.Second, AtOnce: 3, PerSecond: 200, Height: ask,
		Verify: func(context.Context, *Endpoint) error { return nil },
	}, slog.Default(), NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var all sync.WaitGroup
	for range 41 {
		all.Go(func() {
			if _, err := p.height(t); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if spent := time.Since(began); spent < 190*time.Millisecond || n.most.Load() > 3 {
		t.Errorf("41 calls in %s, %d at once", spent, n.most.Load())
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"\"unknown block\""}}`))
	f.Add([]byte(`{"result":"\\\"","a":{"b":[1,2,"]"]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if result, err := Unwrap(b); err == nil && result == nil {
			t.Error("an answer without a result was accepted")
		}
		if n, err := NewReader(b).Int(); err == nil && n < 0 {
			t.Errorf("read a number: got %d, want none below 0", n)
		}
	})
}
