// Package luno reads the prices of coins in rand and naira at Luno: GET /api/1/tickers, which needs no key and may be
// called once a second. A market that is not ACTIVE has no price.
package luno

import (
	"context"
	"time"

	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/remote"
)

// Base is Luno's address.
const Base = "https://api.luno.com"

// pairs are the markets that are read; Luno calls bitcoin XBT.
var pairs = map[string][2]string{
	"USDTZAR": {"USDT", "ZAR"}, "USDCZAR": {"USDC", "ZAR"}, "XBTZAR": {"BTC", "ZAR"},
	"USDTNGN": {"USDT", "NGN"}, "USDCNGN": {"USDC", "NGN"}, "XBTNGN": {"BTC", "NGN"},
}

type driver struct{ client *remote.Client }

// New makes the driver.
func New(base string) (rate.Driver, error) {
	client, err := rate.Client(base)
	if err != nil {
		return nil, err
	}
	return &driver{client}, nil
}

func (*driver) Name() string { return "luno" }

func (*driver) Terms() rate.Terms { return rate.Terms{Every: 30 * time.Second, Fresh: 3 * time.Minute} }

func (d *driver) Fetch(ctx context.Context) ([]rate.Tick, error) {
	var answer struct {
		Tickers []struct {
			Pair   string      `json:"pair"`
			Time   int64       `json:"timestamp"` // milliseconds
			Bid    rate.Number `json:"bid"`
			Ask    rate.Number `json:"ask"`
			Status string      `json:"status"`
		} `json:"tickers"`
	}
	if err := rate.Get(ctx, d.client, "/api/1/tickers", nil, &answer); err != nil {
		return nil, err
	}
	var ticks []rate.Tick
	for _, r := range answer.Tickers {
		if pair, ok := pairs[r.Pair]; ok && r.Status == "ACTIVE" && r.Time > 0 && !r.Ask.IsZero() {
			ticks = append(ticks, rate.Tick{Base: pair[0], Quote: pair[1], Bid: r.Bid.Decimal, Ask: r.Ask.Decimal, At: time.UnixMilli(r.Time)})
		}
	}
	return ticks, nil
}
