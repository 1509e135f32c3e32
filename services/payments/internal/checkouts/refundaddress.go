package checkouts

import (
	"context"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/destination"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

type proposedAnswer struct {
	Success bool                `json:"success"`
	Refund  views.RefundAddress `json:"refund"`
}

// ProposeRefundAddress takes the address to which a payer wants money back. It takes effect when the merchant or an
// operator confirms it. A refused address counts as a proposal too, because its answer says whether an address belongs
// to this service or is listed.
func (a *Checkouts) ProposeRefundAddress(ctx context.Context, reference, to string, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	v, earlier, found, err := a.Access.Open(ctx, reference, k)
	if err != nil || found {
		return earlier, err
	}
	j, err := a.Destinations.Judge(ctx, v.Payment.Mode, to, problems)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.Access.Anyone(ctx, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		return a.proposed(v, j, now)
	})
}

func (a *Checkouts) proposed(v change.View, j destination.Judged, now time.Time) (change.Result, error) {
	if err := a.Destinations.Fits(v.Payment, j); err != nil {
		return change.Result{}, err
	}
	listed, unusable := j.Usable()
	r, err := change.Applied(a.Policy.Apply(v.Payment, payment.ProposeRefundAddress{Address: j.Address, Refused: unusable != nil, Rows: v.Rows, Refunds: v.Refunds}, now))
	if err != nil {
		return change.Result{}, err
	}
	if listed || unusable == nil {
		r.Screened = j.Screened
	}
	if unusable != nil {
		r.Refused = unusable
		return r, nil
	}
	body, err := views.Encode(proposedAnswer{true, views.RefundAddressOf(r.Payment)})
	if err != nil {
		return change.Result{}, err
	}
	r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body}
	return r, nil
}
