// Package limit holds the gates that keep one caller, or all of them together, from taking more than the service can
// give (contract.md §1, Limits). A gate decides from memory alone.
package limit

import (
	"context"
	"sync/atomic"
	"time"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
)

// InFlight lets a number of calls in at a time, and of them a share to one upstream, so that a service that hangs leaves
// room for the others. Further calls wait a bounded time, and only so many of them; the rest are told at once to come back,
// because whoever would wait in vain had better not wait.
type InFlight struct {
	slots   chan struct{}
	shares  map[route.Upstream]chan struct{}
	wait    time.Duration
	waiting atomic.Int64
	queue   int64
}

// queueFactor is how many calls may wait for each that is served. Served at an ordinary pace, a queue of that length is
// through well within the wait.
const queueFactor = 4

// NewInFlight makes a gate for so many calls at a time, of which share may go to one upstream.
func NewInFlight(calls, share int, wait time.Duration) *InFlight {
	f := &InFlight{slots: make(chan struct{}, calls), shares: map[route.Upstream]chan struct{}{}, wait: wait, queue: int64(queueFactor * calls)}
	for _, to := range []route.Upstream{route.Payments, route.Wallets, route.Reports, route.Dispatcher, route.Self} {
		f.shares[to] = make(chan struct{}, min(share, calls))
	}
	return f
}

var errBusy = fault.New(fault.Unavailable, "overloaded", "Too many requests are being served at once. Try again shortly.").After(2 * time.Second)

// Admit implements proxy.Gate.
func (f *InFlight) Admit(ctx context.Context, c *proxy.Call) (func(int), error) {
	share := f.shares[c.Route.Upstream]
	if enter(share) {
		if enter(f.slots) {
			return func(int) { <-f.slots; <-share }, nil
		}
		<-share
	}
	if f.waiting.Add(1) > f.queue {
		f.waiting.Add(-1)
		return nil, errBusy
	}
	defer f.waiting.Add(-1)
	timer := time.NewTimer(f.wait)
	defer timer.Stop()
	if err := await(ctx, share, timer.C); err != nil { // first, so that who waits for a slow service holds no slot
		return nil, err
	}
	if err := await(ctx, f.slots, timer.C); err != nil {
		<-share
		return nil, err
	}
	return func(int) { <-f.slots; <-share }, nil
}

func enter(room chan struct{}) bool {
	select {
	case room <- struct{}{}:
		return true
	default:
		return false
	}
}

func await(ctx context.Context, room chan struct{}, late <-chan time.Time) error {
	select {
	case room <- struct{}{}:
		return nil
	case <-late:
		return errBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}
