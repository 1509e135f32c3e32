package store

import (
	"context"
	"fmt"

	"causeway.internal/libs/tenant"
)

// reassignSQL moves a thousand wallets, in the order in which the scan locks them.
const reassignSQL = `UPDATE wallets SET key_id = $4 WHERE id IN (
	SELECT id FROM wallets WHERE key_id = $1 AND mode = $2 AND merchant_id = $3 ORDER BY id LIMIT 1000 FOR UPDATE)`

// Reassign gives all wallets of one key to another key of the same merchant and mode, a thousand at a time, and returns
// their number. After an interruption it can be repeated.
func (s *Store) Reassign(ctx context.Context, from tenant.Owner, to int64) (moved int64, err error) {
	for {
		tag, err := s.pool.Exec(ctx, reassignSQL, from.KeyID, from.Mode, from.MerchantID, to)
		if err != nil {
			return moved, fmt.Errorf("giving the wallets of key %d to key %d: %w", from.KeyID, to, err)
		}
		if moved += tag.RowsAffected(); tag.RowsAffected() == 0 {
			return moved, nil
		}
	}
}
