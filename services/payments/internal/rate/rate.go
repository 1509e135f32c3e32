// Package rate is the source of prices for quotes. An aggregator answers from memory and never from the network, so
// that a create costs no call to anybody; drivers fill the memory.
package rate

import (
	"slices"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/quote"
)

// Aggregator gives the one current price of a pair. The same number serves quotes and GET /v1/rates.
type Aggregator interface {
	// Name says where the prices come from, for start-up logs and GET /v1/rates.
	Name() string
	// Simulated reports prices that are no market's: they serve live mode only where that is explicitly allowed.
	Simulated() bool
	// Quote returns the current rate of the pair, or the 503 of Unavailable when there is none fresh enough.
	Quote(fiat money.Currency, asset string) (quote.Rate, error)
	// Ready is nil while every pair has a fresh price.
	Ready() error
}

const retryAfter = 30 * time.Second

// Unavailable is 503 rate_unavailable with Retry-After: a price is refused, never guessed (docs/api-contract.md#rates).
func Unavailable(fiat money.Currency, asset string) error {
	return fault.New(fault.Unavailable, "rate_unavailable", "No fresh %s/%s rate; try again shortly", asset, fiat).After(retryAfter)
}

// Symbols lists every crypto that is priced, once.
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

// Stable reports whether a crypto is meant to be worth a dollar.
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
