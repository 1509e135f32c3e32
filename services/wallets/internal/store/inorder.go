package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
)

// sender is a pool or a transaction.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// inOrder runs a look at what is due, waits or is open with the settings of [postgres.InOrderSQL]: by itself, or in a
// transaction, whose further statements then have them too.
func inOrder(ctx context.Context, on sender, collect func(pgx.Rows) error, sql string, args ...any) error {
	batch := &pgx.Batch{}
	batch.Queue(postgres.InOrderSQL)
	batch.Queue(sql, args...).Query(collect)
	return on.SendBatch(ctx, batch).Close()
}
