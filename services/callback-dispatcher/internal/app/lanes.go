package app

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// Limits bound what one process does at a time. Those per target and per host are shared by all processes.
type Limits struct {
	PerTarget int // attempts under way to one target that has shown nothing yet; healthy ones get up to 4 times as many
	PerHost   int // attempts under way to one host and port, by name or address, of any merchant, in one pool
	Process   int // attempts under way in all, those to slow targets excepted
	Suspect   int // attempts under way to slow targets
	LaneQueue int // deliveries that wait in memory for one target, more for one that takes many at a time; the rest waits in the table
	Held      int // deliveries in memory in all, those under way included
}

// Lanes run attempts: one bounded queue per target, served in turn, so that a slow target holds up its own lane and
// nothing else. A delivery for which a lane has no room stays in the table. Targets that have become slow share a
// pool of their own, where each gets one slot, so that hung ones never take the slots of healthy ones, whatever their
// number; replays share a fifth of the slots.
type Lanes struct {
	limits Limits
	run    func(ctx context.Context, d delivery.Delivery) delivery.Symptom
	room   func() // called when a full lane, or the full process, has room again
	now    func() time.Time

	mu       sync.Mutex
	lanes    map[string]*lane
	paces    map[string]*pace // by target; outlives the lane
	hosts    map[string]*host // by address, once it is known, else by name
	found    map[string]found // the address of a name, as the last new connection had it
	parked   map[string]bool  // targets whose breaker is open
	pools    [pools]pool
	held     int // queued, reserved and under way
	replicas int
	ended    int           // attempts of crowded lanes so far
	crowd    int           // crowded lanes
	calm     chan struct{} // closed when there are none any more
	begun    []*entry      // what start has begun and nobody runs yet
	stopped  bool
	workers  sync.WaitGroup
	idle     int         // workers that wait for an attempt
	ready    chan *entry // what they wait for; it has room for each of them
	ctx      context.Context
	cancel   context.CancelFunc
}

// The pools.
const (
	fast = iota
	suspect
	replay
	pools
)

type pool struct {
	turn    []*lane // lanes with something to start, in the order of their turn
	running int
}

type lane struct {
	key      string
	target   string
	name     string // of its host, as the URL has it
	pace     *pace
	host     *host
	pool     int
	queue    []*entry
	reserved int
	running  []*entry // in no order
	inTurn   bool
	wasFull  bool
	crowded  bool // more than half full, and quick so far
	late     bool // was crowded for too long to be waited for
}

type host struct {
	name    string
	lanes   int
	running [pools]int
	waiting []*lane // would start but for the host's limit
}

// found is where a name led.
type found struct {
	address string
	at      time.Time
}

// foundFor is how long a name is taken to lead to where it led.
const foundFor = 10 * time.Minute

// entry is a leased delivery in its lane: queued, then under way.
type entry struct {
	delivery delivery.Delivery
	lane     *lane
	since    time.Time // when it entered its lane, then when its attempt began
	place    int       // among those under way
}

// patience is how long a delivery may stay in a lane unsent: shorter than the lease, which others may take over then.
const patience = 4 * time.Minute

// idleMost is how many workers wait for an attempt when there is none: a goroutine that has grown its stack once is
// cheaper than a new one.
const idleMost = 256

// waitingPerSlot is how many deliveries may wait in memory per attempt that a healthy target takes at a time,
// easeMost how long the intake waits for such targets at a time, and easeEnds how many attempts to them must end in
// that time for it to wait again.
const (
	waitingPerSlot = 32
	easeMost       = 100 * time.Millisecond
	easeEnds       = 100
)

// replayShare is the part of every limit that replays may use: one in so many.
const replayShare = 5

// NewLanes makes lanes that call run for each delivery. room is called, without delay, when a claim could succeed that
// would have found everything full before.
func NewLanes(limits Limits, run func(ctx context.Context, d delivery.Delivery) delivery.Symptom, room func(), now func() time.Time) *Lanes {
	l := &Lanes{
		limits: limits, run: run, room: room, now: now, lanes: map[string]*lane{}, paces: map[string]*pace{}, hosts: map[string]*host{}, found: map[string]found{},
		parked: map[string]bool{}, replicas: 1, ready: make(chan *entry, idleMost),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Reserve takes a place in the lane of a delivery that is about to be leased; Push or Unreserve must follow. A target
// whose breaker is open has no place: what comes for it goes to the table and waits there for the probe.
func (l *Lanes) Reserve(d delivery.Delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.parked[d.Target] {
		return false
	}
	return l.reserve(d)
}

// Admit is Reserve for a delivery that was claimed: the table has decided that it may be sent.
func (l *Lanes) Admit(d delivery.Delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reserve(d)
}

func (l *Lanes) reserve(d delivery.Delivery) bool {
	if l.stopped || l.held >= l.limits.Held {
		return false
	}
	ln := l.lane(d)
	if len(ln.queue)+ln.reserved >= l.queueMost(ln) {
		ln.wasFull = true
		return false
	}
	ln.reserved++
	l.held++
	l.press(ln)
	return true
}

// Unreserve gives a reserved place back.
func (l *Lanes) Unreserve(d delivery.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lane(d)
	ln.reserved--
	l.held--
	l.press(ln)
	l.drop(ln)
}

// Push puts a leased delivery into its reserved place. After Stop the delivery is dropped: its lease ends with the
// process, which gives everything back.
func (l *Lanes) Push(d delivery.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lane(d)
	ln.reserved--
	if l.stopped {
		l.held--
		l.press(ln)
		l.drop(ln)
		return
	}
	now := l.now()
	ln.queue = append(ln.queue, &entry{delivery: d, lane: ln, since: now})
	l.enqueue(ln)
	l.start(now)
	l.launch()
	l.press(ln)
}

// queueMost is how many deliveries may wait in a lane. Behind many attempts at a time they wait no longer than few do
// behind one.
func (l *Lanes) queueMost(ln *lane) int {
	if ln.pool != fast || ln.pace.cap <= l.limits.PerTarget {
		return l.limits.LaneQueue
	}
	return max(l.limits.LaneQueue, waitingPerSlot*ln.pace.most(l.limits.PerTarget))
}

// press notes whether a lane is crowded. One that stayed so for longer than Ease waits is not waited for until it has
// been calm.
func (l *Lanes) press(ln *lane) {
	half := len(ln.queue)+ln.reserved > l.queueMost(ln)/2
	ln.late = ln.late && half
	crowded := half && !ln.late && ln.pool == fast && ln.pace.cap > l.limits.PerTarget
	switch {
	case crowded && !ln.crowded:
		if l.crowd++; l.crowd == 1 {
			l.calm = make(chan struct{})
		}
	case !crowded && ln.crowded:
		if l.crowd--; l.crowd == 0 {
			close(l.calm)
		}
	}
	ln.crowded = crowded
}

// Ease lets targets that take what comes as fast as it is sent catch up, so that their events stay in the broker for
// a moment instead of going round by the table. It returns when no such lane is more than half full, and after
// easeMost at the latest. If few attempts to them have ended by then, it is the targets and not this process that
// take their time: they are not waited for again until they have caught up. So a merchant who is slow costs the
// others one short wait.
func (l *Lanes) Ease(ctx context.Context) {
	l.mu.Lock()
	calm, crowd, ended := l.calm, l.crowd, l.ended
	l.mu.Unlock()
	if crowd == 0 {
		return
	}
	timer := time.NewTimer(easeMost)
	defer timer.Stop()
	select {
	case <-calm:
	case <-ctx.Done():
	case <-timer.C:
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ended-ended >= easeEnds {
			return
		}
		for _, ln := range l.lanes {
			ln.late = ln.late || ln.crowded
			l.press(ln)
		}
	}
}

// Full lists the targets that have no place for what a claim brings, and Room how many deliveries there is place for
// in all.
func (l *Lanes) Full() (full []string, room int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.lanes {
		if ln.pool != replay && len(ln.queue)+ln.reserved+min(claimPerTarget, l.limits.LaneQueue/2) > l.queueMost(ln) {
			ln.wasFull = true
			full = append(full, ln.target)
		}
	}
	return full, max(0, l.limits.Held-l.held)
}

// Running says how many attempts are under way, how many of them to slow targets, and how many targets have a lane.
func (l *Lanes) Running() (attempts, slow, targets int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pools[fast].running + l.pools[suspect].running + l.pools[replay].running, l.pools[suspect].running, len(l.lanes)
}

// Strike takes the deliveries that are queued or under way here from a set of ids.
func (l *Lanes) Strike(ids map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.lanes {
		for _, list := range [][]*entry{ln.queue, ln.running} {
			for _, e := range list {
				delete(ids, e.delivery.ID)
			}
		}
	}
}

// Share tells over how many processes the limits per target and per host are spread.
func (l *Lanes) Share(replicas int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replicas = max(1, replicas)
}

// Park keeps a target whose breaker is open out of the fast path until Unpark, and returns the deliveries that had not
// begun, which the caller gives back to the table.
func (l *Lanes) Park(target string) (back []delivery.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parked[target] = true
	for _, key := range []string{target, target + replaySuffix} {
		if ln := l.lanes[key]; ln != nil {
			for _, e := range ln.queue {
				back = append(back, e.delivery)
			}
			l.empty(ln)
		}
	}
	return back
}

// Unpark lets a target that is well again back onto the fast path, with one attempt at a time at first.
func (l *Lanes) Unpark(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.paces[target]; p != nil && l.parked[target] {
		p.cap = 1
	}
	delete(l.parked, target)
}

// Found says that a connection to a URL's host was made, and to which address. All names that lead to one address, such
// as the many merchants of a platform, share what a host gets.
func (l *Lanes) Found(raw, address string) {
	name := hostName(raw)
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.found[name]
	now := l.now()
	l.found[name] = found{address, now}
	if before.address == address {
		return
	}
	for _, ln := range l.lanes {
		if ln.name == name {
			l.move(ln)
		}
	}
	l.start(now)
	l.launch()
}

// move puts a lane, with what it has under way, to the host that its name is known to lead to.
func (l *Lanes) move(ln *lane) {
	from, to := ln.host, l.hostOf(ln.name)
	from.running[ln.pool] -= len(ln.running)
	to.running[ln.pool] += len(ln.running)
	ln.host = to
	l.resume(from)
	l.leave(from)
}

// Parked lists the targets that Park was called for.
func (l *Lanes) Parked() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.parked))
}

// Watch moves lanes whose attempts have been under way for too long to the pool of the slow ones, and forgets what it
// knows of targets that have been idle. Call it about twice a second.
func (l *Lanes) Watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, ln := range l.lanes {
		for _, e := range ln.running {
			if ln.pool == fast && now.Sub(e.since) > delivery.SlowAfter {
				ln.pace.stuck()
				l.settle(ln)
				l.press(ln)
				break
			}
		}
	}
	for target, p := range l.paces {
		if p.idle(now) {
			delete(l.paces, target)
		}
	}
	maps.DeleteFunc(l.found, func(_ string, f found) bool { return now.Sub(f.at) > foundFor })
	l.start(now)
	l.launch()
}

// Forget drops everything that has not begun, because the leases were taken over by others.
func (l *Lanes) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.lanes {
		l.empty(ln)
	}
}

func (l *Lanes) empty(ln *lane) {
	l.held -= len(ln.queue)
	ln.queue = nil
	l.press(ln)
	l.drop(ln)
}

// Stop starts nothing more and waits for what is under way; attempts that outlive ctx are canceled.
func (l *Lanes) Stop(ctx context.Context) {
	l.mu.Lock()
	l.stopped = true
	close(l.ready) // nothing is begun any more
	l.mu.Unlock()
	l.Forget()
	stop := context.AfterFunc(ctx, l.cancel)
	defer stop()
	l.workers.Wait()
	l.cancel()
}

const replaySuffix = "#replay"

func (l *Lanes) lane(d delivery.Delivery) *lane {
	key, in := d.Target, fast
	if d.Trigger == delivery.Replay {
		key, in = d.Target+replaySuffix, replay
	}
	ln := l.lanes[key]
	if ln != nil {
		return ln
	}
	p := l.paces[d.Target]
	if p == nil {
		p = newPace()
		l.paces[d.Target] = p
	}
	p.used = l.now()
	name := hostName(d.URL)
	ln = &lane{key: key, target: d.Target, name: name, pace: p, host: l.hostOf(name), pool: in}
	if in == fast && p.slow {
		ln.pool = suspect
	}
	l.lanes[key] = ln
	return ln
}

func hostName(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// hostOf returns the host of a name, with one lane more.
func (l *Lanes) hostOf(name string) *host {
	if f, ok := l.found[name]; ok {
		name = f.address
	}
	h := l.hosts[name]
	if h == nil {
		h = &host{name: name}
		l.hosts[name] = h
	}
	h.lanes++
	return h
}

// drop forgets a lane without content, so that memory follows the targets that are busy.
func (l *Lanes) drop(ln *lane) {
	if len(ln.queue) > 0 || ln.reserved > 0 || len(ln.running) > 0 || ln.inTurn || l.lanes[ln.key] != ln {
		return
	}
	delete(l.lanes, ln.key)
	l.leave(ln.host)
}

// leave takes a lane from a host; one without lanes is forgotten.
func (l *Lanes) leave(h *host) {
	if h.lanes--; h.lanes == 0 {
		delete(l.hosts, h.name)
	}
}

// most is how many attempts a lane may have under way now.
func (l *Lanes) most(ln *lane) int {
	switch ln.pool {
	case suspect:
		return 1
	case replay:
		return max(1, ln.pace.most(l.limits.PerTarget)/replayShare/l.replicas)
	}
	return max(1, (ln.pace.most(l.limits.PerTarget)+l.replicas-1)/l.replicas)
}

func (l *Lanes) poolMost(in int) int {
	switch in {
	case suspect:
		return l.limits.Suspect
	case replay:
		return max(1, l.limits.Process/replayShare)
	}
	return l.limits.Process
}

func (l *Lanes) enqueue(ln *lane) {
	if !ln.inTurn && len(ln.queue) > 0 && len(ln.running) < l.most(ln) {
		ln.inTurn = true
		l.pools[ln.pool].turn = append(l.pools[ln.pool].turn, ln)
	}
}

// start begins attempts, one per lane and turn, while the process may.
func (l *Lanes) start(now time.Time) {
	perHost := max(1, (l.limits.PerHost+l.replicas-1)/l.replicas)
	for _, in := range []int{fast, suspect, replay, fast} { // fast again, for lanes that were set apart no more
		p := &l.pools[in]
		for !l.stopped && p.running < l.poolMost(in) && len(p.turn) > 0 {
			ln := p.turn[0]
			p.turn = p.turn[1:]
			if ln.pool == in && len(ln.queue) > 0 && ln.host.running[in] >= perHost {
				ln.host.waiting = append(ln.host.waiting, ln)
				continue
			}
			ln.inTurn = false
			if ln.pool != in { // moved meanwhile
				l.enqueue(ln)
				continue
			}
			l.begin(ln, now)
		}
	}
}

func (l *Lanes) begin(ln *lane, now time.Time) {
	if len(ln.queue) == 0 { // forgotten meanwhile
		l.drop(ln)
		return
	}
	next := ln.queue[0]
	ln.queue[0] = nil
	ln.queue = ln.queue[1:]
	if now.Sub(next.since) > patience { // its lease is about to end: the process that takes it over sends it
		l.held--
		l.enqueue(ln)
		return
	}
	next.since, next.place = now, len(ln.running)
	ln.running = append(ln.running, next)
	l.pools[ln.pool].running++
	ln.host.running[ln.pool]++
	l.enqueue(ln)
	l.begun = append(l.begun, next)
}

// launch gives everything that was begun a worker.
func (l *Lanes) launch() {
	for _, one := range l.begun {
		if l.idle > 0 {
			l.idle--
			l.ready <- one
			continue
		}
		l.workers.Go(func() { l.work(one) })
	}
	clear(l.begun)
	l.begun = l.begun[:0]
}

// work makes attempts one after the other until there are workers enough without it.
func (l *Lanes) work(one *entry) {
	for one != nil {
		one = l.finish(one, l.run(l.ctx, one.delivery))
	}
}

// settle puts a lane, with what it has under way, into the pool that its target's pace asks for.
func (l *Lanes) settle(ln *lane) {
	if ln.pool == replay {
		return
	}
	to := fast
	if ln.pace.slow {
		to = suspect
	}
	if to == ln.pool {
		return
	}
	l.pools[ln.pool].running -= len(ln.running)
	l.pools[to].running += len(ln.running)
	ln.host.running[ln.pool] -= len(ln.running)
	ln.host.running[to] += len(ln.running)
	ln.pool = to
	l.resume(ln.host)
}

// resume gives the lanes that waited for their host another turn.
func (l *Lanes) resume(h *host) {
	for _, waiting := range h.waiting {
		l.pools[waiting.pool].turn = append(l.pools[waiting.pool].turn, waiting)
	}
	h.waiting = nil
}

// finish notes the end of an attempt and returns the next one for this worker, at once if its end lets another begin.
// There is none when enough others wait, and after Stop.
func (l *Lanes) finish(one *entry, s delivery.Symptom) (next *entry) {
	l.mu.Lock()
	now, ln := l.now(), one.lane
	wasAtLimit := l.held >= l.limits.Held
	ln.ended(one)
	l.pools[ln.pool].running--
	ln.host.running[ln.pool]--
	l.held--
	if ln.crowded {
		l.ended++
	}
	ln.pace.learn(s, l.limits.PerTarget)
	ln.pace.used = now
	l.settle(ln)
	l.enqueue(ln)
	l.resume(ln.host)
	l.start(now)
	l.press(ln)
	freed := wasAtLimit || (ln.wasFull && len(ln.queue) <= l.queueMost(ln)/2)
	if freed {
		ln.wasFull = false
	}
	l.drop(ln)
	if last := len(l.begun) - 1; last >= 0 {
		next = l.begun[last]
		l.begun = l.begun[:last]
	}
	l.launch()
	waits := next == nil && !l.stopped && l.idle < idleMost
	if waits {
		l.idle++
	}
	l.mu.Unlock()
	if freed {
		l.room()
	}
	if waits {
		next = <-l.ready // nil after Stop
	}
	return next
}

// ended takes an attempt from those under way.
func (ln *lane) ended(one *entry) {
	end := len(ln.running) - 1
	last := ln.running[end]
	ln.running[one.place], last.place = last, one.place
	ln.running[end] = nil
	ln.running = ln.running[:end]
}
