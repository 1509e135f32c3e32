package money_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/money"
)

func d(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-1": "-1", "12.50": "12.5", "1e3": "1000", "1E-2": "0.01", "0.00000001": "0.00000001", "1e+02": "100",
	} {
		got, err := money.Parse(in)
		if err != nil || money.Canonical(got) != want {
			t.Errorf("Parse(%q) = %v, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "-", "+1", "01", ".5", "5.", "1e", "1e+", "0x1", "NaN", "Infinity", `"1"`, " 1", "1 ", "1,5", "−1", "١",
		"1e31", "1e-31", "1e999999999", strings.Repeat("9", 65), "1_000", "true",
	} {
		if got, err := money.Parse(in); err == nil {
			t.Errorf("Parse(%q) = %v, want a refusal", in, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "-0.5e3", "1e30", "00", "1.", "9e9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := money.Parse(s)
		if err != nil {
			return
		}
		if !json.Valid([]byte(s)) {
			t.Fatalf("accepted %q, which is no JSON number", s)
		}
		back, err := money.Parse(money.Canonical(got))
		if err != nil && len(money.Canonical(got)) <= 64 || err == nil && !back.Equal(got) {
			t.Fatalf("%q does not survive its canonical form %q: %v", s, money.Canonical(got), err)
		}
	})
}

// Every decimal is written as decimal.String does, less the zeros that say nothing.
func TestCanonical(t *testing.T) {
	plain := func(x decimal.Decimal) string {
		text := x.String()
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		if text == "-0" {
			return "0"
		}
		return text
	}
	for _, n := range []int64{0, 1, -1, 5, 10, -10, 12_500, 1_000_000, math.MaxInt64, math.MinInt64, math.MinInt64 + 1} {
		for exponent := int32(-25); exponent < 5; exponent++ {
			if x := decimal.New(n, exponent); money.Canonical(x) != plain(x) {
				t.Errorf("%d and %d is %s, want %s", n, exponent, money.Canonical(x), plain(x))
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := decimal.New(rapid.Int64().Draw(t, "digits"), rapid.Int32Range(-25, 5).Draw(t, "exponent"))
		x = x.Mul(decimal.New(1, rapid.Int32Range(0, 6).Draw(t, "larger")))
		if money.Canonical(x) != plain(x) {
			t.Fatalf("%s, want %s", money.Canonical(x), plain(x))
		}
	})
}

func TestNumber_isJSONNumberWithoutExponent(t *testing.T) {
	for in, want := range map[string]string{"1e3": "1000", "0.10": "0.1", "1600.00": "1600", "0.00000001": "0.00000001"} {
		got, err := json.Marshal(money.N(d(in)))
		if err != nil || string(got) != want {
			t.Errorf("%s encodes as %s (%v), want %s", in, got, err, want)
		}
	}
	var n money.Number
	if err := json.Unmarshal([]byte(`"5"`), &n); err == nil {
		t.Error("a string was read as a number")
	}
}

// The payer's side never loses and the receiver's side never gains, and both are within one unit of the exact value.
func TestRounding_sides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := decimal.New(rapid.Int64Range(1, 1e15).Draw(t, "a"), -int32(rapid.IntRange(0, 8).Draw(t, "ascale")))
		b := decimal.New(rapid.Int64Range(1, 1e12).Draw(t, "b"), -int32(rapid.IntRange(0, 8).Draw(t, "bscale")))
		digits := int32(rapid.IntRange(0, 8).Draw(t, "digits"))
		up, down, unit := money.DivUp(a, b, digits), money.DivDown(a, b, digits), decimal.New(1, -digits)
		if up.Mul(b).LessThan(a) || down.Mul(b).GreaterThan(a) {
			t.Fatalf("%s/%s: up %s, down %s", a, b, up, down)
		}
		if up.Sub(down).GreaterThan(unit) || money.Digits(up) > digits || money.Digits(down) > digits {
			t.Fatalf("%s/%s to %d digits: up %s, down %s", a, b, digits, up, down)
		}
		if !money.Up(a, digits).GreaterThanOrEqual(a) || !money.Down(a, digits).LessThanOrEqual(a) {
			t.Fatalf("%s: up %s, down %s", a, money.Up(a, digits), money.Down(a, digits))
		}
	})
}

func TestNetworks_aliasesAndAssets(t *testing.T) {
	for in, want := range map[string]string{"ERC20": "ethereum", " bnb ": "bsc", "MATIC": "polygon", "sol": "solana", "arbitrum": "arbitrum"} {
		n, ok := money.NetworkOf(in)
		if !ok || n.Name != want {
			t.Errorf("NetworkOf(%q) = %q, %v; want %s", in, n.Name, ok, want)
		}
	}
	if _, ok := money.NetworkOf("optimism"); ok {
		t.Error("optimism is not listed")
	}
	bsc, _ := money.NetworkOf("bsc")
	usdt, ok := bsc.Asset("usdt")
	if !ok || usdt.Decimals != 18 {
		t.Errorf("USDT on bsc has %d decimals, want 18", usdt.Decimals)
	}
	polygon, _ := money.NetworkOf("polygon")
	if pol, ok := polygon.Asset("MATIC"); !ok || pol.Symbol != "POL" {
		t.Error("MATIC is POL by its old name")
	}
	if got := usdt.FromUnits(usdt.ToUnits(d("1.5"))); !got.Equal(d("1.5")) {
		t.Errorf("1.5 came back from base units as %s", got)
	}
	seen := map[string]string{}
	for _, n := range money.Networks() {
		if !n.Coin().Native {
			t.Errorf("%s has no coin of its own", n.Name)
		}
		for _, name := range append([]string{n.Name}, n.Aliases...) {
			if other, ok := seen[name]; ok {
				t.Errorf("%q names both %s and %s", name, other, n.Name)
			}
			seen[name] = n.Name
		}
	}
}

// Every fact of a network is there, and no chain id or contract is written twice.
func TestNetworks_facts(t *testing.T) {
	ids, contracts := map[int64]string{}, map[string]string{}
	for _, n := range money.Networks() {
		if (n.ChainID != 0) != (n.Family == money.EVM) || n.ChainID != 0 && ids[n.ChainID] != "" {
			t.Errorf("%s has chain id %d", n.Name, n.ChainID)
		}
		ids[n.ChainID] = n.Name
		if n.FinalDepth < max(n.Confirmations, 1) || n.Confirmations == 0 && !n.Finality {
			t.Errorf("%s counts at %d confirmations or finality %v, and is final at %d", n.Name, n.Confirmations, n.Finality, n.FinalDepth)
		}
		for _, a := range n.Assets {
			if a.Native != (a.Contract == "") || a.Contract != n.Contracts()[a.Symbol] || a.Contract != "" && contracts[a.Contract] != "" {
				t.Errorf("%s on %s has contract %q", a.Symbol, n.Name, a.Contract)
			}
			contracts[a.Contract] = n.Name
		}
		if len(n.Contracts()) != len(n.Assets)-1 {
			t.Errorf("%s has %d contracts and %d assets", n.Name, len(n.Contracts()), len(n.Assets))
		}
	}
}
