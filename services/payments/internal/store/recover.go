package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
)

// Statements that remove state of a restored database that is out of date. Each may run again.
const (
	// Payers of lost payments may have seen addresses of the stock and of open requests.
	discardStock = `WITH gone AS (DELETE FROM address_stock RETURNING mode, family, address)
INSERT INTO own_addresses (mode, family, address) SELECT mode, family, address FROM gone ON CONFLICT DO NOTHING`
	discardRequests = `DELETE FROM address_requests`
	// A payout may have been sent again after the backup, so its earlier queries justify no further send.
	doubtPayouts = `UPDATE payouts SET misses = 0, first_miss_at = NULL, no_float = false, sent_at = now(), next_at = now(), taken_until = NULL
WHERE state = 'unknown' AND NOT frozen`
	// Deposits that were processed after the backup do not arrive again under their numbers.
	forgetTaken    = `DELETE FROM scan_taken`
	forgetWaiting  = `DELETE FROM scan_waiting`
	forgetProgress = `UPDATE scan_progress SET settled = -1`
	// Its merchant may have deleted an account after the backup, because a thief had named it.
	holdAccounts = `UPDATE settlement_accounts SET held_until = greatest(held_until, now() + $1 * interval '1 second')
WHERE mode = 'live' AND confirmed_at IS NOT NULL AND deleted_at IS NULL`
)

// Recover prepares a database that was restored from a backup (docs/architecture.md#recovery). Every process calls it
// before it assigns an address or sends a payout, and may call it again. No live money leaves to a settlement account
// for the time of hold from the last call.
func (s *Store) Recover(ctx context.Context, hold time.Duration) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		for _, sql := range []string{discardStock, discardRequests, doubtPayouts, forgetTaken, forgetWaiting, forgetProgress} {
			batch.Queue(sql)
		}
		batch.Queue(holdAccounts, hold.Seconds())
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return fmt.Errorf("prepare a restored database: %w", err)
	}
	return nil
}
