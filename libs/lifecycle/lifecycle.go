// Package lifecycle runs the servers and loops of one process and stops them in order: readiness fails, HTTP servers
// finish their requests, loops end one after another in the order they were added, the operations port closes last. It
// knows nothing of their work.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/tick"
)

// Ops is the name of the HTTP server that outlives the loops, so that probes and metrics answer during the drain.
const Ops = "ops"

// The bounds of every HTTP server. Write is longer than any handler's own deadline.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
)

// ErrStopping is what Ready returns once shutdown has begun.
var ErrStopping = errors.New("shutting down")

// Group is a set of servers and loops that start and stop together. Add everything before Run. It is a Prometheus
// collector of the runs, the failures and the last success of its periodic work.
type Group struct {
	log   *slog.Logger
	drain time.Duration

	servers []*server
	loops   []*loop

	stopping chan struct{}
	stopOnce sync.Once
	turns    tick.Turns
	failed   *prometheus.CounterVec
	ran      *prometheus.CounterVec
	well     *prometheus.GaugeVec
}

type server struct {
	name     string
	listener net.Listener
	http     *http.Server
}

type loop struct {
	name string
	run  func(context.Context) error
	stop context.CancelFunc
	done chan struct{}
}

// New makes an empty group. The whole stop may take drain; anything that has not ended by then is abandoned.
func New(log *slog.Logger, drain time.Duration) *Group {
	return &Group{
		log: log, drain: drain, stopping: make(chan struct{}), turns: tick.NewTurns(atOnce),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_failures_total", Help: "Runs of periodic work that ended in an error.",
		}, []string{"work"}),
		ran: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_runs_total", Help: "Runs of periodic work.",
		}, []string{"work"}),
		well: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lifecycle_last_success_timestamp_seconds",
			Help: "When a run of periodic work last ended well; before the first such run, when the work began.",
		}, []string{"work"}),
	}
}

// Child makes an empty group whose periodic work is counted with g's and takes turns with it, for work that runs only
// under a condition, such as leadership.
func (g *Group) Child(drain time.Duration) *Group {
	child := New(g.log, drain)
	child.turns, child.failed, child.ran, child.well = g.turns, g.failed, g.ran, g.well
	return child
}

// Describe implements prometheus.Collector.
func (g *Group) Describe(ch chan<- *prometheus.Desc) {
	g.failed.Describe(ch)
	g.ran.Describe(ch)
	g.well.Describe(ch)
}

// Collect implements prometheus.Collector.
func (g *Group) Collect(ch chan<- prometheus.Metric) {
	g.failed.Collect(ch)
	g.ran.Collect(ch)
	g.well.Collect(ch)
}

// HTTP adds a server. It opens the listener now, so that a taken port is an error before anything has started; requests
// are answered once the group runs. The server named Ops closes last. Each of around wraps the listener, to bound the
// connections that it accepts.
func (g *Group) HTTP(name, addr string, h http.Handler, around ...func(net.Listener) net.Listener) error {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return fmt.Errorf("listening for %s: %w", name, err)
	}
	for _, f := range around {
		listener = f(listener)
	}
	g.servers = append(g.servers, &server{name: name, listener: listener, http: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelWarn),
	}})
	g.log.Info("listening", "server", name, "addr", listener.Addr().String())
	return nil
}

// Addr returns the address of a server, which has the port when 0 was asked for.
func (g *Group) Addr(name string) string {
	for _, s := range g.servers {
		if s.name == name {
			return s.listener.Addr().String()
		}
	}
	return ""
}

// Go adds a loop. It must run until its context ends. If it returns earlier or panics, the whole group stops with an
// error, because a process with a dead loop looks alive and does half its work.
func (g *Group) Go(name string, f func(context.Context) error) {
	g.loops = append(g.loops, &loop{name: name, run: f, done: make(chan struct{})})
}

// atOnce is how much periodic work of a process runs at a time, unless it takes long (tick.Turns).
const atOnce = 2

// Every adds periodic work: f runs at once and then at every interval of package tick, never twice at a time. Its
// errors and panics are logged and counted and do not stop the group. The alert PeriodicWorkLate fires an hour after
// the last success, so an interval must be well below an hour.
func (g *Group) Every(name string, interval time.Duration, f func(context.Context) error) {
	g.failed.WithLabelValues(name).Add(0)
	g.Go(name, func(ctx context.Context) error {
		timer := time.NewTimer(tick.Until(interval)) // a run that takes longer is followed by another one at once
		defer timer.Stop()
		return g.repeat(ctx, name, f, func() bool {
			select {
			case <-ctx.Done():
			case <-timer.C:
				timer.Reset(tick.Until(interval))
			}
			return ctx.Err() == nil
		})
	})
}

// Paced is Every at a pace.
func (g *Group) Paced(name string, pace *Pace, f func(context.Context) error) {
	g.failed.WithLabelValues(name).Add(0)
	g.Go(name, func(ctx context.Context) error {
		return g.repeat(ctx, name, f, func() bool { return pace.Wait(ctx, false) })
	})
}

// repeat runs f until wait reports the end.
func (g *Group) repeat(ctx context.Context, name string, f func(context.Context) error, wait func() bool) error {
	well := func() { g.well.WithLabelValues(name).Set(float64(time.Now().Unix())) }
	well()
	for {
		g.ran.WithLabelValues(name).Inc()
		end := g.turns.Take()
		err := guarded(ctx, f)
		end()
		switch {
		case err == nil:
			well()
		case ctx.Err() == nil:
			g.failed.WithLabelValues(name).Inc()
			g.log.ErrorContext(ctx, "periodic work failed", "work", name, "err", err)
		}
		if !wait() {
			return nil
		}
	}
}

// guarded turns a panic into an error that carries the stack.
func guarded(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f(ctx)
}

// Ready is nil until shutdown begins; make it a readiness check.
func (g *Group) Ready() error {
	select {
	case <-g.stopping:
		return ErrStopping
	default:
		return nil
	}
}

// Run starts everything, waits until ctx ends or something fails, and stops in order. It returns nil after a requested
// stop in which everything ended in time.
func (g *Group) Run(ctx context.Context) error {
	failures := make(chan error, len(g.servers)+len(g.loops))
	for _, s := range g.servers {
		go g.serve(s, failures)
	}
	for _, l := range g.loops {
		// Loops must not see ctx end: they are stopped one by one, in order.
		loopCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
		l.stop = stop
		go g.loop(loopCtx, l, failures)
	}
	var cause error
	select {
	case <-ctx.Done():
		g.log.Info("stopping", "reason", "requested")
	case cause = <-failures:
		g.log.Error("stopping", "reason", cause)
	}
	return errors.Join(cause, g.stop(ctx))
}

func (g *Group) serve(s *server, failures chan<- error) {
	err := s.http.Serve(s.listener)
	if g.Ready() == nil {
		failures <- fmt.Errorf("serving %s: %w", s.name, err)
	}
}

func (g *Group) loop(ctx context.Context, l *loop, failures chan<- error) {
	defer close(l.done)
	err := guarded(ctx, l.run)
	if ctx.Err() != nil {
		if err != nil && !errors.Is(err, context.Canceled) {
			g.log.Warn("loop failed during shutdown", "loop", l.name, "err", err)
		}
		return
	}
	if err == nil {
		err = errors.New("ended by itself")
	}
	failures <- fmt.Errorf("%s: %w", l.name, err)
}

// stop ends everything in order within the drain.
func (g *Group) stop(ctx context.Context) error {
	g.stopOnce.Do(func() { close(g.stopping) })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.drain)
	defer cancel()
	problems := []error{g.shutdown(ctx, func(name string) bool { return name != Ops })}
	for _, l := range g.loops {
		l.stop()
		select {
		case <-l.done:
		case <-ctx.Done():
			problems = append(problems, fmt.Errorf("%s did not stop within %s", l.name, g.drain))
		}
	}
	problems = append(problems, g.shutdown(ctx, func(name string) bool { return name == Ops }))
	return errors.Join(problems...)
}

// shutdown ends the chosen servers in parallel; it cuts one that does not finish its requests in time.
func (g *Group) shutdown(ctx context.Context, chosen func(name string) bool) error {
	var (
		mu       sync.Mutex
		wg       sync.WaitGroup
		problems []error
	)
	for _, s := range g.servers {
		if !chosen(s.name) {
			continue
		}
		wg.Go(func() {
			err := s.http.Shutdown(ctx)
			if err == nil {
				return
			}
			_ = s.http.Close() // the time for its requests has passed
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, fmt.Errorf("%s did not finish its requests: %w", s.name, err))
		})
	}
	wg.Wait()
	return errors.Join(problems...)
}
