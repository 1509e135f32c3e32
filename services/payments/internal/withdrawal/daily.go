package withdrawal

import (
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// Schedule is a daily settlement of one currency: all that is available, if it is at least Minimum.
type Schedule struct {
	Currency  money.Currency
	AccountID string
	Minimum   decimal.Decimal
	KeyID     int64 // the key that chose it
}

// Day is a settlement that was done, or for which there was nothing to do.
type Day struct {
	Currency     money.Currency
	Day          time.Time // midnight UTC
	WithdrawalID string    // "" where nothing was withdrawn
}

// Scheduled is the schedule of a currency.
func (s Settings) Scheduled(currency money.Currency) (Schedule, bool) {
	for _, d := range s.Daily {
		if d.Currency == currency {
			return d, true
		}
	}
	return Schedule{}, false
}

// Amount is what a schedule withdraws of an available balance: at most most, in whole units where the rail pays no
// smaller ones; zero where that is less than the minimum.
func (s Schedule) Amount(available, most decimal.Decimal, whole bool) decimal.Decimal {
	digits := int32(money.FiatDigits)
	if whole {
		digits = 0
	}
	amount := money.Down(decimal.Min(available, most), digits)
	if !amount.IsPositive() || amount.LessThan(s.Minimum) {
		return decimal.Zero
	}
	return amount
}
