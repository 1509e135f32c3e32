package httpapi

import (
	"context"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/admission"
)

func pauseRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/admin/pauses", httpkit.ForOperators, func(ctx context.Context, r operatorListRequest) ([]byte, error) {
		return u.Operators.Pauses(ctx, r.before, r.limit)
	})
	httpkit.Handle(s, "POST /v1/admin/pauses", httpkit.ForOperators, func(ctx context.Context, r pauseRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.pause.Operator = in.Identity.Operator
		return u.Operators.Pause(ctx, r.pause, &r.problems, in.Key())
	})
	httpkit.Handle(s, "DELETE /v1/admin/pauses/{id}", httpkit.ForOperators, func(ctx context.Context, r resumeRequest) ([]byte, error) {
		return u.Operators.Resume(ctx, r.id, httpkit.From(ctx).Identity.Operator, r.reason)
	})
	// Only gateways call it; no document names it.
	httpkit.Handle(s, "POST /v1/admin/merchants/terms", httpkit.ForOperators, func(ctx context.Context, r termsRequest) ([]byte, error) {
		return u.Operators.KeepTerms(ctx, r.term)
	})
}

type pauseRequest struct {
	pause    admission.Pause
	problems fault.Problems
}

// Read decodes the body of POST /v1/admin/pauses. The use case checks it.
func (r *pauseRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.pause = admission.Pause{
		What: b.Text("paused", wordMax), Currency: money.Currency(b.Text("fiatCurrency", wordMax)), Network: b.Text("network", wordMax),
		Rail: b.Text("rail", wordMax), MerchantID: b.Text("merchantId", merchantMax), Reason: b.RequiredText("reason", reasonMax),
	}
	if text := b.Text("until", wordMax); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			b.Problem("until", "must be an ISO 8601 time such as 2026-12-01T18:00:00.000Z")
		}
		r.pause.Until = at
	}
	r.problems = in.Deferred()
}

type resumeRequest struct {
	id     int64
	reason string
}

// Read decodes an order to end a pause. Another spelling of an id is of no pause.
func (r *resumeRequest) Read(in *httpkit.Input) {
	text := in.Path("id")
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(id, 10) == text {
		r.id = id
	}
	r.reason = in.Body().Text("reason", reasonMax)
}

type termsRequest struct{ term admission.Term }

// Read decodes what a gateway sends of a merchant.
func (r *termsRequest) Read(in *httpkit.Input) {
	b := in.Body()
	suspended, _ := b.Bool("suspended")
	r.term = admission.Term{
		MerchantID: b.RequiredText("merchantId", merchantMax), Suspended: suspended, Reason: b.Text("reason", reasonMax), Operator: b.Text("operator", wordMax*2),
		Currencies: b.Texts("currencies", listMax, wordMax), Networks: b.Texts("networks", listMax, wordMax), Types: b.Texts("types", listMax, wordMax),
		Limits: byCurrency(b.Object("limits")), DailyLimits: byCurrency(b.Object("dailyLimits")),
	}
	r.term.Version, _ = b.Int("version", 1, 1<<62)
}

// byCurrency reads amounts by currency, nil where the object was not sent.
func byCurrency(sent *httpkit.Body) map[money.Currency]decimal.Decimal {
	if sent == nil {
		return nil
	}
	out := map[money.Currency]decimal.Decimal{}
	for _, currency := range money.Currencies() {
		if amount, ok := sent.NumberOrText(string(currency)); ok {
			out[currency] = amount
		}
	}
	return out
}

// listMax bounds a list of a merchant's terms.
const listMax = 64
