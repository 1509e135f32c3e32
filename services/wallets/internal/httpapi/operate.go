package httpapi

import (
	"context"
	"math"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
)

// Operate adds the routes of operators.
func Operate(s *httpkit.Server, u *app.Operators, processes func(context.Context) (presence.Answer, error)) {
	httpkit.Handle(s, "GET /v1/admin/health/wallets", httpkit.ForOperators, func(ctx context.Context, _ noRequest) (presence.Answer, error) {
		return processes(ctx)
	})
	httpkit.Handle(s, "GET /v1/admin/networks", httpkit.ForOperators, func(ctx context.Context, _ noRequest) ([]byte, error) {
		return u.Networks(ctx)
	})
	httpkit.Handle(s, "POST /v1/admin/networks/{network}/rescan", httpkit.ForOperators, func(ctx context.Context, r rescanRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.rescan.Operator = in.Identity.Operator
		return u.Rescan(ctx, r.rescan, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/admin/rescans", httpkit.ForOperators, func(ctx context.Context, r rescansRequest) ([]byte, error) {
		return u.Rescans(ctx, r.before, r.limit)
	})
	httpkit.Handle(s, "GET /v1/admin/sweeps", httpkit.ForOperators, func(ctx context.Context, r sweepsRequest) ([]byte, error) {
		return u.Sweeps(ctx, r.query)
	})
	httpkit.Handle(s, "POST /v1/admin/sweeps/{id}/release", httpkit.ForOperators, func(ctx context.Context, r releaseRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Release(ctx, r.id, in.Identity.Operator, r.reason, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/admin/stations", httpkit.ForOperators, func(ctx context.Context, _ noRequest) ([]byte, error) {
		return u.Stations(ctx)
	})
	httpkit.Handle(s, "GET /v1/admin/address-pools", httpkit.ForOperators, func(ctx context.Context, _ noRequest) ([]byte, error) {
		return u.Pools(ctx)
	})
}

const reasonMax = 1000

type rescanRequest struct {
	rescan   app.Rescan
	problems fault.Problems
}

// Read decodes the body of POST /v1/admin/networks/{network}/rescan. The use case checks the range.
func (r *rescanRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.rescan = app.Rescan{Network: in.Path("network"), Mode: tenant.Mode(b.RequiredText("mode", wordMax)), Reason: b.RequiredText("reason", reasonMax)}
	if r.rescan.Mode != "" && !r.rescan.Mode.Valid() {
		b.Problem("mode", "must be live or test")
	}
	for name, into := range map[string]*int64{"from": &r.rescan.From, "to": &r.rescan.To} {
		n, ok := b.Int(name, 0, math.MaxInt32)
		if *into = n; !ok && !b.Has(name) {
			b.Problem(name, "is required")
		}
	}
	r.problems = in.Deferred()
}

type rescansRequest struct {
	before int64
	limit  int
}

// Read decodes the query of GET /v1/admin/rescans.
func (r *rescansRequest) Read(in *httpkit.Input) {
	r.before, r.limit = math.MaxInt64, in.QueryInt("limit", limitDefault, 1, limitMax)
	if text := in.Query("cursor"); text != "" {
		before, ok := app.ParseNumber(text)
		if !ok {
			in.Problems.Add("cursor", "is not a nextCursor of this list")
		}
		r.before = before
	}
}

type sweepsRequest struct{ query app.SweepQuery }

// Read decodes the query of GET /v1/admin/sweeps.
func (r *sweepsRequest) Read(in *httpkit.Input) {
	r.query = app.SweepQuery{State: in.QueryOneOf("state", "open", "blocked"), Limit: in.QueryInt("limit", limitDefault, 1, limitMax), After: cursor(in)}
	if text := in.Query("network"); text != "" {
		n, known := money.NetworkOf(text)
		if !known {
			in.Problems.Add("network", "is no network")
		}
		r.query.Network = n.Name
	}
}

type releaseRequest struct {
	id, reason string
	problems   fault.Problems
}

// Read decodes the body of POST /v1/admin/sweeps/{id}/release.
func (r *releaseRequest) Read(in *httpkit.Input) {
	r.id, r.reason = in.Path("id"), in.Body().RequiredText("reason", reasonMax)
	r.problems = in.Deferred()
}
