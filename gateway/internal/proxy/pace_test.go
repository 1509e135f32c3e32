package proxy

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A reader that takes a fraction of the pace is cut when the window is used up, and one that keeps the pace never is.
func TestPace(t *testing.T) {
	const least, window = 1000, 10 * time.Second
	for share, cutAfter := range map[float64]int{0.1: 11, 0.5: 20, 0.9: 100, 1: 0, 3: 0} {
		p, cut := newPace(least, window), 0
		for second := 1; second <= 1000 && cut == 0; second++ {
			if p.earn(int(least*share)) < time.Second {
				cut = second
			}
			p.spend(time.Second)
		}
		if cut < cutAfter-1 || cut > cutAfter+1 {
			t.Errorf("%.1f of the pace: cut after %d seconds, want %d", share, cut, cutAfter)
		}
	}
}

// For any sizes and durations of writes, a reader has at most the window and the time that the bytes at hand earn.
func TestPace_bounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPace(rapid.IntRange(1, 1<<20).Draw(t, "least"), time.Second)
		for range rapid.IntRange(1, 50).Draw(t, "writes") {
			bytes := rapid.IntRange(0, paceBytes).Draw(t, "bytes")
			most := p.window + time.Duration(bytes)*time.Second/time.Duration(p.least)
			if left := p.earn(bytes); left > most {
				t.Fatalf("%s are left, at most %s", left, most)
			}
			p.spend(time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "took")))
		}
	})
}
