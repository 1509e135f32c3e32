// Package fixed is a table of constant prices: the default of test mode, where examples must have the same numbers
// every day. The source name shows that no market made them.
package fixed

import (
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rate"
)

// Source is the name under which these prices are shown and stored.
const Source = "fixed-table (test prices, no market)"

// perUSD is fiat per US dollar; perCoin is US dollars per coin. Every pair follows from the two.
var (
	perUSD = map[money.Currency]string{money.NGN: "1600", money.GHS: "12.5", money.KES: "130", money.ZAR: "18"}

	perCoin = map[string]string{
		"BTC": "93750", "ETH": "3200", "BNB": "900", "POL": "0.25", "TRX": "0.3", "SOL": "160", "USDT": "1", "USDC": "1",
	}
)

// Table is the fixed aggregator.
type Table struct{ now func() time.Time }

var _ rate.Aggregator = Table{}

// New returns the table. The price of a quote has the quote's time.
func New(now func() time.Time) Table { return Table{now: now} }

// Name shows that the prices are constants.
func (Table) Name() string { return Source }

// Simulated is true, because no market made the prices.
func (Table) Simulated() bool { return true }

// Ready is always nil.
func (Table) Ready() error { return nil }

// Quote prices a pair. There is no spread.
func (t Table) Quote(fiat money.Currency, asset string) (quote.Rate, error) {
	usd, ok := perUSD[fiat]
	coin, known := perCoin[asset]
	if !ok || !known {
		return quote.Rate{}, rate.Unavailable(fiat, asset)
	}
	leg := decimal.RequireFromString(usd)
	value, now := leg.Mul(decimal.RequireFromString(coin)), t.now()
	return quote.Rate{
		Fiat: fiat, Crypto: asset, Value: value, Mid: value, USD: leg,
		Sources: []quote.Source{{Name: Source, Value: value, At: now}}, At: now,
	}, nil
}
