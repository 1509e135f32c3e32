package operators

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/views"
)

// The actions of an operator on a payout, as audit and approvals name them.
const (
	actionAsk      = "ask_rail"
	actionConclude = "conclude_payout"
)

// The outcomes that an operator may conclude.
const (
	concludePaid   = "paid"
	concludeFailed = "failed"
)

// PayoutOrder is the decoded body of an operator's order about a payout.
type PayoutOrder struct {
	Operator string
	Outcome  string // of a conclusion: paid or failed
	Evidence string // of a conclusion: where the rail's statement is kept
	Reason   string
	Sends    int // of a conclusion: the number of sends that the evidence covers; negative without one

	action string
	as     payout.State
}

var (
	errPayoutEnded   = fault.New(fault.Conflict, "payout_concluded", "The payout has its outcome already")
	errPayoutNotSent = fault.New(fault.Conflict, "payout_not_sent", "The payout has not left, so there is nothing to ask about or to conclude")
	errPayoutOnWire  = fault.New(fault.Conflict, "payout_in_flight", "An order of the payout may still be on its way. Nothing more is sent; try again.")
	errPayoutResent  = fault.New(fault.Conflict, "payout_sent_again",
		"The payout was sent again after the evidence was taken. Nothing more is sent; ask the rail about it once more.")
)

func concludedAs(s payout.State) string {
	switch s {
	case payout.Succeeded:
		return concludePaid
	case payout.Failed:
		return concludeFailed
	case payout.Created, payout.Sending, payout.Pending, payout.Unknown, payout.Returned, payout.Withdrawn:
	}
	return ""
}

// AskPayout makes the worker ask the rail about a payout now.
func (a *Operators) AskPayout(ctx context.Context, payoutID string, d PayoutOrder, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	d.action = actionAsk
	return a.operate(ctx, payoutID, d, problems, k, func(v change.View, _ payout.Timing, now time.Time) (change.Result, error) {
		next, err := payout.Ask(*v.Payout, now)
		if err != nil {
			return change.Result{}, wordOf(err, next, now)
		}
		return change.Result{Payment: v.Payment, Payout: &next}, nil
	})
}

// ConcludePayout ends a payout by an operator's decision. The first request stops every further send, also where it is
// refused because an order is on its way or waits for a second operator.
func (a *Operators) ConcludePayout(ctx context.Context, payoutID string, d PayoutOrder, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	d.action = actionConclude
	switch d.Outcome {
	case concludePaid:
		d.as = payout.Succeeded
	case concludeFailed:
		d.as = payout.Failed
	default:
		problems.Add("outcome", "must be one of paid, failed")
	}
	if d.Evidence == "" {
		problems.Add("evidence", "is required")
	}
	return a.operate(ctx, payoutID, d, problems, k, func(v change.View, timing payout.Timing, now time.Time) (change.Result, error) {
		next, outcome, err := timing.Conclude(*v.Payout, d.as, now)
		switch {
		case errors.Is(err, payout.ErrOnTheWire):
			return change.Result{Payment: v.Payment, Payout: &next, Refused: wordOf(err, next, now)}, nil
		case err != nil:
			return change.Result{}, wordOf(err, next, now)
		case d.Sends >= 0 && d.Sends != v.Payout.Sends:
			return change.Result{Payment: v.Payment, Payout: stopped(*v.Payout), Refused: errPayoutResent}, nil
		}
		r := change.Result{Payment: v.Payment}
		if v.Withdrawal != nil {
			after := v.Withdrawal.After(outcome, next, "", now)
			r.Withdrawal, r.Payout, r.Alerts = &after, &next, after.Alerts
			return r, nil
		}
		if trigger := payouts.TriggerOf(outcome, next, "", v.Refunds); trigger != nil {
			if r, err = change.Applied(a.Policy.Apply(v.Payment, trigger, now)); err != nil {
				return change.Result{}, err
			}
			r.Decision = &change.Decision{Operator: d.Operator, Action: d.action + " " + d.Outcome, Reason: d.Reason + " (evidence: " + d.Evidence + ")"}
		}
		r.Payout = &next
		return r, nil
	})
}

// stopped is the row with its further sends stopped.
func stopped(o payout.Payout) *payout.Payout {
	o.Stopped = true
	return &o
}

// wordOf is the operator's error for a refusal by the rules.
func wordOf(err error, o payout.Payout, now time.Time) error {
	switch {
	case errors.Is(err, payout.ErrOnTheWire):
		return errPayoutOnWire.After(o.LeaseUntil.Sub(now))
	case errors.Is(err, payout.ErrEnded):
		return errPayoutEnded
	case errors.Is(err, payout.ErrNotSent):
		return errPayoutNotSent
	}
	return err
}

type doubtAnswer struct {
	Success  bool           `json:"success"`
	Payout   doubtView      `json:"payout"`
	Approval *approval.View `json:"approval,omitempty"`
}

// operate carries out an operator's order about a payout and writes the audit. An order about much money needs a second
// operator first.
func (a *Operators) operate(ctx context.Context, payoutID string, d PayoutOrder, problems *fault.Problems, k idempotency.Key,
	do func(v change.View, timing payout.Timing, now time.Time) (change.Result, error),
) (idempotency.Answer, error) {
	if d.Reason == "" {
		problems.Add("reason", "is required")
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	if !strings.HasPrefix(payoutID, id.Payout) {
		return idempotency.Answer{}, change.ErrNoPayout
	}
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	paymentID, err := a.Store.PayoutPayment(ctx, payoutID)
	if err != nil {
		if errors.Is(err, change.ErrNotFound) {
			err = change.ErrNoPayout
		}
		return idempotency.Answer{}, err
	}
	open, err := a.Store.Asked(ctx, paymentID)
	if err != nil {
		return idempotency.Answer{}, err
	}
	decide := func(v change.View, now time.Time) (change.Result, error) {
		if v.Payout == nil {
			return change.Result{}, change.ErrNoPayout
		}
		set, ok := a.Providers[v.Payment.Mode]
		if !ok {
			return change.Result{}, change.ErrLiveDisabled
		}
		r, err := do(v, set.Timing, now)
		if err != nil || r.Refused != nil {
			return r, err
		}
		return a.noted(v, d, r, open, now)
	}
	return a.Access.Once(ctx, k, decide, func(f change.Func) error { return a.Store.UpdatePayoutOnce(ctx, paymentID, payoutID, k, f) })
}

// noted adds the answer and the audit note to the result of an operator's order, or stores the order for a second
// operator.
func (a *Operators) noted(v change.View, d PayoutOrder, r change.Result, open *approval.Request, now time.Time) (change.Result, error) {
	o := *v.Payout
	answer := doubtAnswer{Success: true}
	if above, bounded := a.SecondAbove[o.Currency]; bounded && o.Amount.GreaterThan(above) {
		by := approval.Request{
			Object: v.Payment.ID, Version: v.Payment.Version, Action: d.action, Operator: d.Operator, Reason: d.Reason,
			Digest: a.digest(v.Payment.ID, d.action, o.ID, d.Outcome, d.Evidence, strconv.Itoa(o.Sends)),
		}
		confirmed, err := by.Confirms(open)
		switch {
		case errors.Is(err, approval.ErrOutdated):
			return outdated(v.Payment), nil
		case err != nil:
			return change.Result{}, err
		case !confirmed:
			r = change.Result{Payment: v.Payment, Approval: &by}
			if d.action == actionConclude { // no send may follow the evidence before it is confirmed
				r.Payout = stopped(o)
				o = *r.Payout
			}
			view := by.Waiting(now)
			answer.Approval = &view
			answer.Payout = doubtOf(o)
			body, err := views.Encode(answer)
			r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body}
			return r, err
		}
		d.Reason = open.Joined(d.Reason)
		if r.Decision != nil {
			r.Decision.Reason = open.Joined(r.Decision.Reason)
		}
	}
	r.Audit = &change.AuditNote{Operator: d.Operator, Action: d.action, Detail: map[string]any{
		"payoutId": o.ID, "paymentId": v.Payment.ID, "outcome": d.Outcome, "evidence": d.Evidence, "reason": d.Reason, "sends": o.Sends,
	}}
	answer.Payout = doubtOf(*r.Payout)
	body, err := views.Encode(answer)
	r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body}
	return r, err
}
