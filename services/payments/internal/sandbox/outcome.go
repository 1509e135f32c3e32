package sandbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/views"
)

// Scripted is a rail that takes the outcome of a transfer in advance, as the simulated bank does.
type Scripted interface {
	Script(ctx context.Context, ref, outcome string) error
}

// Outcomes lists the outcomes that a test may set for a payout.
func Outcomes() []string { return []string{"succeed", "fail", "return", "timeout"} }

type outcomeAnswer struct {
	Success bool        `json:"success"`
	Payout  outcomeView `json:"payout"`
}

type outcomeView struct {
	ID        string `json:"id,omitempty"`
	Reference string `json:"reference"`
	Outcome   string `json:"outcome"`
}

// SetOutcome sets the outcome of a payout at the simulated bank, before or after it is sent. name is a payout's id or
// the reference of its payment.
func (a *Sandbox) SetOutcome(ctx context.Context, o tenant.Owner, name, outcome string, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if o.Mode != tenant.Test {
		return idempotency.Answer{}, errNoSandbox
	}
	if !slices.Contains(Outcomes(), outcome) {
		problems.Add("outcome", "must be one of %s", strings.Join(Outcomes(), ", "))
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	bank, ok := a.Providers[o.Mode].Rail.(Scripted)
	if !ok {
		return idempotency.Answer{}, errNoSandbox
	}
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	reference := name
	if strings.HasPrefix(name, id.Payout) {
		var err error
		if reference, err = a.Store.FindPayout(ctx, o, name); err != nil {
			return idempotency.Answer{}, err
		}
	} else if !id.IsPaymentReference(name) {
		return idempotency.Answer{}, change.ErrNoPayout
	}
	v, err := a.Store.Find(ctx, o, reference)
	if err != nil {
		return idempotency.Answer{}, err
	}
	view := outcomeView{Reference: payout.Reference(reference, max(v.Payment.Attempt, 1)), Outcome: outcome}
	if v.Payout != nil {
		view.ID, view.Reference = v.Payout.ID, v.Payout.Reference
	}
	if err := bank.Script(ctx, view.Reference, outcome); err != nil {
		return idempotency.Answer{}, err
	}
	if v.Payout != nil { // as the webhook of a real rail does: the worker asks about a recent success only after a hint
		if err := a.Store.Hint(ctx, v.Payout.Rail, view.Reference); err != nil {
			return idempotency.Answer{}, err
		}
	}
	return a.Access.Owned(ctx, o, reference, k, func(change.View, time.Time) (change.Result, error) {
		body, err := views.Encode(outcomeAnswer{true, view})
		return change.Result{Answer: &idempotency.Answer{Status: change.StatusOK, Body: body}}, err
	})
}
