package outbox

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Names that the broker confirms late or never leave half of all time to the others, and get through what can get
// through.
func TestFlight_leavesHalfOfTheTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes func(rows int) time.Duration // until the broker has confirmed a batch
		names int
		least int  // rows published in an hour
		free  bool // before the hour ends
	}{
		"few rows in time, a whole batch not": {
			takes: func(rows int) time.Duration { return time.Duration(rows) * 200 * time.Millisecond }, names: 1, least: 2500,
		},
		"ten seconds for any batch": {takes: func(int) time.Duration { return 10 * time.Second }, names: 1, least: 900, free: true},
		"no confirm":                {takes: func(int) time.Duration { return time.Hour }, names: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, published := newFlight(), 0
				for n := range c.names { // in the batch of all names
					began := time.Now()
					time.Sleep(probeMost) // synthetic
					f.refuse(string(rune('a'+n)), began, false)
				}
				start, spent := time.Now().Add(-probeMost), probeMost
				try := func(name string, rows int, limit time.Duration) {
					began, took := time.Now(), min(c.takes(rows), limit)
					time.Sleep(took) // synthetic
					spent += took
					if took == limit {
						f.refuse(name, began, true)
						return
					}
					f.passed(name, began, rows)
					published += rows
				}
				for len(f.refused) > 0 && time.Since(start) < time.Hour {
					if name, due := f.due(); due {
						if rest := time.Since(start) - spent; rest < spent {
							t.Fatalf("a try begins when tries have taken %s and the others had %s", spent, rest)
						}
						try(name, f.refused[name].rows, f.refused[name].limit)
						continue
					}
					time.Sleep(pollEvery) // synthetic
				}
				if (len(f.refused) == 0) != c.free || published < c.least {
					t.Errorf("%d rows were published, refused are %q; want %d rows, and all names free: %t", published, slices.Sorted(slices.Values(f.refusedNames())), c.least, c.free)
				}
			})
		})
	}
}
