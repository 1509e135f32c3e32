// Package kraken reads coin prices in dollars at Kraken: GET /0/public/Ticker, which needs no key. An error
// is an answer with status 200. The answer renames pairs (XBTUSD becomes XXBTZUSD) and contains no time.
package kraken

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/remote"
)

// Base is Kraken's address.
const Base = "https://api.kraken.com"

// names are the coins by the names of pairs in the answer.
var names = map[string]string{
	"XXBTZUSD": "BTC", "XBTUSD": "BTC", "XETHZUSD": "ETH", "ETHUSD": "ETH", "SOLUSD": "SOL", "POLUSD": "POL", "TRXUSD": "TRX", "BNBUSD": "BNB",
	"USDTZUSD": "USDT", "USDTUSD": "USDT", "USDCUSD": "USDC",
}

const pairs = "XBTUSD,ETHUSD,SOLUSD,POLUSD,TRXUSD,BNBUSD,USDTUSD,USDCUSD"

type driver struct{ client *remote.Client }

// New makes the driver.
func New(base string) (rate.Driver, error) {
	client, err := rate.Client(base)
	if err != nil {
		return nil, err
	}
	return &driver{client}, nil
}

func (*driver) Name() string { return "kraken" }

func (*driver) Terms() rate.Terms { return rate.Terms{Every: 10 * time.Second, Fresh: time.Minute} }

func (d *driver) Fetch(ctx context.Context) ([]rate.Tick, error) {
	var answer struct {
		Error  []string                   `json:"error"`
		Result map[string]json.RawMessage `json:"result"`
	}
	if err := rate.Get(ctx, d.client, "/0/public/Ticker", url.Values{"pair": {pairs}}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Error) > 0 {
		return nil, errors.New("the answer is an error: " + strings.ToValidUTF8(answer.Error[0][:min(len(answer.Error[0]), 100)], ""))
	}
	var ticks []rate.Tick
	for name, raw := range answer.Result {
		base, known := names[name]
		var row struct {
			Ask []rate.Number `json:"a"` // price, whole lots, lots
			Bid []rate.Number `json:"b"`
		}
		if !known || json.Unmarshal(raw, &row) != nil || len(row.Ask) == 0 || len(row.Bid) == 0 || row.Ask[0].IsZero() {
			continue
		}
		// The row contains volumes and counts, which change while the market trades.
		ticks = append(ticks, rate.Tick{Base: base, Quote: "USD", Bid: row.Bid[0].Decimal, Ask: row.Ask[0].Decimal, Mark: string(raw)})
	}
	return ticks, nil
}
