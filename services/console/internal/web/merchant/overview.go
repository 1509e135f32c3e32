package merchant

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

// figures are the sums of a group of GET /v1/statistics.
type figures struct {
	Day          string
	FiatCurrency string
	Network      string
	Status       string
	Type         string

	Count           int64
	Settled         int64
	Ended           int64
	SuccessRate     json.Number
	TransactionUSD  json.Number `json:"transactionUsd"`
	SettledUSD      json.Number `json:"settledUsd"`
	SecondsToSettle json.Number
	SettledWithin   struct{ Minute, FiveMinutes, Hour, Day int64 }
	Amounts         []amounts
}

// amounts are the money of a group in one currency.
type amounts struct {
	FiatCurrency                                 string
	FiatAmount, SettledAmount, Fee, PayoutAmount json.Number
}

// Percent is the success rate in percent with one digit after the point, "–" where nothing has ended.
func (f figures) Percent() string { return percent(f.SuccessRate.String()) }

func percent(rate string) string {
	if rate == "" {
		return "–"
	}
	whole, part, _ := strings.Cut(rate, ".")
	part = (part + "0000")[:4]
	digits := strings.TrimLeft(whole+part[:2], "0")
	if digits == "" {
		digits = "0"
	}
	if part[2] != '0' {
		return digits + "." + part[2:3] + " %"
	}
	return digits + " %"
}

// Wait is the mean time to settle, as a number and the key of its unit.
func (f figures) Wait() map[string]any {
	text, _, _ := strings.Cut(f.SecondsToSettle.String(), ".")
	seconds, err := json.Number(text).Int64()
	switch {
	case err != nil:
		return nil
	case seconds < 120:
		return map[string]any{"Unit": "seconds", "Count": seconds}
	case seconds < 7200:
		return map[string]any{"Unit": "minutes", "Count": (seconds + 30) / 60}
	}
	return map[string]any{"Unit": "hours", "Count": (seconds + 1800) / 3600}
}

type statistics struct {
	Statistics struct {
		From, To string
		Totals   figures
		Groups   []figures
	}
}

type overviewPage struct {
	From, To   string
	Currency   string
	Currencies []string
	Totals     figures
	Money      amounts // of the chosen currency
	Volume     chart
	Count      chart
	Days       []figures // those with payments, newest first
	By         []grouped
	Dimension  string
	Dimensions []string
	Recent     []payment
	Waiting    int64 // payments in review
	New        bool  // no payment was created in these days
}

type grouped struct {
	Name string // empty for requests without a network
	figures
}

// periods are the lengths that the page offers, in days.
func periods() []int { return []int{7, 30, 90, 365} }

func overview(v *web.Visit) error {
	if !v.Allows(people.PaymentRead) {
		return v.Render("overview", "overview.title", overviewPage{New: true})
	}
	p := overviewPage{Dimensions: []string{"status", "network", "type", "fiatCurrency"}, Currencies: currencies(), Currency: v.Query("fiatCurrency")}
	if p.Dimension = v.Query("by"); !contains(p.Dimensions, p.Dimension) {
		p.Dimension = "status"
	}
	q := v.Filters("from", "to", "fiatCurrency", "network", "type")
	ask := func(by string, into *statistics) error {
		q.Set("by", by)
		return v.API.Get(v.Context(), "/v1/statistics", q, into)
	}
	var days, groups statistics
	if err := ask("day", &days); err != nil {
		return err
	}
	if err := ask(p.Dimension, &groups); err != nil {
		return err
	}
	s := days.Statistics
	p.From, p.To, p.Totals, p.New = s.From, s.To, s.Totals, s.Totals.Count == 0
	p.choose()
	p.draw(v, s.Groups)
	for i := range s.Groups {
		p.Days = append(p.Days, s.Groups[len(s.Groups)-1-i])
	}
	for _, g := range groups.Statistics.Groups {
		name := map[string]string{"status": g.Status, "network": g.Network, "type": g.Type, "fiatCurrency": g.FiatCurrency}[p.Dimension]
		p.By = append(p.By, grouped{name, g})
		if p.Dimension == "status" && g.Status == "needs_review" {
			p.Waiting = g.Count
		}
	}
	var recent paymentList
	if err := v.API.Get(v.Context(), "/v1/payments", url.Values{"limit": {"5"}}, &recent); err != nil {
		return err
	}
	p.Recent = recent.Payments
	return v.Render("overview", "overview.title", p)
}

func contains(all []string, one string) bool {
	for _, x := range all {
		if x == one {
			return true
		}
	}
	return false
}

// choose takes the currency that the filter names, or the one with the most settled money in it.
func (p *overviewPage) choose() {
	for _, a := range p.Totals.Amounts {
		if p.Money.FiatCurrency == "" || a.FiatCurrency == p.Currency {
			p.Money = a
		}
	}
}

// draw makes the charts, with a bar for each day of the period.
func (p *overviewPage) draw(v *web.Visit, groups []figures) {
	by := map[string]figures{}
	for _, g := range groups {
		by[g.Day] = g
	}
	from, err := time.Parse(time.DateOnly, p.From)
	to, err2 := time.Parse(time.DateOnly, p.To)
	if err != nil || err2 != nil {
		return
	}
	var volumes, counts, volumeTips, countTips []string
	for at := from; !at.After(to); at = at.AddDate(0, 0, 1) {
		day := at.Format(time.DateOnly)
		g, settled := by[day], "0"
		for _, a := range g.Amounts {
			if a.FiatCurrency == p.Money.FiatCurrency {
				settled = a.SettledAmount.String()
			}
		}
		count := strconv.FormatInt(g.Count, 10)
		volumes, counts = append(volumes, settled), append(counts, count)
		volumeTips = append(volumeTips, v.T("overview.tip.volume", "day", v.Day(at), "amount", v.Money(p.Money.FiatCurrency, settled)))
		countTips = append(countTips, v.T("overview.tip.count", "day", v.Day(at), "count", count))
	}
	ends := [2]string{v.Day(from), v.Day(to)}
	p.Volume = newChart(v.T("overview.volume", "currency", p.Money.FiatCurrency), volumes, volumeTips, ends)
	p.Count = newChart(v.T("overview.count"), counts, countTips, ends)
}

// Since is the first day of a period of so many days that ends today.
func (p overviewPage) Since(days int) string {
	return time.Now().UTC().AddDate(0, 0, 1-days).Format(time.DateOnly)
}

// Periods are the lengths that the page offers.
func (p overviewPage) Periods() []int { return periods() }

// payments of the API.
type paymentList struct {
	Payments   []payment
	Pagination pagination
}
