// Package access finds and changes a payment for its owner and for anybody who knows its reference, once per
// idempotency key.
package access

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
)

// Store is the table of payments, and the stored answers of idempotency keys.
type Store interface {
	// FindAny is the whole payment of a reference, in either mode.
	FindAny(ctx context.Context, reference string) (change.View, error)
	// UpdateOwned changes the payment of an owner by its reference and stores the answer under the key.
	UpdateOwned(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key, f change.Func) error
	// UpdateAny is UpdateOwned for anybody who knows the reference. It returns ErrAddressUsed under the conditions of
	// Insert.
	UpdateAny(ctx context.Context, reference string, k idempotency.Key, f change.Func) error
	// Ours says whether an address in its canonical spelling is a payment's deposit address, waits in the stock for a
	// payment, has received money, or was named by wallets.
	Ours(ctx context.Context, family money.Family, address string) (bool, error)
	// Replay is the stored answer of a key.
	Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error)
	// Settled is the stored answer of a key that another request holds; a 409 while that one is still running.
	Settled(ctx context.Context, k idempotency.Key) (idempotency.Answer, error)
}

// Payments finds and changes payments for their owner and for anybody who knows the reference.
type Payments struct {
	Store   Store
	Keys    *keyring.Ring                                                // seals answers that hold a secret or personal data
	Refusal func(ctx context.Context, f *fault.Error) idempotency.Answer // the exact reply for a fault
}

// Owned changes an owner's payment once per Idempotency-Key and returns the answer that the change gave.
func (a *Payments) Owned(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key, f change.Func) (idempotency.Answer, error) {
	if !id.IsPaymentReference(reference) {
		return idempotency.Answer{}, change.ErrNotFound
	}
	return a.Once(ctx, k, f, func(f change.Func) error { return a.Store.UpdateOwned(ctx, o, reference, k, f) })
}

// Anyone changes the payment of a reference for anybody who knows it, once per Idempotency-Key.
func (a *Payments) Anyone(ctx context.Context, reference string, k idempotency.Key, f change.Func) (idempotency.Answer, error) {
	if !id.IsPaymentReference(reference) {
		return idempotency.Answer{}, change.ErrNotFound
	}
	return a.Once(ctx, k, f, func(f change.Func) error { return a.Store.UpdateAny(ctx, reference, k, f) })
}

// Once runs a change through update and stores its answer under the key; a refusal by the payment's state is stored
// too.
func (a *Payments) Once(ctx context.Context, k idempotency.Key, f change.Func, update func(change.Func) error) (idempotency.Answer, error) {
	if earlier, found, err := a.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	var answer idempotency.Answer
	var refused error
	err := update(func(v change.View, now time.Time) (change.Result, error) {
		r, err := f(v, now)
		answer, refused = idempotency.Answer{}, r.Refused
		if kept, ok := a.Refused(ctx, k, err); ok {
			r, err = change.Result{Answer: &kept}, nil
		}
		if err == nil && r.Answer != nil {
			answer = *r.Answer
			kept := a.Kept(k, answer)
			r.Answer = &kept
		}
		return r, err
	})
	if errors.Is(err, idempotency.ErrTaken) {
		return a.Settled(ctx, k)
	}
	if err == nil && refused != nil {
		return idempotency.Answer{}, refused
	}
	if answer.Full != nil {
		answer.Body = answer.Full
	}
	return answer, err
}

// Refused is the answer to a refusal that is stored under the key.
func (a *Payments) Refused(ctx context.Context, k idempotency.Key, err error) (idempotency.Answer, bool) {
	refusal, ok := stateAnswer(err)
	if !ok || !k.Sent() {
		return idempotency.Answer{}, false
	}
	return a.Refusal(ctx, refusal), true
}

// stateAnswer picks the refusals that are stored under a request's key: those by the payment's state, not those of a
// body that breaks a rule (docs/api-contract.md#idempotency).
func stateAnswer(err error) (*fault.Error, bool) {
	f, ok := errors.AsType[*fault.Error](err)
	return f, ok && len(f.Fields) == 0 && (f.Kind == fault.Invalid || f.Kind == fault.Conflict)
}

// Replay is the stored answer of the same request.
func (a *Payments) Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error) {
	if !k.Sent() {
		return idempotency.Answer{}, false, nil
	}
	answer, found, err := a.Store.Replay(ctx, k)
	return unseal(a.Keys, k, answer), found, err
}

// Open finds the payment of a reference for anybody who knows it, or the stored answer of the same request.
func (a *Payments) Open(ctx context.Context, reference string, k idempotency.Key) (v change.View, earlier idempotency.Answer, found bool, err error) {
	if !id.IsPaymentReference(reference) {
		return change.View{}, idempotency.Answer{}, false, change.ErrNotFound
	}
	return a.UnlessDone(ctx, k, func() (change.View, error) { return a.Store.FindAny(ctx, reference) })
}

// UnlessDone finds a payment, or the stored answer of the same request.
func (a *Payments) UnlessDone(ctx context.Context, k idempotency.Key, find func() (change.View, error)) (v change.View, earlier idempotency.Answer, found bool, err error) {
	if earlier, found, err = a.Replay(ctx, k); err != nil || found {
		return change.View{}, earlier, found, err
	}
	v, err = find()
	return v, idempotency.Answer{}, false, err
}

// Ours reports whether an address belongs to this system, so that money sent there does not reach a payer. No text is
// an address of two families, so there is at most one look-up.
func (a *Payments) Ours(ctx context.Context, text string) (bool, error) {
	for _, family := range money.Families() {
		if address.Check(family, address.Any, text) == nil {
			return a.Store.Ours(ctx, family, address.Canonical(family, text))
		}
	}
	return false, nil
}

// SecretPlace binds a sealed answer to its key.
func SecretPlace(k idempotency.Key) string { return "answer/" + k.Scope + "/" + k.Key }

// Kept is the stored form of an answer.
func (a *Payments) Kept(k idempotency.Key, given idempotency.Answer) idempotency.Answer {
	if given.Personal && k.Sent() {
		given.Body = a.Keys.Seal(given.Body, SecretPlace(k))
	}
	return given
}

// Settled is the answer that another request has stored under the key meanwhile.
func (a *Payments) Settled(ctx context.Context, k idempotency.Key) (idempotency.Answer, error) {
	answer, err := a.Store.Settled(ctx, k)
	return unseal(a.Keys, k, answer), err
}

// unseal returns a stored answer as the caller first got it, with its secret while that is stored.
func unseal(ring *keyring.Ring, k idempotency.Key, stored idempotency.Answer) idempotency.Answer {
	if _, err := keyring.KeyID(stored.Body); err == nil { // an answer with personal data is sealed
		body, err := ring.Open(stored.Body, SecretPlace(k))
		if err != nil { // its master key was removed: the change is kept, its answer is lost
			body = []byte(`{"success":true}`)
		}
		stored.Body = body
	}
	if len(stored.Secret) == 0 {
		return stored
	}
	if full, err := ring.Open(stored.Secret, SecretPlace(k)); err == nil {
		stored.Body = full
	}
	return stored
}
