package receivers

import (
	"sync"
	"time"
)

// How many accounts may be looked up for one payment without a key: people mistype, and nobody has more than a few accounts.
const (
	lookupBurst = 10
	lookupEvery = time.Minute // between two more
	lookupsMost = 10_000      // payments that are counted at once
)

// lookups counts the accounts that were looked up for each payment, in this process alone. Until full[id] a payment has not
// got all of its look-ups back.
type lookups struct {
	now func() time.Time

	mu   sync.Mutex
	full map[string]time.Time
}

func newLookups(now func() time.Time) *lookups {
	return &lookups{now: now, full: map[string]time.Time{}}
}

// take counts a look-up for a payment, or says how long until the next one is allowed.
func (l *lookups) take(id string) (wait time.Duration) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	used := max(0, l.full[id].Sub(now))
	if wait = used - (lookupBurst-1)*lookupEvery; wait > 0 {
		return wait
	}
	if len(l.full) >= lookupsMost {
		clear(l.full) // rare, cheap, and bounded: each payment begins anew
	}
	l.full[id] = now.Add(used + lookupEvery)
	return 0
}
