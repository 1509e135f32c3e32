package quote

import (
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/money"
)

// The fee is the fee of the converted amount; the numbers are worked out by hand.
func TestConvertExamples(t *testing.T) {
	a := asset(t, "tron", "USDT")
	for name, c := range map[string]struct {
		ask                   Ask
		sum, due, payout, fee string
	}{
		"a thousandth of a large quote":            {Ask{FiatAmount: dec("50000000"), ChargeFrom: Fiat}, "62.5", "", "99500", "500"},
		"the same, fee from crypto":                {Ask{FiatAmount: dec("50000000"), ChargeFrom: Crypto}, "62.5", "", "99500", "500"},
		"a small quote paid a hundredfold":         {Ask{FiatAmount: dec("5000"), ChargeFrom: Fiat}, "312.5", "", "499000", "1000"},
		"the same, fee from crypto, of its amount": {Ask{FiatAmount: dec("5000"), ChargeFrom: Crypto}, "312.5", "", "499000", "1000"},
		"a step down pays no more than the quote":  {Ask{FiatAmount: dec("100100"), ChargeFrom: Fiat}, "62.4", "", "99100", "740"},
		"a lower rate asks for more":               {Ask{FiatAmount: dec("160000"), ChargeFrom: Fiat}, "100", "101", "157415.84", "1000"},
		"nothing":                                  {Ask{FiatAmount: dec("5000"), ChargeFrom: Fiat}, "0", "", "0", "0"},
	} {
		c.ask.Asset, c.ask.Network = a, "tron"
		q, err := ngn(c.ask, usdt("1600"))
		if err != nil {
			t.Fatalf("Make(%s) = %v, want no error", name, err)
		}
		due := q.CryptoAmount
		if c.due != "" {
			due = dec(c.due)
		}
		payout, fee := q.Convert(dec(c.sum), due)
		if !payout.Equal(dec(c.payout)) || !fee.Equal(dec(c.fee)) {
			t.Errorf("%s: payout %s fee %s, want %s and %s", name, payout, fee, c.payout, c.fee)
		}
	}
}

// The properties in the comment of Convert hold for any quote and any two sums.
func TestConvertKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPricing(t)
		p.ask.FiatAmount = decimal.New(rapid.Int64Range(100, 5_000_000_00).Draw(t, "fiat"), -2)
		q, err := p.schedule.Make(p.ask, p.bounds, p.rate)
		if err != nil {
			return
		}
		share := func(name string) decimal.Decimal {
			s := decimal.New(rapid.Int64Range(0, 3_000_000).Draw(t, name), -6)
			return q.CryptoAmount.Mul(s)
		}
		less, more := share("sum"), share("other sum")
		if less.GreaterThan(more) {
			less, more = more, less
		}
		gross := func(sum decimal.Decimal) decimal.Decimal {
			return Share(q.PayoutAmount.Add(q.Charge.Fiat), sum, q.CryptoAmount)
		}
		check := func(sum decimal.Decimal) (payout, fee decimal.Decimal) {
			payout, fee = q.Convert(sum, q.CryptoAmount)
			if payout.IsNegative() || fee.IsNegative() || !payout.Add(fee).Equal(gross(sum)) || fee.GreaterThan(gross(sum)) {
				t.Fatalf("%s of %s: payout %s and fee %s of gross %s", sum, q.CryptoAmount, payout, fee, gross(sum))
			}
			if money.Digits(payout) > 2 || money.Digits(fee) > 2 {
				t.Fatalf("payout %s and fee %s have parts of a minor unit", payout, fee)
			}
			if under := sum.LessThanOrEqual(q.CryptoAmount); under && payout.GreaterThan(q.PayoutAmount) || !under && payout.LessThan(q.PayoutAmount) {
				t.Fatalf("%s of %s pays %s, the quote %s", sum, q.CryptoAmount, payout, q.PayoutAmount)
			}
			return payout, fee
		}
		lessPays, lessFee := check(less)
		morePays, moreFee := check(more)
		step := p.schedule.feeOf(gross(more), q.ChargeFrom).Sub(p.schedule.feeOf(gross(less), q.ChargeFrom))
		if step.IsNegative() {
			t.Fatalf("the fee falls from %s to %s", lessFee, moreFee)
		}
		if fall := lessPays.Sub(morePays); fall.GreaterThan(step) {
			t.Fatalf("%s pays %s and %s pays %s: the fee rose by %s only", less, lessPays, more, morePays, step)
		}
		if payout, fee := q.Convert(q.CryptoAmount, q.CryptoAmount); !payout.Equal(q.PayoutAmount) || !fee.Equal(q.Charge.Fiat) {
			t.Fatalf("the whole quote converts to %s and %s, quoted %s and %s", payout, fee, q.PayoutAmount, q.Charge.Fiat)
		}
	})
}
