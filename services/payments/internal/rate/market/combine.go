package market

import (
	"errors"
	"sort"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/quote"
)

// Rules are the bounds of valid prices (docs/rates.md has the reasons). Shares are of the price.
type Rules struct {
	CoinTolerance decimal.Decimal                    // between sources of a coin in dollars
	FiatTolerance map[money.Currency]decimal.Decimal // between sources of the dollar in a currency
	Band          map[money.Currency]decimal.Decimal // around the reference rate, outside which a currency's price is refused
	Official      map[money.Currency]bool            // reference rates vote, because the dollar trades at them
	HalfSpread    decimal.Decimal                    // subtracted from a source with one price for both sides
	Jump          decimal.Decimal                    // a move within JumpWithin that needs confirmation
	JumpWithin    time.Duration
	Confirm       int // further looks with new data that confirm a jump
	PegLow        decimal.Decimal
	PegHigh       decimal.Decimal
	Still         time.Duration // a source is dead when its mark has not changed for this long
}

// Defaults are the rules in production.
func Defaults() Rules {
	share := func(permille int64) decimal.Decimal { return decimal.New(permille, -3) }
	return Rules{
		CoinTolerance: share(5),
		FiatTolerance: map[money.Currency]decimal.Decimal{money.NGN: share(30), money.GHS: share(15), money.KES: share(15), money.ZAR: share(15)},
		Band:          map[money.Currency]decimal.Decimal{money.NGN: share(120), money.GHS: share(50), money.KES: share(30), money.ZAR: share(30)},
		Official:      map[money.Currency]bool{money.GHS: true, money.KES: true, money.ZAR: true},
		HalfSpread:    decimal.New(25, -4), Jump: share(50), JumpWithin: time.Minute, Confirm: 2,
		PegLow: share(985), PegHigh: share(1015), Still: 10 * time.Minute,
	}
}

// vote is one source's price of a leg.
type vote struct {
	source    quote.Source
	reference bool
	read      time.Time // time of the read, because only new data confirms a jump
}

// leg is a combined price: dollars per coin, or units of a currency per dollar.
type leg struct {
	value    decimal.Decimal // zero without a price
	why      error           // reason of a zero
	used     []vote
	excluded []quote.Source
	degraded bool
}

// The reasons of a missing price.
var (
	errQuorum   = errors.New("too few fresh sources")
	errDisagree = errors.New("the sources disagree")
	errBand     = errors.New("the price is outside the band around the reference rate")
	errPeg      = errors.New("the coin has left its peg")
	errJump     = errors.New("the price has jumped and is not confirmed yet")
)

// wide is the largest distance of a kept vote from the median, in tolerances. It is needed because widely spread votes
// have a large deviation, by which no vote is an outlier.
const wide = 3

// combine makes a price from the votes. Of three or more it drops the outliers and takes the median. Of two that agree
// it takes the lower one. With fewer votes, or two that disagree, there is no price.
func combine(votes []vote, tolerance decimal.Decimal) leg {
	sort.SliceStable(votes, func(i, j int) bool { return votes[i].source.Value.LessThan(votes[j].source.Value) })
	l := leg{used: votes}
	if len(votes) >= 3 {
		l = withoutOutliers(votes, tolerance)
	}
	switch n := len(l.used); {
	case n < 2:
		l.why = errQuorum
		if len(votes) >= 2 {
			l.why = errDisagree
		}
	case n == 2:
		low, high := l.used[0].source.Value, l.used[1].source.Value
		if high.Sub(low).GreaterThan(low.Mul(tolerance)) {
			l.why = errDisagree
			return l
		}
		l.value = low
	default:
		l.value = median(l.used)
	}
	return l
}

// withoutOutliers drops |x − median| > max(3·MAD, tolerance), where 3·MAD counts as at most three tolerances.
func withoutOutliers(votes []vote, tolerance decimal.Decimal) leg {
	m := median(votes)
	gaps := make([]vote, len(votes))
	for i, v := range votes {
		gaps[i].source.Value = v.source.Value.Sub(m).Abs()
	}
	sort.Slice(gaps, func(i, j int) bool { return gaps[i].source.Value.LessThan(gaps[j].source.Value) })
	tol := m.Mul(tolerance)
	bound := decimal.Max(median(gaps).Mul(decimal.NewFromInt(wide)), tol)
	bound = decimal.Min(bound, tol.Mul(decimal.NewFromInt(wide)))
	var l leg
	for _, v := range votes {
		if v.source.Value.Sub(m).Abs().GreaterThan(bound) {
			v.source.Why = "outlier"
			l.excluded = append(l.excluded, v.source)
			continue
		}
		l.used = append(l.used, v)
	}
	return l
}

// digits is the precision of a leg. Every leg is rounded down, in Causeway's favour.
const digits = 12

// median of sorted votes. Of two middle votes it is the mean, rounded down.
func median(sorted []vote) decimal.Decimal {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2].source.Value
	}
	return money.Down(sorted[n/2-1].source.Value.Add(sorted[n/2].source.Value).Mul(decimal.New(5, -1)), digits)
}

// coin prices a coin in dollars. It needs two sources, and a stablecoin must be near its peg.
func (r Rules) coin(votes []vote, stable bool) leg {
	l := combine(votes, r.CoinTolerance)
	if l.why == nil && stable && (l.value.LessThan(r.PegLow) || l.value.GreaterThan(r.PegHigh)) {
		l.value, l.why = decimal.Zero, errPeg
	}
	return l
}

// fiat prices the dollar in a currency. Reference rates vote where they are official. Elsewhere they only bound the
// price, and confirm a single market within the bound, whose price is then degraded.
func (r Rules) fiat(cur money.Currency, votes []vote) leg {
	var voting, references []vote
	for _, v := range votes {
		if v.reference {
			references = append(references, v)
		}
		if !v.reference || r.Official[cur] {
			voting = append(voting, v)
		}
	}
	l := combine(voting, r.FiatTolerance[cur])
	if len(voting) == 1 && !r.Official[cur] && len(references) > 0 { // one market and a reference rate
		l = leg{value: voting[0].source.Value, used: voting, degraded: true}
	}
	if l.why != nil {
		return l
	}
	markets := 0
	for _, v := range l.used {
		if !v.reference {
			markets++
		}
	}
	l.degraded = l.degraded || markets == 0
	if len(references) == 0 {
		return l
	}
	sort.SliceStable(references, func(i, j int) bool { return references[i].source.Value.LessThan(references[j].source.Value) })
	if m := median(references); l.value.Sub(m).Abs().GreaterThan(m.Mul(r.Band[cur])) {
		l.value, l.why = decimal.Zero, errBand
	}
	if !r.Official[cur] {
		for _, v := range references {
			v.source.Why = "reference"
			l.excluded = append(l.excluded, v.source)
		}
	}
	return l
}

// guard remembers the last value of a leg and withholds a jump until new data has confirmed it.
type guard struct {
	value     decimal.Decimal // last accepted
	at        time.Time
	candidate decimal.Decimal
	seen      int
	read      time.Time // time of the newest data with the candidate
}

// pass returns the leg, without its price during an unconfirmed jump.
func (g *guard) pass(r Rules, l leg, now time.Time) leg {
	if l.why != nil {
		return l
	}
	far := func(a, b decimal.Decimal) bool { return a.Sub(b).Abs().GreaterThan(b.Mul(r.Jump)) }
	if !g.value.IsPositive() || now.Sub(g.at) > r.JumpWithin || !far(l.value, g.value) {
		*g = guard{value: l.value, at: now}
		return l
	}
	newest := time.Time{}
	for _, v := range l.used {
		if v.read.After(newest) {
			newest = v.read
		}
	}
	switch {
	case !g.candidate.IsPositive() || far(l.value, g.candidate):
		g.candidate, g.seen, g.read = l.value, 0, newest
	case newest.After(g.read):
		g.seen, g.read = g.seen+1, newest
	}
	if g.seen >= r.Confirm {
		*g = guard{value: l.value, at: now}
		return l
	}
	g.at = now // during a jump the previous value does not expire
	l.value, l.why = decimal.Zero, errJump
	return l
}
