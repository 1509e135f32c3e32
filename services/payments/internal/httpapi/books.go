package httpapi

import (
	"context"
	"net/http"
	"time"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/books"
)

// csvFile is the header of a CSV that a browser saves under a name.
func csvFile(name string) http.Header {
	return http.Header{"Content-Type": {"text/csv; charset=utf-8"}, "Content-Disposition": {`attachment; filename="` + name + `"`}}
}

func bookRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/admin/treasury", httpkit.ForOperators, func(ctx context.Context, r treasuryRequest) (httpkit.Answer, error) {
		report, err := u.Books.TreasuryOf(ctx, r.mode, r.day)
		if err != nil {
			return httpkit.Answer{}, err
		}
		if r.csv {
			return httpkit.Answer{Status: http.StatusOK, Stream: report.CSV, Header: csvFile("treasury.csv")}, nil
		}
		body, err := report.JSON()
		return httpkit.Answer{Status: http.StatusOK, Body: body}, err
	})
	httpkit.Handle(s, "GET /v1/admin/journals", httpkit.ForOperators, func(ctx context.Context, r journalsRequest) (httpkit.Answer, error) {
		report, err := u.Books.Journals(ctx, r.mode, r.month)
		return httpkit.Answer{Status: http.StatusOK, Stream: report, Header: csvFile("journals-" + r.month.Format(books.MonthLayout) + ".csv")}, err
	})
}

func readMode(in *httpkit.Input) tenant.Mode {
	return tenant.Mode(in.QueryOneOf("mode", string(tenant.Live), string(tenant.Test)))
}

type treasuryRequest struct {
	mode tenant.Mode
	day  string
	csv  bool
}

// Read takes the mode, the closed day and the format.
func (r *treasuryRequest) Read(in *httpkit.Input) {
	if r.mode = readMode(in); r.mode == "" {
		r.mode = tenant.Live
	}
	if r.day = in.Query("day"); r.day != "" {
		if _, err := time.Parse(time.DateOnly, r.day); err != nil {
			in.Problems.Add("day", "must be a day such as 2026-11-22")
		}
	}
	r.csv = in.QueryOneOf("format", "json", "csv") == "csv"
}

type journalsRequest struct {
	mode  tenant.Mode
	month time.Time
}

// Read takes the mode and the month.
func (r *journalsRequest) Read(in *httpkit.Input) {
	if r.mode = readMode(in); r.mode == "" {
		r.mode = tenant.Live
	}
	var err error
	if r.month, err = time.Parse(books.MonthLayout, in.Query("month")); err != nil || r.month.After(time.Now()) {
		in.Problems.Add("month", "must be a month such as 2026-10 that has begun")
	}
}
