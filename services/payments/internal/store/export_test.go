//go:build integration

package store

// InOrder is what comes before a statement that has to read an index in its order.
const InOrder = inOrder

// Waiting is the number of changes that wait for a pack.
func (s *Store) Waiting() int {
	s.packs.mu.Lock()
	defer s.packs.mu.Unlock()
	return len(s.packs.waiting)
}
