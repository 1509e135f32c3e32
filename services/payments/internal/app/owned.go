package app

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/services/payments/internal/change"
)

// owned changes an owner's payment once per Idempotency-Key and returns the answer that the change gave.
func (a *App) owned(ctx context.Context, o change.Owner, reference string, k change.Key, f change.Func) (change.Answer, error) {
	if !id.IsPaymentReference(reference) {
		return change.Answer{}, change.ErrNotFound
	}
	return a.once(ctx, k, f, func(f change.Func) error { return a.Payments.UpdateOwned(ctx, o, reference, k, f) })
}

// anyones changes the payment of a reference for whoever knows it, once per Idempotency-Key.
func (a *App) anyones(ctx context.Context, reference string, k change.Key, f change.Func) (change.Answer, error) {
	if !id.IsPaymentReference(reference) {
		return change.Answer{}, change.ErrNotFound
	}
	return a.once(ctx, k, f, func(f change.Func) error { return a.Payments.UpdateAny(ctx, reference, k, f) })
}

// once runs a change through update and keeps its answer, and what the payment's state refuses, under the key.
func (a *App) once(ctx context.Context, k change.Key, f change.Func, update func(change.Func) error) (change.Answer, error) {
	if earlier, found, err := a.replay(ctx, k); err != nil || found {
		return earlier, err
	}
	var answer change.Answer
	var refused error
	err := update(func(v change.View, now time.Time) (change.Result, error) {
		r, err := f(v, now)
		refused = r.Refused
		if refusal, ok := stateAnswer(err); ok && k.Key != "" {
			kept := a.Refusal(ctx, refusal)
			r, err = change.Result{Answer: &kept}, nil
		}
		if err == nil && r.Answer != nil {
			answer = *r.Answer
			r.Answer = keep(a.Keys, k, answer)
		}
		return r, err
	})
	if errors.Is(err, change.ErrKeyTaken) {
		answer, err = a.Payments.Settled(ctx, k)
		return unseal(a.Keys, k, answer), err
	}
	if err == nil && refused != nil {
		return change.Answer{}, refused
	}
	if answer.Full != nil {
		answer.Body = answer.Full
	}
	return answer, err
}

// stateAnswer picks the refusals that are kept for a request's key: those that the payment's state gave, not those of a
// body that breaks a rule (docs/api-contract.md#idempotency).
func stateAnswer(err error) (*fault.Error, bool) {
	f, ok := errors.AsType[*fault.Error](err)
	return f, ok && len(f.Fields) == 0 && (f.Kind == fault.Invalid || f.Kind == fault.Conflict)
}
