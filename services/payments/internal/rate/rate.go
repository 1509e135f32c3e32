// Package rate is the source of prices for quotes. An aggregator answers from memory, which drivers fill, so that a
// create makes no call to a price source.
package rate

import (
	"slices"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/quote"
)

// Aggregator returns the current price of a pair. Quotes and GET /v1/rates use the same one.
type Aggregator interface {
	// Name is the origin of the prices, for start-up logs and GET /v1/rates.
	Name() string
	// Simulated reports prices that come from no market. They serve live mode only where a setting allows it.
	Simulated() bool
	// Quote returns the current rate of the pair, or the 503 of Unavailable without a fresh one.
	Quote(fiat money.Currency, asset string) (quote.Rate, error)
	// Ready is nil while every pair has a fresh price.
	Ready() error
}

const retryAfter = 30 * time.Second

// Unavailable is 503 rate_unavailable with Retry-After. Causeway never guesses a price (docs/api-contract.md#rates).
func Unavailable(fiat money.Currency, asset string) error {
	return fault.New(fault.Unavailable, "rate_unavailable", "No fresh %s/%s rate; try again shortly", asset, fiat).After(retryAfter)
}

// Symbols lists every crypto that has a price, once.
func Symbols() []string {
	var out []string
	for _, n := range money.Networks() {
		for _, a := range n.Assets {
			if !slices.Contains(out, a.Symbol) {
				out = append(out, a.Symbol)
			}
		}
	}
	return out
}

// Stable reports whether a crypto is a dollar stablecoin.
func Stable(symbol string) bool {
	for _, n := range money.Networks() {
		for _, a := range n.Assets {
			if a.Symbol == symbol {
				return a.Stable
			}
		}
	}
	return false
}
