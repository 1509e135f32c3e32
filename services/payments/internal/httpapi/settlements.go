package httpapi

import (
	"context"
	"net/http"
	"time"

	"causeway.internal/libs/httpkit"
)

func settlementRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/settlements", httpkit.ForMerchants, func(ctx context.Context, r settlementsRequest) (httpkit.Answer, error) {
		report, err := u.Payments.SettlementReport(ctx, httpkit.From(ctx).Owner, r.from, r.to, r.csv)
		answer := httpkit.Answer{Status: http.StatusOK, Stream: report}
		if r.csv {
			answer.Header = csvFile("settlements.csv")
		}
		return answer, err
	})
}

type settlementsRequest struct {
	from, to time.Time
	csv      bool
}

// Read takes the period and the format; the default period is the last 30 days.
func (r *settlementsRequest) Read(in *httpkit.Input) {
	const days = 30
	r.from, r.to = instant(in, "from"), instant(in, "to")
	if r.to.IsZero() {
		r.to = time.Now().UTC()
	}
	if r.from.IsZero() {
		r.from = r.to.AddDate(0, 0, -days)
	}
	if r.to.Before(r.from) {
		in.Problems.Add("to", "must not be before from")
	}
	r.csv = in.QueryOneOf("format", "json", "csv") == "csv"
}
