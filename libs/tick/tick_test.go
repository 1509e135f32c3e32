package tick_test

import (
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/libs/tick"
)

// Loops that began at different moments run together, and a loop of two seconds with every second run of one of a
// second.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := func(interval time.Duration, times int) []time.Time {
			var at []time.Time
			for range times {
				wait := tick.Until(interval)
				if wait <= 0 || wait > interval {
					t.Fatalf("Until(%s) is %s, want more than nothing and at most the interval", interval, wait)
				}
				time.Sleep(wait) // synthetic
				at = append(at, time.Now())
			}
			return at
		}
		began := make(chan []time.Time)
		go func() { began <- runs(time.Second, 9) }()
		time.Sleep(321 * time.Millisecond) // synthetic
		slow := runs(2*time.Second, 4)
		quick := <-began
		for n, at := range slow {
			if n > 0 && at.Sub(slow[n-1]) != 2*time.Second {
				t.Errorf("run %d came %s after the one before, want 2s", n, at.Sub(slow[n-1]))
			}
			shared := false
			for _, other := range quick {
				shared = shared || other.Equal(at)
			}
			if !shared {
				t.Errorf("the run of every two seconds at %s is not one of those of every second, %s", at, quick)
			}
		}
	})
}
