// Package quidax reads the price of USDT in naira at Quidax: GET /api/v1/markets/tickers/usdtngn, which needs no key.
// buy is the price that buyers pay, and sell the price that sellers ask.
package quidax

import (
	"context"
	"errors"
	"time"

	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/remote"
)

// Base is Quidax' address.
const Base = "https://app.quidax.io"

type driver struct{ client *remote.Client }

// New makes the driver.
func New(base string) (rate.Driver, error) {
	client, err := rate.Client(base)
	if err != nil {
		return nil, err
	}
	return &driver{client}, nil
}

func (*driver) Name() string { return "quidax" }

func (*driver) Terms() rate.Terms { return rate.Terms{Every: 30 * time.Second, Fresh: 3 * time.Minute} }

func (d *driver) Fetch(ctx context.Context) ([]rate.Tick, error) {
	var answer struct {
		Status string `json:"status"`
		Data   struct {
			At     int64 `json:"at"`
			Ticker struct {
				Buy  rate.Number `json:"buy"`
				Sell rate.Number `json:"sell"`
			} `json:"ticker"`
		} `json:"data"`
	}
	if err := rate.Get(ctx, d.client, "/api/v1/markets/tickers/usdtngn", nil, &answer); err != nil {
		return nil, err
	}
	t := answer.Data.Ticker
	if answer.Status != "success" || answer.Data.At <= 0 || t.Sell.IsZero() {
		return nil, errors.New("no ticker in the answer")
	}
	return []rate.Tick{{Base: "USDT", Quote: "NGN", Bid: t.Buy.Decimal, Ask: t.Sell.Decimal, At: time.Unix(answer.Data.At, 0)}}, nil
}
