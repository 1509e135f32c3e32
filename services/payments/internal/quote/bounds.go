package quote

import (
	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

// Bounds are the least and the largest fiatAmount of one payment in a currency. Both are allowed.
type Bounds struct {
	Currency money.Currency
	Min, Max decimal.Decimal
}

// Limits are the bounds of each currency.
type Limits map[money.Currency]Bounds

// DefaultLimits are the bounds of docs/api-contract.md#fees.
func DefaultLimits() Limits {
	out := Limits{}
	for cur, most := range map[money.Currency]int64{money.NGN: 50_000_000, money.GHS: 500_000, money.KES: 5_000_000, money.ZAR: 1_000_000} {
		out[cur] = Bounds{Currency: cur, Min: decimal.NewFromInt(1), Max: decimal.NewFromInt(most)}
	}
	return out
}

// OutOfRange is the code of an amount outside the bounds of its currency.
const OutOfRange = "amount_out_of_range"

// InRange refuses an amount outside the bounds. The error names both and the field of the request.
func (b Bounds) InRange(field string, fiat decimal.Decimal) error {
	if fiat.GreaterThanOrEqual(b.Min) && fiat.LessThanOrEqual(b.Max) {
		return nil
	}
	text := "must be worth between " + b.Min.StringFixed(money.FiatDigits) + " and " + b.Max.StringFixed(money.FiatDigits) + " " + string(b.Currency)
	f := fault.New(fault.Invalid, OutOfRange, "%s: %s", field, text)
	f.Fields = []fault.Field{{Field: field, Message: text}}
	return f
}
