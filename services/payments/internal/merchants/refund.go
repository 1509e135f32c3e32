package merchants

import (
	"context"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/destination"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

var ErrOwnRefundAddress = fault.New(fault.Conflict, "refund_address_internal",
	"The refund address belongs to this service, so a refund to it did not reach the payer. Set the payer's own address first.")

type refundAnswer struct {
	Success bool       `json:"success"`
	Refund  refundView `json:"refund"`
}

type refundView struct {
	Reference string `json:"reference"`
	Network   string `json:"network"`
	Address   string `json:"address"`
	HeldUntil string `json:"heldUntil,omitempty"`
}

// RefundAddress stores the address to which the payer's money goes back. The address must be one of the payment's
// network and none of this system. The screener's verdict is stored, also where the address is refused.
func (a *Merchants) RefundAddress(ctx context.Context, o tenant.Owner, reference, to string, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	j, err := a.Destinations.Judge(ctx, o.Mode, to, problems)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.Access.Owned(ctx, o, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		return refunded(a.Destinations.Change(v, j, payment.SetRefundAddress{Address: to, Rows: v.Rows, Refunds: v.Refunds}, now))
	})
}

// ConfirmRefundAddress makes the payer's proposal the address of a refund. The address is judged again, because lists
// and this system's addresses may have changed since the proposal.
func (a *Merchants) ConfirmRefundAddress(ctx context.Context, o tenant.Owner, reference, to string, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	j, err := a.Destinations.Judge(ctx, o.Mode, to, problems)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.Access.Owned(ctx, o, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		return refunded(a.Destinations.Change(v, j, destination.Confirm(v, to), now))
	})
}

// refunded adds the answer to a change of the refund address.
func refunded(r change.Result, err error) (change.Result, error) {
	if err != nil || r.Refused != nil {
		return r, err
	}
	p := r.Payment
	shown := refundView{Reference: p.Reference, Network: p.NetworkName, Address: p.RefundAddress}
	if !p.RefundAddressFrom.IsZero() {
		shown.HeldUntil = timestamp.Text(p.RefundAddressFrom)
	}
	body, err := views.Encode(refundAnswer{true, shown})
	if err != nil {
		return change.Result{}, err
	}
	r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body}
	return r, nil
}
