package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// clockRounds is how often one measurement asks; the answer that took least time counts.
const clockRounds = 3

// Clock tells the database's time without asking it each time: windows that a process writes are compared with the
// database's clock later, so both have to come from the same one (docs/architecture.md#update). It is safe for
// concurrent use.
type Clock struct {
	pool *pgxpool.Pool
	wall func() time.Time
	last atomic.Pointer[reading]
}

// reading is the database's time at one moment of the process, which is kept with its monotonic part: a process clock
// that is set does not move it.
type reading struct{ here, there time.Time }

// OpenClock measures the database's clock; wall is the process's own, time.Now but in tests.
func OpenClock(ctx context.Context, pool *pgxpool.Pool, wall func() time.Time) (*Clock, error) {
	c := &Clock{pool: pool, wall: wall}
	return c, c.Measure(ctx)
}

// Measure reads the database's clock again. Between two measurements the two drift apart by no more than crystals do; the
// error of one is at most half the time that its answer took.
func (c *Clock) Measure(ctx context.Context) error {
	var best reading
	var least time.Duration
	for i := range clockRounds {
		asked := c.wall()
		var there time.Time
		if err := c.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&there); err != nil {
			return fmt.Errorf("read the database's clock: %w", err)
		}
		if took := c.wall().Sub(asked); i == 0 || took < least {
			least, best = took, reading{asked.Add(took / 2), there.UTC()}
		}
	}
	c.last.Store(&best)
	return nil
}

// Now is the database's time.
func (c *Clock) Now() time.Time {
	r := c.last.Load()
	return r.there.Add(c.wall().Sub(r.here))
}
