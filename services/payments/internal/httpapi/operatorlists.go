package httpapi

import (
	"context"
	"math"
	"net/http"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/operators"
)

func operatorRoutes(s *httpkit.Server, u UseCases) {
	list := func(route string, f func(ctx context.Context, r operatorListRequest) ([]byte, error)) {
		httpkit.Handle(s, route, httpkit.ForOperators, f)
	}
	list("GET /v1/admin/deposits/unattributed", func(ctx context.Context, r operatorListRequest) ([]byte, error) {
		return u.Operators.Strays(ctx, r.before, r.limit)
	})
	httpkit.Handle(s, "POST /v1/admin/deposits/adopt", httpkit.ForOperators, func(ctx context.Context, r adoptRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.order.Operator = in.Identity.Operator
		return u.Operators.Adopt(ctx, r.order, &r.problems, in.Key())
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
	httpkit.Handle(s, "GET /v1/admin/owed", httpkit.ForOperators, func(ctx context.Context, r owedRequest) (httpkit.Answer, error) {
		if r.csv {
			report, err := u.Operators.OwedCSV(ctx, r.filter)
			return httpkit.Answer{Status: http.StatusOK, Stream: report, Header: csvFile("owed.csv")}, err
		}
		body, err := u.Operators.Owed(ctx, r.filter)
		return httpkit.Answer{Status: http.StatusOK, Body: body}, err
	})
	feeRoutes(s, u)
	pauseRoutes(s, u)
	unclaimedRoutes(s, u)
	bookRoutes(s, u)
	overviewRoutes(s, u)
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

type owedRequest struct {
	filter operators.OwedFilter
	csv    bool
}

// daysMost bounds olderThanDays: a hundred years.
const daysMost = 36_500

// Read takes the filters, the page and the format.
func (r *owedRequest) Read(in *httpkit.Input) {
	days := in.QueryInt("olderThanDays", 0, 0, daysMost)
	r.filter = operators.OwedFilter{
		Mode: in.QueryOneOf("mode", string(tenant.Live), string(tenant.Test)), To: in.QueryOneOf("to", operators.Creditors()...),
		Asset: in.Query("asset"), Before: time.Now().AddDate(0, 0, -days), Most: in.QueryInt("limit", pageDefault, 1, pageMax),
	}
	if text := in.Query("cursor"); text != "" {
		after, ok := operators.ReadCursor(text)
		if !ok {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		r.filter.After = after
	}
	if r.filter.Asset != "" && !known(r.filter.Asset) {
		in.Problems.Add("asset", "is neither a crypto nor a currency")
	}
	r.csv = in.QueryOneOf("format", "json", "csv") == "csv"
}

// known reports a symbol of a listed crypto or the code of a currency.
func known(asset string) bool {
	for _, n := range money.Networks() {
		if _, is := n.Asset(asset); is {
			return true
		}
	}
	return money.Currency(asset).Valid()
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
