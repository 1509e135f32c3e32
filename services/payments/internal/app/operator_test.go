package app

import (
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
)

// Every order counts what it moves, and a live payment goes to another account by two operators however small it is.
func TestNeedsSecond(t *testing.T) {
	watched := &App{Deps: Deps{SecondAbove: map[money.Currency]decimal.Decimal{money.NGN: decimal.New(1000, 0)}}}
	first := payment.Receiver{BankCode: "058", AccountNumber: "0123456789", AccountName: "ADA"}
	renamed, other := first, first
	renamed.AccountName, other.AccountNumber = "ADA OBI", "1111111111"
	for name, c := range map[string]struct {
		mode     payment.Mode
		currency money.Currency
		amount   int64
		action   string
		to       payment.Receiver
		want     bool
	}{
		"an accept of the quote, small":      {payment.Live, money.NGN, 1000, ActionAccept, first, false},
		"an accept of the quote, large":      {payment.Live, money.NGN, 1001, ActionAccept, first, true},
		"a retry to the same account, small": {payment.Live, money.NGN, 1000, ActionRetry, renamed, false},
		"a retry to the same account, large": {payment.Live, money.NGN, 1001, ActionRetry, renamed, true},
		"a retry to another account, small":  {payment.Live, money.NGN, 1, ActionRetry, other, true},
		"another account of a test payment":  {payment.Test, money.NGN, 1, ActionRetry, other, false},
		"a refund, large":                    {payment.Live, money.NGN, 1001, ActionRefunded, first, true},
		"a currency that is not watched":     {payment.Live, money.GHS, 1001, ActionRetry, other, false},
	} {
		before := payment.Payment{Mode: c.mode, Currency: c.currency, Receiver: first, FiatAmount: decimal.New(c.amount, 0)}
		before.Quote.PayoutAmount = decimal.New(c.amount, 0)
		after := before
		after.Receiver = c.to
		if got := watched.needsSecond(View{Payment: before}, after, c.action); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
