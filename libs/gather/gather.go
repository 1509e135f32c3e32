// Package gather lets calls that come at the same time share a statement.
package gather

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Bounds of what callers share.
const (
	most   = 100
	within = 15 * time.Second
)

// Calls lets calls that come while another is under way share the next statement. A call that comes alone is sent at
// once, and one whose caller has ended is not sent. When a shared statement fails, or takes longer than Within, each
// caller makes its call again alone, and for as long as it likes. So a call fails for its own reasons only.
type Calls[In, Out any] struct {
	All    func(ctx context.Context, in []In) ([]Out, error) // one answer for each, in their order
	Within time.Duration                                     // of a statement; 15 s if it is 0
	Once   bool                                              // never make a call again: after an error nobody knows what was written

	mu      sync.Mutex
	waiting []*question[In, Out]
	busy    bool
}

// question is a call and, once done is closed, its answer, or that its caller has to make it again.
type question[In, Out any] struct {
	ctx   context.Context
	in    In
	out   Out
	err   error
	again bool
	done  chan struct{}
}

// Ask returns the answer to a call, or the error of ctx if that ends first. A statement that is under way then may
// write all the same.
func (g *Calls[In, Out]) Ask(ctx context.Context, in In) (Out, error) {
	a := &question[In, Out]{ctx: ctx, in: in, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, a)
	if !g.busy {
		g.busy = true
		go g.work()
	}
	g.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
		g.drop(a)
		var none Out
		return none, ctx.Err()
	}
	if a.again {
		out, err := g.guarded(ctx, []In{in}, within)
		if err != nil {
			var none Out
			return none, err
		}
		return out[0], nil
	}
	return a.out, a.err
}

// Waiting is how many calls wait for the next statement.
func (g *Calls[In, Out]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// drop forgets a call that still waits.
func (g *Calls[In, Out]) drop(a *question[In, Out]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, a); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
}

// work answers until nobody waits.
func (g *Calls[In, Out]) work() {
	for {
		g.mu.Lock()
		some := slices.Clone(g.waiting[:min(len(g.waiting), most)])
		g.waiting = slices.Delete(g.waiting, 0, len(some))
		if len(some) == 0 {
			g.waiting, g.busy = nil, false
		}
		g.mu.Unlock()
		if len(some) == 0 {
			return
		}
		g.answer(slices.DeleteFunc(slices.Clone(some), func(a *question[In, Out]) bool {
			a.err = a.ctx.Err()
			return a.err != nil
		}))
		for _, a := range some {
			close(a.done)
		}
	}
}

// answer makes one statement of calls.
func (g *Calls[In, Out]) answer(some []*question[In, Out]) {
	if len(some) == 0 {
		return
	}
	in := make([]In, len(some))
	for i, a := range some {
		in[i] = a.in
	}
	out, err := g.guarded(context.WithoutCancel(some[0].ctx), in, cmp.Or(g.Within, within))
	for i, a := range some {
		switch {
		case err == nil:
			a.out = out[i]
		case !g.Once && (len(some) > 1 || errors.Is(err, context.DeadlineExceeded)):
			a.again = true
		default:
			a.err = err
		}
	}
}

// guarded bounds a statement in time, and makes a panic an error, which the callers' own handlers know what to do with.
func (g *Calls[In, Out]) guarded(ctx context.Context, in []In, within time.Duration) (out []Out, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if out, err = g.All(ctx, in); err == nil && len(out) != len(in) {
		err = fmt.Errorf("%d calls have %d answers", len(in), len(out))
	}
	return out, err
}
