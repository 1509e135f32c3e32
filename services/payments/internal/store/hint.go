package store

import (
	"context"
	"fmt"
)

// hintPayout makes a sent payout due, so that a worker queries the rail at once. A webhook shows that the rail knows
// the payout, so the misses of earlier queries are cleared and cause no second send. A payout that is due already may
// be in a query, so it is written too: the answer to that query then keeps the new time.
const hintPayout = `UPDATE payouts SET next_at = clock_timestamp(), misses = 0
WHERE reference = $1 AND rail = $2 AND state IN ('pending', 'unknown', 'succeeded', 'failed')`

// Hint implements sandbox.Store. A reference that no payout carries changes nothing.
func (s *Store) Hint(ctx context.Context, rail, reference string) error {
	if _, err := s.pool.Exec(ctx, hintPayout, reference, rail); err != nil {
		return fmt.Errorf("apply the hint of a rail: %w", err)
	}
	return nil
}
