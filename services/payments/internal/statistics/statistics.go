// Package statistics shows merchants the figures of their payments: how many, how much money, how many succeed, and how
// soon they are settled.
package statistics

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

// The dimensions by which figures may be grouped, by the names of the fields of a group.
const (
	ByDay      = "day"
	ByCurrency = "fiatCurrency"
	ByNetwork  = "network"
	ByStatus   = "status"
	ByType     = "type"
)

// Dimensions lists them.
func Dimensions() []string { return []string{ByDay, ByCurrency, ByNetwork, ByStatus, ByType} }

// Bounds of one answer.
const (
	DaysMost   = 366
	GroupsMost = 10_000
	RowsMost   = 100_000 // a group has a row for each currency, status and speed
)

// Filter chooses payments by the day of their create, both days included. Empty fields choose all.
type Filter struct {
	Owner    tenant.Owner
	From, To time.Time
	Currency money.Currency
	Network  string
	Type     payment.Type
	By       []string
}

// Row holds the sums of one kind of payments. The fields of dimensions that nobody asked for are empty, but for the
// currency and the status, which say what the sums are.
type Row struct {
	Day      string
	Type     string
	Currency string
	Network  string
	Status   payment.Status
	Speed    int // of settled payments: within 1 a minute, 2 five minutes, 3 an hour, 4 a day, 5 later

	Payments               int64
	USD, Fiat, Fee, Payout decimal.Decimal
	SettlingMS             int64
}

// Store reads the sums.
type Store interface {
	// Statistics are up to most rows, in the order of their fields.
	Statistics(ctx context.Context, f Filter, most int) ([]Row, error)
}

// Statistics shows merchants their figures.
type Statistics struct{ Store Store }

var errTooMany = fault.New(fault.Invalid, "too_many_groups", "There are more than %d groups. Ask for fewer days or dimensions.", GroupsMost)

type amounts struct {
	FiatCurrency  string       `json:"fiatCurrency"`
	FiatAmount    money.Number `json:"fiatAmount"`
	SettledAmount money.Number `json:"settledAmount"`
	Fee           money.Number `json:"fee"`
	PayoutAmount  money.Number `json:"payoutAmount"`
}

type within struct {
	Minute      int64 `json:"minute"`
	FiveMinutes int64 `json:"fiveMinutes"`
	Hour        int64 `json:"hour"`
	Day         int64 `json:"day"`
}

// figures are the sums of a group as merchants see them.
type figures struct {
	Count           int64        `json:"count"`
	Settled         int64        `json:"settled"`
	Ended           int64        `json:"ended"`
	SuccessRate     *json.Number `json:"successRate"`
	TransactionUSD  money.Number `json:"transactionUsd"`
	SettledUSD      money.Number `json:"settledUsd"`
	SecondsToSettle *json.Number `json:"secondsToSettle"`
	SettledWithin   within       `json:"settledWithin"`
	Amounts         []amounts    `json:"amounts"`
	settlingMS      int64
	usd, settledUSD decimal.Decimal
	places          map[string]int
}

type group struct {
	Day          string  `json:"day,omitempty"`
	Type         string  `json:"type,omitempty"`
	FiatCurrency string  `json:"fiatCurrency,omitempty"`
	Network      *string `json:"network,omitempty"`
	Status       string  `json:"status,omitempty"`
	*figures
}

type answer struct {
	From   string   `json:"from"`
	To     string   `json:"to"`
	By     []string `json:"by"`
	Totals *figures `json:"totals"`
	Groups []group  `json:"groups"`
}

// Show is the body of GET /v1/statistics.
func (s *Statistics) Show(ctx context.Context, f Filter) ([]byte, error) {
	rows, err := s.Store.Statistics(ctx, f, RowsMost+1)
	if err != nil {
		return nil, err
	}
	if len(rows) > RowsMost {
		return nil, errTooMany
	}
	a := answer{From: f.From.Format(time.DateOnly), To: f.To.Format(time.DateOnly), By: f.By, Totals: empty(), Groups: []group{}}
	if a.By == nil {
		a.By = []string{}
	}
	places := map[[5]string]int{}
	for _, r := range rows {
		a.Totals.add(r)
		if len(f.By) == 0 {
			continue
		}
		key := [5]string{r.Day, r.Type, "", r.Network, ""}
		if slices.Contains(f.By, ByCurrency) {
			key[2] = r.Currency
		}
		if slices.Contains(f.By, ByStatus) {
			key[4] = string(r.Status)
		}
		at, found := places[key]
		if !found {
			if at = len(a.Groups); at == GroupsMost {
				return nil, errTooMany
			}
			places[key] = at
			g := group{Day: r.Day, Type: r.Type, FiatCurrency: key[2], Status: key[4], figures: empty()}
			if slices.Contains(f.By, ByNetwork) { // a request without a price has none
				g.Network = &r.Network
			}
			a.Groups = append(a.Groups, g)
		}
		a.Groups[at].add(r)
	}
	a.Totals.end()
	for _, g := range a.Groups {
		g.end()
	}
	return views.Encode(struct {
		Success    bool   `json:"success"`
		Statistics answer `json:"statistics"`
	}{true, a})
}

func empty() *figures { return &figures{Amounts: []amounts{}, places: map[string]int{}} }

func (f *figures) add(r Row) {
	settled := r.Status == payment.StatusSettled
	f.Count += r.Payments
	f.usd = f.usd.Add(r.USD)
	if settled {
		f.Settled, f.settlingMS, f.settledUSD = f.Settled+r.Payments, f.settlingMS+r.SettlingMS, f.settledUSD.Add(r.USD)
		w := &f.SettledWithin
		for i, sum := range []*int64{&w.Minute, &w.FiveMinutes, &w.Hour, &w.Day} {
			if r.Speed <= i+1 {
				*sum += r.Payments
			}
		}
	}
	if settled || r.Status == payment.StatusExpired || r.Status == payment.StatusCancelled || r.Status == payment.StatusRefunded {
		f.Ended += r.Payments
	}
	at, found := f.places[r.Currency]
	if !found {
		at = len(f.Amounts)
		f.places[r.Currency] = at
		f.Amounts = append(f.Amounts, amounts{FiatCurrency: r.Currency})
	}
	a := &f.Amounts[at]
	a.FiatAmount = plus(a.FiatAmount, r.Fiat)
	if settled {
		a.SettledAmount, a.Fee, a.PayoutAmount = plus(a.SettledAmount, r.Fiat), plus(a.Fee, r.Fee), plus(a.PayoutAmount, r.Payout)
	}
}

func plus(n money.Number, d decimal.Decimal) money.Number { return money.N(n.Decimal.Add(d)) }

const (
	rateDigits   = 4
	secondDigits = 1
)

// end computes what follows from the sums, and orders the amounts by currency.
func (f *figures) end() {
	f.TransactionUSD, f.SettledUSD = money.N(f.usd), money.N(f.settledUSD)
	f.SuccessRate = ratio(f.Settled, f.Ended, rateDigits)
	if f.Settled > 0 {
		f.SecondsToSettle = ratio(f.settlingMS, 1000*f.Settled, secondDigits)
	}
	slices.SortFunc(f.Amounts, func(a, b amounts) int {
		return slices.Index(money.Currencies(), money.Currency(a.FiatCurrency)) - slices.Index(money.Currencies(), money.Currency(b.FiatCurrency))
	})
}

// ratio is a/b, rounded half up, nil where b is 0.
func ratio(a, b int64, digits int32) *json.Number {
	if b == 0 {
		return nil
	}
	n := money.Text(decimal.NewFromInt(a).DivRound(decimal.NewFromInt(b), digits))
	return &n
}
