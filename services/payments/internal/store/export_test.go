//go:build integration

package store

import (
	"context"

	"causeway.internal/libs/testkit/holdup"
	"causeway.internal/services/payments/internal/payout"
)

// WithoutBitmaps is what comes before a statement that has to read an index in its order.
const WithoutBitmaps = withoutBitmaps

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

// Births makes the next shared create wait until release is called. held is closed once it does, and waiting returns
// how many creates wait behind it.
func (s *Store) Births() (held <-chan struct{}, waiting func() int, release func()) {
	return holdup.Next(&s.births)
}

// Limited does the same with creates that count against daily limits.
func (s *Store) Limited() (held <-chan struct{}, waiting func() int, release func()) {
	return holdup.Next(&s.limited)
}

// Reads does the same with look-ups of owners.
func (s *Store) Reads() (held <-chan struct{}, waiting func() int, release func()) {
	return holdup.Next(&s.views.Calls)
}

// Sends does the same with what is sent without a change of a payment.
func (s *Store) Sends() (held <-chan struct{}, waiting func() int, release func()) {
	return holdup.Next(&s.sends.Calls)
}

// Replays does the same with look-ups of earlier answers.
func (s *Store) Replays() (held <-chan struct{}, waiting func() int, release func()) {
	return holdup.Next(&s.replays)
}
