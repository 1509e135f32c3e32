package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/keyring"
	"causeway.internal/services/payments/internal/payment"
)

// NewToken draws a settlement token. Only its hash is kept.
func NewToken() (token string, hash []byte) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // crypto/rand.Read never fails: it crashes the program instead (Go 1.24)
	token = "stl_" + base64.RawURLEncoding.EncodeToString(raw[:])
	return token, tokenHash(token)
}

func tokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

type tokenAnswer struct {
	Success         bool   `json:"success"`
	SettlementToken string `json:"settlementToken,omitempty"`
	ExpiresAt       string `json:"expiresAt"`
}

// IssueToken gives the caller of a payment that it settles itself a new one-time token; the old one is void from then on.
// A replay shows the token for 15 minutes, for it is kept sealed and then erased.
func (a *App) IssueToken(ctx context.Context, o Owner, reference string, k Key) (Answer, error) {
	return a.owned(ctx, o, reference, k, func(v View, now time.Time) (Result, error) {
		token, hash := NewToken()
		expires := now.Add(a.Policy.TokenLife)
		r, err := a.apply(v.Payment, payment.NewToken{Token: payment.Token{Hash: hash, ExpiresAt: expires}}, now)
		if err != nil {
			return Result{}, err
		}
		full, err := encode(tokenAnswer{true, token, Timestamp(expires)})
		if err != nil {
			return Result{}, err
		}
		kept, err := encode(tokenAnswer{true, "", Timestamp(expires)})
		if err != nil {
			return Result{}, err
		}
		r.Answer = &Answer{Status: statusOK, Body: kept, Full: full, Secret: a.Keys.Seal(full, secretPlace(k))}
		return r, nil
	})
}

func secretPlace(k Key) string { return "answer/" + k.Scope + "/" + k.Key }

// keep is an answer as it is stored for its key.
func keep(ring *keyring.Ring, k Key, given Answer) *Answer {
	if given.Personal && k.Key != "" {
		given.Body = ring.Seal(given.Body, secretPlace(k))
	}
	return &given
}

// unseal gives a stored answer back as it was given, with its secret while that is kept.
func unseal(ring *keyring.Ring, k Key, stored Answer) Answer {
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
func (a *App) Settle(ctx context.Context, o Owner, reference, token, settlementReference string, problems *fault.Problems, k Key) (Answer, error) {
	if token == "" {
		problems.Add("settlementToken", "is required")
	}
	if err := problems.Err(); err != nil {
		return Answer{}, err
	}
	return a.owned(ctx, o, reference, k, a.shownAfter(payment.Settle{TokenHash: tokenHash(token), Reference: settlementReference}))
}

// shownAfter applies a trigger and answers with the payment as GET shows it.
func (a *App) shownAfter(t payment.Trigger) Change {
	return func(v View, now time.Time) (Result, error) {
		r, err := a.apply(v.Payment, t, now)
		if err != nil {
			return Result{}, err
		}
		v.Payment = r.Payment
		body, err := a.Render.Shown(v)
		if err != nil {
			return Result{}, err
		}
		r.Answer = &Answer{Status: statusOK, Body: body}
		return r, nil
	}
}

// Cancel withdraws a payment for which nothing has been seen.
func (a *App) Cancel(ctx context.Context, o Owner, reference string, k Key) (Answer, error) {
	return a.owned(ctx, o, reference, k, a.shownAfter(payment.Cancel{}))
}
