//go:build integration

package store

import "causeway.internal/libs/testkit/holdup"

// Births makes the next shared transaction of new reports wait until release is called. held is closed once it does,
// and waiting returns how many reports wait behind it.
func (s *Store) Births() (held <-chan struct{}, waiting func() int, release func()) {
	return holdup.Next(&s.births.Calls)
}
