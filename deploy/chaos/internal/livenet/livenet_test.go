package livenet

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

func TestAsset_units(t *testing.T) {
	usdt := Asset{Symbol: "USDT", Digits: 6}
	for amount, want := range map[string]string{"31.25": "31250000", "0.000001": "1", "-2": "-2000000"} {
		units, err := usdt.Units(amount)
		if err != nil || units.String() != want {
			t.Errorf("write %s in base units: got %s, %v, want %s", amount, units, err, want)
		}
	}
	for _, amount := range []string{"0.0000001", "many", ""} {
		if units, err := usdt.Units(amount); err == nil {
			t.Errorf("write %q in base units: got %s, want an error", amount, units)
		}
	}
	if got := usdt.Text(big.NewInt(-31_250_000)); got != "-31.250000" {
		t.Errorf("write base units as an amount: got %s, want -31.250000", got)
	}
}

// Every family has a policy that pins its treasury and bounds each asset, and wallets gets the same treasury.
func TestFamilies(t *testing.T) {
	for _, f := range families {
		c := f.on(Node{RPCURL: "http://node", Genesis: "genesis", Tokens: map[string]string{"USDT": "usdt", "USDC": "usdc"}})
		text, err := json.Marshal(f.allowed(c))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"treasury":"`+c.Treasury+`"`) {
			t.Errorf("the policy of %s is %s, want the treasury %s", c.Network, text, c.Treasury)
		}
		pinned := false
		for name, value := range f.live(c) {
			pinned = pinned || strings.HasSuffix(name, "_SWEEP_TREASURY") && value == c.Treasury
		}
		if !pinned {
			t.Errorf("wallets gets no treasury of %s", c.Network)
		}
		for _, a := range c.Assets {
			if f.perHour[a.Symbol] == "" {
				t.Errorf("the policy of %s has no limit for %s", c.Network, a.Symbol)
			}
		}
		for _, symbol := range c.Pays {
			if _, known := c.Asset(symbol); !known {
				t.Errorf("payers of %s pay in %s, which is not listed", c.Network, symbol)
			}
		}
	}
}

// The vectors are those of BIP-173.
func TestBech32(t *testing.T) {
	if got, want := bech32("a", nil), "a12uel5l"; got != want {
		t.Errorf("write no bytes: got %s, want %s", got, want)
	}
	program := []byte{0x75, 0x1e, 0x76, 0xe8, 0x19, 0x91, 0x96, 0xd4, 0x54, 0x94, 0x1c, 0x45, 0xd1, 0xb3, 0xa3, 0x23, 0xf1, 0x43, 0x3b, 0xd6}
	if got, want := bech32("x", program), "w508d6qejxtdg4y5r3zarvary0c5xw7k"; !strings.HasPrefix(got, "x1"+want) {
		t.Errorf("write a program: got %s, want x1%s and a checksum", got, want)
	}
}
