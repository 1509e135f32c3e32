package payment

import (
	"time"

	"causeway.internal/libs/fault"
)

// Apply is the one pure transition function: it looks up the outcome of (state, trigger) in the table, runs its guards
// and returns the changed payment with the facts to write in the same transaction. Applying a trigger that has already
// been applied changes nothing and returns no facts. An error is a fault that refuses; the payment is then unchanged.
// now is the database's clock.
func (pol Policy) Apply(p Payment, t Trigger, now time.Time) (Payment, []Fact, error) {
	return p, nil, fault.New(fault.Internal, "not_built", "%s at %s", t.Name(), now)
}

// Timer says when the payment wants to be looked at by the timer: DeadlineAt, or the end of its window. due is zero
// when nothing runs. A payment with an address may be closed only once its network is scanned past due plus ScanMargin.
func (p Payment) Timer() (due time.Time, t TriggerName) {
	switch {
	case !p.DeadlineAt.IsZero():
		return p.DeadlineAt, OnDeadline
	case !p.Closed && !p.ExpiresAt.IsZero() && p.End == NotEnded:
		return p.ExpiresAt, OnWindow
	}
	return time.Time{}, ""
}
