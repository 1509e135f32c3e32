package scanner

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// set holds 64-bit salted fingerprints of address keys in an open table: 8 bytes a slot and no pointers, so a million
// addresses take 17 MB and the garbage collector no time. It never misses a member. A foreign key passes with odds of
// some 2^-44 at a million members, and the database check that follows refuses it.
type set struct {
	seed  maphash.Seed
	slots []uint64 // 0 is a free slot
	count int
}

const firstSlots = 1024

func newSet() *set { return &set{seed: maphash.MakeSeed(), slots: make([]uint64, firstSlots)} }

func (s *set) fingerprint(key []byte) uint64 {
	if h := maphash.Bytes(s.seed, key); h != 0 {
		return h
	}
	return 1
}

// place returns the slot that holds the fingerprint, or the free one for it.
func place(slots []uint64, f uint64) int {
	mask := uint64(len(slots) - 1) //nolint:gosec // there is a slot at least
	i := f & mask
	for slots[i] != 0 && slots[i] != f {
		i = (i + 1) & mask
	}
	return int(i) //nolint:gosec // the mask bounds it
}

func (s *set) has(key []byte) bool { return s.slots[place(s.slots, s.fingerprint(key))] != 0 }

func (s *set) add(key []byte) {
	f := s.fingerprint(key)
	i := place(s.slots, f)
	if s.slots[i] != 0 {
		return
	}
	s.slots[i] = f
	if s.count++; s.count*4 > len(s.slots)*3 {
		s.grow()
	}
}

func (s *set) grow() {
	wider := make([]uint64, 2*len(s.slots))
	for _, f := range s.slots {
		if f != 0 {
			wider[place(wider, f)] = f
		}
	}
	s.slots = wider
}

// Allocations reads the addresses of a mode and family in the order of their commits.
type Allocations interface {
	// AddressesAfter calls f for every address with a larger seq, ascending.
	AddressesAfter(ctx context.Context, mode tenant.Mode, family money.Family, seq int64, f func(seq int64, key []byte)) error
}

// Watch is the set of all addresses of one mode and family. One Watch serves every network of the family, so the scan
// sees a deposit on the wrong network of a family too.
type Watch struct {
	mode   tenant.Mode
	family money.Family
	from   Allocations

	refreshing sync.Mutex
	mu         sync.RWMutex
	set        *set
	last       int64
}

// NewWatch makes an empty set; the first Refresh loads it.
func NewWatch(mode tenant.Mode, family money.Family, from Allocations) *Watch {
	return &Watch{mode: mode, family: family, from: from, set: newSet()}
}

// refreshChunk bounds how many addresses are added under one lock, so that a first load does not stop the other
// networks.
const refreshChunk = 4096

// Refresh reads every allocation that was committed before the call. A block that was fetched before the call can then
// be matched: the set has every address that a payer could have learned in time to pay into that block.
func (w *Watch) Refresh(ctx context.Context) error {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	last, keys := w.last, make([][]byte, 0, 64)
	flush := func() {
		w.mu.Lock()
		for _, key := range keys {
			w.set.add(key)
		}
		w.mu.Unlock()
		keys, w.last = keys[:0], last
	}
	err := w.from.AddressesAfter(ctx, w.mode, w.family, w.last, func(seq int64, key []byte) {
		last, keys = seq, append(keys, append([]byte(nil), key...))
		if len(keys) == refreshChunk {
			flush()
		}
	})
	if err != nil {
		return fmt.Errorf("reading new %s addresses: %w", w.family, err)
	}
	flush()
	return nil
}

// Has implements chain.Watched.
func (w *Watch) Has(key []byte) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.set.has(key)
}

// Len is the number of watched addresses.
func (w *Watch) Len() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.set.count
}
