package market

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/rate"
)

// wholeBPS is one, in basis points.
const wholeBPS = 10_000

// spreadMost is the largest accepted spread.
const spreadMost = 2_000

// Spreads are subtracted from the price, in basis points.
type Spreads struct {
	Stable   int64 // of dollar stablecoins
	Coin     int64 // of all other coins
	Degraded int64 // added when a price has fewer sources than configured
	Pairs    map[string]int64
}

// ParseSpreads reads "stable=75;coin=125;degraded=100;USDT/NGN=60", each of which may be left out.
func ParseSpreads(text string) (Spreads, error) {
	s := Spreads{Stable: 75, Coin: 125, Degraded: 100, Pairs: map[string]int64{}}
	for item := range strings.SplitSeq(text, ";") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, number, _ := strings.Cut(item, "=")
		bps, err := strconv.ParseInt(number, 10, 64)
		if err != nil || bps < 0 || bps > spreadMost {
			return s, fmt.Errorf("%q: a spread is a whole number of basis points from 0 to %d", item, spreadMost)
		}
		symbol, cur, isPair := strings.Cut(name, "/")
		switch {
		case name == "stable":
			s.Stable = bps
		case name == "coin":
			s.Coin = bps
		case name == "degraded":
			s.Degraded = bps
		case isPair && money.Currency(cur).Valid() && slices.Contains(rate.Symbols(), symbol):
			s.Pairs[name] = bps
		default:
			return s, fmt.Errorf("%q: name stable, coin, degraded or a pair such as USDT/NGN", item)
		}
	}
	return s, nil
}

func (s Spreads) of(symbol string, cur money.Currency) int64 {
	if bps, ok := s.Pairs[symbol+"/"+string(cur)]; ok {
		return bps
	}
	if rate.Stable(symbol) {
		return s.Stable
	}
	return s.Coin
}
