package app

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

const (
	recordQueue   = 1024
	recordWriters = 2
	recordTimeout = 10 * time.Second
	recordRetry   = 100 * time.Millisecond
	recordBackoff = 2 * time.Second
)

// Recorder judges outcomes and writes them in batches.
type Recorder struct {
	ledger    Ledger
	schedules map[string]delivery.Schedule // by mode
	observer  Observer
	breaker   Breaker
	jitter    func(n int64) int64
	log       *slog.Logger
	queue     chan Result
	first     func()         // told after first attempts were recorded
	targets   func([]Target) // told of breakers that are open or were closed

	turn chan time.Duration // holds how long the next batch waits; whoever takes it collects

	mu      sync.Mutex
	pending map[string]bool // deliveries whose result is not written yet
	tally   tally
}

// NewRecorder makes a recorder; Run must run for Add not to block for ever. jitter returns a number in [0, n).
func NewRecorder(ledger Ledger, schedules map[string]delivery.Schedule, breaker Breaker, observer Observer, jitter func(n int64) int64,
	now func() time.Time, log *slog.Logger,
) *Recorder {
	turn := make(chan time.Duration, 1)
	turn <- batchWait
	return &Recorder{
		turn:   turn,
		ledger: ledger, schedules: schedules, breaker: breaker, observer: observer, jitter: jitter, log: log, targets: func([]Target) {},
		queue: make(chan Result, recordQueue), first: func() {}, pending: map[string]bool{},
		tally: tally{sample: breaker.Sample, now: now, targets: map[string]*recent{}},
	}
}

// OnFirst sets what is called, by either writer, after a commit that held first attempts; set it before Run.
func (r *Recorder) OnFirst(f func()) { r.first = f }

// OnTargets sets what is called, by either writer, with the targets that Ledger.Record names; set it before Run.
func (r *Recorder) OnTargets(f func([]Target)) { r.targets = f }

// Add takes the outcome of an attempt. It blocks while the queue is full.
func (r *Recorder) Add(d delivery.Delivery, o delivery.Outcome) {
	res := Result{Delivery: d, Number: d.Attempts + 1, Outcome: o}
	res.Verdict = r.schedules[d.Mode].Judge(d, o, r.jitter)
	_, _ = rand.Read(res.AttemptID[:])
	r.observer.Attempted(res)
	res.Trips = r.count(d.Target, res.Verdict.State != delivery.Delivered)
	r.enqueue(res)
}

// Postpone makes a delivery due again after a delay, with no attempt counted. It blocks while the queue is full.
func (r *Recorder) Postpone(d delivery.Delivery, delay time.Duration) {
	r.enqueue(Result{
		Delivery: d, Number: d.Attempts + 1, Uncounted: true,
		Verdict: delivery.Verdict{State: delivery.Due, Delay: delay},
	})
}

func (r *Recorder) enqueue(res Result) {
	r.mu.Lock()
	r.pending[res.Delivery.ID] = true
	r.mu.Unlock()
	r.queue <- res
}

// count reports whether an attempt makes it too many failures of late for its target.
func (r *Recorder) count(target string, failed bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally.count(target, failed)
}

// Holds reports whether the result of a delivery is yet to be written.
func (r *Recorder) Holds(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending[id]
}

func (r *Recorder) written(batch []Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, res := range batch {
		delete(r.pending, res.Delivery.ID)
	}
}

// Close ends Run once everything added before has been written.
func (r *Recorder) Close() { close(r.queue) }

// Run writes until Close was called and the queue is empty. When ctx ends before that, what cannot be written is given
// up: the leases end with the process and the deliveries are attempted again.
func (r *Recorder) Run(ctx context.Context) error {
	done := make(chan struct{}, recordWriters)
	for range recordWriters {
		go func() {
			defer func() { done <- struct{}{} }()
			r.write(ctx)
		}()
	}
	for range recordWriters {
		<-done
	}
	return nil
}

func (r *Recorder) write(ctx context.Context) {
	for {
		batch := r.batch()
		if batch == nil {
			return
		}
		r.persist(ctx, batch)
	}
}

// batch collects for one writer at a time, while the other writes, so that their batches are no halves.
func (r *Recorder) batch() []Result {
	batch := collect(context.Background(), r.queue, <-r.turn, func(Result) int { return 1 }) // ends by Close
	if len(batch) >= busyBatch {
		r.turn <- busyWait
	} else {
		r.turn <- batchWait
	}
	return batch
}

func (r *Recorder) persist(ctx context.Context, batch []Result) {
	for wait := recordRetry; ; wait = min(2*wait, recordBackoff) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		targets, err := r.ledger.Record(bounded, batch, r.breaker)
		cancel()
		if err == nil {
			r.targets(targets)
			break
		}
		r.log.WarnContext(ctx, "recording attempts", "attempts", len(batch), "err", err)
		if !pause(ctx, wait) {
			return
		}
	}
	r.written(batch)
	r.observer.Recorded(len(batch))
	for _, res := range batch {
		if res.Number == 1 && !res.Uncounted {
			r.first()
			return
		}
	}
}
