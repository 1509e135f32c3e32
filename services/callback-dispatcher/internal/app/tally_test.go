package app

import (
	"fmt"
	"testing"
	"time"
)

func TestTally(t *testing.T) {
	const x, o = true, false // failed, succeeded
	cases := map[string]struct {
		attempts []bool
		every    time.Duration
		trips    []int // at which attempts
	}{
		"half of twenty":            {alternate(20, o, x), time.Second, []int{19}},
		"too few to tell":           {alternate(19, x), time.Second, nil},
		"less than half":            {alternate(60, x, o, o), 100 * time.Millisecond, nil},
		"all, and again after that": {alternate(40, x), time.Millisecond, []int{19, 39}},
		"spread over longer":        {alternate(100, x, o), 4 * time.Second, nil},
		"a good hour forgotten":     {append(alternate(1000, o), alternate(20, x)...), 3 * time.Second, []int{1009}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			at := time.Unix(1_000_000, 0)
			y := tally{sample: 20, now: func() time.Time { return at }, targets: map[string]*recent{}}
			var trips []int
			for n, failed := range c.attempts {
				if y.count("t", failed) {
					trips = append(trips, n)
				}
				at = at.Add(c.every)
			}
			if fmt.Sprint(trips) != fmt.Sprint(c.trips) {
				t.Errorf("tripped at %v, want %v", trips, c.trips)
			}
			at = at.Add(3 * time.Minute)
			y.count("other", failedOnce)
			if len(y.targets) != 1 {
				t.Errorf("%d targets are remembered after three minutes", len(y.targets))
			}
		})
	}
}

const failedOnce = true

func alternate(n int, pattern ...bool) (all []bool) {
	for i := range n {
		all = append(all, pattern[i%len(pattern)])
	}
	return all
}
