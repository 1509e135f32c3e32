package app

import (
	"context"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/keyring"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

type tokenAnswer struct {
	Success         bool   `json:"success"`
	SettlementToken string `json:"settlementToken,omitempty"`
	ExpiresAt       string `json:"expiresAt"`
}

// IssueToken gives the caller of a payment that it settles itself a new one-time token; the old one is void from then on.
// A replay shows the token for 15 minutes, for it is kept sealed and then erased.
func (a *App) IssueToken(ctx context.Context, o change.Owner, reference string, k change.Key) (change.Answer, error) {
	return a.owned(ctx, o, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		token, hash := change.NewToken()
		expires := now.Add(a.Policy.TokenLife)
		r, err := a.apply(v.Payment, payment.NewToken{Token: payment.Token{Hash: hash, ExpiresAt: expires}}, now)
		if err != nil {
			return change.Result{}, err
		}
		full, err := encode(tokenAnswer{true, token, Timestamp(expires)})
		if err != nil {
			return change.Result{}, err
		}
		kept, err := encode(tokenAnswer{true, "", Timestamp(expires)})
		if err != nil {
			return change.Result{}, err
		}
		r.Answer = &change.Answer{Status: change.StatusOK, Body: kept, Full: full, Secret: a.Keys.Seal(full, secretPlace(k))}
		return r, nil
	})
}

func secretPlace(k change.Key) string { return "answer/" + k.Scope + "/" + k.Key }

// keep is an answer as it is stored for its key.
func keep(ring *keyring.Ring, k change.Key, given change.Answer) *change.Answer {
	if given.Personal && k.Key != "" {
		given.Body = ring.Seal(given.Body, secretPlace(k))
	}
	return &given
}

// unseal gives a stored answer back as it was given, with its secret while that is kept.
func unseal(ring *keyring.Ring, k change.Key, stored change.Answer) change.Answer {
	if _, err := keyring.KeyID(stored.Body); err == nil { // a personal one is sealed
		body, err := ring.Open(stored.Body, secretPlace(k))
		if err != nil { // its master key is gone: what was done stands, and is not told again
			body = []byte(`{"success":true}`)
		}
		stored.Body = body
	}
	if len(stored.Secret) == 0 {
		return stored
	}
	if full, err := ring.Open(stored.Secret, secretPlace(k)); err == nil {
		stored.Body = full
	}
	return stored
}

// Settle takes the caller's word that it has paid the receiver, once, with the token
// (docs/api-contract.md#payment-life).
func (a *App) Settle(ctx context.Context, o change.Owner, reference, token, settlementReference string, problems *fault.Problems, k change.Key) (change.Answer, error) {
	if token == "" {
		problems.Add("settlementToken", "is required")
	}
	if err := problems.Err(); err != nil {
		return change.Answer{}, err
	}
	return a.owned(ctx, o, reference, k, a.shownAfter(payment.Settle{TokenHash: change.TokenHash(token), Reference: settlementReference}))
}

// shownAfter applies a trigger and answers with the payment as GET shows it.
func (a *App) shownAfter(t payment.Trigger) change.Func {
	return func(v change.View, now time.Time) (change.Result, error) {
		r, err := a.apply(v.Payment, t, now)
		if err != nil {
			return change.Result{}, err
		}
		v.Payment = r.Payment
		body, err := a.Render.Shown(v)
		if err != nil {
			return change.Result{}, err
		}
		r.Answer = &change.Answer{Status: change.StatusOK, Body: body}
		return r, nil
	}
}

// Cancel withdraws a payment for which nothing has been seen.
func (a *App) Cancel(ctx context.Context, o change.Owner, reference string, k change.Key) (change.Answer, error) {
	return a.owned(ctx, o, reference, k, a.shownAfter(payment.Cancel{}))
}
