package httpapi

import (
	"context"
	"time"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/statistics"
)

func statisticsRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/statistics", httpkit.ForMerchants, func(ctx context.Context, r statisticsRequest) ([]byte, error) {
		r.filter.Owner = httpkit.From(ctx).Owner
		return u.Statistics.Show(ctx, r.filter)
	})
}

type statisticsRequest struct{ filter statistics.Filter }

// Read takes the days, the filters and the dimensions; the default days are the last 30.
func (r *statisticsRequest) Read(in *httpkit.Input) {
	const days = 30
	f := &r.filter
	f.From, f.To = day(in, "from"), day(in, "to")
	if f.To.IsZero() {
		f.To = time.Now().UTC()
	}
	if f.From.IsZero() {
		f.From = f.To.AddDate(0, 0, 1-days)
	}
	switch {
	case f.To.Before(f.From):
		in.Problems.Add("to", "must not be before from")
	case f.To.Sub(f.From) >= statistics.DaysMost*24*time.Hour:
		in.Problems.Add("from", "must be at most %d days before to", statistics.DaysMost-1)
	}
	f.Currency, f.Type = fiat(in, "fiatCurrency"), payment.Type(in.QueryOneOf("type", names(payment.Types())...))
	f.By = in.QuerySomeOf("by", statistics.Dimensions()...)
	if text := in.Query("network"); text != "" {
		n, known := money.NetworkOf(text)
		if !known {
			in.Problems.Add("network", "is not supported. Supported: %s", money.Pairs())
		}
		f.Network = n.Name
	}
}

// day reads a day in UTC.
func day(in *httpkit.Input, name string) time.Time {
	text := in.Query(name)
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil || at.Year() < 1970 || at.Year() >= 9000 {
		in.Problems.Add(name, "must be a day such as 2026-04-01")
		return time.Time{}
	}
	return at
}
