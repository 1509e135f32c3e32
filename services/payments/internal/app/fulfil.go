package app

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// errChanged is what a caller gets whose payment was another one when it was looked at a moment before.
var errChanged = fault.New(fault.Conflict, "payment_changed", "The payment has just changed. Try again.")

// Fulfil gives a request its price and address at the rate of now (docs/api-contract.md#fulfil). Anybody who knows the
// reference may: whatever runs in parallel, the first one wins and its address stays. A payment that cannot be
// fulfilled any more says so whatever else is wrong with the request.
func (a *App) Fulfil(ctx context.Context, reference string, c payment.FulfilCommand, problems *fault.Problems, k change.Key) (change.Answer, error) {
	v, earlier, found, err := a.open(ctx, reference, k)
	if err != nil || found {
		return earlier, err
	}
	if a.refuses(v.Payment, payment.Fulfil{}) {
		return a.anyones(ctx, reference, k, a.refusal(payment.Fulfil{}))
	}
	terms, err := c.Check(problems)
	if err != nil {
		return change.Answer{}, err
	}
	world, ok := a.Worlds[v.Payment.Mode]
	if !ok {
		return change.Answer{}, change.ErrLiveDisabled
	}
	if err := a.Backlog.Full(ctx); err != nil {
		return change.Answer{}, err
	}
	q, err := a.quote(world, terms.Ask(v.Payment))
	if err != nil {
		return change.Answer{}, err
	}
	if err := a.Scans.Quotes(v.Payment.Mode, q.Network); err != nil {
		return change.Answer{}, err
	}
	if err := a.Capacity.Take(v.Payment.Mode, q); err != nil {
		return change.Answer{}, err
	}
	fulfil := payment.Fulfil{Payer: terms.Payer, Quote: q, NetworkName: terms.NetworkName}
	var answer change.Answer
	for range tries {
		answer, err = a.fulfil(ctx, v.Payment.Mode, terms.Network.Family, reference, fulfil, k)
		if !errors.Is(err, change.ErrAddressUsed) {
			break
		}
		a.Log.WarnContext(ctx, "an address from stock was used already", "mode", v.Payment.Mode)
	}
	return answer, err
}

// open finds the payment of a reference that anybody may use, or the answer that was given to the same request before.
func (a *App) open(ctx context.Context, reference string, k change.Key) (v change.View, earlier change.Answer, found bool, err error) {
	if !id.IsPaymentReference(reference) {
		return change.View{}, change.Answer{}, false, change.ErrNotFound
	}
	return a.unlessDone(ctx, k, func() (change.View, error) { return a.Payments.FindAny(ctx, reference) })
}

// unlessDone finds a payment, or the answer that its request was given before.
func (a *App) unlessDone(ctx context.Context, k change.Key, find func() (change.View, error)) (v change.View, earlier change.Answer, found bool, err error) {
	if earlier, found, err = a.replay(ctx, k); err != nil || found {
		return change.View{}, earlier, found, err
	}
	v, err = find()
	return v, change.Answer{}, false, err
}

// refuses reports whether the payment's state refuses a trigger, which is shown empty: one that the state would take is
// then found incomplete, which is no refusal.
func (a *App) refuses(p payment.Payment, empty payment.Trigger) bool {
	_, _, err := a.Policy.Apply(p, empty, a.Now())
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind != fault.Internal
}

// refusal asks again under the lock, so that what the state refuses is kept for the request's key.
func (a *App) refusal(empty payment.Trigger) change.Func {
	return func(v change.View, now time.Time) (change.Result, error) {
		if !a.refuses(v.Payment, empty) {
			return change.Result{}, errChanged
		}
		return a.apply(v.Payment, empty, now)
	}
}

// fulfil tries with one address from stock, which goes back unless it was used or may have been.
func (a *App) fulfil(ctx context.Context, mode tenant.Mode, family money.Family, reference string, t payment.Fulfil, k change.Key) (change.Answer, error) {
	address, err := a.Stock.Take(ctx, mode, family)
	if err != nil {
		return change.Answer{}, err
	}
	t.Address = address.Address
	used := false
	answer, err := a.anyones(ctx, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		used = false
		r, err := a.apply(v.Payment, t, now)
		if err != nil {
			return change.Result{}, err
		}
		body, err := a.Render.Fulfilled(r.Payment)
		if err != nil {
			return change.Result{}, err
		}
		r.Reservations = a.Daily.Further(a.Keys, v.Payment, r.Payment)
		r.WalletID, r.Answer, used = address.WalletID, &change.Answer{Status: change.StatusOK, Body: body}, true
		return r, nil
	})
	_, refused := errors.AsType[*fault.Error](err)
	if refused || (err == nil && (!used || answer.Replayed)) {
		a.Stock.Give(mode, family, address)
	}
	return answer, err
}
