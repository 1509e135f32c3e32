package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// quick makes lanes whose attempts take so long, those to "other…" a millisecond, and a target among them that has
// shown that it takes many at a time.
func quick(t *testing.T, took time.Duration) *Lanes {
	t.Helper()
	l := NewLanes(Limits{PerTarget: 8, PerHost: 999, Process: 999, Suspect: 9, LaneQueue: 64, Held: 9999}, func(_ context.Context, d delivery.Delivery) delivery.Symptom {
		if strings.HasPrefix(d.Target, "other") {
			time.Sleep(time.Millisecond)
		} else {
			time.Sleep(took)
		}
		return delivery.Well
	}, func() {}, time.Now)
	for n := range 600 {
		for !push(l, job("quick", n)) {
			time.Sleep(took)
		}
	}
	time.Sleep(100 * took)
	return l
}

// fill pushes until the lane takes no more and says how many those were.
func fill(l *Lanes, target string) (n int) {
	for push(l, job(target, 1000+n)) {
		n++
	}
	return n
}

// A target that takes many at a time may have more waiting, and is waited for while it catches up.
func TestEase_waitsForAQuickTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quick(t, time.Millisecond)
		if n := fill(l, "quick"); n < 32*waitingPerSlot {
			t.Errorf("%d deliveries wait for a target that takes 32 at a time", n)
		}
		if n := fill(l, "new"); n != 64+paceStart {
			t.Errorf("%d deliveries wait for a target that is new", n)
		}
		began := time.Now()
		l.Ease(t.Context())
		if took := time.Since(began); took < 5*time.Millisecond || took >= easeMost {
			t.Errorf("waited %s", took)
		}
		began = time.Now()
		l.Ease(t.Context())
		if took := time.Since(began); took > 0 {
			t.Errorf("waited %s for nothing", took)
		}
		l.Stop(t.Context())
	})
}

// A target that does not catch up costs the others one wait, until it has caught up; a new or slow one costs them none.
func TestEase_waitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quick(t, 50*time.Millisecond)
		wait := func() time.Duration {
			began := time.Now()
			l.Ease(t.Context())
			return time.Since(began)
		}
		fill(l, "new")
		if took := wait(); took > 0 {
			t.Errorf("a new target was waited for, %s", took)
		}
		for n, want := range []time.Duration{easeMost, 0, 0} {
			fill(l, "quick")
			if took := wait(); took != want {
				t.Errorf("wait %d: %s, want %s", n+1, took, want)
			}
		}
		time.Sleep(10 * time.Second) // it has caught up
		fill(l, "quick")
		if took := wait(); took != easeMost {
			t.Errorf("after it had caught up: %s", took)
		}
		fill(l, "quick")
		l.Forget()
		if took := wait(); took > 0 || l.crowd != 0 {
			t.Errorf("what is gone was waited for, %s", took)
		}
		l.Stop(t.Context())
	})
}

// Deliveries to others are no reason to wait for a slow target again: it is not this process that takes its time.
func TestEase_othersAreNoReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var others sync.WaitGroup
		l := quick(t, 50*time.Millisecond)
		ctx, stop := context.WithCancel(t.Context())
		others.Go(func() {
			for n := 0; ctx.Err() == nil; n++ { // four thousand a second to a hundred targets
				push(l, job(fmt.Sprint("other", n%100), n))
				if n%4 == 3 {
					time.Sleep(time.Millisecond)
				}
			}
		})
		for n, want := range []time.Duration{easeMost, 0, 0} {
			fill(l, "quick")
			began := time.Now()
			l.Ease(t.Context())
			if took := time.Since(began); took != want {
				t.Errorf("wait %d: %s, want %s", n+1, took, want)
			}
		}
		stop()
		others.Wait()
		l.Stop(t.Context())
	})
}

// sized is a ledger that notes how many results came at a time.
type sized struct {
	mu    sync.Mutex
	sizes []int
}

func (s *sized) Record(_ context.Context, results []Result, _ Breaker) ([]Target, error) {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = append(s.sizes, len(results))
	return nil, nil
}

func (s *sized) seen() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sizes)
}

// A result alone is written at once; when there are many they are written together.
func TestRecorder_batchesGrowWithWhatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sized{}
		r := recording(store, &silent{})
		done := make(chan error, 1)
		go func() { done <- r.Run(t.Context()) }()
		add := func(n, every int) {
			for i := range n {
				r.Add(job(fmt.Sprint("t", i), 1), delivery.Outcome{Class: "ok", Status: 200, At: time.Now()})
				if i%every == every-1 {
					time.Sleep(time.Millisecond)
				}
			}
		}
		add(1, 1)
		time.Sleep(2*batchWait + time.Millisecond)
		if sizes := store.seen(); len(sizes) != 1 {
			t.Errorf("a single result waits: %v", sizes)
		}
		add(900, 5) // five a millisecond
		r.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		total, sizes := 0, store.seen()
		for _, n := range sizes {
			total += n
			if n > batchMax {
				t.Errorf("a batch of %d", n)
			}
		}
		if most := 1 + 900/(5*int(busyWait/time.Millisecond))*2; total != 901 || len(sizes) > most {
			t.Errorf("%d results in %d batches, want at most %d: %v", total, len(sizes), most, sizes)
		}
	})
}

// stuck is a ledger that is away until it is released.
type stuck struct {
	back    chan struct{}
	written atomic.Int64
}

func (s *stuck) Record(_ context.Context, results []Result, _ Breaker) ([]Target, error) {
	<-s.back
	s.written.Add(int64(len(results)))
	return nil, nil
}

// A database that is away slows the sending down: results do not pile up, and none is lost.
func TestRecorder_isBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = recordQueue + 5*batchMax
		store := &stuck{back: make(chan struct{})}
		r := recording(store, &silent{})
		done := make(chan error, 1)
		go func() { done <- r.Run(t.Context()) }()
		var added atomic.Int64
		var senders sync.WaitGroup
		for n := range all {
			senders.Go(func() {
				r.Add(job("x", n), delivery.Outcome{Class: "ok", Status: 200})
				added.Add(1)
			})
		}
		time.Sleep(time.Second)
		if n := added.Load(); n > recordQueue+recordWriters*batchMax {
			t.Errorf("%d results were taken in", n)
		}
		close(store.back)
		senders.Wait()
		r.Close()
		if err := <-done; err != nil || store.written.Load() != all || len(r.writing) != 0 {
			t.Errorf("%d of %d written, %d batches pending, %v", store.written.Load(), all, len(r.writing), err)
		}
	})
}
