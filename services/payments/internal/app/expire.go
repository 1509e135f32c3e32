package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// expireBatch bounds how many payments one look of the timer closes.
const expireBatch = 200

// Timers finds the payments whose timer has run out.
type Timers interface {
	// Due lists payments that are due by the database's clock; one with an address only once its network is scanned past
	// the end of its window by the margin.
	Due(ctx context.Context, margin time.Duration, most int) ([]string, error)
}

// ExpireDue closes every window that is over. One payment that cannot be closed does not hold up the others.
func (a *App) ExpireDue(ctx context.Context, t Timers) error {
	ids, err := t.Due(ctx, a.Policy.ScanMargin, expireBatch)
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		if err := a.Payments.Update(ctx, id, a.timer); err != nil {
			failed = errors.Join(failed, fmt.Errorf("timer of payment %s: %w", id, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// timer applies the trigger that the payment's own timer names. It asks again under the lock, because a deposit may have
// come in between.
func (a *App) timer(v change.View, now time.Time) (change.Result, error) {
	due, name := v.Payment.Timer()
	if due.IsZero() || due.After(now) {
		return change.Result{}, nil
	}
	if name == payment.OnDeadline {
		return a.apply(v.Payment, payment.DeadlineOver{}, now)
	}
	return a.fund(v, payment.WindowOver{Rows: v.Rows, Rate: a.rateNow(v.Payment), ScannedTo: v.Heads[v.Payment.Quote.Network].Time}, now)
}
