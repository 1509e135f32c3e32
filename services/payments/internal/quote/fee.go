package quote

import (
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// Tier is one step of a fee schedule. Up to and including UpTo the fee is Flat plus BPS basis points of the fiat
// amount, at least Least and at most Most. The last tier of a schedule has UpTo zero, which means no bound, as Most
// zero does.
type Tier struct {
	UpTo  decimal.Decimal `json:"upTo,omitzero"`
	Flat  decimal.Decimal `json:"flat,omitzero"`
	BPS   decimal.Decimal `json:"basisPoints,omitzero"`
	Least decimal.Decimal `json:"minimum,omitzero"`
	Most  decimal.Decimal `json:"maximum,omitzero"`
}

// Schedule is a version of the fees of one currency. It never changes. Each quote keeps the schedule that priced it, so
// that a new one changes no priced payment.
type Schedule struct {
	ID    string
	Tiers []Tier
}

var (
	feeCap   = decimal.New(1, -1) // never more than a tenth of fiatAmount
	bpsScale = decimal.New(1, -4)
	firsts   = firstSchedules()
)

// First is the first schedule of a currency: the table of docs/api-contract.md#fees.
func First(cur money.Currency) Schedule { return firsts[cur] }

func firstSchedules() map[money.Currency]Schedule {
	d := decimal.NewFromInt
	schedule := func(id, bps string, steps ...int64) Schedule {
		s := Schedule{ID: id}
		for i := 0; i+1 < len(steps); i += 2 {
			s.Tiers = append(s.Tiers, Tier{UpTo: d(steps[i]), Flat: d(steps[i+1])})
		}
		s.Tiers = append(s.Tiers, Tier{BPS: decimal.RequireFromString(bps)})
		return s
	}
	return map[money.Currency]Schedule{
		money.NGN: schedule("fee_ngn_1", "7.5", 100_000, 500, 1_000_000, 1_000, 2_000_000, 1_500),
		money.GHS: schedule("fee_ghs_1", "7.5", 1_000, 5, 10_000, 10, 20_000, 15),
		money.KES: schedule("fee_kes_1", "7.5", 10_000, 50, 100_000, 100, 200_000, 150),
		money.ZAR: schedule("fee_zar_1", "10", 1_500, 10, 15_000, 20, 30_000, 30),
	}
}

// Fee is the fee of a payment of this fiat amount: its tier's fee, at most a tenth of the amount, rounded up to the
// minor unit.
func (s Schedule) Fee(fiat decimal.Decimal) decimal.Decimal {
	for _, t := range s.Tiers {
		if t.UpTo.IsZero() || fiat.LessThanOrEqual(t.UpTo) {
			return t.fee(fiat)
		}
	}
	return decimal.Zero
}

func (t Tier) fee(fiat decimal.Decimal) decimal.Decimal {
	return money.Up(decimal.Min(t.uncapped(fiat), fiat.Mul(feeCap)), money.FiatDigits)
}

// uncapped is the fee before it is compared with a tenth of the amount.
func (t Tier) uncapped(fiat decimal.Decimal) decimal.Decimal {
	fee := decimal.Max(t.Flat.Add(fiat.Mul(t.BPS).Mul(bpsScale)), t.Least)
	if t.Most.IsPositive() {
		fee = decimal.Min(fee, t.Most)
	}
	return fee
}

// net splits a gross amount into fiatAmount and fee when the fee is added on top (crypto-first, chargeFrom crypto):
// fiatAmount + fee = gross, with the fee of fiatAmount. If two fees fit, the smaller one is taken. If none fits,
// because the gross is in the step between two fees, the lower one is taken.
func (s Schedule) net(gross decimal.Decimal) (fiat, fee decimal.Decimal) {
	unit := decimal.New(1, -money.FiatDigits)
	var near decimal.Decimal // the largest amount that, with its own fee, does not exceed the gross
	for i := len(s.Tiers) - 1; i >= 0; i-- {
		low := unit
		if i > 0 {
			low = s.Tiers[i-1].UpTo.Add(unit)
		}
		high := gross
		if up := s.Tiers[i].UpTo; !up.IsZero() {
			high = decimal.Min(high, up)
		}
		best, ok := s.Tiers[i].largest(low, high, gross)
		if !ok {
			continue
		}
		if fee := s.Tiers[i].fee(best); best.Add(fee).Equal(gross) {
			return best, fee // tiers run from the top down, so the first fit has the larger amount and the smaller fee
		}
		if best.GreaterThan(near) {
			near = best
		}
	}
	fee = s.Fee(near)
	return gross.Sub(fee), fee
}

// largest finds the largest amount of the tier within [low, high] whose amount plus fee does not exceed the gross. The
// sum grows with the amount inside one tier, so a binary search over minor units finds it.
func (t Tier) largest(low, high, gross decimal.Decimal) (decimal.Decimal, bool) {
	lo := money.Up(low, money.FiatDigits).Shift(money.FiatDigits).IntPart()
	hi := money.Down(high, money.FiatDigits).Shift(money.FiatDigits).IntPart()
	fits := func(minor int64) bool {
		f := decimal.New(minor, -money.FiatDigits)
		return f.Add(t.fee(f)).LessThanOrEqual(gross)
	}
	if lo > hi || !fits(lo) {
		return decimal.Decimal{}, false
	}
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		if fits(mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return decimal.New(lo, -money.FiatDigits), true
}
