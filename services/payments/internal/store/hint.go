package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
)

// hintPayout makes a sent payout due, so that a worker queries the rail at once. A webhook shows that the rail knows
// the payout, so the misses of earlier queries are cleared and cause no second send. A payout that is due already may
// be in a query, so it is written too: the answer to that query then keeps the new time.
const hintPayout = `UPDATE payouts SET next_at = clock_timestamp(), misses = 0
WHERE reference = $1 AND rail = $2 AND state IN ('pending', 'unknown', 'succeeded', 'failed')`

// Hint implements sandbox.Store. A reference that no payout carries changes nothing. A payment that is archived is
// attached, because its payout may have been returned.
func (s *Store) Hint(ctx context.Context, rail, reference string) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, hintPayout, reference, rail)
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
		if err := s.attach(ctx, tx, attachPayout, reference); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, hintPayout, reference, rail)
		return err
	})
	return wrap(err, "apply the hint of a rail")
}
