package scanner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Leases shares jobs out among replicas by time-limited leases on the database's clock.
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

// Timing of leases. A replica that cannot renew stops its jobs before another may start them; should it be paused through
// all of that, the epoch on the cursor refuses what it writes when it wakes up.
const (
	leaseTTL    = 6 * time.Second
	renewEvery  = 1500 * time.Millisecond
	renewBound  = 1500 * time.Millisecond
	staleAfter  = 4500 * time.Millisecond
	releaseTime = 2 * time.Second
)

// Desk runs the jobs whose leases this replica holds.
type Desk struct {
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

// NewDesk makes a desk. The owner names this process and no other.
func NewDesk(leases Leases, owner string, jobs []Job, log *slog.Logger, metrics *Metrics) *Desk {
	d := &Desk{leases: leases, owner: owner, jobs: map[string]Job{}, log: log, metrics: metrics, running: map[string]*running{}}
	for _, j := range jobs {
		name := "scan " + j.Chain.String()
		d.jobs[name], d.names = j, append(d.names, name)
	}
	return d
}

// Run keeps the leases and runs their jobs until ctx ends; then it stops every job and gives the leases up.
func (d *Desk) Run(ctx context.Context) error {
	if len(d.names) == 0 {
		<-ctx.Done()
		return nil
	}
	renewed := time.Now()
	for {
		asked := time.Now()
		try, cancel := context.WithTimeout(ctx, renewBound)
		held, err := d.leases.Acquire(try, d.owner, d.names, leaseTTL)
		cancel()
		switch {
		case err == nil:
			renewed = asked
			d.match(ctx, held)
		case ctx.Err() == nil:
			d.log.WarnContext(ctx, "leases not renewed", "err", err)
			if time.Since(renewed) > staleAfter {
				d.match(ctx, nil)
			}
		}
		if !pause(ctx, renewEvery, nil) {
			break
		}
	}
	d.match(context.WithoutCancel(ctx), nil)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := d.leases.Release(last, d.owner); err != nil {
		d.log.WarnContext(ctx, "leases not released, left to expire", "err", err)
	}
	return nil
}

// match stops jobs whose lease is gone or changed and starts those whose lease is new.
func (d *Desk) match(ctx context.Context, held map[string]int64) {
	var ending sync.WaitGroup
	for name, r := range d.running {
		epoch, ok := held[name]
		if ok && epoch == r.epoch && !r.ended() {
			continue
		}
		r.stop()
		ending.Go(func() { <-r.done })
		d.metrics.leave(d.jobs[name].Chain)
		delete(d.running, name)
	}
	ending.Wait()
	for name, epoch := range held {
		if d.running[name] == nil {
			d.start(ctx, name, epoch)
		}
	}
}

func (d *Desk) start(ctx context.Context, name string, epoch int64) {
	ctx, stop := context.WithCancel(ctx)
	r := &running{epoch: epoch, stop: stop, done: make(chan struct{})}
	d.running[name] = r
	job := d.jobs[name]
	go func() {
		defer close(r.done)
		defer stop()
		defer func() {
			if p := recover(); p != nil {
				d.log.ErrorContext(ctx, "scan panicked", "chain", job.Chain.String(), "panic", p)
			}
		}()
		if err := job.Run(ctx, epoch); err != nil && ctx.Err() == nil && !errors.Is(err, ErrFenced) {
			d.log.ErrorContext(ctx, "scan ended", "chain", job.Chain.String(), "err", err)
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
