//go:build integration

package store

import (
	"context"

	"causeway.internal/services/payments/internal/payout"
)

// InOrder is what comes before a statement that has to read an index in its order.
const InOrder = inOrder

// Waiting is the number of changes that wait for a pack.
func (s *Store) Waiting() int {
	s.packs.mu.Lock()
	defer s.packs.mu.Unlock()
	return len(s.packs.waiting)
}

// SavePayouts writes payouts in one statement and says which it wrote.
func (s *Store) SavePayouts(ctx context.Context, all ...payout.Payout) ([]bool, error) {
	return s.savePayouts(ctx, all)
}
