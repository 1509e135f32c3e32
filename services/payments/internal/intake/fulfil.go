package intake

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// errChanged refuses a request whose payment changed between its first read and its lock.
var errChanged = fault.New(fault.Conflict, "payment_changed", "The payment has just changed. Try again.")

// Fulfil gives a request its price and address at the current rate (docs/api-contract.md#fulfil), for anybody who knows
// the reference. Of parallel calls the first wins and its address stays. A payment that cannot be fulfilled any more is
// refused before every other problem of the request.
func (a *Intake) Fulfil(ctx context.Context, reference string, c payment.FulfilCommand, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	v, earlier, found, err := a.Access.Open(ctx, reference, k)
	if err != nil || found {
		return earlier, err
	}
	if change.Refuses(a.Policy, v.Payment, payment.Fulfil{}, a.Now()) {
		return a.Access.Anyone(ctx, reference, k, a.refusal(payment.Fulfil{}))
	}
	terms, err := c.Check(problems)
	if err != nil {
		return idempotency.Answer{}, err
	}
	set, ok := a.Providers[v.Payment.Mode]
	if !ok {
		return idempotency.Answer{}, change.ErrLiveDisabled
	}
	if err := a.Full(ctx); err != nil {
		return idempotency.Answer{}, err
	}
	q, err := a.Pricing.Quote(set, v.Payment.Owner(), terms.Ask(v.Payment))
	if err != nil {
		return idempotency.Answer{}, err
	}
	if err := a.Pricing.Scans.Quotes(v.Payment.Owner(), q.Network); err != nil {
		return idempotency.Answer{}, err
	}
	if err := a.Capacity.Take(v.Payment.Mode, q); err != nil {
		return idempotency.Answer{}, err
	}
	fulfil := payment.Fulfil{Payer: terms.Payer, Quote: q, NetworkName: terms.NetworkName}
	var answer idempotency.Answer
	for range tries {
		answer, err = a.fulfil(ctx, v.Payment.Mode, terms.Network.Family, reference, fulfil, k)
		if !errors.Is(err, change.ErrAddressUsed) {
			break
		}
		a.Log.WarnContext(ctx, "stock address already used", "mode", v.Payment.Mode)
	}
	return answer, err
}

// refusal checks again under the lock, so that a refusal by the state is stored under the request's key.
func (a *Intake) refusal(empty payment.Trigger) change.Func {
	return func(v change.View, now time.Time) (change.Result, error) {
		if !change.Refuses(a.Policy, v.Payment, empty, a.Now()) {
			return change.Result{}, errChanged
		}
		return change.Applied(a.Policy.Apply(v.Payment, empty, now))
	}
}

// fulfil tries one address from the stock. The address goes back unless it was, or may have been, used.
func (a *Intake) fulfil(ctx context.Context, mode tenant.Mode, family money.Family, reference string, t payment.Fulfil, k idempotency.Key) (idempotency.Answer, error) {
	address, err := a.Stock.Take(ctx, mode, family)
	if err != nil {
		return idempotency.Answer{}, err
	}
	t.Address = address.Address
	used := false
	answer, err := a.Access.Anyone(ctx, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		used = false
		r, err := change.Applied(a.Policy.Apply(v.Payment, t, now))
		if err != nil {
			return change.Result{}, err
		}
		body, err := a.Render.Fulfilled(r.Payment)
		if err != nil {
			return change.Result{}, err
		}
		r.Reservations = a.Daily.Further(a.Keys, v.Payment, r.Payment)
		r.WalletID, r.Answer, used = address.WalletID, &idempotency.Answer{Status: change.StatusOK, Body: body}, true
		return r, nil
	})
	_, refused := errors.AsType[*fault.Error](err)
	if refused || (err == nil && (!used || answer.Replayed)) {
		a.Stock.Give(mode, family, address)
	}
	return answer, err
}
