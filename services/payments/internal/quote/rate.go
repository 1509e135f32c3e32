// Package quote prices a payment: fees, both directions of the price and their rounding (docs/api-contract.md#money).
// It is pure: callers pass the rate and the fee table.
package quote

import (
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// Source is one price that went into a rate.
type Source struct {
	Name  string          `json:"name"`
	Value decimal.Decimal `json:"value"`
	At    time.Time       `json:"at"`
	Why   string          `json:"why,omitempty"` // reason of its exclusion
}

// Rate is an aggregated price with its provenance. It is stored with each payment that it priced, so that an auditor
// can trace a price years later.
type Rate struct {
	Fiat      money.Currency  `json:"fiat"`
	Crypto    string          `json:"crypto"`    // symbol, upper case
	Value     decimal.Decimal `json:"value"`     // fiat per unit of the crypto, spread included: the applied rate
	Mid       decimal.Decimal `json:"mid"`       // before the spread
	SpreadBPS int64           `json:"spreadBps"` // basis points taken off the mid
	USD       decimal.Decimal `json:"usd"`       // locked fiat per USD, the divisor of every amount in USD
	Sources   []Source        `json:"sources"`
	Excluded  []Source        `json:"excluded,omitempty"` // sources that are outliers or stale
	Degraded  bool            `json:"degraded,omitempty"` // fewer sources than configured
	At        time.Time       `json:"at"`                 // time of the oldest used source
}

// UnitUSD is the worth of one unit of the crypto in US dollars at this rate, 8 digits.
func (r Rate) UnitUSD() decimal.Decimal {
	if !r.USD.IsPositive() {
		return decimal.Zero
	}
	return money.DivDown(r.Value, r.USD, 8)
}

// USDOf is a fiat amount in US dollars, for display: two digits, rounded half up.
func (r Rate) USDOf(fiat decimal.Decimal) decimal.Decimal { return divHalfUp(fiat, r.USD, usdDigits) }

// Charge converts a fee to its three units at this rate.
func (r Rate) Charge(fee decimal.Decimal) Charge {
	return Charge{Fiat: fee, Crypto: divHalfUp(fee, r.Value, chargeCoinDigits), USD: r.USDOf(fee)}
}

// Drift reports whether now is within share of the locked rate r, both ways: |now − r| ≤ r × share.
func (r Rate) Drift(now, share decimal.Decimal) bool {
	return now.IsPositive() && now.Sub(r.Value).Abs().LessThanOrEqual(r.Value.Mul(share))
}

const (
	usdDigits        = 2
	chargeCoinDigits = 8
)

// divHalfUp divides exactly to the given digits, half away from zero. b must be positive.
func divHalfUp(a, b decimal.Decimal, digits int32) decimal.Decimal {
	if !b.IsPositive() {
		return decimal.Zero
	}
	return a.DivRound(b, digits)
}
