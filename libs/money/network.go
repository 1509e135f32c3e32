package money

import (
	"strings"

	"github.com/shopspring/decimal"
)

// Family groups networks that share address derivation: one address serves every network of its family.
type Family string

// The families.
const (
	Bitcoin Family = "bitcoin"
	EVM     Family = "evm"
	Tron    Family = "tron"
	Solana  Family = "solana"
)

// Families lists every family.
func Families() []Family { return []Family{Bitcoin, EVM, Tron, Solana} }

// Asset is a crypto asset on one network.
type Asset struct {
	Symbol      string // upper case: USDT
	Decimals    int32  // digits of its base unit on this network
	QuoteDigits int32  // digits of an amount that a payer is asked for
	Native      bool   // the network's own coin; else a token
	Stable      bool   // meant to be worth one US dollar

	// Worthwhile is the least amount at one address that is worth what it costs to move it on (docs/networks.md): smaller sums
	// are not swept, and smaller payments not taken where real money moves.
	Worthwhile decimal.Decimal
}

// Network is a blockchain we take deposits on.
type Network struct {
	Name    string // canonical lower-case name
	Family  Family
	Aliases []string // other names merchants use: erc20, trc20
	Assets  []Asset
}

const (
	stableDigits = 4
	etherDigits  = 6
)

func stable(symbol string, decimals int32, worthwhile string) Asset {
	return Asset{Symbol: symbol, Decimals: decimals, QuoteDigits: stableDigits, Stable: true, Worthwhile: decimal.RequireFromString(worthwhile)}
}

func coin(symbol string, decimals, quote int32, worthwhile string) Asset {
	return Asset{Symbol: symbol, Decimals: decimals, QuoteDigits: quote, Native: true, Worthwhile: decimal.RequireFromString(worthwhile)}
}

// networks is the table of docs/api-contract.md#networks; decimals differ by network (BSC's pegged tokens have 18).
var networks = []Network{
	{Name: "bitcoin", Family: Bitcoin, Aliases: []string{"btc"}, Assets: []Asset{coin("BTC", 8, 8, "0.0003")}},
	{Name: "ethereum", Family: EVM, Aliases: []string{"erc20", "eth"}, Assets: []Asset{
		coin("ETH", 18, etherDigits, "0.01"), stable("USDT", 6, "20"), stable("USDC", 6, "20"),
	}},
	{Name: "bsc", Family: EVM, Aliases: []string{"bep20", "bnb", "binance"}, Assets: []Asset{
		coin("BNB", 18, etherDigits, "0.01"), stable("USDT", 18, "2"), stable("USDC", 18, "2"),
	}},
	{Name: "polygon", Family: EVM, Aliases: []string{"matic"}, Assets: []Asset{
		coin("POL", 18, 4, "5"), stable("USDT", 6, "2"), stable("USDC", 6, "2"),
	}},
	{Name: "base", Family: EVM, Assets: []Asset{coin("ETH", 18, etherDigits, "0.002"), stable("USDC", 6, "2")}},
	{Name: "arbitrum", Family: EVM, Aliases: []string{"arb"}, Assets: []Asset{
		coin("ETH", 18, etherDigits, "0.002"), stable("USDT", 6, "2"), stable("USDC", 6, "2"),
	}},
	{Name: "tron", Family: Tron, Aliases: []string{"trc20", "trx"}, Assets: []Asset{coin("TRX", 6, 4, "20"), stable("USDT", 6, "10")}},
	{Name: "solana", Family: Solana, Aliases: []string{"sol"}, Assets: []Asset{
		coin("SOL", 9, 6, "0.02"), stable("USDT", 6, "2"), stable("USDC", 6, "2"),
	}},
}

// Networks returns a copy of the table.
func Networks() []Network { return append([]Network(nil), networks...) }

// NetworkOf finds a network by its name or an alias, without regard to case.
func NetworkOf(name string) (Network, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, n := range networks {
		if n.Name == name {
			return n, true
		}
		for _, a := range n.Aliases {
			if a == name {
				return n, true
			}
		}
	}
	return Network{}, false
}

// Asset finds an asset of the network by symbol, without regard to case. MATIC is read as POL, its name since 2024.
func (n Network) Asset(symbol string) (Asset, bool) {
	symbol = strings.ToUpper(strings.TrimSpace(symbol))
	if symbol == "MATIC" {
		symbol = "POL"
	}
	for _, a := range n.Assets {
		if a.Symbol == symbol {
			return a, true
		}
	}
	return Asset{}, false
}

// Coin is the network's own coin, in which it is paid.
func (n Network) Coin() Asset {
	for _, a := range n.Assets {
		if a.Native {
			return a
		}
	}
	return Asset{}
}

// Pairs lists every supported "CRYPTO on network", for the message of an unsupported pair.
func Pairs() string {
	var b strings.Builder
	for i, n := range networks {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(n.Name + ":")
		for _, a := range n.Assets {
			b.WriteString(" " + a.Symbol)
		}
	}
	return b.String()
}

// FromUnits turns an integer of base units into an amount.
func (a Asset) FromUnits(units decimal.Decimal) decimal.Decimal { return units.Shift(-a.Decimals) }

// ToUnits turns an amount into base units; it must have no more digits than the asset.
func (a Asset) ToUnits(amount decimal.Decimal) decimal.Decimal { return amount.Shift(a.Decimals) }
