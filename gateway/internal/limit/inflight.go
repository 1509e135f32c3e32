// Package limit holds the gates that keep one caller, or all of them together, from taking more than the service can
// give (contract.md §1, Limits). A gate decides from memory alone.
package limit

import (
	"context"
	"time"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/fault"
)

// InFlight lets a number of calls in at a time. Others wait a bounded time and are then told to come back.
type InFlight struct {
	slots chan struct{}
	wait  time.Duration
}

// NewInFlight makes a gate for so many calls at a time.
func NewInFlight(calls int, wait time.Duration) *InFlight {
	return &InFlight{slots: make(chan struct{}, calls), wait: wait}
}

var errBusy = fault.New(fault.Unavailable, "overloaded", "Too many requests are being served at once. Try again shortly.").After(2 * time.Second)

// Admit implements proxy.Gate.
func (f *InFlight) Admit(ctx context.Context, _ *proxy.Call) (func(int), error) {
	select {
	case f.slots <- struct{}{}:
		return f.leave, nil
	default:
	}
	timer := time.NewTimer(f.wait)
	defer timer.Stop()
	select {
	case f.slots <- struct{}{}:
		return f.leave, nil
	case <-timer.C:
		return nil, errBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *InFlight) leave(int) { <-f.slots }
