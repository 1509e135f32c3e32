package operators

import (
	"context"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/destination"
	"causeway.internal/services/payments/internal/views"
)

const actionRefundAddress = "confirm_refund_address"

// RefundAddressOrder is the decoded body of an operator's confirmation of the address that a payer proposed.
type RefundAddressOrder struct{ Operator, Address, Reason string }

// ConfirmRefundAddress makes the payer's proposal the address of a refund. name is the payment's id or its reference.
// The payer of a stray payment has no page to propose an address on, so the operator brings it. One operator suffices:
// the refund waits for the end of a hold, and one that an operator asks for needs two.
func (a *Operators) ConfirmRefundAddress(ctx context.Context, name string, d RefundAddressOrder, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if d.Reason == "" {
		problems.Add("reason", "is required")
	}
	v, earlier, found, err := a.reviewing(ctx, name, k)
	if err != nil || found {
		return earlier, err
	}
	j, err := a.Destinations.Judge(ctx, v.Payment.Mode, d.Address, problems)
	if err != nil {
		return idempotency.Answer{}, err
	}
	brought := name == v.Payment.Reference
	return a.once(ctx, v.Payment.ID, k, func(v change.View, now time.Time) (change.Result, error) {
		r, err := a.Destinations.Change(v, j, destination.Confirm(v, d.Address), now)
		if err != nil || r.Refused != nil {
			return r, err
		}
		v.Payment = r.Payment
		body, err := views.Encode(views.PaymentAnswer{Success: true, Payment: a.reviewedOf(v, brought)})
		if err != nil {
			return change.Result{}, err
		}
		r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body}
		r.Audit = &change.AuditNote{Operator: d.Operator, Action: actionRefundAddress, Detail: map[string]any{
			"paymentId": v.Payment.ID, "address": d.Address, "reason": d.Reason,
		}}
		return r, nil
	})
}
