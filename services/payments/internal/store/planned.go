package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Planning a statement over lists, or a page of a list, for each of its arguments costs as much as running it. The plan
// for any arguments is the same one. The setting ends with the transaction.
const onePlan = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`

// planned runs a statement with one plan for any arguments in a transaction of its own.
func planned(ctx context.Context, pool *pgxpool.Pool, collect func(pgx.Rows) error, sql string, args ...any) error {
	batch := &pgx.Batch{}
	batch.Queue(onePlan)
	batch.Queue(sql, args...).Query(collect)
	return pool.SendBatch(ctx, batch).Close()
}
