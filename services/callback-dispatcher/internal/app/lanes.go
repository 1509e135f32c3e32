package app

import (
	"context"
	"sync"
	"time"

	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// Limits bound what one process does at a time.
type Limits struct {
	PerTarget int // attempts under way to one target
	Process   int // attempts under way in all
	LaneQueue int // deliveries that wait in memory for one target; the rest waits in the table
	Held      int // deliveries in memory in all, those under way included
}

// Lanes run attempts: one bounded queue per target, served in turn, so that a slow target holds up its own lane and
// nothing else. What a lane has no room for stays in the table.
type Lanes struct {
	limits Limits
	run    func(ctx context.Context, d delivery.Delivery)
	room   func() // told when a full lane, or the full process, has room again
	now    func() time.Time

	mu      sync.Mutex
	lanes   map[string]*lane
	ids     map[string]bool // deliveries queued or under way
	turn    []*lane         // lanes with something to start, in the order of their turn
	running int
	held    int // queued, reserved and under way
	stopped bool
	workers sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
}

type lane struct {
	target   string
	queue    []waiting
	reserved int
	running  int
	inTurn   bool
	wasFull  bool
}

// waiting is a leased delivery with the moment it entered its lane.
type waiting struct {
	delivery delivery.Delivery
	since    time.Time
}

// patience is how long a delivery may stay in a lane unsent: shorter than the lease, which others may take over then.
const patience = 4 * time.Minute

// NewLanes makes lanes that call run for each delivery. room is called, without delay, when a claim could succeed that
// would have found everything full before.
func NewLanes(limits Limits, run func(ctx context.Context, d delivery.Delivery), room func(), now func() time.Time) *Lanes {
	l := &Lanes{limits: limits, run: run, room: room, now: now, lanes: map[string]*lane{}, ids: map[string]bool{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Reserve takes a place in a target's lane for a delivery that is about to be leased; Push or Unreserve must follow.
func (l *Lanes) Reserve(target string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.held >= l.limits.Held {
		return false
	}
	ln := l.lane(target)
	if len(ln.queue)+ln.reserved >= l.limits.LaneQueue {
		ln.wasFull = true
		return false
	}
	ln.reserved++
	l.held++
	return true
}

// Unreserve gives a reserved place back.
func (l *Lanes) Unreserve(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lane(target)
	ln.reserved--
	l.held--
	l.drop(ln)
}

// Push puts a leased delivery into its reserved place. After Stop the delivery is dropped: its lease ends with the
// process, which gives everything back.
func (l *Lanes) Push(d delivery.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lane(d.Target)
	ln.reserved--
	if l.stopped {
		l.held--
		l.drop(ln)
		return
	}
	ln.queue = append(ln.queue, waiting{d, l.now()})
	l.ids[d.ID] = true
	l.enqueue(ln)
	l.start()
}

// Full lists the targets that have no place now, and Room how many deliveries there is place for in all.
func (l *Lanes) Full() (full []string, room int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for target, ln := range l.lanes {
		if len(ln.queue)+ln.reserved >= l.limits.LaneQueue {
			ln.wasFull = true
			full = append(full, target)
		}
	}
	return full, max(0, l.limits.Held-l.held)
}

// Running says how many attempts are under way and how many targets have a lane.
func (l *Lanes) Running() (attempts, targets int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running, len(l.lanes)
}

// Holds reports whether a delivery is queued or under way here.
func (l *Lanes) Holds(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids[id]
}

// Forget drops everything that has not begun, because the leases were taken over by others.
func (l *Lanes) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.lanes {
		l.held -= len(ln.queue)
		for _, w := range ln.queue {
			delete(l.ids, w.delivery.ID)
		}
		ln.queue = nil
		l.drop(ln)
	}
}

// Stop starts nothing more and waits for what is under way; attempts that outlive ctx are canceled.
func (l *Lanes) Stop(ctx context.Context) {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.Forget()
	stop := context.AfterFunc(ctx, l.cancel)
	defer stop()
	l.workers.Wait()
	l.cancel()
}

func (l *Lanes) lane(target string) *lane {
	ln := l.lanes[target]
	if ln == nil {
		ln = &lane{target: target}
		l.lanes[target] = ln
	}
	return ln
}

// drop forgets a lane without content, so that memory follows the targets that are busy.
func (l *Lanes) drop(ln *lane) {
	if len(ln.queue) == 0 && ln.reserved == 0 && ln.running == 0 && !ln.inTurn {
		delete(l.lanes, ln.target)
	}
}

func (l *Lanes) enqueue(ln *lane) {
	if !ln.inTurn && len(ln.queue) > 0 && ln.running < l.limits.PerTarget {
		ln.inTurn = true
		l.turn = append(l.turn, ln)
	}
}

// start begins attempts, one per lane and turn, while the process may.
func (l *Lanes) start() {
	for !l.stopped && l.running < l.limits.Process && len(l.turn) > 0 {
		ln := l.turn[0]
		l.turn = l.turn[1:]
		ln.inTurn = false
		if len(ln.queue) == 0 { // forgotten meanwhile
			l.drop(ln)
			continue
		}
		next := ln.queue[0]
		ln.queue = ln.queue[1:]
		if l.now().Sub(next.since) > patience { // its lease is about to end: whoever takes it over sends it
			l.held--
			delete(l.ids, next.delivery.ID)
			l.enqueue(ln)
			continue
		}
		ln.running++
		l.running++
		l.enqueue(ln)
		l.workers.Go(func() { l.work(ln, next.delivery) })
	}
}

func (l *Lanes) work(ln *lane, d delivery.Delivery) {
	defer l.finish(ln, d.ID)
	l.run(l.ctx, d)
}

func (l *Lanes) finish(ln *lane, id string) {
	l.mu.Lock()
	delete(l.ids, id)
	wasAtLimit := l.held >= l.limits.Held
	ln.running--
	l.running--
	l.held--
	l.enqueue(ln)
	l.start()
	freed := wasAtLimit || (ln.wasFull && len(ln.queue) <= l.limits.LaneQueue/2)
	if freed {
		ln.wasFull = false
	}
	l.drop(ln)
	l.mu.Unlock()
	if freed {
		l.room()
	}
}
