package httpapi

import (
	"context"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/operators"
)

func unclaimedRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/admin/unclaimed", httpkit.ForOperators, func(ctx context.Context, r operatorListRequest) ([]byte, error) {
		return u.Operators.UnclaimedList(ctx, r.all, r.before, r.limit)
	})
	httpkit.Handle(s, "POST /v1/admin/unclaimed", httpkit.ForOperators, func(ctx context.Context, r unclaimedRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.order.Operator = in.Identity.Operator
		return u.Operators.BookUnclaimed(ctx, r.order, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/admin/unclaimed/{id}/return", httpkit.ForOperators, func(ctx context.Context, r unclaimedRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.order.Operator = in.Identity.Operator
		return u.Operators.ReturnUnclaimed(ctx, r.id, r.order, in.Key())
	})
}

type adoptRequest struct {
	order    operators.AdoptOrder
	problems fault.Problems
}

// Read decodes an operator's order to give a stray deposit a payment.
func (r *adoptRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.order = operators.AdoptOrder{
		Mode: tenant.Mode(b.Text("mode", wordMax)), Deposit: b.Text("deposit", depositKeyMax), Reason: b.Text("reason", reasonMax),
	}
	r.problems = in.Deferred()
}

type unclaimedRequest struct {
	id       string
	order    operators.UnclaimedOrder
	problems fault.Problems
}

// depositKeyMax bounds the key of a deposit: network, transaction and place in it.
const depositKeyMax = 200

// Read decodes an operator's order about unclaimed money.
func (r *unclaimedRequest) Read(in *httpkit.Input) {
	r.id = in.Path("id")
	b := in.Body()
	r.order = operators.UnclaimedOrder{Reason: b.Text("reason", reasonMax), Debtor: operators.Debtor{
		PaymentID: b.Text("paymentId", wordMax), Deposit: b.Text("deposit", depositKeyMax), Asset: b.Text("asset", wordMax),
		Mode: tenant.Mode(b.Text("mode", wordMax)),
	}}
	r.problems = in.Deferred()
}
