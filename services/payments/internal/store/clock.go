package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// clockRounds is the number of queries of one measurement. The fastest answer counts.
const clockRounds = 3

// Clock is the database's clock without a query for each reading. The windows that a process writes are later compared
// with the database's clock, so both must come from the same clock (docs/architecture.md#update). It is safe for
// concurrent use.
type Clock struct {
	pool *pgxpool.Pool
	wall func() time.Time
	last atomic.Pointer[reading]
}

// reading is the database's time at one moment of the process. The moment has its monotonic part, so setting the
// process's clock does not change the result.
type reading struct{ here, there time.Time }

// OpenClock measures the database's clock. wall is the process's clock: time.Now, except in tests.
func OpenClock(ctx context.Context, pool *pgxpool.Pool, wall func() time.Time) (*Clock, error) {
	c := &Clock{pool: pool, wall: wall}
	return c, c.Measure(ctx)
}

// Measure reads the database's clock again. Between two measurements the clocks drift as hardware clocks do. The error
// of a measurement is at most half the duration of its query.
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
