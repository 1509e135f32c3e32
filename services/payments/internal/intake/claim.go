package intake

import (
	"context"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// Claim names the account that a gift is paid to (docs/api-contract.md#claim). The name comes from the bank and never
// from the client; without it the claim is refused. Of parallel claims the first wins.
func (a *Intake) Claim(ctx context.Context, reference string, in *payment.ReceiverInput, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	v, earlier, found, err := a.Access.Open(ctx, reference, k)
	if err != nil || found {
		return earlier, err
	}
	p := v.Payment
	if change.Refuses(a.Policy, p, payment.ClaimGift{}, a.Now()) {
		return a.Access.Anyone(ctx, reference, k, a.refusal(payment.ClaimGift{}))
	}
	receiver := payment.CheckReceiver(in, p.Mode, p.Currency, problems)
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	named, err := a.Receivers.Named(ctx, p, receiver)
	if err != nil {
		return idempotency.Answer{}, err
	}
	bank, err := a.Providers[p.Mode].Route(payment.Payment{Type: p.Type, Currency: p.Currency, Receiver: named})
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.Access.Anyone(ctx, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		r, err := change.Applied(a.Policy.Apply(v.Payment, payment.ClaimGift{Receiver: named, Rail: bank}, now))
		if err != nil {
			return change.Result{}, err
		}
		if len(v.Rows) > 0 && !a.Pricing.Scans.Rests(v) { // a reorganisation may have taken the money back
			return change.Result{}, admission.ErrNetworkClosed
		}
		r.Reservations = a.Daily.Further(a.Keys, v.Payment, r.Payment)
		body, err := a.Render.Claimed(r.Payment)
		if err != nil {
			return change.Result{}, err
		}
		r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body, Personal: true}
		return r, nil
	})
}
