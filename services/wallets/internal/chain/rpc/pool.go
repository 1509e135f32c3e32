// Package rpc is the common part of the drivers of real chains: a list of endpoints that are checked before use, judged
// by their answers and left when they fail, lie or lag; and a JSON reader that trusts no answer.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/services/wallets/internal/chain"
)

// Config is the endpoints of a chain and the proof that they serve it.
type Config struct {
	Network   string
	URLs      []string          // in order of preference; http or https
	Timeout   time.Duration     // of one call
	AtOnce    int               // calls in flight at one endpoint; 0 for the default
	PerSecond int               // calls begun in a second at one endpoint; 0 for no limit
	Lag       int64             // blocks by which an endpoint may trail the best one before it is left
	Headers   map[string]string // sent with every call: some providers expect their key there
	// Verify proves, before first use and after every failure, that an endpoint serves the configured chain.
	Verify func(ctx context.Context, e *Endpoint) error
	// Height reads an endpoint's newest block, to compare endpoints with each other.
	Height func(ctx context.Context, e *Endpoint) (int64, error)
}

const (
	defaultAtOnce = 16
	judgeEvery    = 10 * time.Second // how often endpoints are compared with each other
	judgeTime     = 3 * time.Second  // longest time of a comparison
)

// Pool reads one chain from a working endpoint.
type Pool struct {
	cfg       Config
	endpoints []*Endpoint
	log       *slog.Logger
	metrics   *Metrics
	current   atomic.Int64

	judging  sync.Mutex
	judgedAt time.Time
}

// Metrics shows the answers and the state of endpoints.
type Metrics struct {
	answers *prometheus.CounterVec
	healthy *prometheus.GaugeVec
	heads   *prometheus.GaugeVec
	states  states
}

// NewMetrics registers the metrics of all endpoints of a process.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wallets_rpc_answers_total",
			Help: "Reads from RPC endpoints by outcome: ok, failed (no answer, an error), garbage (an answer that cannot be believed), empty (logs left out), contradicted (another endpoint says otherwise), lagging.",
		}, []string{"network", "endpoint", "outcome"}),
		healthy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wallets_rpc_endpoint_healthy", Help: "1 if the last read from the endpoint could be believed, else 0.",
		}, []string{"network", "endpoint"}),
		heads: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wallets_rpc_endpoint_head_blocks", Help: "Newest block of the endpoint when it was last asked.",
		}, []string{"network", "endpoint"}),
	}
	registry.MustRegister(m.answers, m.healthy, m.heads)
	return m
}

// New makes a pool. Endpoints are checked before their first use.
func New(cfg Config, log *slog.Logger, metrics *Metrics) (*Pool, error) {
	endpoints, err := newEndpoints(cfg)
	if err != nil {
		return nil, err
	}
	return &Pool{cfg: cfg, endpoints: endpoints, log: log.With("network", cfg.Network), metrics: metrics}, nil
}

// ErrMoved means that the chain changed between two calls: no endpoint is at fault, and a retry cures it.
var ErrMoved = errors.New("the chain moved while it was read")

// Read runs f on a working endpoint: the last one that answered, and after a failure the others in turn. It stays with
// the one that answered, so that the chain is not read from two nodes alternately.
func (p *Pool) Read(ctx context.Context, f func(e *Endpoint) error) error {
	start := p.current.Load()
	problems := []error{}
	for i := range int64(len(p.endpoints)) {
		at := (start + i) % int64(len(p.endpoints))
		e := p.endpoints[at]
		if e.resting(time.Now()) {
			continue
		}
		err := p.verify(ctx, e)
		if err == nil {
			err = f(e)
		}
		switch {
		case err == nil, errors.Is(err, chain.ErrNoBlock):
			p.ok(e)
			if at != start && p.current.CompareAndSwap(start, at) {
				p.log.WarnContext(ctx, "RPC endpoint changed", "endpoint", e.Name)
			}
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrMoved):
			return err
		}
		p.Failed(ctx, e, err)
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		return errors.New("every RPC endpoint rests after its failures")
	}
	return errors.Join(problems...)
}

// All runs f on every endpoint, and fails unless it succeeds on each of them.
func (p *Pool) All(ctx context.Context, f func(e *Endpoint) error) error {
	for _, e := range p.endpoints {
		if e.resting(time.Now()) {
			return fmt.Errorf("RPC endpoint %s rests after its failures", e.Name)
		}
		err := p.verify(ctx, e)
		if err == nil {
			err = f(e)
		}
		if err != nil {
			return err
		}
		p.ok(e)
	}
	return nil
}

// Unanimous asks every endpoint about something, and fails unless all of them give the same answer.
func Unanimous[T interface{ Same(as T) bool }](ctx context.Context, p *Pool, about string, ask func(e *Endpoint) (T, error)) (answer T, err error) {
	answered := false
	err = p.All(ctx, func(e *Endpoint) error {
		one, err := ask(e)
		if err == nil && answered && !answer.Same(one) {
			err = errDiffer
		}
		if err != nil {
			return fmt.Errorf("%s at endpoint %s: %w", about, e.Name, err)
		}
		answer, answered = one, true
		return nil
	})
	return answer, err
}

var errDiffer = errors.New("the endpoints disagree")

func (p *Pool) verify(ctx context.Context, e *Endpoint) error {
	if e.isVerified() {
		return nil
	}
	if err := p.cfg.Verify(ctx, e); err != nil {
		return err
	}
	e.setVerified()
	return nil
}

func (p *Pool) ok(e *Endpoint) {
	e.succeeded()
	p.metrics.read(p.cfg.Network, e, "ok")
}

// Failed marks an endpoint that failed, or gave an impossible answer, outside of Read.
func (p *Pool) Failed(ctx context.Context, e *Endpoint, err error) {
	outcome := "garbage"
	var node *NodeError
	var status *statusError
	var none silent
	if errors.As(err, &node) || errors.As(err, &status) || errors.As(err, &none) {
		outcome = "failed"
	}
	p.metrics.read(p.cfg.Network, e, outcome)
	if e.failed(err, time.Now()) {
		p.log.WarnContext(ctx, "RPC endpoint marked bad", "endpoint", e.Name, "outcome", outcome, "err", err)
	}
}

// Count counts an outcome that is not a failure.
func (p *Pool) Count(e *Endpoint, outcome string) {
	p.metrics.answers.WithLabelValues(p.cfg.Network, e.Name, outcome).Inc()
}

// Other returns another endpoint that is not resting and is verified, for a second answer; nil if there is none.
func (p *Pool) Other(ctx context.Context, than *Endpoint) *Endpoint {
	for _, e := range p.endpoints {
		if e != than && !e.resting(time.Now()) && p.verify(ctx, e) == nil {
			return e
		}
	}
	return nil
}

// OtherHost returns an endpoint of another host that is not resting and is verified; nil if there is none at present.
// alone means that every endpoint of the pool is on one host.
func (p *Pool) OtherHost(ctx context.Context, than *Endpoint) (other *Endpoint, alone bool) {
	alone = true
	for _, e := range p.endpoints {
		if e.host == than.host {
			continue
		}
		alone = false
		if !e.resting(time.Now()) && p.verify(ctx, e) == nil {
			return e, false
		}
	}
	return nil, alone
}

// Agreed reads the same twice: from an endpoint that works and, where the endpoints are on several hosts, from one of
// another host. Two answers that differ are an error. It reports false when the first endpoint shows nothing.
func Agreed[T interface{ Same(as T) bool }](ctx context.Context, p *Pool, read func(e *Endpoint) (T, bool, error)) (out T, found bool, err error) {
	var first *Endpoint
	err = p.Read(ctx, func(e *Endpoint) (err error) {
		first = e
		out, found, err = read(e)
		return err
	})
	if err != nil || !found {
		return out, false, err
	}
	other, alone := p.OtherHost(ctx, first)
	switch {
	case alone:
		return out, true, nil
	case other == nil:
		return out, false, fmt.Errorf("no second host can confirm the answer of endpoint %s", first.Name)
	}
	second, known, err := read(other)
	if err != nil {
		if ctx.Err() == nil {
			p.Failed(ctx, other, err)
		}
		return out, false, fmt.Errorf("asking a second host: %w", err)
	}
	if !known || !second.Same(out) {
		return out, false, fmt.Errorf("endpoints %s and %s disagree", first.Name, other.Name)
	}
	return out, true, nil
}

// Judge compares the endpoint in use with the others at intervals, and leaves it when its head trails theirs: a node
// that does not advance answers everything and is wrong. height is its head.
func (p *Pool) Judge(ctx context.Context, height int64) {
	at := p.current.Load()
	p.metrics.head(p.cfg.Network, p.endpoints[at], height)
	if len(p.endpoints) < 2 || !p.judgeDue() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	heights := make([]int64, len(p.endpoints))
	var asked sync.WaitGroup
	for i, e := range p.endpoints {
		if int64(i) == at || e.resting(time.Now()) {
			continue
		}
		asked.Go(func() {
			err := p.verify(ctx, e)
			if err == nil {
				heights[i], err = p.cfg.Height(ctx, e)
			}
			if err != nil {
				p.Failed(ctx, e, err)
				return
			}
			p.ok(e)
			p.metrics.head(p.cfg.Network, e, heights[i])
		})
	}
	asked.Wait()
	best := at
	for i, h := range heights {
		if h > height+p.cfg.Lag && h > heights[best] {
			best = int64(i)
		}
	}
	if best != at && p.current.CompareAndSwap(at, best) {
		p.Count(p.endpoints[at], "lagging")
		p.log.WarnContext(ctx, "RPC endpoint changed: it trails another", "endpoint", p.endpoints[at].Name, "head", height,
			"other", p.endpoints[best].Name, "other_head", heights[best])
	}
}

func (p *Pool) judgeDue() bool {
	p.judging.Lock()
	defer p.judging.Unlock()
	if time.Since(p.judgedAt) < judgeEvery {
		return false
	}
	p.judgedAt = time.Now()
	return true
}
