package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Engine ties the parts of sending together: they start in the one order that loses nothing and stop in the other.
type Engine struct {
	Members    Membership
	Intake     *Intake
	Dispatcher *Dispatcher
	Log        *slog.Logger
	// Finish bounds how long attempts under way may go on after a stop was asked for.
	Finish time.Duration
}

const leaveTimeout = 5 * time.Second

// Run sends until ctx ends. Then nothing new is taken or begun, attempts under way finish, their results are written,
// and every other lease is given back, so that another process sends those deliveries at once.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.Members.Join(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("join the membership: %w", err)
	}
	var members, loops, records sync.WaitGroup
	stay, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	errs := make(chan error, 9) // one of each part
	watch := func(wg *sync.WaitGroup, ctx context.Context, f func(context.Context) error) {
		wg.Go(func() { errs <- f(ctx) })
	}
	watch(&members, stay, func(ctx context.Context) error { return e.Members.Keep(ctx, e.lost, e.Dispatcher.Lanes().Share) })
	watch(&records, stay, e.Dispatcher.recorder.Run)
	watch(&loops, ctx, e.Intake.Run)
	watch(&loops, ctx, e.Dispatcher.Run)
	watch(&loops, ctx, e.Dispatcher.Advance)
	watch(&loops, ctx, e.Dispatcher.Sweep)
	watch(&loops, ctx, e.Dispatcher.Reconcile)
	watch(&loops, ctx, e.Dispatcher.Watch)
	watch(&loops, ctx, e.Dispatcher.Tend)

	var failure error
	select {
	case <-ctx.Done():
	case failure = <-errs:
		failure = errors.Join(errors.New("a part of the dispatcher ended unexpectedly"), failure)
		return failure // the process stops, and others take over what it held
	}
	loops.Wait()
	finish, cancel := context.WithTimeout(stay, e.Finish)
	defer cancel()
	e.Dispatcher.Lanes().Stop(finish)
	e.Dispatcher.recorder.Close()
	giveUp := time.AfterFunc(leaveTimeout, leave) // a database that is away must not hold the process
	records.Wait()
	giveUp.Stop()
	leave()
	members.Wait()
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if err := e.Members.Leave(bye); err != nil {
		e.Log.WarnContext(ctx, "leases not released", "err", err) // they are taken over as those of a dead process
	}
	return nil
}

// lost drops what is leased but not begun: others have it now.
func (e *Engine) lost() {
	e.Log.Warn("leases taken over by another process")
	e.Dispatcher.Lanes().Forget()
}
