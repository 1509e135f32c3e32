// Package erapi reads daily reference rates of the dollar: GET /v6/latest/USD of open.er-api.com, which needs no key.
// They are not tradable.
package erapi

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/remote"
)

// Base is the address.
const Base = "https://open.er-api.com"

type driver struct{ client *remote.Client }

// New makes the driver.
func New(base string) (rate.Driver, error) {
	client, err := rate.Client(base)
	if err != nil {
		return nil, err
	}
	return &driver{client}, nil
}

func (*driver) Name() string { return "open.er-api" }

func (*driver) Terms() rate.Terms {
	return rate.Terms{Every: time.Hour, Fresh: 26 * time.Hour, Reference: true}
}

func (d *driver) Fetch(ctx context.Context) ([]rate.Tick, error) {
	var answer struct {
		Result  string                 `json:"result"`
		Updated int64                  `json:"time_last_update_unix"`
		Base    string                 `json:"base_code"`
		Rates   map[string]rate.Number `json:"rates"`
	}
	if err := rate.Get(ctx, d.client, "/v6/latest/USD", nil, &answer); err != nil {
		return nil, err
	}
	if answer.Result != "success" || answer.Base != "USD" || answer.Updated <= 0 {
		return nil, errors.New("no rates of the dollar in the answer")
	}
	var ticks []rate.Tick
	for _, cur := range money.Currencies() {
		if n, ok := answer.Rates[string(cur)]; ok {
			ticks = append(ticks, rate.Tick{Base: "USD", Quote: string(cur), Bid: n.Decimal, Ask: n.Decimal, At: time.Unix(answer.Updated, 0)})
		}
	}
	return ticks, nil
}
