package merchant

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"time"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

// settlement is a row of the API's report of settlements.
type settlement struct {
	Reference       string
	Type            string
	SettledAt       string
	FiatCurrency    string
	FiatAmount      json.Number
	Fee             json.Number
	PayoutAmount    json.Number
	Crypto          string
	Network         string
	ConvertedAmount json.Number
	Rate            json.Number
}

// report is the API's report of the settlements of a period.
type report struct {
	From, To    string
	Settlements []settlement
	Totals      struct {
		Count json.Number
		Fiat  []struct {
			FiatCurrency string
			Count        json.Number
			FiatAmount   json.Number
			Fee          json.Number
			PayoutAmount json.Number
		}
		Crypto []struct {
			Crypto, Network string
			Count           json.Number
			ConvertedAmount json.Number
			ReceivedAmount  json.Number
		}
	}
}

// invoicesPage is the content of the pages about settlements and the invoices of their fees.
type invoicesPage struct {
	Months   []string // 2026-11, the newest first
	Month    string
	From, To string // days of the month and of the next one
	Report   report
	Cut      bool // the month has more rows than the page shows
	Business business
	Number   string
}

// monthsShown is the number of months in the list of invoices.
const monthsShown = 24

func settlements(v *web.Visit) error {
	page := invoicesPage{}
	month := time.Now().UTC()
	month = time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
	for range monthsShown {
		page.Months = append(page.Months, month.Format("2006-01"))
		month = month.AddDate(0, -1, 0)
	}
	return v.Render("settlements", "settlements.title", page)
}

// monthOf reads the month that the path names: its first day and that of the next.
func monthOf(v *web.Visit) (from, to time.Time, ok bool) {
	from, err := time.Parse("2006-01", v.Param("month"))
	return from, from.AddDate(0, 1, 0), err == nil && from.Year() >= 2020 && from.Before(time.Now())
}

// rowsShown bounds the rows of a page; the CSV has all.
const rowsShown = 500

func invoice(v *web.Visit) error {
	from, to, ok := monthOf(v)
	if !ok {
		return web.ErrMissing
	}
	page := invoicesPage{Month: v.Param("month"), From: from.Format(time.DateOnly), To: to.Format(time.DateOnly)}
	query := url.Values{"from": {page.From}, "to": {page.To}}
	if err := v.API.Get(v.Context(), "/v1/settlements", query, &page.Report); err != nil {
		if !api.TooLong(err) {
			return err
		}
		page.Cut = true
	}
	if len(page.Report.Settlements) > rowsShown {
		page.Report.Settlements, page.Cut = page.Report.Settlements[:rowsShown], true
	}
	var err error
	if page.Business, err = findBusiness(v); err != nil {
		return err
	}
	page.Number = fmt.Sprintf("%s-%s-%s", page.Business.MerchantID, v.Mode, page.Month)
	return v.Render("invoice", "invoice.title", page)
}

// invoiceCSV passes the whole report on.
func invoiceCSV(v *web.Visit) error {
	from, to, ok := monthOf(v)
	if !ok {
		return web.ErrMissing
	}
	answer, err := v.API.Open(v.Context(), "/v1/settlements", url.Values{
		"from": {from.Format(time.DateOnly)}, "to": {to.Format(time.DateOnly)}, "format": {"csv"},
	})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	v.W.Header().Set("Content-Type", "text/csv; charset=utf-8")
	v.W.Header().Set("Content-Disposition", `attachment; filename="settlements-`+v.Param("month")+`-`+string(v.Mode)+`.csv"`)
	_, err = io.Copy(v.W, answer.Body)
	return err
}
