// Package limit counts callers' actions against small budgets, in memory that never grows
// (docs/api-contract.md#limits). A table belongs to one process: with several replicas each counts for itself. It keeps
// hashes instead of keys, and answers no request itself.
package limit

import (
	"hash/maphash"
	"sync"
	"time"
)

// Shape of every table: 65 536 entries of 16 bytes.
const (
	sets = 8192
	ways = 8
)

// Table is a token bucket per key. When more keys are active at once than fit, it evicts the one with the least used
// budget. It is safe for concurrent use.
type Table struct {
	each  time.Duration // one token comes back in this time
	depth time.Duration // a full bucket, in time
	now   func() time.Time
	seed  maphash.Seed
	sets  []set
}

type set struct {
	mu   sync.Mutex
	ways [ways]entry
}

// entry is a bucket as its theoretical arrival time (the generic cell rate algorithm): the moment at which it will be
// full again. A full bucket equals none.
type entry struct {
	key  uint64
	full int64 // unix nanoseconds
}

// New makes a table of buckets that hold burst tokens and get rate of them back every per. A rate or burst of zero or
// less makes a table that refuses nothing.
func New(rate int, per time.Duration, burst int, now func() time.Time) *Table {
	t := &Table{now: now, seed: maphash.MakeSeed()}
	if rate > 0 && burst > 0 {
		t.each = per / time.Duration(rate)
		t.depth = t.each * time.Duration(burst)
		t.sets = make([]set, sets)
	}
	return t
}

// Take spends one token of every key, or none at all when a key has none left; then wait is the time until it has.
func (t *Table) Take(keys ...string) (wait time.Duration, ok bool) {
	if wait, ok = t.Has(keys...); !ok {
		return wait, false
	}
	for _, key := range keys {
		t.Spend(key)
	}
	return 0, true
}

// Has reports whether every key has a token, without spending one.
func (t *Table) Has(keys ...string) (wait time.Duration, ok bool) {
	if t.sets == nil {
		return 0, true
	}
	now := t.now().UnixNano()
	for _, key := range keys {
		t.with(key, now, func(e *entry) {
			wait = max(wait, time.Duration(max(e.full, now)-now)+t.each-t.depth)
		})
	}
	return max(wait, 0), wait <= 0
}

// Spend takes a token of a key, even one that it does not have yet; a debt is never deeper than a bucket.
func (t *Table) Spend(key string) {
	if t.sets == nil {
		return
	}
	now := t.now().UnixNano()
	t.with(key, now, func(e *entry) {
		e.full = min(max(e.full, now)+int64(t.each), now+2*int64(t.depth))
	})
}

func (t *Table) with(key string, now int64, f func(*entry)) {
	h := maphash.String(t.seed, key)
	s := &t.sets[h%sets]
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := 0
	for i := range s.ways {
		if s.ways[i].key == h {
			f(&s.ways[i])
			return
		}
		if s.ways[i].full < s.ways[oldest].full {
			oldest = i
		}
	}
	fresh := entry{key: h, full: now}
	f(&fresh)
	if fresh.full > now {
		s.ways[oldest] = fresh
	}
}
