package outbox

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A row is read once, by the read after its commit if the front has passed it, and by a read of everything in any case.
func TestFront(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			const rows = 60
			random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test
			committed, sent := map[int64]time.Time{}, map[int64]bool{}
			var f front
			next, open := int64(1), []int64{}
			for steps := 0; len(sent) < rows; steps++ {
				if steps > 10*rows {
					t.Fatalf("seed %d: %d of %d rows were read", seed, len(sent), rows)
				}
				switch {
				case next <= rows && random.IntN(2) == 0: // a writer takes its id
					open = append(open, next)
					next++
				case len(open) > 0: // a writer commits
					n := random.IntN(len(open))
					committed[open[n]] = time.Now()
					open = slices.Delete(open, n, n+1)
				}
				time.Sleep(time.Duration(1+random.IntN(40)) * time.Millisecond) // synthetic
				known, high, gaps := f.known(), f.high, slices.Clone(f.gaps)
				var ids []int64
				for id := range committed {
					if !sent[id] && (!known || id > high || slices.Contains(gaps, id)) {
						ids = append(ids, id)
					}
				}
				slices.Sort(ids)
				if known {
					f.read(ids)
				} else {
					f.whole(ids)
				}
				for _, id := range ids {
					if waited := time.Since(committed[id]); waited > wholeEvery+40*time.Millisecond {
						t.Fatalf("seed %d: row %d waited %s", seed, id, waited)
					}
					sent[id] = true
				}
				f.pass(ids)
				for id := high + 1; known && id < f.high; id++ {
					if !sent[id] && !slices.Contains(f.gaps, id) {
						t.Fatalf("seed %d: the front went from %d to %d past row %d, which it does not look for", seed, high, f.high, id)
					}
				}
			}
		})
	}
}

// Ids that writers have given up cost a bounded list.
func TestFront_bounded(t *testing.T) {
	t.Parallel()
	f := front{high: 1}
	f.read([]int64{1_000_000})
	if len(f.gaps) > gapsMost || f.high != 1_000_000 {
		t.Errorf("%d gaps up to %d, want %d at most up to a million", len(f.gaps), f.high, gapsMost)
	}
}
