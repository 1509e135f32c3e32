//go:build integration

package store

import (
	"context"
	"sync"

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

// Births makes the next shared create wait until release is called. held is closed once it does, and waiting returns
// how many creates wait behind it.
func (s *Store) Births() (held <-chan struct{}, waiting func() int, release func()) {
	return holdUp(&s.births)
}

// Limited does the same with creates that count against daily limits.
func (s *Store) Limited() (held <-chan struct{}, waiting func() int, release func()) {
	return holdUp(&s.limited)
}

// Reads does the same with look-ups of owners.
func (s *Store) Reads() (held <-chan struct{}, waiting func() int, release func()) {
	return holdUp(&s.reads)
}

func holdUp[In, Out any](g *gather[In, Out]) (held <-chan struct{}, waiting func() int, release func()) {
	var once sync.Once
	begun, end := make(chan struct{}), make(chan struct{})
	all := g.all
	g.all = func(ctx context.Context, in []In) ([]Out, error) {
		once.Do(func() {
			close(begun)
			<-end
		})
		return all(ctx, in)
	}
	waiting = func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.waiting)
	}
	return begun, waiting, func() { close(end) }
}
