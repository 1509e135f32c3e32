//go:build integration

package store_test

import (
	"testing"
	"time"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/migrations"
)

// A process whose clock is an hour behind returns the database's time.
func TestClock_isTheDatabases(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations.FS)
	slow := func() time.Time { return time.Now().Add(-time.Hour) }
	clock, err := store.OpenClock(t.Context(), pool, slow)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var there time.Time
		if err := pool.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&there); err != nil {
			t.Fatal(err)
		}
		if off := clock.Now().Sub(there).Abs(); off > 2*time.Second {
			t.Errorf("off by %s", off)
		}
		if err := clock.Measure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A payment of a process with a wrong clock has its window by the database's clock.
func TestClock_windowOfAPayment(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	clock, err := store.OpenClock(t.Context(), w.pool, func() time.Time { return time.Now().Add(-time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	w.with(func(d *app.Deps) { d.Now = clock.Now })
	a, err := w.create(command(), idempotency.Key{})
	if err != nil {
		t.Fatal(err)
	}
	p := w.find(reference(t, a.Body)).Payment
	if left := ask[int](w, `SELECT extract(epoch FROM expires_at - now())::int FROM payments WHERE id = $1`, p.ID); left < 1780 || left > 1801 {
		t.Errorf("%d seconds are left of half an hour", left)
	}
}
