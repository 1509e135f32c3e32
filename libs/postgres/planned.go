package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Settings for the further statements of a transaction. They end with the transaction.
const (
	// OnePlanSQL gives a statement one plan for all arguments. It is for statements that take as long to plan as to run.
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

// Planned runs a statement with settings, in one round trip. On a pool the two are a transaction of their own; on a
// transaction the settings stay until its end. collect reads the rows; it is nil for a statement that returns none.
func Planned(ctx context.Context, on Querier, settings string, collect func(pgx.Rows) error, sql string, args ...any) error {
	batch := &pgx.Batch{}
	batch.Queue(settings)
	one := batch.Queue(sql, args...)
	if collect != nil {
		one.Query(collect)
	}
	return on.SendBatch(ctx, batch).Close()
}
