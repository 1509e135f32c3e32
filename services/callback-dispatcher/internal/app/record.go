package app

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"time"

	"causeway.internal/libs/tenant"
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
	ledger   Ledger
	rules    Rules
	observer Observer
	log      *slog.Logger
	follow   Follow

	turn chan time.Duration // holds how long the next batch waits; the writer that takes it collects

	mu      sync.Mutex
	tally   tally
	queue   []Result      // at most recordQueue
	writing [][]Result    // batches that are not written yet
	room    *sync.Cond    // the queue may have room again
	some    chan struct{} // capacity 1: the queue is not empty any more
	many    chan struct{} // capacity 1: it holds a whole batch
	closed  chan struct{}
}

// Rules say when a delivery is tried again, and when a target gets probes only.
type Rules struct {
	Schedules map[tenant.Mode]delivery.Schedule
	Breaker   Breaker
	Jitter    func(n int64) int64 // returns a number in [0, n)
}

// Follow is called after a commit, by any writer.
type Follow struct {
	First   func([]Line)   // the commit held first attempts in these lines
	Targets func([]Target) // breakers that are open or were closed
}

// newRecorder makes a recorder; Run must run for Add not to block for ever.
func newRecorder(ledger Ledger, rules Rules, observer Observer, follow Follow, now func() time.Time, log *slog.Logger) *Recorder {
	turn := make(chan time.Duration, 1)
	turn <- batchWait
	r := &Recorder{
		turn:   turn,
		ledger: ledger, rules: rules, observer: observer, log: log, follow: follow,
		tally: tally{sample: rules.Breaker.Sample, now: now, targets: map[string]*recent{}},
		some:  make(chan struct{}, 1), many: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	r.room = sync.NewCond(&r.mu)
	return r
}

// Add takes the outcome of an attempt. It blocks while the queue is full.
func (r *Recorder) Add(d delivery.Delivery, o delivery.Outcome) {
	res := Result{Delivery: d, Number: d.Attempts + 1, Outcome: o}
	res.Verdict = r.rules.Schedules[d.Mode].Judge(d, o, r.rules.Jitter)
	_, _ = rand.Read(res.AttemptID[:])
	r.observer.Attempted(res)
	r.mu.Lock()
	defer r.mu.Unlock()
	res.Trips = r.tally.count(d.Target, res.Verdict.State != delivery.Delivered)
	r.enqueue(res)
}

// Postpone makes a delivery due again after a delay, with no attempt counted. It blocks while the queue is full.
func (r *Recorder) Postpone(d delivery.Delivery, delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueue(Result{
		Delivery: d, Number: d.Attempts + 1, Uncounted: true,
		Verdict: delivery.Verdict{State: delivery.Due, Delay: delay},
	})
}

func (r *Recorder) enqueue(res Result) {
	for len(r.queue) == recordQueue {
		r.room.Wait()
	}
	r.queue = append(r.queue, res)
	switch len(r.queue) {
	case 1:
		kick(r.some)
	case batchMax:
		kick(r.many)
	}
}

// Strike takes the deliveries whose result is yet to be written from a set of ids.
func (r *Recorder) Strike(ids map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, batch := range append(slices.Clip(r.writing), r.queue) {
		for i := range batch {
			delete(ids, batch[i].Delivery.ID)
		}
	}
}

func (r *Recorder) written(batch []Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing = slices.DeleteFunc(r.writing, func(other []Result) bool { return &other[0] == &batch[0] })
}

// Close ends Run once everything added before has been written.
func (r *Recorder) Close() { close(r.closed) }

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

// batch collects for one writer at a time, while the other writes, so that their batches are no halves. It returns
// nil when Close was called and nothing is left.
func (r *Recorder) batch() []Result {
	wait := <-r.turn
	select {
	case <-r.some:
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-r.many:
		case <-timer.C:
		case <-r.closed:
		}
	case <-r.closed:
	}
	batch := r.take()
	if len(batch) >= busyBatch {
		r.turn <- busyWait
	} else {
		r.turn <- batchWait
	}
	return batch
}

func (r *Recorder) take() (batch []Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), batchMax)
	batch = append(batch, r.queue[:n]...) // nil when there is nothing
	if n > 0 {
		r.writing = append(r.writing, batch)
	}
	r.queue = slices.Delete(r.queue, 0, n)
	if len(r.queue) > 0 {
		kick(r.some)
	}
	if len(r.queue) >= batchMax {
		kick(r.many)
	} else {
		select { // that there were many is no longer so
		case <-r.many:
		default:
		}
	}
	r.room.Broadcast()
	return batch
}

func (r *Recorder) persist(ctx context.Context, batch []Result) {
	for wait := recordRetry; ; wait = min(2*wait, recordBackoff) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		targets, err := r.ledger.Record(bounded, batch, r.rules.Breaker)
		cancel()
		if err == nil {
			r.follow.Targets(targets)
			break
		}
		r.log.WarnContext(ctx, "attempts not recorded", "attempts", len(batch), "err", err)
		if !pause(ctx, wait) {
			return
		}
	}
	r.written(batch)
	r.observer.Recorded(len(batch))
	var lines []Line
	for _, res := range batch {
		if res.Number == 1 && !res.Uncounted {
			lines = append(lines, lineOf(res.Delivery))
		}
	}
	if len(lines) > 0 {
		r.follow.First(lines)
	}
}
