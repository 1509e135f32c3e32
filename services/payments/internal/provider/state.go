package provider

import (
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// RailState is the state of a rail and currency at one worker. Balance counts only where ReadAt is set.
type RailState struct {
	Rail      string
	Currency  money.Currency
	Unclear   int       // sends in a row without a clear answer
	OpenUntil time.Time // of the breaker; zero while it is closed
	Balance   decimal.Decimal
	ReadAt    time.Time
}
