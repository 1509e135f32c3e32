package store

import (
	"context"
	"fmt"

	"causeway.internal/services/payments/internal/app"
)

var _ app.Hints = (*Store)(nil)

// hintPayout makes a payout due that has left: it is asked about at once. That the rail tells of it says that the rail
// knows it, so the misses of earlier queries count no more, and nothing is sent again because of them. A payout that was
// asked about a moment ago stays as it is.
const hintPayout = `UPDATE payouts SET next_at = clock_timestamp(), misses = 0
WHERE reference = $1 AND rail = $2 AND state IN ('pending', 'unknown', 'succeeded', 'failed')
AND (next_at IS NULL OR next_at > clock_timestamp() + interval '1 second')`

// Hint implements app.Hints. A reference that no payout carries changes nothing.
func (s *Store) Hint(ctx context.Context, rail, reference string) error {
	if _, err := s.pool.Exec(ctx, hintPayout, reference, rail); err != nil {
		return fmt.Errorf("note the hint of a rail: %w", err)
	}
	return nil
}
