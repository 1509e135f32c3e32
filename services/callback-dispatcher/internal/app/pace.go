package app

import (
	"math/bits"
	"time"

	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// pace is how many attempts at a time one target gets. It starts low, doubles with what succeeds, then grows by one per
// round (additive increase), and is halved when the target is slow or asks for less (multiplicative decrease). A target
// that is slow again and again is set apart until it has been quick three times.
type pace struct {
	cap    int
	well   int    // successes since the cap last grew
	recent uint16 // the last ten attempts, 1 for slow
	quick  int    // quick ones in a row, while set apart
	slow   bool   // set apart
	used   time.Time
}

const (
	paceStart  = 2
	paceGrowth = 4 // a healthy target gets at most so many times Limits.PerTarget
	recentMask = 1<<10 - 1
	recentSlow = 2 // of ten: the 90th percentile is beyond SlowAfter
	quickAgain = 3
	paceIdle   = 10 * time.Minute
)

func newPace() *pace { return &pace{cap: paceStart} }

func (p *pace) most(perTarget int) int { return max(1, min(p.cap, perTarget*paceGrowth)) }

func (p *pace) learn(s delivery.Symptom, perTarget int) {
	switch s {
	case delivery.Unknown:
		return
	case delivery.Slow:
		p.recent, p.quick, p.well = p.recent<<1&recentMask|1, 0, 0
		p.cap = max(1, p.cap/2)
		p.slow = p.slow || bits.OnesCount16(p.recent) >= recentSlow
		return
	case delivery.Pushing:
		p.cap, p.well = max(1, p.cap/2), 0
	case delivery.Well:
		p.well++
		if p.cap < perTarget || p.well >= p.cap {
			p.cap, p.well = min(p.cap+1, perTarget*paceGrowth), 0
		}
	case delivery.Failing:
	}
	p.recent = p.recent << 1 & recentMask
	if p.slow {
		if p.quick++; p.quick >= quickAgain {
			p.slow, p.quick, p.recent = false, 0, 0
		}
	}
}

// stuck sets the target apart because an attempt that is still under way has taken too long already.
func (p *pace) stuck() {
	p.slow, p.quick, p.cap = true, 0, max(1, p.cap/2)
}

func (p *pace) idle(now time.Time) bool { return now.Sub(p.used) > paceIdle }
