package deposits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// expireBatch bounds the payments that one call of ExpireDue closes.
const expireBatch = 200

// ExpireDue closes every window that has ended. A payment that fails does not stop the others.
func (a *Deposits) ExpireDue(ctx context.Context) error {
	ids, err := a.Store.Due(ctx, a.Policy.ScanMargin, expireBatch)
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		if err := a.Store.Update(ctx, id, a.timer); err != nil {
			failed = errors.Join(failed, fmt.Errorf("timer of payment %s: %w", id, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
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
