package payouts

import (
	"fmt"
	"strings"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
)

// ofWithdrawal reports the payout of a withdrawal. Its account was named when it was made, and no crypto paid for it,
// so there is nothing to name or to screen.
func ofWithdrawal(o payout.Payout) bool { return strings.HasPrefix(o.PaymentID, id.Withdrawal) }

// withdraw is the part of decide that concerns a withdrawal: whether its payout may leave, and what the outcome
// changes.
func (w *Worker) withdraw(set provider.Set, v change.View, next payout.Payout, d payout.Decision, over string, now time.Time) (change.Result, payout.Payout, payout.Decision, error) {
	if d.Step == payout.Send {
		switch most := w.Policy.PayoutLimit(next.Currency); {
		case v.Paused, next.Amount.GreaterThan(most):
			next.NextAt, d = now.Add(laterWait), payout.Decision{Step: payout.Wait, Alert: d.Alert}
		case v.Withdrawal.MaySend(next.Attempt) == nil:
			next, d = set.Timing.Next(next, payout.Observation{Seen: payout.Claimed}, now)
		case next.State == payout.Unknown:
			next, d = set.Timing.Next(next, payout.Observation{Seen: payout.Hint}, now)
		default:
			return change.Result{}, next, d, fmt.Errorf("withdrawal %s is %s, so its payout %s is not sent", v.Withdrawal.ID, v.Withdrawal.State, next.ID)
		}
	}
	after := v.Withdrawal.After(d.Outcome, next, over, now)
	return change.Result{Payment: v.Payment, Payout: &next, Withdrawal: &after, Alerts: after.Alerts}, next, d, nil
}
