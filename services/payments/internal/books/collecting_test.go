package books

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

// dollars are the prices of the tests; SOL has none.
func dollars(asset string) (decimal.Decimal, bool) {
	unit, ok := map[string]int64{"ETH": 2_000, "USDT": 1, "USDC": 1, "BTC": 50_000}[asset]
	return decimal.NewFromInt(unit), ok
}

// The gas of fundings is split among the assets of their network by worth. A network without a price is left out.
func TestCollecting(t *testing.T) {
	d := decimal.RequireFromString
	got := collecting([]Collected{
		{"ethereum", "USDT", d("300"), d("0.001")},
		{"bitcoin", "BTC", d("0.01"), d("0.0001")},
		{"ethereum", "USDC", d("100"), d("0.002")},
		{"ethereum", "", d("0"), d("0.002")},
		{"solana", "USDC", d("100"), d("0.002")},
		{"base", "", d("0"), d("0.005")},
	}, dollars)
	var lines []string
	for _, c := range got {
		lines = append(lines, fmt.Sprint(c.Network, " ", c.Asset, ": ", c.USD, " for ", c.Cost, " in ", c.Coin, ", ", c.PerUSD()))
	}
	want := []string{
		"base ETH: 0 for 10 in ETH, 0", "bitcoin BTC: 500 for 5 in BTC, 0.01", "ethereum USDC: 100 for 5 in ETH, 0.05",
		"ethereum USDT: 300 for 5 in ETH, 0.016667",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("value the sweeps of a day: got %q, want %q", lines, want)
	}
}

// No gas is lost or counted twice, but for the cents of rounding.
func TestCollecting_addsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Collected
		gas := decimal.Zero
		for _, asset := range []string{"", "ETH", "USDC", "USDT"} {
			if !rapid.Bool().Draw(t, "has "+asset) {
				continue
			}
			c := Collected{Network: "ethereum", Asset: asset, Gas: decimal.New(rapid.Int64Range(0, 1_000_000).Draw(t, "gas"), -6)}
			if asset != "" {
				c.Amount = decimal.New(rapid.Int64Range(1, 1_000_000).Draw(t, "amount"), -2)
			}
			all, gas = append(all, c), gas.Add(c.Gas)
		}
		cost := decimal.Zero
		for _, c := range collecting(all, dollars) {
			cost = cost.Add(c.Cost)
		}
		if off := cost.Sub(gas.Mul(decimal.NewFromInt(2_000))).Abs(); off.GreaterThan(decimal.RequireFromString("0.03")) {
			t.Fatalf("value %v: the cost %s is off by %s", all, cost, off)
		}
	})
}
