package quote

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

// Pair is a crypto on a network, under their canonical names.
type Pair struct{ Network, Crypto string }

// Minimums are the smallest payments in crypto by pair. A pair without an entry has no minimum.
type Minimums map[Pair]decimal.Decimal

// Worthwhile are the amounts that are worth more than the cost of collecting them (docs/networks.md).
func Worthwhile() Minimums {
	out := Minimums{}
	for _, n := range money.Networks() {
		for _, a := range n.Assets {
			out[Pair{n.Name, a.Symbol}] = a.Worthwhile
		}
	}
	return out
}

// Set overrides minimums by a text such as "ethereum/USDT=20,bitcoin/BTC=0.0003"; 0 removes one.
func (m Minimums) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, figure, _ := strings.Cut(part, "=")
		network, crypto, _ := strings.Cut(name, "/")
		n, known := money.NetworkOf(network)
		a, listed := n.Asset(crypto)
		least, err := money.Parse(figure)
		if !known || !listed || err != nil || least.IsNegative() || money.Digits(least) > a.Decimals {
			return fmt.Errorf("%q is not a minimum of a pair, such as ethereum/USDT=20", part)
		}
		m[Pair{n.Name, a.Symbol}] = least
	}
	return nil
}

// Check refuses a quote below the minimum of its pair. The error names the field, and the minimum in crypto and in the
// currency of the ask, rounded up, so that an ask of that fiat amount is accepted at the same rate.
func (m Minimums) Check(ask Ask, q Quote) error {
	least := m[Pair{q.Network, q.Crypto}]
	if q.CryptoAmount.GreaterThanOrEqual(least) {
		return nil
	}
	field := "fiatAmount"
	if ask.CryptoAmount.IsPositive() {
		field = "cryptoAmount"
	}
	text := fmt.Sprintf("must be worth at least %s %s on %s, which is %s %s now", least, q.Crypto, q.Network,
		money.Up(least.Mul(q.Rate.Value), money.FiatDigits).StringFixed(money.FiatDigits), q.Currency)
	f := fault.New(fault.Invalid, "amount_below_minimum", "%s: %s", field, text)
	f.Fields = []fault.Field{{Field: field, Message: text}}
	return f
}
