package httpapi

import (
	"context"
	"math"
	"strconv"
	"time"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/presence"
	"causeway.internal/services/payments/internal/operators"
)

func overviewRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/admin/health/payments", httpkit.ForOperators, func(ctx context.Context, _ noRequest) (presence.Answer, error) {
		return u.Processes(ctx)
	})
	httpkit.Handle(s, "GET /v1/admin/rails", httpkit.ForOperators, func(ctx context.Context, _ noRequest) ([]byte, error) {
		return u.Operators.Rails(ctx)
	})
	httpkit.Handle(s, "GET /v1/admin/address-stock", httpkit.ForOperators, func(ctx context.Context, _ noRequest) ([]byte, error) {
		return u.Operators.AddressStock(ctx)
	})
	httpkit.Handle(s, "GET /v1/admin/screenings", httpkit.ForOperators, func(ctx context.Context, r screeningsRequest) ([]byte, error) {
		return u.Operators.Screenings(ctx, r.filter)
	})
	httpkit.Handle(s, "GET /v1/admin/closes", httpkit.ForOperators, func(ctx context.Context, r closesRequest) ([]byte, error) {
		return u.Operators.Closes(ctx, r.before, r.limit)
	})
}

type screeningsRequest struct{ filter operators.ScreeningFilter }

// Read takes the filters and the page.
func (r *screeningsRequest) Read(in *httpkit.Input) {
	r.filter = operators.ScreeningFilter{
		Mode: readMode(in), Stage: in.QueryOneOf("stage", "deposit", "payout", "refund"), Before: math.MaxInt64, Most: in.QueryInt("limit", pageDefault, 1, pageMax),
	}
	if text := in.Query("cursor"); text != "" {
		key, ok := operators.ReadCursor(text)
		before, err := strconv.ParseInt(key, 10, 64)
		if !ok || err != nil {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		r.filter.Before = before
	}
}

type closesRequest struct {
	before string
	limit  int
}

// Read takes the page.
func (r *closesRequest) Read(in *httpkit.Input) {
	r.limit = in.QueryInt("limit", pageDefault, 1, pageMax)
	if text := in.Query("cursor"); text != "" {
		before, ok := operators.ReadCursor(text)
		if _, err := time.Parse(time.DateOnly, before); !ok || err != nil {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		r.before = before
	}
}
