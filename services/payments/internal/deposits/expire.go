package deposits

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// Bounds of one call of ExpireDue. Payments that are closed at once share transactions.
const (
	expireBatch   = 200
	expireBatches = 10
	expireAtOnce  = 32
)

// ExpireDue closes every window that has ended, at most 2 000 in a call. A payment that fails does not stop the others.
// It stays due, so the next batch tries it again.
func (a *Deposits) ExpireDue(ctx context.Context) (failed error) {
	for range expireBatches {
		ids, err := a.Store.Due(ctx, a.Policy.ScanMargin, expireBatch)
		if err != nil {
			return err
		}
		errs := a.expire(ctx, ids)
		failed = errors.Join(errs...)
		if len(ids) < expireBatch || !slices.Contains(errs, nil) {
			break
		}
	}
	return failed
}

// expire returns an error for each payment that failed, in their order.
func (a *Deposits) expire(ctx context.Context, ids []string) []error {
	errs := make([]error, len(ids))
	var busy sync.WaitGroup
	slots := make(chan struct{}, expireAtOnce)
	for i, id := range ids {
		if ctx.Err() != nil {
			break
		}
		slots <- struct{}{}
		busy.Go(func() {
			defer func() { <-slots }()
			defer func() { // one payment that no code foresaw must not end the process of each new leader
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("timer of payment %s panicked: %v\n%s", id, p, debug.Stack())
				}
			}()
			if err := a.Store.Update(ctx, id, a.timer); err != nil {
				errs[i] = fmt.Errorf("timer of payment %s: %w", id, err)
			}
		})
	}
	busy.Wait()
	return errs
}

// timer applies the trigger of the payment's timer. It reads the timer again under the lock, because a deposit may have
// moved it.
func (a *Deposits) timer(v change.View, now time.Time) (change.Result, error) {
	due, name := v.Payment.Timer()
	if due.IsZero() || due.After(now) {
		return change.Result{}, nil
	}
	if name == payment.OnDeadline {
		return change.Applied(a.Policy.Apply(v.Payment, payment.DeadlineOver{Rows: v.Rows}, now))
	}
	return a.CloseWindow(v, false, now)
}

// CloseWindow ends the window of a payment. early, which only the sandbox sets, does not wait for the scan.
func (a *Deposits) CloseWindow(v change.View, early bool, now time.Time) (change.Result, error) {
	over := payment.WindowOver{Rows: v.Rows, Rate: a.rateNow(v.Payment), Early: early}
	if !early {
		over.ScannedTo = v.Heads[v.Payment.Quote.Network].Time
	}
	return a.fund(v, over, now)
}
