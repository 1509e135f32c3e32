package httpapi

import (
	"context"
	"math"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/operators"
)

func operatorRoutes(s *httpkit.Server, u UseCases) {
	list := func(route string, f func(ctx context.Context, r operatorListRequest) ([]byte, error)) {
		httpkit.Handle(s, route, httpkit.ForOperators, f)
	}
	list("GET /v1/admin/deposits/unattributed", func(ctx context.Context, r operatorListRequest) ([]byte, error) {
		return u.Operators.Strays(ctx, r.before, r.limit)
	})
	list("GET /v1/admin/payouts", func(ctx context.Context, r operatorListRequest) ([]byte, error) {
		return u.Operators.Doubts(ctx, r.before, r.limit)
	})
	list("GET /v1/admin/holds", func(ctx context.Context, r operatorListRequest) ([]byte, error) {
		return u.Operators.Holds(ctx, r.before, r.limit)
	})
	list("GET /v1/admin/differences", func(ctx context.Context, r operatorListRequest) ([]byte, error) {
		return u.Operators.Differences(ctx, r.all, r.before, r.limit)
	})
	order := func(route string, f func(ctx context.Context, payoutID string, d operators.PayoutOrder, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error)) {
		httpkit.Handle(s, route, httpkit.ForOperators, func(ctx context.Context, r payoutOrderRequest) (idempotency.Answer, error) {
			in := httpkit.From(ctx)
			r.order.Operator = in.Identity.Operator
			return f(ctx, r.payoutID, r.order, &r.problems, in.Key())
		})
	}
	order("POST /v1/admin/payouts/{id}/ask", u.Operators.AskPayout)
	order("POST /v1/admin/payouts/{id}/conclude", u.Operators.ConcludePayout)
}

const evidenceMax = 500

type payoutOrderRequest struct {
	payoutID string
	order    operators.PayoutOrder
	problems fault.Problems
}

// Read decodes an operator's order about a payout.
func (r *payoutOrderRequest) Read(in *httpkit.Input) {
	r.payoutID = in.Path("id")
	b := in.Body()
	r.order = operators.PayoutOrder{
		Outcome: b.Text("outcome", wordMax), Evidence: b.Text("evidence", evidenceMax), Reason: b.Text("reason", reasonMax), Sends: -1,
	}
	if n, ok := b.Int("sends", 0, math.MaxInt32); ok {
		r.order.Sends = int(n)
	}
	r.problems = in.Deferred()
}

type operatorListRequest struct {
	before string
	limit  int
	all    bool
}

// Read takes the page, and whether closed rows are wanted too.
func (r *operatorListRequest) Read(in *httpkit.Input) {
	r.limit = in.QueryInt("limit", pageDefault, 1, pageMax)
	r.all = in.QueryOneOf("status", "open", "all") == "all"
	if text := in.Query("cursor"); text != "" {
		before, ok := operators.ReadCursor(text)
		if !ok {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		r.before = before
	}
}
