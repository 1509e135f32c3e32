package books

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/quote"
)

// Collected is what the sweeps of one asset on one network brought, and the gas that their transactions took. Without
// an asset it is the gas of transactions that brought nothing: fundings, failed sweeps, and gas that an operator
// booked.
type Collected struct {
	Network, Asset string
	Amount         decimal.Decimal
	Gas            decimal.Decimal // in the network's coin, less the rent that came back
}

// Collecting is the cost of collecting one asset on one network, at present prices.
type Collecting struct {
	Collected
	Coin string          // that gas is paid in
	USD  decimal.Decimal // worth of the amount
	Cost decimal.Decimal // USD, with a share of the gas of the network's transactions that brought nothing
}

// PerUSD is the cost of a collected US dollar, zero where nothing was collected.
func (c Collecting) PerUSD() decimal.Decimal {
	if !c.USD.IsPositive() {
		return decimal.Zero
	}
	return c.Cost.DivRound(c.USD, ratioDigits)
}

const (
	usdDigits   = 2
	ratioDigits = 6
	day         = 24 * time.Hour
)

// Collecting is the cost of collecting in the last 24 hours. It omits a network while one of its prices is missing.
func (a *Books) Collecting(ctx context.Context, mode tenant.Mode) ([]Collecting, error) {
	set, ok := a.Providers[mode]
	if !ok {
		return nil, nil
	}
	all, err := a.Store.Collected(ctx, mode, a.Now().Add(-day))
	if err != nil {
		return nil, err
	}
	return collecting(all, func(asset string) (decimal.Decimal, bool) {
		r, err := set.Rates.Quote(money.NGN, asset)
		return midUSD(r), err == nil && midUSD(r).IsPositive()
	}), nil
}

// midUSD is the price of a unit in US dollars, before the spread.
func midUSD(r quote.Rate) decimal.Decimal {
	if !r.USD.IsPositive() {
		return decimal.Zero
	}
	return r.Mid.DivRound(r.USD, 8)
}

// collecting values what was collected. The gas of transactions that brought nothing is split among the assets of their
// network by the worth that was collected.
func collecting(all []Collected, price func(asset string) (decimal.Decimal, bool)) (out []Collecting) {
	slices.SortFunc(all, func(a, b Collected) int {
		return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.Asset, b.Asset))
	})
	for len(all) > 0 {
		end := slices.IndexFunc(all, func(c Collected) bool { return c.Network != all[0].Network })
		if end < 0 {
			end = len(all)
		}
		out = append(out, ofNetwork(all[:end], price)...)
		all = all[end:]
	}
	return out
}

// ofNetwork values one network, nothing without one of its prices.
func ofNetwork(all []Collected, price func(asset string) (decimal.Decimal, bool)) (out []Collecting) {
	n, _ := money.NetworkOf(all[0].Network)
	coin := n.Coin().Symbol
	gas, known := price(coin)
	if !known {
		return nil
	}
	shared, sum := decimal.Zero, decimal.Zero
	for _, c := range all {
		if c.Asset == "" {
			shared = c.Gas.Mul(gas)
			continue
		}
		unit, known := price(c.Asset)
		if !known {
			return nil
		}
		line := Collecting{Collected: c, Coin: coin, USD: c.Amount.Mul(unit), Cost: c.Gas.Mul(gas)}
		out, sum = append(out, line), sum.Add(line.USD)
	}
	if !sum.IsPositive() { // nothing came in, and all gas belongs to the coin
		return []Collecting{{Collected: Collected{Network: n.Name, Asset: coin}, Coin: coin, Cost: shared.Round(usdDigits)}}
	}
	for i := range out {
		share := shared.Mul(out[i].USD).DivRound(sum, ratioDigits)
		out[i].USD, out[i].Cost = out[i].USD.Round(usdDigits), out[i].Cost.Add(share).Round(usdDigits)
	}
	return out
}
