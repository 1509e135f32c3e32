package refunds

import (
	"context"
	"errors"
	"strings"
	"time"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/views"
)

// The actions of operators on refunds, as decisions and approvals name them.
const (
	actionRequest = "request_refund"
	actionApprove = "approve_refund"
	actionRefuse  = "refuse_refund"
	actionCancel  = "cancel_refund"
)

// codeRefused is why a refund failed that an operator refused.
const codeRefused = "refused"

// Decision is the decoded body of an operator's decision on a refund.
type Decision struct{ Operator, Reason string }

func (d Decision) check(problems *fault.Problems) error {
	if d.Reason == "" {
		problems.Add("reason", "is required")
	}
	return problems.Err()
}

// asks is an operator's approval of a refund. The version is the refund's, because other changes of the payment do not
// matter to it.
func (a *Refunds) asks(r refund.Refund, d Decision) approval.Request {
	order := strings.Join([]string{actionApprove, r.ID, r.Network, r.Asset, r.Amount.String(), r.Address}, "\x00")
	return approval.Request{
		Object: r.PaymentID, Version: r.Version, Action: actionApprove, Operator: d.Operator, Reason: d.Reason,
		Digest: a.Blind.Blind(order, "approval/"+r.PaymentID),
	}
}

// RequestFor makes a refund for an operator. name is the payment's id or its reference. In live mode the refund always
// waits for another operator, so that nobody alone sends money.
func (a *Refunds) RequestFor(ctx context.Context, name string, o Order, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if err := o.check(problems); err != nil {
		return idempotency.Answer{}, err
	}
	v, earlier, found, err := a.Access.UnlessDone(ctx, k, func() (change.View, error) {
		switch {
		case id.IsPayment(name):
			return a.Store.FindByID(ctx, name)
		case id.IsPaymentReference(name):
			return a.Store.FindAny(ctx, name)
		}
		return change.View{}, change.ErrNotFound
	})
	if err != nil || found {
		return earlier, err
	}
	to, err := a.judge(ctx, v.Payment.Mode, v.Payment.RefundAddress)
	if err != nil {
		return idempotency.Answer{}, err
	}
	paymentID := v.Payment.ID
	return a.Access.Once(ctx, k, func(v change.View, now time.Time) (change.Result, error) {
		return a.requestBy(v, o, to, now)
	}, func(f change.Func) error { return a.Store.UpdateOnce(ctx, paymentID, k, f) })
}

// requestBy is an operator's request. In live mode it is the first of two approvals too.
func (a *Refunds) requestBy(v change.View, o Order, to destination, now time.Time) (change.Result, error) {
	r, made, err := a.request(v, o, to, now)
	if err != nil || r.Refused != nil {
		return r, err
	}
	answer := views.OperatedRefund{Success: true}
	r.Decision = &change.Decision{Operator: o.Sender, Action: actionRequest, Reason: o.Reason}
	if v.Payment.Mode == tenant.Live {
		by := a.asks(made, Decision{o.Sender, o.Reason})
		view := by.Waiting(now)
		r.Approval, answer.Approval = &by, &view
	} else if r, made, err = a.approve(v, r, made, refund.Automatic, now); err != nil {
		return change.Result{}, err
	}
	answer.Refund = views.OperatorsRefundOf(made)
	return answered(r, answer)
}

// Approve approves a refund, with the second of two operators. In live mode nobody approves alone, whatever the amounts
// that need a second operator: the one may have confirmed the address.
func (a *Refunds) Approve(ctx context.Context, refundID string, d Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if err := d.check(problems); err != nil {
		return idempotency.Answer{}, err
	}
	return a.decide(ctx, refundID, k, decision{judged: true, apply: func(v change.View, r refund.Refund, known outside, now time.Time) (change.Result, *approval.Request, error) {
		return a.approveBy(v, r, d, known, now)
	}})
}

// approveBy is an operator's approval: the first of two asks for the second.
func (a *Refunds) approveBy(v change.View, r refund.Refund, d Decision, known outside, now time.Time) (change.Result, *approval.Request, error) {
	if _, _, err := refund.Apply(r, refund.Trigger{Name: refund.OnApprove}, now); err != nil {
		return change.Result{}, nil, err
	}
	if err := a.may(v.Payment, r.Network, known.to, now); err != nil {
		return change.Result{}, nil, err
	}
	out, _, err := a.approve(v, change.Result{Payment: v.Payment}, r, refund.ByOperator, now)
	if err != nil { // also the first operator hears of it
		return change.Result{}, nil, err
	}
	by := a.asks(r, d)
	if !a.One || v.Payment.Mode == tenant.Live {
		confirmed, err := by.Confirms(known.open)
		switch {
		case errors.Is(err, approval.ErrOutdated):
			return change.Result{Payment: v.Payment, Withdrawn: true, Refused: err}, nil, nil
		case err != nil:
			return change.Result{}, nil, err
		case !confirmed:
			return change.Result{Payment: v.Payment, Approval: &by}, &by, nil
		}
		d.Reason = known.open.Joined(d.Reason)
	}
	out.Screened = known.to.screened
	out.Decision = &change.Decision{Operator: d.Operator, Action: actionApprove, Reason: d.Reason + " (" + r.ID + ")"}
	return out, nil, nil
}

// Refuse fails a refund that waits for operators, so that its money is owed to the payer again.
func (a *Refunds) Refuse(ctx context.Context, refundID string, d Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if err := d.check(problems); err != nil {
		return idempotency.Answer{}, err
	}
	return a.decide(ctx, refundID, k, a.alone(d, actionRefuse, refund.Trigger{Name: refund.OnRefuse, Failure: codeRefused}))
}

// Cancel asks wallets not to carry out an approved refund. Wallets fails the refund, so that its money is owed to the
// payer again, or answers that a transaction of it may land.
func (a *Refunds) Cancel(ctx context.Context, refundID string, d Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if err := d.check(problems); err != nil {
		return idempotency.Answer{}, err
	}
	alone := a.alone(d, actionCancel, refund.Trigger{Name: refund.OnCancel})
	return a.decide(ctx, refundID, k, decision{apply: func(v change.View, r refund.Refund, known outside, now time.Time) (change.Result, *approval.Request, error) {
		out, _, err := alone.apply(v, r, known, now)
		withdrawn := wire.RefundWithdrawn{Order: orderOf(r), WithdrawnAt: now}
		out.Commands = append(out.Commands, change.Command{Name: wire.RefundWithdrawnV1, ID: id.New(id.Message, now), Payload: withdrawn})
		return out, nil, err
	}})
}

// alone is a decision that takes one operator, because it sends no money.
func (a *Refunds) alone(d Decision, action string, t refund.Trigger) decision {
	return decision{apply: func(v change.View, r refund.Refund, _ outside, now time.Time) (change.Result, *approval.Request, error) {
		out, err := change.Applied(a.Policy.Apply(v.Payment, payment.ChangeRefund{Refund: r, Trigger: t, Rows: v.Rows, Refunds: v.Refunds}, now))
		out.Decision = &change.Decision{Operator: d.Operator, Action: action, Reason: d.Reason + " (" + r.ID + ")"}
		return out, nil, err
	}}
}

// outside is what a decision needs of other tables, which nobody asks under a payment's lock.
type outside struct {
	to   destination
	open *approval.Request
}

// decision changes a refund. judged says that it needs to know about the address of the refund: one that stops money
// does not wait for a screener.
type decision struct {
	judged bool
	apply  func(v change.View, r refund.Refund, known outside, now time.Time) (change.Result, *approval.Request, error)
}

// decide changes a refund by an operator's decision, once per key. A request that a decision returns waits for another
// operator.
func (a *Refunds) decide(ctx context.Context, refundID string, k idempotency.Key, d decision) (idempotency.Answer, error) {
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	if !strings.HasPrefix(refundID, id.Refund) {
		return idempotency.Answer{}, change.ErrNoRefund
	}
	paymentID, err := a.Store.RefundPayment(ctx, refundID)
	if err != nil {
		return idempotency.Answer{}, err
	}
	v, err := a.Store.FindByID(ctx, paymentID)
	if err != nil {
		return idempotency.Answer{}, err
	}
	r, ok := find(v, refundID)
	if !ok {
		return idempotency.Answer{}, change.ErrNoRefund
	}
	var known outside
	if d.judged {
		if known.to, err = a.judge(ctx, v.Payment.Mode, r.Address); err != nil {
			return idempotency.Answer{}, err
		}
	}
	if known.open, err = a.Store.Asked(ctx, paymentID); err != nil {
		return idempotency.Answer{}, err
	}
	return a.Access.Once(ctx, k, func(v change.View, now time.Time) (change.Result, error) {
		r, ok := find(v, refundID)
		if !ok {
			return change.Result{}, change.ErrNoRefund
		}
		out, asked, err := d.apply(v, r, known, now)
		if err != nil || out.Refused != nil {
			return out, err
		}
		if len(out.Facts) > 0 {
			r = kept(out)
		}
		answer := views.OperatedRefund{Success: true, Refund: views.OperatorsRefundOf(r)}
		if asked != nil {
			view := asked.Waiting(now)
			answer.Approval = &view
		}
		body, err := views.Encode(answer)
		out.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body}
		return out, err
	}, func(f change.Func) error { return a.Store.UpdateOnce(ctx, paymentID, k, f) })
}

// find is a refund of a payment.
func find(v change.View, refundID string) (refund.Refund, bool) {
	for _, r := range v.Refunds {
		if r.ID == refundID {
			return r, true
		}
	}
	return refund.Refund{}, false
}

// Waiting is the body of GET /v1/admin/refunds: refunds that wait for operators, or for the end of a cancellation.
func (a *Refunds) Waiting(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Store.WaitingRefunds(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	page := views.Pagination{Limit: limit}
	if len(rows) > limit {
		rows = rows[:limit]
		next := views.RowCursor(rows[limit-1].ID)
		page.HasMore, page.NextCursor = true, &next
	}
	out := make([]views.OperatorsRefund, 0, len(rows))
	for _, r := range rows {
		out = append(out, views.OperatorsRefundOf(r))
	}
	return views.Encode(views.WaitingAnswer{Success: true, Refunds: out, Pagination: page})
}
