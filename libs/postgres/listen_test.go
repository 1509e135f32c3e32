//go:build integration

package postgres_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
)

// ear notes what it is caughtUp.
type ear struct {
	mu       sync.Mutex
	heard    []string
	caughtUp time.Time
	missed   int
	sleeps   atomic.Bool
}

func (e *ear) Heard(payload string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, payload)
}

func (e *ear) CaughtUp(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.caughtUp = at
}

func (e *ear) Missed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed++
}

func (e *ear) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(2 * time.Minute) // the machine may be busy
	for {
		e.mu.Lock()
		done := holds()
		e.mu.Unlock()
		if done {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

func (e *ear) Wanted() bool { return !e.sleeps.Load() }

// Once a time has been caughtUp, whatever was committed before it has been heard; a lost connection says that something
// may have been missed, and is made again.
func TestListen(t *testing.T) {
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	ctx, stop := context.WithCancel(t.Context())
	e, ended := &ear{}, make(chan error, 1)
	go func() { ended <- postgres.Listen(ctx, cfg, "things", telemetrytest.ForTest(t).Log, e) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	e.until(t, "the listener", func() bool { return !e.caughtUp.IsZero() && e.missed == 1 })
	for range 3 {
		if _, err := pool.Exec(t.Context(), `SELECT pg_notify('things', 'one')`); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		e.until(t, "a proof", func() bool { return e.caughtUp.After(before) })
	}
	if _, err := pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = 'causeway listener' AND datname = current_database()`); err != nil {
		t.Fatal(err)
	}
	lost := time.Now()
	e.until(t, "another connection", func() bool { return e.missed >= 3 && e.caughtUp.After(lost) })
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.heard) != 3 {
		t.Errorf("heard %v, want each notification before the proof after it", e.heard)
	}
}

// While nobody reads the proofs of a listener they are rare, a notification is heard at once all the same, and proofs
// come again as soon as somebody reads them.
func TestListen_unwanted(t *testing.T) {
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	ctx, stop := context.WithCancel(t.Context())
	e, ended := &ear{}, make(chan error, 1)
	e.sleeps.Store(true)
	go func() { ended <- postgres.Listen(ctx, cfg, "things", telemetrytest.ForTest(t).Log, e) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("stop the listener: %v, want no error", err)
		}
	})
	e.until(t, "the listener", func() bool { return !e.caughtUp.IsZero() && e.missed == 1 })
	proved := e.caughtUp
	if _, err := pool.Exec(t.Context(), `SELECT pg_notify('things', 'one')`); err != nil {
		t.Fatalf("notify: %v, want no error", err)
	}
	e.until(t, "the notification", func() bool { return len(e.heard) == 1 })
	e.mu.Lock()
	early := e.caughtUp.Sub(proved)
	e.mu.Unlock()
	if early != 0 && early < postgres.ProofSeldom {
		t.Errorf("a proof that nobody wants came %s after the one before, want %s at least", early, postgres.ProofSeldom)
	}
	e.sleeps.Store(false)
	before := time.Now()
	e.until(t, "a proof that is wanted", func() bool { return e.caughtUp.After(before) })
}
