//go:build integration

package store_test

import (
	"testing"
	"time"

	"causeway.internal/libs/testkit/pg"
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
