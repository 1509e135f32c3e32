package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Settings of the statements that come after them in a transaction. They end with it.
const (
	// OnePlanSQL gives a statement one plan for any arguments, where planning it for each of them would cost as much as
	// running it.
	OnePlanSQL = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`

	// ByIndexSQL does the same, and has rows looked up by an index. A plan that was made while a table was empty would
	// read the whole table for each row later.
	ByIndexSQL = OnePlanSQL + `, set_config('enable_seqscan', 'off', true)`

	// InOrderSQL does the same, and has each index scanned in its order. It is for looks at what is due, waits or is open:
	// rows that enter and soon leave an index. Such a scan marks the entries of versions that are dead, so that the next
	// look passes them over. A bitmap of an index marks none, so each look would read the past versions of all rows that
	// have changed since the last vacuum.
	InOrderSQL = ByIndexSQL + `, set_config('enable_bitmapscan', 'off', true)`
)

// Planned runs a statement after settings, in one round trip: by itself, or in a transaction, whose further statements
// then have the settings too. collect reads the rows; it is nil for a statement that returns none.
func Planned(ctx context.Context, on Querier, settings string, collect func(pgx.Rows) error, sql string, args ...any) error {
	batch := &pgx.Batch{}
	batch.Queue(settings)
	one := batch.Queue(sql, args...)
	if collect != nil {
		one.Query(collect)
	}
	return on.SendBatch(ctx, batch).Close()
}
