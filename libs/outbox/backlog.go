package outbox

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/postgres"
)

// MaxRows is how many messages may wait for the broker before a service refuses new work
// (docs/architecture.md#roles-of-a-process).
const MaxRows = 500_000

// checkEvery bounds how often a busy service asks the database for its backlog.
const checkEvery = time.Second

// The span of ids is an upper bound that two index probes give; rows are counted only when it is above the limit.
const (
	spanSQL  = `(SELECT coalesce(max(id) - min(id) + 1, 0) FROM outbox WHERE sent_at IS NULL)`
	countSQL = `SELECT count(*) FROM (SELECT FROM outbox WHERE sent_at IS NULL LIMIT $1) AS waiting`
)

// Backlog reports whether so many messages wait that new work must be refused. It is safe for concurrent use.
type Backlog struct {
	q     postgres.Querier
	limit int64

	full    atomic.Bool
	mu      sync.Mutex
	checked time.Time
}

// NewBacklog makes a check over the outbox behind q with the given limit of rows.
func NewBacklog(q postgres.Querier, limit int64) *Backlog { return &Backlog{q: q, limit: limit} }

// Full returns a 503 fault while the outbox is at its limit. It queries the database at most once a second, one caller
// at a time; the others use the last answer.
func (b *Backlog) Full(ctx context.Context) error {
	if b.mu.TryLock() {
		if time.Since(b.checked) >= checkEvery {
			b.check(ctx)
		}
		b.mu.Unlock()
	}
	return refusal(b.full.Load())
}

func (b *Backlog) check(ctx context.Context) {
	n, err := b.ask(ctx, `SELECT `+spanSQL)
	if err == nil && n >= b.limit {
		n, err = b.ask(ctx, countSQL, b.limit)
	}
	b.checked = time.Now()
	if err != nil {
		return // the caller's own write will fail with the outage
	}
	b.full.Store(n >= b.limit)
}

func (b *Backlog) ask(ctx context.Context, sql string, args ...any) (n int64, err error) {
	err = postgres.Planned(ctx, b.q, postgres.ByIndexSQL, func(rows pgx.Rows) (err error) {
		n, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
		return err
	}, sql, args...)
	return n, err
}

func refusal(full bool) error {
	if !full {
		return nil
	}
	return fault.New(fault.Unavailable, "busy", "Too much work is waiting to be delivered. Try again shortly.").After(5 * time.Second)
}
