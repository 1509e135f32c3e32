package scanner

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// Allocations reads the addresses of a mode and family in the order of their commits.
type Allocations interface {
	// CountAddresses is about how many there are.
	CountAddresses(ctx context.Context, mode tenant.Mode, family money.Family) (int64, error)
	// AddressesAfter calls f for every address with a larger seq, ascending, with its key or the key's last eight bytes.
	// To read on after a call of f, give its seq: an address may come again, and none is left out.
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

// refreshChunk bounds how many addresses are added under one lock, so that a first load stops the other networks for
// some milliseconds only.
const refreshChunk = 1 << 18

// Refresh reads every allocation that was committed before the call. A block that was fetched before the call can then
// be matched: the set has every address that a payer could have learned in time to pay into that block.
func (w *Watch) Refresh(ctx context.Context) error {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	if err := w.reserve(ctx); err != nil {
		return err
	}
	last, found := w.last, make([]fingerprint, 0, 64)
	var ordered []fingerprint
	flush := func() {
		w.mu.Lock()
		if len(found) < refreshChunk {
			for _, f := range found {
				w.set.add(f)
			}
		} else {
			ordered = slices.Grow(ordered, refreshChunk)[:refreshChunk]
			w.set.addAll(found, ordered)
		}
		w.mu.Unlock()
		found, w.last = found[:0], last
	}
	err := w.from.AddressesAfter(ctx, w.mode, w.family, w.last, func(seq int64, key []byte) {
		last, found = seq, append(found, w.set.fingerprint(key))
		if len(found) == refreshChunk {
			flush()
		}
	})
	if err != nil {
		return fmt.Errorf("reading new %s addresses: %w", w.family, err)
	}
	flush()
	return nil
}

// reserve prepares the set for its first load.
func (w *Watch) reserve(ctx context.Context) error {
	if w.last > 0 {
		return nil
	}
	count, err := w.from.CountAddresses(ctx, w.mode, w.family)
	if err != nil {
		return fmt.Errorf("counting %s addresses: %w", w.family, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set.reserve(count)
	return nil
}

// Has implements chain.Watched.
func (w *Watch) Has(key []byte) bool {
	f := w.set.fingerprint(key)
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.set.has(f)
}

// Len is the number of watched addresses.
func (w *Watch) Len() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.set.count
}
