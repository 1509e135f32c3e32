package app

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// hung makes every attempt at a target whose name begins with h take as long as an attempt may.
func hung(_ context.Context, d delivery.Delivery) delivery.Symptom {
	if d.Target[0] == 'h' {
		time.Sleep(15 * time.Second)
		return delivery.Slow
	}
	time.Sleep(10 * time.Millisecond)
	return delivery.Well
}

// However many targets hang, the slots of the healthy ones are theirs again as soon as it shows.
func TestLanes_slowTargetsAreSetApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLanes(Limits{PerTarget: 8, PerHost: 999, Process: 100, Suspect: 10, LaneQueue: 64, Held: 9999}, hung, func() {}, time.Now)
		for target := range 50 {
			for n := range 10 {
				push(l, job(fmt.Sprintf("h%d", target), n))
			}
		}
		if attempts, _, _ := l.Running(); attempts != 100 { // two each: unknown targets take every slot
			t.Fatalf("%d under way", attempts)
		}
		push(l, job("a", 1))
		time.Sleep(delivery.SlowAfter + time.Millisecond)
		l.Watch()
		synctest.Wait()
		if _, slow, _ := l.Running(); slow != 100 || fastRunning(l) != 1 {
			t.Fatalf("%d set apart, %d in the fast pool", slow, fastRunning(l))
		}
		time.Sleep(20 * time.Second)
		l.Watch()
		synctest.Wait()
		if attempts, slow, _ := l.Running(); attempts != 10 || slow != 10 { // the pool's own limit, one each
			t.Fatalf("%d under way, %d of them to slow targets", attempts, slow)
		}
		began := time.Now()
		for n := range 50 {
			push(l, job("a", 10+n))
		}
		for fastRunning(l) > 0 {
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("50 deliveries to a healthy target took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l.Stop(ctx)
	})
}

// Many merchants on one host do not take more of it than one may, and others are served meanwhile.
func TestLanes_boundPerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLanes(Limits{PerTarget: 8, PerHost: 4, Process: 100, Suspect: 10, LaneQueue: 64, Held: 9999}, hung, func() {}, time.Now)
		on := func(host, target string, n int) delivery.Delivery {
			d := job(target, n)
			d.URL = "http://" + host + "/" + target
			return d
		}
		for target := range 20 {
			push(l, on("saas.example", fmt.Sprintf("t%d", target), 1))
		}
		push(l, on("other.example", "z", 1))
		if attempts, _, _ := l.Running(); attempts != 5 {
			t.Errorf("%d under way, want 4 to the shared host and one to the other", attempts)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if attempts, _, lanes := l.Running(); attempts != 0 || lanes != 0 || len(l.hosts) != 0 {
			t.Errorf("%d under way, %d lanes and %d hosts in memory at the end", attempts, lanes, len(l.hosts))
		}
		l.Stop(t.Context())
	})
}

// Merchants with names of their own on one platform's address share what a host gets, from the first connection on.
func TestLanes_boundPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *Lanes
		var mu sync.Mutex
		most := 0
		run := func(ctx context.Context, d delivery.Delivery) delivery.Symptom {
			l.Found(d.URL, "203.0.113.7:443")
			time.Sleep(time.Millisecond)
			attempts, _, _ := l.Running()
			mu.Lock()
			most = max(most, attempts)
			mu.Unlock()
			return hung(ctx, d)
		}
		l = NewLanes(Limits{PerTarget: 8, PerHost: 4, Process: 100, Suspect: 10, LaneQueue: 64, Held: 9999}, run, func() {}, time.Now)
		push2 := func(n int) {
			for target := range 20 {
				d := job(fmt.Sprintf("t%d", target), n)
				d.URL = fmt.Sprintf("https://shop%d.example/hook", target)
				push(l, d)
			}
		}
		push2(1)
		synctest.Wait() // each name is new: nothing is known of where it leads
		time.Sleep(time.Second)
		synctest.Wait()
		most = 0
		push2(2)
		push2(3)
		time.Sleep(time.Second)
		synctest.Wait()
		if most != 4 {
			t.Errorf("%d under way to one address at a time, want 4", most)
		}
		if attempts, _, lanes := l.Running(); attempts != 0 || lanes != 0 || len(l.hosts) != 0 {
			t.Errorf("%d under way, %d lanes and %d hosts in memory at the end", attempts, lanes, len(l.hosts))
		}
		time.Sleep(foundFor + time.Second)
		l.Watch()
		if len(l.found) != 0 {
			t.Errorf("%d names are remembered for ever", len(l.found))
		}
		l.Stop(t.Context())
	})
}

// Names that are found to share an address while attempts at them are under way are counted together at once.
func TestLanes_moveToTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLanes(Limits{PerTarget: 8, PerHost: 2, Process: 100, Suspect: 10, LaneQueue: 64, Held: 9999}, hung, func() {}, time.Now)
		on := func(name string, n int) delivery.Delivery {
			d := job(name, n)
			d.URL = "https://" + name + ".example/hook"
			return d
		}
		for n := range 2 {
			push(l, on("a", n))
			push(l, on("b", n))
		}
		for _, name := range []string{"a", "b"} {
			l.Found(on(name, 0).URL, "203.0.113.7:443")
		}
		push(l, on("a", 3))
		push(l, on("b", 3))
		if attempts, _, _ := l.Running(); attempts != 4 {
			t.Errorf("%d under way, want the four that had begun", attempts)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if attempts, _, lanes := l.Running(); attempts != 0 || lanes != 0 || len(l.hosts) != 0 {
			t.Errorf("%d under way, %d lanes and %d hosts in memory at the end", attempts, lanes, len(l.hosts))
		}
		l.Stop(t.Context())
	})
}

// The limits per target and per host are those of all processes together: each has its part, and at least one.
func TestLanes_shareTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for replicas, want := range map[int]int{1: 8, 2: 4, 3: 3, 8: 1, 100: 1} {
			l := NewLanes(Limits{PerTarget: 2, PerHost: 8, Process: 100, Suspect: 10, LaneQueue: 64, Held: 9999}, hung, func() {}, time.Now)
			l.Share(replicas)
			for target := range 20 {
				d := job(fmt.Sprintf("t%d", target), 1)
				d.URL = "https://saas.example/hook"
				push(l, d)
			}
			if attempts, _, _ := l.Running(); attempts != want {
				t.Errorf("%d processes: %d under way to one host, want %d", replicas, attempts, want)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			l.Stop(t.Context())
		}
	})
}

func TestLanes_replaysGetAFifth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLanes(Limits{PerTarget: 8, PerHost: 999, Process: 20, Suspect: 10, LaneQueue: 64, Held: 9999}, hung, func() {}, time.Now)
		for target := range 30 {
			d := job(fmt.Sprintf("t%d", target), 1)
			d.Trigger = delivery.Replay
			push(l, d)
		}
		push(l, job("t1", 2))
		if attempts, _, _ := l.Running(); attempts != 5 {
			t.Errorf("%d under way, want 4 replays and the live one", attempts)
		}
		time.Sleep(time.Second)
		l.Stop(t.Context())
	})
}

func TestLanes_parkedTargetsHaveNoFastPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLanes(Limits{PerTarget: 1, PerHost: 9, Process: 1, Suspect: 1, LaneQueue: 64, Held: 99}, hung, func() {}, time.Now)
		for n := range 3 {
			push(l, job("a", n))
		}
		if back := l.Park("a"); len(back) != 2 || l.held != 1 {
			t.Errorf("%v given back, %d held", back, l.held)
		}
		if l.Reserve(job("a", 4)) {
			t.Error("a target whose breaker is open was taken on the fast path")
		}
		if probe := job("a", 5); !l.Admit(probe) {
			t.Error("the probe was refused")
		} else {
			l.Push(probe)
		}
		l.Unpark("a")
		if !push(l, job("a", 6)) {
			t.Error("a target that is well again was refused")
		}
		time.Sleep(time.Second)
		l.Stop(t.Context())
	})
}

func TestPace(t *testing.T) {
	p := newPace()
	for range 6 {
		p.learn(delivery.Well, 8)
	}
	if p.cap != 8 {
		t.Errorf("after six successes the cap is %d, want 8", p.cap)
	}
	for range 1000 {
		p.learn(delivery.Well, 8)
	}
	if p.most(8) != 32 {
		t.Errorf("a healthy target gets %d, want 32", p.most(8))
	}
	p.learn(delivery.Pushing, 8)
	if p.cap != 16 || p.slow {
		t.Errorf("after a 429 the cap is %d, set apart %v", p.cap, p.slow)
	}
	p.learn(delivery.Slow, 8)
	p.learn(delivery.Slow, 8)
	if p.cap != 4 || !p.slow {
		t.Errorf("after two slow ones the cap is %d, set apart %v", p.cap, p.slow)
	}
	for n := range 3 {
		if !p.slow {
			t.Errorf("back among the fast after %d", n)
		}
		p.learn(delivery.Well, 8)
	}
	if p.slow {
		t.Error("still set apart after three quick ones")
	}
}

// fastRunning is how many attempts of the fast pool are under way.
func fastRunning(l *Lanes) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pools[fast].running
}
