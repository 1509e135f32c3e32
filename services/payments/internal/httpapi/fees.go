package httpapi

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fees"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/quote"
)

func feeRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/admin/fee-schedules", httpkit.ForOperators, func(ctx context.Context, r feeListRequest) ([]byte, error) {
		return u.Operators.FeeSchedules(ctx, r.filter)
	})
	httpkit.Handle(s, "GET /v1/admin/fee-schedules/{id}", httpkit.ForOperators, func(ctx context.Context, r feeRequest) ([]byte, error) {
		return u.Operators.FeeSchedule(ctx, r.id)
	})
	httpkit.Handle(s, "POST /v1/admin/fee-schedules", httpkit.ForOperators, func(ctx context.Context, r publishRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.order.Operator = in.Identity.Operator
		return u.Operators.PublishFees(ctx, r.order, &r.problems, in.Key())
	})
}

type feeListRequest struct{ filter operators.FeeFilter }

// Read takes the filters and the page.
func (r *feeListRequest) Read(in *httpkit.Input) {
	var page operatorListRequest
	page.Read(in)
	r.filter = operators.FeeFilter{Before: page.before, Most: page.limit, Scope: fees.Scope{
		Currency: fiat(in, "fiatCurrency"), Mode: tenant.Mode(in.QueryOneOf("mode", string(tenant.Live), string(tenant.Test))), MerchantID: in.QueryText("merchantId", merchantMax),
	}}
}

type feeRequest struct{ id string }

// Read takes the id in the path.
func (r *feeRequest) Read(in *httpkit.Input) { r.id = in.Path("id") }

type publishRequest struct {
	order    operators.FeeOrder
	problems fault.Problems
}

// Read decodes the body of a new fee schedule (docs/api-contract.md#fees).
func (r *publishRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.order = operators.FeeOrder{Note: b.Text("note", reasonMax), Scope: fees.Scope{
		Currency: money.Currency(b.Text("fiatCurrency", wordMax)), Mode: tenant.Mode(b.Text("mode", wordMax)), MerchantID: b.Text("merchantId", wordMax),
	}}
	if items := b.Objects("tiers", quote.TiersMost); items != nil {
		r.order.Tiers = make([]quote.Tier, 0, len(items))
		for _, item := range items {
			r.order.Tiers = append(r.order.Tiers, tierOf(item))
		}
	}
	if text := b.Text("validFrom", wordMax); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			b.Problem("validFrom", "must be an ISO 8601 time such as 2026-04-01T00:00:00.000Z")
		}
		r.order.ValidFrom = at
	}
	r.problems = in.Deferred()
}

func tierOf(b *httpkit.Body) quote.Tier {
	figure := func(name string) decimal.Decimal {
		d, _ := b.Number(name)
		return d
	}
	return quote.Tier{UpTo: figure("upTo"), Flat: figure("flat"), BPS: figure("basisPoints"), Least: figure("minimum"), Most: figure("maximum")}
}
