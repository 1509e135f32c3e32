package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

var limits = Limits{PerTarget: 2, PerHost: 99, Process: 5, Suspect: 5, LaneQueue: 4, Held: 20}

var breaker = Breaker{Failures: 10, Sample: 20, Wait: time.Minute}

func job(target string, n int) delivery.Delivery {
	return delivery.Delivery{ID: fmt.Sprintf("%s-%d", target, n), Target: target, Mode: "test", Sequence: int64(n)}
}

var rules = Rules{
	Schedules: map[tenant.Mode]delivery.Schedule{tenant.Test: delivery.Standard}, Breaker: breaker, Jitter: func(int64) int64 { return 0 },
}

// recording is a recorder that nothing follows.
func recording(store Ledger, seen Observer) *Recorder {
	return newRecorder(store, rules, seen, Follow{First: func([]Line) {}, Targets: func([]Target) {}}, time.Now, quiet)
}

// dispatching is a dispatcher under the limits of the tests.
func dispatching(q Queue, send Sender, store Ledger, seen Observer) *Dispatcher {
	return NewDispatcher(Options{Queue: q, Sender: send, Ledger: store, Rules: rules, Limits: limits, Observer: seen, Now: time.Now, Log: quiet})
}

type silent struct{ accepted, duplicates, attempted, recorded, unopened atomic.Int64 }

func (s *silent) Accepted(events, duplicates int) {
	s.accepted.Add(int64(events))
	s.duplicates.Add(int64(duplicates))
}
func (s *silent) Attempted(Result) { s.attempted.Add(1) }
func (s *silent) Recorded(n int)   { s.recorded.Add(int64(n)) }
func (s *silent) Unopened()        { s.unopened.Add(1) }

func push(l *Lanes, d delivery.Delivery) bool {
	if !l.Reserve(d) {
		return false
	}
	l.Push(d)
	return true
}

func TestLanes_boundsAndTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, started := make(chan struct{}), make(chan string, 100)
		var rooms atomic.Int32
		l := NewLanes(limits, func(_ context.Context, d delivery.Delivery) delivery.Symptom {
			started <- d.Target
			<-release
			return delivery.Failing
		}, func() { rooms.Add(1) }, time.Now)
		for n := range 6 { // 2 under way and 4 queued
			if !push(l, job("slow", n)) {
				t.Fatalf("no room for %d", n)
			}
		}
		if push(l, job("slow", 7)) {
			t.Fatal("the lane took more than it holds")
		}
		for n := range 3 {
			push(l, job("a", n))
			push(l, job("b", n))
		}
		synctest.Wait()
		running, _, lanes := l.Running()
		if running != 5 || lanes != 3 {
			t.Fatalf("%d running in %d lanes", running, lanes)
		}
		count := map[string]int{}
		for range 5 {
			count[<-started]++
		}
		if count["slow"] != 2 || count["a"]+count["b"] != 3 {
			t.Fatalf("started %v", count)
		}
		if full, room := l.Full(); !slices.Equal(full, []string{"slow"}) || room != 8 {
			t.Fatalf("full %v, room %d", full, room)
		}
		for range 12 {
			release <- struct{}{}
			synctest.Wait()
		}
		if running, _, lanes := l.Running(); running != 0 || lanes != 0 || l.held != 0 {
			t.Fatalf("%d running, %d lanes, %d held at the end", running, lanes, l.held)
		}
		if rooms.Load() == 0 {
			t.Fatal("the full lane announced no free place")
		}
		l.Stop(t.Context())
	})
}

func TestLanes_stopAndForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran, canceled atomic.Int32
		l := NewLanes(limits, func(ctx context.Context, _ delivery.Delivery) delivery.Symptom {
			ran.Add(1)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				canceled.Add(1)
			}
			return delivery.Unknown
		}, func() {}, time.Now)
		for n := range 4 {
			push(l, job("x", n))
		}
		l.Reserve(job("x", 9))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		l.Stop(ctx)
		l.Push(job("x", 9)) // its commit came back too late
		if ran.Load() != 2 || canceled.Load() != 2 || l.Reserve(job("x", 9)) || l.held != 0 || len(l.lanes) != 0 {
			t.Fatalf("ran %d, canceled %d, held %d, lanes %d", ran.Load(), canceled.Load(), l.held, len(l.lanes))
		}
	})
}

func TestLanes_neverSendAfterTheLeaseMayHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []string
		l := NewLanes(Limits{PerTarget: 1, PerHost: 9, Process: 1, Suspect: 1, LaneQueue: 4, Held: 9}, func(_ context.Context, d delivery.Delivery) delivery.Symptom {
			ran = append(ran, d.ID)
			time.Sleep(5 * time.Minute)
			return delivery.Slow
		}, func() {}, time.Now)
		push(l, job("x", 0))
		push(l, job("x", 1))
		time.Sleep(6 * time.Minute)
		push(l, job("x", 2))
		time.Sleep(6 * time.Minute)
		l.Stop(t.Context())
		if !slices.Equal(ran, []string{"x-0", "x-2"}) || l.held != 0 {
			t.Fatalf("ran %v, held %d", ran, l.held)
		}
	})
}

// registry has no endpoints, or the given ones.
type registry map[tenant.Owner][]Endpoint

func (r registry) Registered(_ context.Context, owners []tenant.Owner) (map[tenant.Owner][]Endpoint, error) {
	return r, nil
}

// inbound is a store that refuses and fails on demand.
type inbound struct {
	mu      sync.Mutex
	batches []int
	fail    error
	poison  string // object whose presence fails the batch
	seen    map[string]bool
}

var errData = errors.New("data")

func (s *inbound) Poison(err error) bool { return errors.Is(err, errData) }

func (s *inbound) Accept(_ context.Context, arrivals []Arrival) ([][]Placed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, len(arrivals))
	if s.fail != nil {
		return nil, s.fail
	}
	for _, a := range arrivals {
		if s.poison != "" && a.Event.ObjectID == s.poison {
			return nil, errData
		}
	}
	out := make([][]Placed, len(arrivals))
	for i, a := range arrivals {
		for j := range a.Deliveries {
			place := Queued
			switch {
			case s.seen[a.Event.ID]:
				place = Duplicate
			case a.Leased[j]:
				place = Leased
			}
			out[i] = append(out[i], place)
		}
		s.seen[a.Event.ID] = true
	}
	return out, nil
}

func event(n int) Event {
	return Event{ID: fmt.Sprint("evt_", n), MerchantID: "m", Mode: "test", ObjectID: fmt.Sprint("o", n), Sequence: 1, CallbackURL: fmt.Sprint("http://x/", n%3)}
}

func TestIntake_groupsDuplicatesAndPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		store, seen := &inbound{seen: map[string]bool{}, poison: "o7"}, &silent{}
		var ran atomic.Int32
		l := NewLanes(Limits{PerTarget: 9, PerHost: 99, Process: 99, Suspect: 9, LaneQueue: 99, Held: 99}, func(context.Context, delivery.Delivery) delivery.Symptom {
			ran.Add(1)
			return delivery.Well
		}, func() {}, time.Now)
		i := NewIntake(store, registry{}, l, seen, time.Now, func([]Line) {})
		var wg sync.WaitGroup
		wg.Go(func() { _ = i.Run(ctx) })
		send := func() (errs [20]error) {
			var all sync.WaitGroup
			for n := range 4 { // packs of five
				all.Go(func() {
					var pack []Event
					for m := range 5 {
						pack = append(pack, event(5*n+m))
					}
					copy(errs[5*n:], i.Accept(ctx, pack))
				})
			}
			all.Wait()
			return errs
		}
		for round := range 2 {
			for n, err := range send() {
				if n == 7 != fault.IsPermanent(err) || n != 7 && err != nil {
					t.Errorf("round %d, event %d: %v", round, n, err)
				}
			}
		}
		synctest.Wait()
		if ran.Load() != 19 || seen.duplicates.Load() != 19 || l.held != 0 {
			t.Errorf("%d sent, %d duplicates, %d held", ran.Load(), seen.duplicates.Load(), l.held)
		}
		if store.batches[0] != 20 {
			t.Errorf("batches %v: twenty at once belong into one commit", store.batches)
		}
		store.mu.Lock()
		store.fail, store.poison = errors.New("database is away"), ""
		store.mu.Unlock()
		if err := errors.Join(i.Accept(ctx, []Event{event(50)})...); err == nil || fault.IsPermanent(err) {
			t.Errorf("while the database is away: %v", err)
		}
		if l.held != 0 {
			t.Errorf("%d held after a failed commit", l.held)
		}
		cancel()
		wg.Wait()
		if err := errors.Join(i.Accept(ctx, []Event{event(51)})...); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
		l.Stop(t.Context())
	})
}

// ledger fails the first few times.
type ledger struct {
	mu    sync.Mutex
	fails int
	got   []Result
}

func (s *ledger) Record(_ context.Context, results []Result, _ Breaker) ([]Target, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("database is away")
	}
	s.got = append(s.got, results...)
	return nil, nil
}

func TestRecorder_keepsTryingAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, seen := &ledger{fails: 5}, &silent{}
		var firsts atomic.Int32
		follow := Follow{First: func(lines []Line) { firsts.Add(int32(len(lines))) }, Targets: func([]Target) {}}
		r := newRecorder(store, rules, seen, follow, time.Now, quiet)
		var wg sync.WaitGroup
		wg.Go(func() { _ = r.Run(t.Context()) })
		for n := range 300 {
			r.Add(job("x", n), delivery.Outcome{Class: "http_5xx", Status: 500})
		}
		r.Postpone(job("y", 1), time.Second)
		r.Close()
		wg.Wait()
		if len(store.got) != 301 || seen.attempted.Load() != 300 || firsts.Load() != 300 {
			t.Fatalf("%d written, %d observed, %d firsts", len(store.got), seen.attempted.Load(), firsts.Load())
		}
		for _, res := range store.got {
			if res.Verdict.State != delivery.Due || res.Number != 1 || res.Uncounted != (res.Delivery.Target == "y") {
				t.Fatalf("record a first attempt that failed: got %+v", res)
			}
		}
	})
}

// queue hands out a fixed stock once, and remembers what was released.
type queue struct {
	mu       sync.Mutex
	stock    []delivery.Delivery
	released []string
	stray    []string
	away     bool // the database does not answer
	looks    []Look
	behind   []Place // where each look began
	advanced [][]Line
}

func (q *queue) Claim(_ context.Context, full []string, limit, _ int) (out []delivery.Delivery, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(out) < limit {
		next := slices.IndexFunc(q.stock, func(d delivery.Delivery) bool { return !slices.Contains(full, d.Target) })
		if next < 0 {
			break
		}
		out = append(out, q.stock[next])
		q.stock = slices.Delete(q.stock, next, next+1)
	}
	return out, nil
}

func (q *queue) Release(_ context.Context, ids []string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.released = append(q.released, ids...)
	for _, id := range ids {
		var target string
		var n int
		_, _ = fmt.Sscanf(id, "%1s-%d", &target, &n)
		q.stock = append(q.stock, job(target, n))
	}
	return nil
}

func (q *queue) Old(context.Context) ([]string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	stray := q.stray
	q.stray = nil
	return stray, nil
}

func (q *queue) Advance(_ context.Context, lines []Line) (freed int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(a.ObjectID, b.ObjectID) })
	q.advanced = append(q.advanced, lines)
	return 0, nil
}

// later is what the next look finds.
func (q *queue) later(look Look) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looks = append(q.looks, look)
}

func (q *queue) Unblock(_ context.Context, behind Place) (look Look, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.behind = append(q.behind, behind)
	if len(q.looks) > 0 {
		look, q.looks = q.looks[0], q.looks[1:]
	}
	return look, nil
}

func (q *queue) Well(ctx context.Context, targets []string) ([]string, error) {
	if !q.away {
		return targets, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

type sender func(delivery.Delivery) (delivery.Outcome, error)

func (f sender) Send(ctx context.Context, d delivery.Delivery) (delivery.Outcome, error) {
	if ctx.Err() != nil {
		return delivery.Outcome{}, ErrStopped
	}
	return f(d)
}

type members struct{ joined, left atomic.Bool }

func (m *members) Join(context.Context) error { m.joined.Store(true); return nil }
func (m *members) Keep(ctx context.Context, _ func(), _ func(int)) error {
	<-ctx.Done()
	return nil
}
func (m *members) Leave(context.Context) error { m.left.Store(true); return nil }

func TestEngine_sendsEverythingAndStopsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, store, m := &queue{}, &ledger{}, &members{}
		for n := range 100 {
			q.stock = append(q.stock, job(string(rune('a'+n%3)), n))
		}
		send := sender(func(d delivery.Delivery) (delivery.Outcome, error) {
			time.Sleep(10 * time.Millisecond)
			if d.Sequence == 13 {
				return delivery.Outcome{}, errors.New("no keys")
			}
			return delivery.Outcome{Class: "ok", Status: 200}, nil
		})
		d := dispatching(q, send, store, &silent{})
		e := &Engine{Members: m, Intake: NewIntake(&inbound{}, registry{}, d.Lanes(), &silent{}, time.Now, d.Waiting), Dispatcher: d, Log: quiet, Finish: time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		time.Sleep(4 * time.Second)
		q.mu.Lock()
		q.stray = []string{"a-200", "b-201"} // leased by a commit whose answer was lost
		q.mu.Unlock()
		time.Sleep(6 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		delivered, postponed := 0, 0
		for _, r := range store.got {
			switch {
			case r.Uncounted:
				postponed++
			case r.Verdict.State == delivery.Delivered:
				delivered++
			}
		}
		if delivered != 101 || postponed != 1 || len(q.stock) != 0 || !m.joined.Load() || !m.left.Load() {
			t.Fatalf("%d delivered, %d postponed, %d left, released %v", delivered, postponed, len(q.stock), q.released)
		}
	})
}

// A delivery whose event does not open waits longer the longer it has waited, and is counted each time: its key may
// be away for days. One that cannot be attempted for another reason is tried again soon.
func TestAttempt_ofWhatDoesNotOpenWaitsLongerEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, seen := &ledger{}, &silent{}
		send := sender(func(d delivery.Delivery) (delivery.Outcome, error) {
			if d.Target == "sealed" {
				return delivery.Outcome{}, fmt.Errorf("open the body: %w", ErrUnopened)
			}
			return delivery.Outcome{}, errors.New("no keys")
		})
		d := dispatching(&queue{}, send, store, seen)
		var wg sync.WaitGroup
		wg.Go(func() { _ = d.recorder.Run(t.Context()) })
		waits := map[string]time.Duration{}
		try := func(target string, n int, age time.Duration) {
			j := job(target, n)
			j.AcceptedAt = time.Now().Add(-age)
			d.attempt(t.Context(), j)
		}
		for n, age := range []time.Duration{-time.Second, time.Second, time.Minute, 24 * time.Hour} {
			try("sealed", n, age)
		}
		try("other", 0, 24*time.Hour)
		d.recorder.Close()
		wg.Wait()
		for _, r := range store.got {
			if !r.Uncounted {
				t.Errorf("%s counts as attempted", r.Delivery.ID)
			}
			waits[r.Delivery.ID] = r.Verdict.Delay
		}
		want := map[string]time.Duration{
			"sealed-0": 5 * time.Second, "sealed-1": 5 * time.Second, "sealed-2": time.Minute, "sealed-3": 5 * time.Minute, "other-0": 5 * time.Second,
		}
		if !maps.Equal(waits, want) || seen.unopened.Load() != 4 {
			t.Errorf("%d counted, waits %v", seen.unopened.Load(), waits)
		}
	})
}

// Where a look does not reach the end of those that wait, the next one begins there soon, and after the end at the
// front again.
func TestSweep_goesOnWhereTheLastLookEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := Place{DueAt: time.Now(), ID: "dlv_1"}, Place{DueAt: time.Now(), ID: "dlv_2"}
		q := &queue{looks: []Look{{Waits: true, Next: one}, {Waits: true, Next: two}, {Waits: true}}}
		d := dispatching(q, nil, nil, &silent{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Sweep(ctx) }()
		time.Sleep(2*sweepOn + sweepEvery)
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if want := []Place{{}, one, two, {}}; !slices.Equal(q.behind, want) {
			t.Fatalf("looked behind %+v, want %+v", q.behind, want)
		}
	})
}

// A line is looked at when a delivery of it waits, and after a first attempt while any delivery is known to wait: one
// of this process, or of another that Sweep has seen.
func TestAdvance_looksWhereALineMayGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Line{Target: "t", ObjectID: "a"}, Line{Target: "t", ObjectID: "b"}
		q := &queue{}
		d := dispatching(q, nil, nil, &silent{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- d.Advance(ctx) }()
		go func() { done <- d.Sweep(ctx) }()
		step := func(do func(), want ...[]Line) {
			t.Helper()
			do()
			synctest.Wait()
			q.mu.Lock()
			defer q.mu.Unlock()
			if !reflect.DeepEqual(q.advanced, want) {
				t.Fatalf("looked at %v, want %v", q.advanced, want)
			}
			q.advanced = nil
		}
		step(func() { d.attempted([]Line{a}) }) // nothing waits
		step(func() { d.Waiting([]Line{b, a, b}) }, []Line{a, b})
		step(func() { d.attempted([]Line{b}) }, []Line{b})
		step(func() { time.Sleep(waitMax + 2*time.Second); d.attempted([]Line{b}) })
		step(func() { q.later(Look{Waits: true}); time.Sleep(2 * sweepEvery); d.attempted([]Line{a}) }, []Line{a})
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A database that does not answer keeps nobody from seeing that a target hangs.
func TestEngine_watchesLanesWhileTheDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{away: true, stock: []delivery.Delivery{job("a", 1)}}
		d := dispatching(q, sender(func(delivery.Delivery) (delivery.Outcome, error) {
			time.Sleep(10 * time.Second)
			return delivery.Outcome{Class: "ok", Status: 200}, nil
		}), &ledger{}, &silent{})
		e := &Engine{
			Members: &members{}, Intake: NewIntake(&inbound{}, registry{}, d.Lanes(), &silent{}, time.Now, d.Waiting), Dispatcher: d,
			Log: quiet, Finish: time.Minute,
		}
		d.Lanes().Park("b") // Tend asks the database about it
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		time.Sleep(delivery.SlowAfter + 2*time.Second)
		if _, slow, _ := d.Lanes().Running(); slow != 1 {
			t.Errorf("%d attempts are known to take their time, want 1", slow)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// A delivery that is queued, under way or being written is no stray.
func TestStrike_knowsEveryDeliveryHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := map[string]bool{"x-0": true, "x-1": true, "x-2": true, "x-3": true, "y-1": true, "y-2": true, "lost": true}
		l := NewLanes(limits, func(context.Context, delivery.Delivery) delivery.Symptom {
			time.Sleep(time.Second)
			return delivery.Well
		}, func() {}, time.Now)
		for n := range 4 { // 2 under way
			push(l, job("x", n))
		}
		r := recording(nil, &silent{})
		r.Postpone(job("y", 1), time.Second)
		batch := r.take()
		r.Postpone(job("y", 2), time.Second)
		l.Strike(ids)
		r.Strike(ids)
		if !maps.Equal(ids, map[string]bool{"lost": true}) {
			t.Errorf("nobody here knows %v", ids)
		}
		time.Sleep(3 * time.Second)
		r.written(batch)
		ids = map[string]bool{"x-0": true, "y-1": true, "y-2": true}
		l.Strike(ids)
		r.Strike(ids)
		if !maps.Equal(ids, map[string]bool{"x-0": true, "y-1": true}) {
			t.Errorf("what is done with and not known any more is %v", ids)
		}
		l.Stop(t.Context())
	})
}

// No filter of a live endpoint keeps back what warns of money that may leave: a thief of a key could set it.
func TestArrival_guarding(t *testing.T) {
	for _, tt := range []struct {
		mode   tenant.Mode
		kind   string
		filter []string
		goes   bool
	}{
		{tenant.Live, "settlement_account.added", []string{"payment.settled"}, true},
		{tenant.Live, "settlement_account.confirmed", []string{"payment.settled"}, true},
		{tenant.Live, "withdrawal.requested", []string{"payment.settled"}, true},
		{tenant.Live, "wallet.address_added", []string{"report.created"}, true},
		{tenant.Live, "wallet.withdrawal_requested", []string{"report.created"}, true},
		{tenant.Live, "payment.refund_address_changed", []string{"report.created"}, true},
		{tenant.Live, "payment.confirmed", []string{"payment.settled"}, false},
		{tenant.Live, "payment.settled", []string{"payment.settled"}, true},
		{tenant.Live, "wallet.confirmed", []string{"payment.settled"}, false},
		{tenant.Live, "wallet.confirmed", nil, true},
		{tenant.Test, "settlement_account.added", []string{"payment.settled"}, false},
		{tenant.Test, "wallet.address_added", nil, true},
	} {
		e := Event{ID: "evt_1", MerchantID: "m", Mode: tt.mode, Type: tt.kind, ObjectID: "o", Sequence: 1}
		p := Endpoint{ID: "whe_1", MerchantID: "m", Mode: tt.mode, URL: "https://x.example", Types: tt.filter, Enabled: true}
		if goes := len(arrivalOf(e, []Endpoint{p}, time.Now()).Deliveries) == 1; goes != tt.goes {
			t.Errorf("%s of %s mode to an endpoint of %v: goes %t, want %t", tt.kind, tt.mode, tt.filter, goes, tt.goes)
		}
	}
}

// An earlier URL of a live endpoint gets what warns of money and nothing else, in a lane of its own.
func TestArrival_earlier(t *testing.T) {
	now := Endpoint{ID: "whe_1", MerchantID: "m", Mode: tenant.Live, URL: "https://thief.example", Enabled: true}
	was := now
	was.URL, was.Earlier = "https://shop.example", true
	for kind, want := range map[string][]string{
		"settlement_account.added": {"https://shop.example", "https://thief.example"}, "payment.settled": {"https://thief.example"},
	} {
		e := Event{ID: "evt_1", MerchantID: "m", Mode: tenant.Live, Type: kind, ObjectID: "o", Sequence: 1}
		var urls []string
		for _, d := range arrivalOf(e, []Endpoint{was, now}, time.Now()).Deliveries {
			urls = append(urls, d.URL)
			if d.EndpointID != "whe_1" || d.Earlier() != (d.URL == was.URL) || d.Earlier() == (d.Target == "whe_1") {
				t.Errorf("%s to %s: the endpoint is %s, the lane %s, earlier %t", kind, d.URL, d.EndpointID, d.Target, d.Earlier())
			}
		}
		if !slices.Equal(urls, want) {
			t.Errorf("%s goes to %q, want %q", kind, urls, want)
		}
	}
}
