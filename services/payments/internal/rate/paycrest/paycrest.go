// Package paycrest reads the price that Paycrest's providers pay for USDT: GET /v1/rates/usdt/{amount}/{currency},
// which needs no key. It is an offer to buy, without an ask. It may stay the same for long, and it contains no time.
package paycrest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/remote"
)

// Base is Paycrest's address.
const Base = "https://api.paycrest.io"

// amount is the amount of the requested offer, in USDT: the size of an ordinary payment.
const amount = "100"

type driver struct{ client *remote.Client }

// New makes the driver.
func New(base string) (rate.Driver, error) {
	client, err := rate.Client(base)
	if err != nil {
		return nil, err
	}
	return &driver{client}, nil
}

func (*driver) Name() string { return "paycrest" }

func (*driver) Terms() rate.Terms {
	return rate.Terms{Every: 30 * time.Second, Fresh: 10 * time.Minute}
}

// paid are the currencies that Paycrest's providers pay out.
var paid = []money.Currency{money.NGN, money.GHS, money.KES}

// Fetch makes one call for each currency. A currency without an offer is an error and does not affect the others.
func (d *driver) Fetch(ctx context.Context) ([]rate.Tick, error) {
	all := paid
	ticks, errs := make([]rate.Tick, len(all)), make([]error, len(all))
	var busy sync.WaitGroup
	for i, cur := range all {
		busy.Go(func() { ticks[i], errs[i] = d.offer(ctx, cur) })
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

func (d *driver) offer(ctx context.Context, cur money.Currency) (rate.Tick, error) {
	var answer struct {
		Status string      `json:"status"`
		Data   rate.Number `json:"data"`
	}
	if err := rate.Get(ctx, d.client, "/v1/rates/usdt/"+amount+"/"+strings.ToLower(string(cur)), nil, &answer); err != nil {
		return rate.Tick{}, fmt.Errorf("%s: %w", cur, err)
	}
	if answer.Status != "success" {
		return rate.Tick{}, fmt.Errorf("%s: no offer", cur)
	}
	return rate.Tick{Base: "USDT", Quote: string(cur), Bid: answer.Data.Decimal}, nil
}
