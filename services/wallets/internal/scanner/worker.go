package scanner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"causeway.internal/libs/tick"
)

// Leases distributes jobs among replicas by time-limited leases on the database's clock.
type Leases interface {
	// Acquire takes or renews the named leases and returns the epochs of those that the owner holds now.
	Acquire(ctx context.Context, owner string, names []string, ttl time.Duration) (map[string]int64, error)
	Release(ctx context.Context, owner string) error
}

// Job is the work of one chain, done by one replica at a time.
type Job struct {
	Chain
	Run func(ctx context.Context, epoch int64) error
}

// Timing of leases. A replica that cannot renew a lease stops its jobs before another replica may start them. If it is
// paused through all of that, the epoch on the cursor makes the store refuse its writes.
const (
	leaseTTL    = 6 * time.Second
	renewEvery  = 1500 * time.Millisecond
	renewBound  = 1500 * time.Millisecond
	staleAfter  = 4500 * time.Millisecond
	releaseTime = 2 * time.Second
)

// Worker runs the jobs whose leases this replica holds.
type Worker struct {
	leases  Leases
	owner   string
	jobs    map[string]Job
	names   []string
	log     *slog.Logger
	metrics *Metrics
	running map[string]*running
}

type running struct {
	epoch int64
	stop  context.CancelFunc
	done  chan struct{}
}

// NewWorker makes a worker. The owner identifies this process.
func NewWorker(leases Leases, owner string, jobs []Job, log *slog.Logger, metrics *Metrics) *Worker {
	w := &Worker{leases: leases, owner: owner, jobs: map[string]Job{}, log: log, metrics: metrics, running: map[string]*running{}}
	for _, j := range jobs {
		name := "scan " + j.Chain.String()
		w.jobs[name], w.names = j, append(w.names, name)
	}
	return w
}

// Run keeps the leases and runs their jobs until ctx ends; then it stops every job and releases the leases.
func (w *Worker) Run(ctx context.Context) error {
	if len(w.names) == 0 {
		<-ctx.Done()
		return nil
	}
	renewed := time.Now()
	for {
		asked := time.Now()
		try, cancel := context.WithTimeout(ctx, renewBound)
		held, err := w.leases.Acquire(try, w.owner, w.names, leaseTTL)
		cancel()
		switch {
		case err == nil:
			renewed = asked
			w.match(ctx, held)
		case ctx.Err() == nil:
			w.log.WarnContext(ctx, "leases not renewed", "err", err)
			if time.Since(renewed) > staleAfter {
				w.match(ctx, nil)
			}
		}
		if !pause(ctx, tick.Until(renewEvery), nil) {
			break
		}
	}
	w.match(context.WithoutCancel(ctx), nil)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := w.leases.Release(last, w.owner); err != nil {
		w.log.WarnContext(ctx, "leases not released, left to expire", "err", err)
	}
	return nil
}

// match stops jobs whose lease is lost or has a new epoch, and starts those whose lease is new.
func (w *Worker) match(ctx context.Context, held map[string]int64) {
	var ending sync.WaitGroup
	for name, r := range w.running {
		epoch, ok := held[name]
		if ok && epoch == r.epoch && !r.ended() {
			continue
		}
		r.stop()
		ending.Go(func() { <-r.done })
		w.metrics.leave(w.jobs[name].Chain)
		delete(w.running, name)
	}
	ending.Wait()
	for name, epoch := range held {
		if w.running[name] == nil {
			w.start(ctx, name, epoch)
		}
	}
}

func (w *Worker) start(ctx context.Context, name string, epoch int64) {
	ctx, stop := context.WithCancel(ctx)
	r := &running{epoch: epoch, stop: stop, done: make(chan struct{})}
	w.running[name] = r
	job := w.jobs[name]
	go func() {
		defer close(r.done)
		defer stop()
		defer func() {
			if p := recover(); p != nil {
				w.log.ErrorContext(ctx, "scan panicked", "chain", job.Chain.String(), "panic", p)
			}
		}()
		if err := job.Run(ctx, epoch); err != nil && ctx.Err() == nil && !errors.Is(err, ErrFenced) {
			w.log.ErrorContext(ctx, "scan ended", "chain", job.Chain.String(), "err", err)
		}
	}()
}

func (r *running) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
