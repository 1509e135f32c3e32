package quote

import (
	"fmt"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// Tier is one step of a fee table: up to and including UpTo the fee is Flat plus BPS basis points of the fiat amount.
// The last tier of a table has UpTo zero, which means no bound.
type Tier struct {
	UpTo decimal.Decimal
	Flat decimal.Decimal
	BPS  decimal.Decimal
}

// Schedule is the fee table and the limits of one currency.
type Schedule struct {
	Currency money.Currency
	Tiers    []Tier
	Min, Max decimal.Decimal // bounds of fiatAmount, both allowed
}

// Table is a versioned set of schedules. Each payment stores the version, so a new table changes no priced payment.
type Table struct {
	Version   string
	Schedules map[money.Currency]Schedule
}

var (
	feeCap   = decimal.New(1, -1) // never more than a tenth of fiatAmount
	bpsScale = decimal.New(1, -4)
)

// Default is the fee table of docs/api-contract.md#fees.
func Default() Table {
	d := decimal.NewFromInt
	schedule := func(c money.Currency, maximum, bps string, steps ...int64) Schedule {
		s := Schedule{Currency: c, Min: d(1), Max: decimal.RequireFromString(maximum)}
		for i := 0; i+1 < len(steps); i += 2 {
			s.Tiers = append(s.Tiers, Tier{UpTo: d(steps[i]), Flat: d(steps[i+1])})
		}
		s.Tiers = append(s.Tiers, Tier{BPS: decimal.RequireFromString(bps)})
		return s
	}
	return Table{Version: "2026-01", Schedules: map[money.Currency]Schedule{
		money.NGN: schedule(money.NGN, "50000000", "7.5", 100_000, 500, 1_000_000, 1_000, 2_000_000, 1_500),
		money.GHS: schedule(money.GHS, "500000", "7.5", 1_000, 5, 10_000, 10, 20_000, 15),
		money.KES: schedule(money.KES, "5000000", "7.5", 10_000, 50, 100_000, 100, 200_000, 150),
		money.ZAR: schedule(money.ZAR, "1000000", "10", 1_500, 10, 15_000, 20, 30_000, 30),
	}}
}

// Of finds a fee table by its version among all released ones. A payment is converted by the table that priced it, so a
// released table is never changed or removed.
func Of(version string) (Table, bool) {
	t := Default()
	return t, t.Version == version
}

// Check refuses a table with missing schedules, bounds out of order, or negative fees.
func (t Table) Check() error {
	for _, c := range money.Currencies() {
		s, ok := t.Schedules[c]
		if !ok || len(s.Tiers) == 0 {
			return fmt.Errorf("fee table %s has no schedule for %s", t.Version, c)
		}
		if !s.Min.IsPositive() || s.Max.LessThan(s.Min) {
			return fmt.Errorf("fee table %s: limits of %s are out of order", t.Version, c)
		}
		last := decimal.Zero
		for i, tier := range s.Tiers {
			if tier.Flat.IsNegative() || tier.BPS.IsNegative() {
				return fmt.Errorf("fee table %s: a fee of %s is negative", t.Version, c)
			}
			end := i == len(s.Tiers)-1
			if end != tier.UpTo.IsZero() || (!end && !tier.UpTo.GreaterThan(last)) {
				return fmt.Errorf("fee table %s: tiers of %s are out of order", t.Version, c)
			}
			last = tier.UpTo
		}
	}
	return nil
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
	fee := t.Flat.Add(fiat.Mul(t.BPS).Mul(bpsScale))
	return money.Up(decimal.Min(fee, fiat.Mul(feeCap)), money.FiatDigits)
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
	lo, hi := money.Up(low, money.FiatDigits).Shift(money.FiatDigits).IntPart(), money.Down(high, money.FiatDigits).Shift(money.FiatDigits).IntPart()
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
