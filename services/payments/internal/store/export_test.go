//go:build integration

package store

// Waiting is the number of changes that wait for a pack.
func (s *Store) Waiting() int {
	s.packs.mu.Lock()
	defer s.packs.mu.Unlock()
	return len(s.packs.waiting)
}
