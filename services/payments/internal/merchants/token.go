package merchants

import (
	"context"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

type tokenAnswer struct {
	Success         bool   `json:"success"`
	SettlementToken string `json:"settlementToken,omitempty"`
	ExpiresAt       string `json:"expiresAt"`
}

// IssueToken gives a new one-time token to a merchant that settles the payment itself, and voids the old token. A
// replay shows the token for 15 minutes, for which it is stored sealed.
func (a *Merchants) IssueToken(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key) (idempotency.Answer, error) {
	return a.Access.Owned(ctx, o, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		token, hash := change.NewToken()
		expires := now.Add(a.Policy.TokenLife)
		r, err := change.Applied(a.Policy.Apply(v.Payment, payment.NewToken{Token: payment.Token{Hash: hash, ExpiresAt: expires}}, now))
		if err != nil {
			return change.Result{}, err
		}
		full, err := views.Encode(tokenAnswer{true, token, timestamp.Text(expires)})
		if err != nil {
			return change.Result{}, err
		}
		kept, err := views.Encode(tokenAnswer{true, "", timestamp.Text(expires)})
		if err != nil {
			return change.Result{}, err
		}
		r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: kept, Full: full, Secret: a.Keys.Seal(full, access.SecretPlace(k))}
		return r, nil
	})
}

// Settlement is the body of POST /v1/payments/:reference/settle.
type Settlement struct{ Token, Reference string }

// Settle records once, with the token, that the merchant has paid the receiver (docs/api-contract.md#payment-life).
func (a *Merchants) Settle(ctx context.Context, o tenant.Owner, reference string, s Settlement, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if s.Token == "" {
		problems.Add("settlementToken", "is required")
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	return a.Access.Owned(ctx, o, reference, k, a.applied(payment.Settle{TokenHash: change.TokenHash(s.Token), Reference: s.Reference}))
}

// applied applies a trigger and answers with the payment as GET shows it.
func (a *Merchants) applied(t payment.Trigger) change.Func {
	return func(v change.View, now time.Time) (change.Result, error) {
		r, err := change.Applied(a.Policy.Apply(v.Payment, t, now))
		if err != nil {
			return change.Result{}, err
		}
		return a.Render.Answered(v, r)
	}
}

// Cancel withdraws a payment without any deposit.
func (a *Merchants) Cancel(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key) (idempotency.Answer, error) {
	return a.Access.Owned(ctx, o, reference, k, a.applied(payment.Cancel{}))
}
