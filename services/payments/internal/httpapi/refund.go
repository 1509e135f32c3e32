package httpapi

import (
	"context"
	"strconv"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/refunds"
)

func refundRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "POST /v1/payments/{reference}/refunds", httpkit.ForMerchants, func(ctx context.Context, r refundOrderRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.order.Sender = "key " + strconv.FormatInt(in.Owner.KeyID, 10)
		return u.Refunds.Request(ctx, in.Owner, r.payment, r.order, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/payments/{reference}/refunds", httpkit.ForMerchants, func(ctx context.Context, r referenceRequest) ([]byte, error) {
		return u.Refunds.List(ctx, httpkit.From(ctx).Owner, r.reference)
	})
	httpkit.Handle(s, "POST /v1/admin/payments/{reference}/refunds", httpkit.ForOperators, func(ctx context.Context, r refundOrderRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.order.Sender = in.Identity.Operator
		return u.Refunds.RequestFor(ctx, r.payment, r.order, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/admin/refunds", httpkit.ForOperators, func(ctx context.Context, r operatorListRequest) ([]byte, error) {
		return u.Refunds.Waiting(ctx, r.before, r.limit)
	})
	httpkit.Handle(s, "POST /v1/admin/refunds/{id}/approve", httpkit.ForOperators, func(ctx context.Context, r refundDecisionRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Refunds.Approve(ctx, r.id, refunds.Decision{Operator: in.Identity.Operator, Reason: r.reason}, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/admin/refunds/{id}/refuse", httpkit.ForOperators, func(ctx context.Context, r refundDecisionRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Refunds.Refuse(ctx, r.id, refunds.Decision{Operator: in.Identity.Operator, Reason: r.reason}, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/admin/refunds/{id}/cancel", httpkit.ForOperators, func(ctx context.Context, r refundDecisionRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Refunds.Cancel(ctx, r.id, refunds.Decision{Operator: in.Identity.Operator, Reason: r.reason}, &r.problems, in.Key())
	})
}

type refundOrderRequest struct {
	payment  string // its reference, or for operators its id
	order    refunds.Order
	problems fault.Problems
}

// Read decodes the body of a request for a refund (docs/api-contract.md#refunds).
func (r *refundOrderRequest) Read(in *httpkit.Input) {
	r.payment = in.Path("reference")
	b := in.Body()
	r.order = refunds.Order{
		Amount: number(b, "amount"), Reason: b.Text("reason", reasonMax), Crypto: b.Text("crypto", wordMax), Network: b.Text("network", wordMax),
	}
	r.problems = in.Deferred()
}

type refundDecisionRequest struct {
	id, reason string
	problems   fault.Problems
}

// Read decodes an operator's decision on a refund.
func (r *refundDecisionRequest) Read(in *httpkit.Input) {
	r.id = in.Path("id")
	r.reason = in.Body().Text("reason", reasonMax)
	r.problems = in.Deferred()
}
