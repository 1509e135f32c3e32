package scanner

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/cpu"
)

// The set has every member that was added, after any growth, and no foreign key.
func TestSet(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, model := newSet(), map[string]bool{}
		key := rapid.Custom(func(r *rapid.T) []byte { // few of them share a table, unless their ends are spread
			return binary.BigEndian.AppendUint64(make([]byte, 12), rapid.Uint64().Draw(r, "end"))
		})
		keys := rapid.SliceOfN(key, 0, 3000).Draw(r, "keys")
		for _, k := range keys {
			s.add(s.fingerprint(k))
			model[string(k)] = true
		}
		if s.count != len(model) {
			r.Fatalf("%d members, want %d", s.count, len(model))
		}
		for k := range model {
			if !s.has(s.fingerprint([]byte(k))) {
				r.Fatalf("%x is missing", k)
			}
		}
		for _, k := range rapid.SliceOfN(key, 0, 50).Draw(r, "foreign keys") {
			if s.has(s.fingerprint(k)) != model[string(k)] {
				r.Fatalf("has the set %x: got %v", k, !model[string(k)])
			}
		}
	})
}

// One table behaves as a set of its contents, whatever crowds where, and is never more than seven eighths full.
func TestOpenTable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		table, model := openTable{}, map[uint64]bool{}
		content := rapid.OneOf(rapid.Uint64Range(1, 40), rapid.Uint64Range(slotMask-40, slotMask), rapid.Uint64Range(1, slotMask))
		for _, c := range rapid.SliceOfN(content, 0, 500).Draw(r, "contents") {
			if fresh := table.add(c); fresh == model[c] {
				r.Fatalf("add %x: got new %v", c, fresh)
			}
			model[c] = true
			if table.count*8 > table.slots*7 {
				r.Fatalf("%d of %d slots are taken", table.count, table.slots)
			}
		}
		for _, c := range append(slices.Collect(maps.Keys(model)), rapid.SliceOfN(content, 0, 50).Draw(r, "others")...) {
			if table.slots == 0 {
				break
			}
			if _, there := table.place(c); there != model[c] {
				r.Fatalf("%x: got member %v, want %v", c, there, model[c])
			}
		}
		if int(table.count) != len(model) { //nolint:gosec // at most 500
			r.Fatalf("%d members, want %d", table.count, len(model))
		}
	})
}

type failing struct{ err error }

func (f failing) CountAddresses(context.Context, tenant.Mode, money.Family) (int64, error) {
	return 0, nil
}

func (f failing) AddressesAfter(context.Context, tenant.Mode, money.Family, int64, func(int64, []byte)) error {
	return f.err
}

func TestWatch_refreshFails(t *testing.T) {
	broken := errors.New("database away")
	w := NewWatch(tenant.Test, money.EVM, failing{broken})
	if err := w.Refresh(t.Context()); !errors.Is(err, broken) {
		t.Errorf("refresh without the database: got %v, want its error", err)
	}
}

// Several networks refresh one Watch while others match.
func TestWatch_concurrent(t *testing.T) {
	m := newMemory()
	w := NewWatch(tenant.Test, money.EVM, m)
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

// million are a million allocations in the form that a store returns, generated without keeping them.
type million struct{}

func (million) CountAddresses(context.Context, tenant.Mode, money.Family) (int64, error) {
	return 1_000_000, nil
}

func (million) AddressesAfter(_ context.Context, _ tenant.Mode, _ money.Family, seq int64, f func(int64, []byte)) error {
	key := make([]byte, 20)
	for i := seq; i < 1_000_000; i++ {
		binary.BigEndian.PutUint64(key[12:], uint64(i)*0x9e3779b97f4a7c15)
		f(i+1, key)
	}
	return nil
}

// BenchmarkWatchMillion loads a million addresses from memory: ns/op is the time of the load, MB the memory of the set.
func BenchmarkWatchMillion(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var w *Watch
	began := cpu.Spent()
	for b.Loop() {
		w = NewWatch(tenant.Live, money.EVM, million{})
		if err := w.Refresh(b.Context()); err != nil || w.Len() != 1_000_000 {
			b.Fatal(err, w.Len())
		}
	}
	cpu.Report(b, began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := (after.HeapAlloc - before.HeapAlloc) >> 20
	if used > 60 {
		b.Errorf("a million addresses take %d MB", used)
	}
	b.ReportMetric(float64(used), "MB") //nolint:forbidigo // how the testing package takes a number
	runtime.KeepAlive(w)
}

// BenchmarkWatchMiss looks a foreign key up among a million.
func BenchmarkWatchMiss(b *testing.B) {
	w := NewWatch(tenant.Live, money.EVM, million{})
	if err := w.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	key := make([]byte, 20)
	found, asked := 0, 0
	for b.Loop() {
		binary.BigEndian.PutUint64(key[12:], uint64(asked)|1<<63)
		if asked++; w.Has(key) {
			found++
		}
	}
	if found > asked/100+1 {
		b.Fatalf("%d of %d foreign keys are members", found, asked)
	}
}
