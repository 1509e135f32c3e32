package payouts

import (
	"context"
	"fmt"
	"strings"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
)

// ofWithdrawal reports the payout of a withdrawal. Its account was named when it was made, and no crypto paid for it,
// so there is nothing to name or to screen.
func ofWithdrawal(o payout.Payout) bool { return strings.HasPrefix(o.PaymentID, id.Withdrawal) }

// recoveryWait is the wait of a withdrawal that may not leave before a recovery ends.
const recoveryWait = time.Minute

// withdraw is the part of decide that lets the payout of a withdrawal leave. In a recovery none of live mode leaves: an
// operator may have refused it in the lost time, and nobody can refuse it now.
func (w *Worker) withdraw(ctx context.Context, set provider.Set, v change.View, next payout.Payout, about alert.Code, now time.Time) (payout.Payout, payout.Decision, error) {
	over := next.Amount.GreaterThan(w.Policy.PayoutLimit(next.Currency)) // it may be lower than when it was asked for
	if over && !v.Paused {
		w.Log.WarnContext(ctx, "payout held back: limit exceeded", "code", alertLimit)
	}
	d := payout.Decision{Step: payout.Wait, Alert: about}
	switch {
	case w.AskFirst && v.Payout.Unsent() && v.Withdrawal.Owner.Mode == tenant.Live: // the rail does not know it
		next.NextAt = now.Add(recoveryWait)
	case v.Paused, over:
		next.NextAt = later(next, now)
	case v.Withdrawal.MaySend(next.Attempt) == nil:
		next, d = set.Timing.Next(next, payout.Observation{Seen: payout.Claimed}, now)
	case next.State == payout.Unknown:
		next, d = set.Timing.Next(next, payout.Observation{Seen: payout.Hint}, now)
	default:
		return next, d, fmt.Errorf("withdrawal %s is %s, so its payout %s is not sent", v.Withdrawal.ID, v.Withdrawal.State, next.ID)
	}
	return next, d, nil
}
