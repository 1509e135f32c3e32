// Package binance reads coin prices in USDT at Binance: GET /api/v3/ticker/bookTicker, which needs no key. Binance
// trades no fiat currency of Causeway. The answer contains no time.
package binance

import (
	"context"
	"net/url"
	"strings"
	"time"

	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/remote"
)

// Base is Binance's address; data-api.binance.vision serves the same where that one is blocked.
const Base = "https://api.binance.com"

const quoted = "USDT"

type driver struct {
	client  *remote.Client
	symbols string
}

// New makes the driver.
func New(base string) (rate.Driver, error) {
	client, err := rate.Client(base)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, symbol := range rate.Symbols() {
		if symbol != quoted {
			list = append(list, `"`+symbol+quoted+`"`)
		}
	}
	return &driver{client, "[" + strings.Join(list, ",") + "]"}, nil
}

func (*driver) Name() string { return "binance" }

func (*driver) Terms() rate.Terms { return rate.Terms{Every: 10 * time.Second, Fresh: time.Minute} }

func (d *driver) Fetch(ctx context.Context) ([]rate.Tick, error) {
	var rows []struct {
		Symbol string      `json:"symbol"`
		Bid    rate.Number `json:"bidPrice"`
		Ask    rate.Number `json:"askPrice"`
		BidQty rate.Number `json:"bidQty"`
		AskQty rate.Number `json:"askQty"`
	}
	if err := rate.Get(ctx, d.client, "/api/v3/ticker/bookTicker", url.Values{"symbols": {d.symbols}}, &rows); err != nil {
		return nil, err
	}
	var ticks []rate.Tick
	for _, r := range rows {
		if base, ok := strings.CutSuffix(r.Symbol, quoted); ok && !r.Ask.IsZero() {
			mark := r.Bid.String() + r.BidQty.String() + r.Ask.String() + r.AskQty.String()
			ticks = append(ticks, rate.Tick{Base: base, Quote: quoted, Bid: r.Bid.Decimal, Ask: r.Ask.Decimal, Mark: mark})
		}
	}
	return ticks, nil
}
