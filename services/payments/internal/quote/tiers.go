package quote

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

// TiersMost bounds the tiers of a schedule.
const TiersMost = 20

const bpsDigits = 2 // decimal places of basis points

// CheckTiers refuses tiers that cannot be a schedule of a currency: tiers out of order, and a fee that is no amount of
// the currency, that is more than a tenth of the largest amount of its tier and so is never charged, or
// that falls when the amount grows. The last rule keeps a share of a quote from paying a larger fee than a larger share
// (Convert).
func CheckTiers(tiers []Tier, cur money.Currency, problems *fault.Problems) {
	if len(tiers) == 0 || len(tiers) > TiersMost {
		problems.Add("tiers", "must have 1 to %d items", TiersMost)
		return
	}
	below := decimal.Zero // the bound of the tier before
	for i, t := range tiers {
		at := fmt.Sprintf("tiers[%d].", i)
		if !t.checkFigures(at, problems) {
			return
		}
		last := i == len(tiers)-1
		switch {
		case last && !t.UpTo.IsZero():
			problems.Add(at+"upTo", "is not allowed in the last tier, which has no bound")
			return
		case !last && !t.UpTo.GreaterThan(below):
			problems.Add(at+"upTo", "must be greater than that of the tier before")
			return
		}
		top := t.UpTo
		if last {
			top = decimal.Max(DefaultLimits()[cur].Max, below)
		}
		if t.uncapped(top).GreaterThan(top.Mul(feeCap)) {
			problems.Add(strings.TrimSuffix(at, "."), "has a fee of more than a tenth of its largest amount")
		}
		if i > 0 && t.fee(below.Add(decimal.New(1, -money.FiatDigits))).LessThan(tiers[i-1].fee(below)) {
			problems.Add(strings.TrimSuffix(at, "."), "begins with a smaller fee than the tier before ends with")
		}
		below = t.UpTo
	}
}

// checkFigures refuses figures of a tier that are no amounts of a currency or contradict each other.
func (t Tier) checkFigures(at string, problems *fault.Problems) bool {
	good := true
	for _, f := range []struct {
		name   string
		value  decimal.Decimal
		most   decimal.Decimal
		digits int32
	}{
		{"upTo", t.UpTo, money.Max, money.FiatDigits},
		{"flat", t.Flat, money.Max, money.FiatDigits},
		{"basisPoints", t.BPS, feeCap.Div(bpsScale), bpsDigits},
		{"minimum", t.Least, money.Max, money.FiatDigits},
		{"maximum", t.Most, money.Max, money.FiatDigits},
	} {
		if f.value.IsNegative() || f.value.GreaterThan(f.most) || money.Digits(f.value) > f.digits {
			problems.Add(at+f.name, "must be from 0 to %s with at most %d decimal places", money.Canonical(f.most), f.digits)
			good = false
		}
	}
	if t.Most.IsPositive() && t.Most.LessThan(decimal.Max(t.Flat, t.Least)) {
		problems.Add(at+"maximum", "must not be less than flat and minimum")
		good = false
	}
	return good
}

// rest is the word for the bound of the last tier.
const rest = "rest"

// ParseTiers reads tiers from a text such as "100000=500,1000000=1000,rest=7.5bp" or "rest=100+150bp>=200<=2000": for
// each tier its bound and its fee, which is a flat fee, basis points or both, with the least and the largest fee.
func ParseTiers(text string) ([]Tier, error) {
	var out []Tier
	for part := range strings.SplitSeq(text, ",") {
		bound, fee, ok := strings.Cut(strings.TrimSpace(part), "=")
		var t Tier
		err := t.parseFee(fee)
		if err == nil && bound != rest {
			t.UpTo, err = money.Parse(bound)
		}
		if !ok || err != nil || (bound != rest && !t.UpTo.IsPositive()) {
			return nil, fmt.Errorf("%q is no tier, such as 100000=500 or rest=7.5bp", part)
		}
		out = append(out, t)
	}
	return out, nil
}

func (t *Tier) parseFee(text string) (err error) {
	text, most, capped := strings.Cut(text, "<=")
	text, least, floored := strings.Cut(text, ">=")
	if capped {
		if t.Most, err = money.Parse(most); err != nil {
			return err
		}
	}
	if floored {
		if t.Least, err = money.Parse(least); err != nil {
			return err
		}
	}
	if points, ok := strings.CutSuffix(text, "bp"); ok {
		flat, share, both := strings.Cut(points, "+")
		if !both {
			flat, share = "0", points
		}
		if t.BPS, err = money.Parse(share); err != nil {
			return err
		}
		text = flat
	}
	t.Flat, err = money.Parse(text)
	return err
}

// TiersText is the text that ParseTiers reads.
func TiersText(tiers []Tier) string {
	parts := make([]string, 0, len(tiers))
	for _, t := range tiers {
		bound := rest
		if t.UpTo.IsPositive() {
			bound = money.Canonical(t.UpTo)
		}
		fee := money.Canonical(t.Flat)
		if t.BPS.IsPositive() {
			fee += "+" + money.Canonical(t.BPS) + "bp"
		}
		fee = strings.TrimPrefix(fee, "0+")
		if t.Least.IsPositive() {
			fee += ">=" + money.Canonical(t.Least)
		}
		if t.Most.IsPositive() {
			fee += "<=" + money.Canonical(t.Most)
		}
		parts = append(parts, bound+"="+fee)
	}
	return strings.Join(parts, ",")
}
