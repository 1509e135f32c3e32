package app

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
)

// errNameDown is what a claim, or a look-up, gets while nobody can say whose account it is.
var errNameDown = fault.New(fault.Unavailable, "name_service_unavailable",
	"The account's name cannot be looked up right now. Try again shortly.").After(5 * time.Second)

// Claim names the account that a gift is paid to (interface.md §4.4). The name comes from the bank and never from the
// client; without it nothing is claimed. Whatever runs in parallel, the first claim wins.
func (a *App) Claim(ctx context.Context, reference string, in *payment.ReceiverInput, problems *fault.Problems, k Key) (Answer, error) {
	v, earlier, found, err := a.open(ctx, reference, k)
	if err != nil || found {
		return earlier, err
	}
	p := v.Payment
	if a.refuses(p, payment.ClaimGift{}) {
		return a.anyones(ctx, reference, k, a.refusal(payment.ClaimGift{}))
	}
	receiver := payment.CheckReceiver(in, p.Mode, p.Currency, problems)
	if err := problems.Err(); err != nil {
		return Answer{}, err
	}
	if err := knownBank(p.Mode, payment.Payment{Currency: p.Currency, Receiver: receiver}); err != nil {
		return Answer{}, err
	}
	world, ok := a.Worlds[p.Mode]
	if !ok {
		return Answer{}, ErrLiveDisabled
	}
	named, ok, err := a.names.resolve(ctx, world.Rail, p.Mode, p.Currency, receiver)
	switch {
	case errors.Is(err, rail.ErrNotFound):
		return Answer{}, accountNotFound()
	case err != nil:
		return Answer{}, err
	case !ok:
		return Answer{}, errNameDown
	}
	return a.anyones(ctx, reference, k, func(v View, now time.Time) (Result, error) {
		r, err := a.apply(v.Payment, payment.ClaimGift{Receiver: named, Rail: world.Rail.Name()}, now)
		if err != nil {
			return Result{}, err
		}
		body, err := a.Render.Claimed(r.Payment)
		if err != nil {
			return Result{}, err
		}
		r.Answer = &Answer{Status: statusOK, Body: body}
		return r, nil
	})
}
