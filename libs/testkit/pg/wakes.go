package pg

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Wakes fails the test unless a write notifies AwaitWork that sleeps (libs/postgres, work.go), and work is due after it
// by the statement of the table and was not before.
func Wakes(t testing.TB, pool *pgxpool.Pool, due string, write func()) {
	t.Helper()
	asleep, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatalf("open a session: %v, want no error", err)
	}
	defer asleep.Release()
	if _, err := asleep.Exec(t.Context(), `SELECT pg_advisory_lock(hashtextextended('work asleep', 0))`); err != nil {
		t.Fatalf("take the lock of a sleep: %v, want no error", err)
	}
	defer func() {
		ctx := context.WithoutCancel(t.Context())
		if _, err := asleep.Exec(ctx, `SELECT pg_advisory_unlock(hashtextextended('work asleep', 0))`); err != nil {
			t.Errorf("free the lock of a sleep: %v, want no error", err)
		}
		if _, err := asleep.Exec(ctx, `UNLISTEN work`); err != nil {
			t.Errorf("stop listening: %v, want no error", err)
		}
	}()
	if _, err := asleep.Exec(t.Context(), `LISTEN work`); err != nil {
		t.Fatalf("listen: %v, want no error", err)
	}
	seconds := func() (s *float64) {
		if err := asleep.QueryRow(t.Context(), due).Scan(&s); err != nil {
			t.Fatalf("%s: %v, want no error", due, err)
		}
		return s
	}
	if s := seconds(); s != nil && *s <= 0 {
		t.Errorf("work is due in %v s before the write, want later or never", *s)
	}
	write()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := asleep.Conn().WaitForNotification(ctx); err != nil {
		t.Fatalf("wait for the notification of the write: %v, want no error", err)
	}
	if s := seconds(); s == nil || *s > 0 {
		t.Errorf("work is due in %v s after the write (nil: never), want now", s)
	}
}
