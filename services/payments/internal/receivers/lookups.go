package receivers

import (
	"sync"
	"time"
)

// Limits of the look-ups for one payment without a key: enough for typing errors, too few to search for accounts.
const (
	lookupBurst = 10
	lookupEvery = time.Minute // between two more
	lookupsMost = 10_000      // payments that are counted at once
)

// lookups counts the accounts that were looked up for each payment, in this process alone. Until full[id] a payment has
// fewer than all of its look-ups.
type lookups struct {
	now func() time.Time

	mu   sync.Mutex
	full map[string]time.Time
}

func newLookups(now func() time.Time) *lookups {
	return &lookups{now: now, full: map[string]time.Time{}}
}

// take counts a look-up for a payment, or returns the time until the next one is allowed.
func (l *lookups) take(id string) (wait time.Duration) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	used := max(0, l.full[id].Sub(now))
	if wait = used - (lookupBurst-1)*lookupEvery; wait > 0 {
		return wait
	}
	if len(l.full) >= lookupsMost {
		clear(l.full) // bounds the memory; each payment starts with all look-ups again
	}
	l.full[id] = now.Add(used + lookupEvery)
	return 0
}
