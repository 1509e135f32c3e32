// Package coinbase reads two things at Coinbase: coin prices in dollars at its exchange (GET /products/BTC-USD/ticker),
// and its reference rates of the dollar in Causeway's currencies (GET /v2/exchange-rates?currency=USD). Neither needs a
// key.
package coinbase

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/remote"
)

// The two addresses.
const (
	Base          = "https://api.exchange.coinbase.com"
	BaseReference = "https://api.coinbase.com"
)

// products are the coins that the exchange trades against the dollar; USDC is its own dollar there.
var products = []string{"BTC", "ETH", "SOL", "BNB", "POL", "USDT"}

type exchange struct{ client *remote.Client }

// New makes the driver of the exchange.
func New(base string) (rate.Driver, error) {
	client, err := rate.Client(base)
	if err != nil {
		return nil, err
	}
	return &exchange{client}, nil
}

func (*exchange) Name() string { return "coinbase" }

func (*exchange) Terms() rate.Terms { return rate.Terms{Every: 10 * time.Second, Fresh: time.Minute} }

// Fetch makes one call for each product, as the API requires.
func (d *exchange) Fetch(ctx context.Context) ([]rate.Tick, error) {
	ticks, errs := make([]rate.Tick, len(products)), make([]error, len(products))
	var busy sync.WaitGroup
	for i, base := range products {
		busy.Go(func() { ticks[i], errs[i] = d.ticker(ctx, base) })
	}
	busy.Wait()
	var good []rate.Tick
	for i := range ticks {
		if errs[i] == nil {
			good = append(good, ticks[i])
		}
	}
	return good, errors.Join(errs...)
}

func (d *exchange) ticker(ctx context.Context, base string) (rate.Tick, error) {
	var row struct {
		Bid  rate.Number `json:"bid"`
		Ask  rate.Number `json:"ask"`
		Time time.Time   `json:"time"`
	}
	if err := rate.Get(ctx, d.client, "/products/"+base+"-USD/ticker", nil, &row); err != nil {
		return rate.Tick{}, fmt.Errorf("%s: %w", base, err)
	}
	if row.Ask.IsZero() || row.Time.IsZero() {
		return rate.Tick{}, fmt.Errorf("%s: no book", base)
	}
	return rate.Tick{Base: base, Quote: "USD", Bid: row.Bid.Decimal, Ask: row.Ask.Decimal, At: row.Time}, nil
}

type reference struct{ client *remote.Client }

// NewReference makes the driver of the reference rates.
func NewReference(base string) (rate.Driver, error) {
	client, err := rate.Client(base)
	if err != nil {
		return nil, err
	}
	return &reference{client}, nil
}

func (*reference) Name() string { return "coinbase-fx" }

func (*reference) Terms() rate.Terms {
	return rate.Terms{Every: time.Minute, Fresh: 10 * time.Minute, Reference: true}
}

func (d *reference) Fetch(ctx context.Context) ([]rate.Tick, error) {
	var answer struct {
		Data struct {
			Currency string                 `json:"currency"`
			Rates    map[string]rate.Number `json:"rates"`
		} `json:"data"`
	}
	if err := rate.Get(ctx, d.client, "/v2/exchange-rates", url.Values{"currency": {"USD"}}, &answer); err != nil {
		return nil, err
	}
	if answer.Data.Currency != "USD" {
		return nil, errors.New("rates of another currency")
	}
	var ticks []rate.Tick
	for _, cur := range money.Currencies() {
		if n, ok := answer.Data.Rates[string(cur)]; ok {
			ticks = append(ticks, rate.Tick{Base: "USD", Quote: string(cur), Bid: n.Decimal, Ask: n.Decimal})
		}
	}
	return ticks, nil
}
