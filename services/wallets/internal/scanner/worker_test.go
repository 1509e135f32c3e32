package scanner

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"causeway.internal/libs/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is the leases without a database, on the fake clock.
type table struct {
	mu    sync.Mutex
	owner map[string]string
	epoch map[string]int64
	until map[string]time.Time
	away  map[string]bool // owners that cannot reach the table
}

func (l *table) Acquire(_ context.Context, owner string, names []string, ttl time.Duration) (map[string]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away[owner] {
		return nil, errors.New("database away")
	}
	held := map[string]int64{}
	for _, n := range names {
		if l.owner[n] != owner && time.Now().Before(l.until[n]) {
			continue
		}
		if l.owner[n] != owner {
			l.epoch[n]++
		}
		l.owner[n], l.until[n], held[n] = owner, time.Now().Add(ttl), l.epoch[n]
	}
	return held, nil
}

func (l *table) Release(_ context.Context, owner string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, o := range l.owner {
		if o == owner {
			l.until[n] = time.Time{}
		}
	}
	return nil
}

// Two replicas share the jobs so that each job runs once, and moves when its owner stops or loses the database.
func TestWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &table{owner: map[string]string{}, epoch: map[string]int64{}, until: map[string]time.Time{}, away: map[string]bool{}}
		var mu sync.Mutex
		running := map[string]int64{} // by owner
		worker := func(owner string) (stop func()) {
			ctx, cancel := context.WithCancel(context.Background())
			job := Job{Chain: Chain{tenant.Test, "tron"}, Run: func(ctx context.Context, epoch int64) error {
				mu.Lock()
				running[owner] = epoch
				mu.Unlock()
				<-ctx.Done()
				mu.Lock()
				delete(running, owner)
				mu.Unlock()
				return nil
			}}
			d := NewWorker(l, owner, []Job{job}, slog.New(slog.NewTextHandler(io.Discard, nil)), NewMetrics(prometheus.NewRegistry()))
			done := make(chan error, 1)
			go func() { done <- d.Run(ctx) }()
			return func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}
		want := func(what, owner string, epoch int64) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(running) != 1 || running[owner] != epoch {
				t.Errorf("%s: running %v, want it at %s under epoch %d", what, running, owner, epoch)
			}
		}
		stopOne := worker("one")
		time.Sleep(time.Second)
		stopTwo := worker("two")
		time.Sleep(time.Minute)
		want("steady", "one", 1)
		stopOne()
		time.Sleep(2 * renewEvery)
		want("handed over", "two", 2)
		stopThree := worker("three")
		time.Sleep(time.Minute)
		want("steady again", "two", 2)
		l.mu.Lock()
		l.away["two"] = true
		l.mu.Unlock()
		for range 60 {
			time.Sleep(250 * time.Millisecond)
			synctest.Wait()
			mu.Lock()
			if len(running) > 1 {
				t.Errorf("two owners at a time: %v", running)
			}
			mu.Unlock()
		}
		want("taken over", "three", 3)
		stopTwo()
		stopThree()
	})
}

// A job that ends without being stopped is started again.
func TestWorker_restartsAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &table{owner: map[string]string{}, epoch: map[string]int64{}, until: map[string]time.Time{}}
		var mu sync.Mutex
		starts := 0
		job := Job{Chain: Chain{tenant.Test, "tron"}, Run: func(context.Context, int64) error {
			mu.Lock()
			defer mu.Unlock()
			if starts++; starts == 2 {
				panic("a defect")
			}
			return errors.New("ended")
		}}
		ctx, cancel := context.WithCancel(context.Background())
		d := NewWorker(l, "one", []Job{job}, slog.New(slog.NewTextHandler(io.Discard, nil)), NewMetrics(prometheus.NewRegistry()))
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		time.Sleep(10 * renewEvery)
		cancel()
		<-done //nolint:errcheck // it ends because it is cancelled
		if starts < 5 {
			t.Errorf("started %d times", starts)
		}
	})
}
