package httpapi

import (
	"context"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/merchants"
)

func merchantRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "POST /v1/payments/{reference}/cancel", httpkit.ForMerchants, onReference(u.Merchants.Cancel))
	httpkit.Handle(s, "POST /v1/payments/{reference}/settlement-token", httpkit.ForMerchants, onReference(u.Merchants.IssueToken))
	httpkit.Handle(s, "POST /v1/payments/{reference}/settle", httpkit.ForMerchants, func(ctx context.Context, r settleRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Merchants.Settle(ctx, in.Owner, r.reference, r.settlement, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/payments/{reference}/refund-address", httpkit.ForMerchants, func(ctx context.Context, r refundRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Merchants.RefundAddress(ctx, in.Owner, r.reference, r.address, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/payments/{reference}/refund-address/confirm", httpkit.ForMerchants, func(ctx context.Context, r refundRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Merchants.ConfirmRefundAddress(ctx, in.Owner, r.reference, r.address, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/sandbox/payments/{reference}/simulate-deposit", httpkit.ForMerchants, func(ctx context.Context, r simulateRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Sandbox.SimulateDeposit(ctx, in.Owner, r.reference, r.deposit, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/sandbox/payouts/{id}/outcome", httpkit.ForMerchants, func(ctx context.Context, r outcomeRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Sandbox.SetOutcome(ctx, in.Owner, r.name, r.outcome, &r.problems, in.Key())
	})
}

// onReference serves a POST without fields on one payment.
func onReference(f func(context.Context, tenant.Owner, string, idempotency.Key) (idempotency.Answer, error)) func(context.Context, referenceRequest) (idempotency.Answer, error) {
	return func(ctx context.Context, r referenceRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return f(ctx, in.Owner, r.reference, in.Key())
	}
}

type settleRequest struct {
	reference  string
	settlement merchants.Settlement
	problems   fault.Problems
}

const (
	tokenMax      = 128
	settlementMax = 128
	addressMax    = 128
)

// Read decodes the body of a settlement by the caller (docs/api-contract.md#payment-life).
func (r *settleRequest) Read(in *httpkit.Input) {
	r.reference = in.Path("reference")
	b := in.Body()
	r.settlement = merchants.Settlement{Token: b.Text("settlementToken", tokenMax), Reference: b.Text("settlementReference", settlementMax)}
	r.problems = in.Deferred()
}

type refundRequest struct {
	reference, address string
	problems           fault.Problems
}

// Read decodes the body of a refund address (docs/api-contract.md#payment-life).
func (r *refundRequest) Read(in *httpkit.Input) {
	r.reference = in.Path("reference")
	r.address = in.Body().Text("address", addressMax)
	r.problems = in.Deferred()
}

type simulateRequest struct{ depositRequest }

// Read decodes the body of simulate-deposit (docs/api-contract.md#sandbox): steps is the number of confirmations;
// without it the transfer gets enough.
func (r *simulateRequest) Read(in *httpkit.Input) {
	r.reference = in.Path("reference")
	b := in.Body()
	r.deposit.Amount, r.deposit.Given = b.NumberOrText("amount")
	r.deposit.Confirmations = -1
	b.Only("amount", "steps")
	if n, ok := b.Int("steps", 0, confirmationsMost); ok {
		r.deposit.Confirmations = n
	}
	r.problems = in.Deferred()
}

type outcomeRequest struct {
	name, outcome string
	problems      fault.Problems
}

// Read decodes the body of a payout's ordered outcome (docs/api-contract.md#sandbox).
func (r *outcomeRequest) Read(in *httpkit.Input) {
	r.name = in.Path("id")
	b := in.Body()
	b.Only("outcome")
	r.outcome = b.Text("outcome", wordMax)
	r.problems = in.Deferred()
}
