package lifecycle

import (
	"context"
	"sync/atomic"
	"time"

	"causeway.internal/libs/tick"
)

// Timing of a loop that asks a table for work. A wake-up that is lost delays the work by seldom at most.
const (
	linger = time.Second
	seldom = 5 * time.Second
)

// Pace is when a loop that asks a table for work asks again: soon, while it finds work and for a second after it was
// woken, else seldom. Any goroutine may wake it; one loop follows it.
type Pace struct {
	soon  time.Duration
	woken chan struct{}
	until atomic.Int64 // unix nanoseconds until which the loop asks soon
}

// NewPace makes the pace of a loop that begins now and asks so soon while it has work.
func NewPace(soon time.Duration) *Pace {
	p := &Pace{soon: soon, woken: make(chan struct{}, 1)}
	p.linger()
	return p
}

func (p *Pace) linger() { p.until.Store(time.Now().Add(linger).UnixNano()) }

// Stay makes the loop ask soon for another second: the work that it waits for is about to come.
func (p *Pace) Stay() { p.linger() }

// Wake makes the loop ask at once. It never blocks.
func (p *Pace) Wake() {
	p.linger()
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// Woken is ready after Wake.
func (p *Pace) Woken() <-chan struct{} { return p.woken }

// Pause is how long the loop waits until it asks again, unless it is woken. found says that it has just found work.
func (p *Pace) Pause(found bool) time.Duration {
	if found {
		p.linger()
	}
	if time.Now().UnixNano() < p.until.Load() {
		return p.soon
	}
	return tick.Until(seldom)
}

// Wait waits for the pause or a wake-up, and reports whether ctx still runs.
func (p *Pace) Wait(ctx context.Context, found bool) bool {
	timer := time.NewTimer(p.Pause(found))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-p.woken:
	case <-timer.C:
	}
	return ctx.Err() == nil
}
