package scanner

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/wallet"
)

// The set has every member that was added, however it grew, and no stranger.
func TestSet(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, model := newSet(), map[string]bool{}
		keys := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 20, 20), 0, 3000).Draw(r, "keys")
		for _, k := range keys {
			s.add(k)
			model[string(k)] = true
		}
		if s.count != len(model) {
			r.Fatalf("%d members, want %d", s.count, len(model))
		}
		for k := range model {
			if !s.has([]byte(k)) {
				r.Fatalf("%x is missing", k)
			}
		}
		for _, k := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 20, 20), 0, 50).Draw(r, "strangers") {
			if s.has(k) != model[string(k)] {
				r.Fatalf("%x: %v", k, s.has(k))
			}
		}
	})
}

type failing struct{ err error }

func (f failing) AddressesAfter(context.Context, wallet.Mode, money.Family, int64, func(int64, []byte)) error {
	return f.err
}

func TestWatch_refreshFails(t *testing.T) {
	broken := errors.New("database away")
	w := NewWatch(wallet.Test, money.EVM, failing{broken})
	if err := w.Refresh(t.Context()); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// Several networks refresh one Watch while others match.
func TestWatch_concurrent(t *testing.T) {
	m := newMemory()
	w := NewWatch(wallet.Test, money.EVM, m)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 200 {
				key := numbered(worker*1000 + i)
				m.allocate(key)
				if err := w.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
				if !w.Has(key) {
					t.Errorf("%x was committed before the refresh and is not watched", key)
				}
			}
		})
	}
	wg.Wait()
	if w.Len() != 800 {
		t.Errorf("%d watched", w.Len())
	}
}

func numbered(n int) []byte {
	key := make([]byte, 20)
	binary.BigEndian.PutUint64(key[12:], uint64(n))
	return key
}

// BenchmarkSet measures a million members: memory, time to load and time of a look-up that misses.
func BenchmarkSet(b *testing.B) {
	const members = 1_000_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := newSet()
	key := make([]byte, 20)
	for i := range members {
		binary.BigEndian.PutUint64(key, uint64(i)*0x9e3779b97f4a7c15)
		s.add(key)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ResetTimer()
	found := 0
	for i := range b.N {
		binary.BigEndian.PutUint64(key, uint64(i)|1<<63)
		if s.has(key) {
			found++
		}
	}
	if found > b.N/100+1 {
		b.Fatalf("%d of %d strangers are members", found, b.N)
	}
	if used := (after.HeapAlloc - before.HeapAlloc) >> 20; used > 60 {
		b.Fatalf("a million members take %d MB", used)
	}
	runtime.KeepAlive(s)
}
