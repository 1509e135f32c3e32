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
	QuoteDigits int32  // digits of an amount that a payer must send
	Native      bool   // the network's own coin; else a token
	Contract    string // of a token on the main network; a bridged twin of the token is another asset and is not listed
	Stable      bool   // meant to be worth one US dollar

	// Worthwhile is the least amount at one address that is worth the cost of moving it (docs/networks.md): smaller
	// sums are not swept, and smaller live payments are refused.
	Worthwhile decimal.Decimal
}

// Network is a blockchain that takes deposits.
type Network struct {
	Name    string // canonical lower-case name
	Family  Family
	Aliases []string // other names merchants use: erc20, trc20
	ChainID int64    // EIP-155; 0 where the family has none

	// A transfer counts at so many confirmations, or with Finality as soon as its block is final. Confirmations 0 means
	// that only finality counts. These are defaults, which settings override.
	Confirmations int64
	Finality      bool
	// FinalDepth is how deep a block counts as final where the node does not say so itself, or is silent for long. It
	// is at least Confirmations.
	FinalDepth int64

	Assets []Asset

	explorer string // the beginning of the URL of a public page about a transaction
}

// TransactionPage is a public page about a transaction, where people look for themselves.
func (n Network) TransactionPage(hash string) string {
	if n.explorer == "" || hash == "" {
		return ""
	}
	return n.explorer + hash
}

const (
	stableDigits = 4
	etherDigits  = 6
)

func stable(symbol string, decimals int32, worthwhile, contract string) Asset {
	return Asset{
		Symbol: symbol, Decimals: decimals, QuoteDigits: stableDigits, Stable: true, Contract: contract,
		Worthwhile: decimal.RequireFromString(worthwhile),
	}
}

func coin(symbol string, decimals, quote int32, worthwhile string) Asset {
	return Asset{Symbol: symbol, Decimals: decimals, QuoteDigits: quote, Native: true, Worthwhile: decimal.RequireFromString(worthwhile)}
}

// networks is the table of docs/api-contract.md#networks; decimals differ by network (BSC's pegged tokens have 18).
var networks = []Network{
	{
		Name: "bitcoin", Family: Bitcoin, Aliases: []string{"btc"}, Confirmations: 2, FinalDepth: 100,
		explorer: "https://mempool.space/tx/",
		Assets:   []Asset{coin("BTC", 8, 8, "0.0003")},
	},
	{
		Name: "ethereum", Family: EVM, Aliases: []string{"erc20", "eth"}, ChainID: 1, Confirmations: 12, FinalDepth: 128,
		explorer: "https://etherscan.io/tx/",
		Assets: []Asset{
			coin("ETH", 18, etherDigits, "0.01"),
			stable("USDT", 6, "20", "0xdAC17F958D2ee523a2206206994597C13D831ec7"),
			stable("USDC", 6, "20", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
		},
	},
	{
		Name: "bsc", Family: EVM, Aliases: []string{"bep20", "bnb", "binance"}, ChainID: 56, Confirmations: 90, Finality: true, FinalDepth: 90,
		explorer: "https://bscscan.com/tx/",
		Assets: []Asset{
			coin("BNB", 18, etherDigits, "0.01"),
			stable("USDT", 18, "2", "0x55d398326f99059fF775485246999027B3197955"),
			stable("USDC", 18, "2", "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d"),
		},
	},
	{
		Name: "polygon", Family: EVM, Aliases: []string{"matic"}, ChainID: 137, Confirmations: 128, Finality: true, FinalDepth: 128,
		explorer: "https://polygonscan.com/tx/",
		Assets: []Asset{
			coin("POL", 18, 4, "5"),
			stable("USDT", 6, "2", "0xc2132D05D31c914a87C6611C10748AEb04B58e8F"),
			stable("USDC", 6, "2", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
		},
	},
	{
		Name: "base", Family: EVM, ChainID: 8453, Confirmations: 12, FinalDepth: 1_800,
		explorer: "https://basescan.org/tx/",
		Assets: []Asset{
			coin("ETH", 18, etherDigits, "0.002"),
			stable("USDC", 6, "2", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
		},
	},
	{
		Name: "arbitrum", Family: EVM, Aliases: []string{"arb"}, ChainID: 42161, Confirmations: 40, FinalDepth: 7_200,
		explorer: "https://arbiscan.io/tx/",
		Assets: []Asset{
			coin("ETH", 18, etherDigits, "0.002"),
			stable("USDT", 6, "2", "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"),
			stable("USDC", 6, "2", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
		},
	},
	{
		Name: "tron", Family: Tron, Aliases: []string{"trc20", "trx"}, Confirmations: 19, FinalDepth: 40,
		explorer: "https://tronscan.org/#/transaction/",
		Assets:   []Asset{coin("TRX", 6, 4, "20"), stable("USDT", 6, "10", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")},
	},
	{
		Name: "solana", Family: Solana, Aliases: []string{"sol"}, Finality: true, FinalDepth: 64,
		explorer: "https://solscan.io/tx/",
		Assets: []Asset{
			coin("SOL", 9, 6, "0.02"),
			stable("USDT", 6, "2", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"),
			stable("USDC", 6, "2", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
		},
	},
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

// Coin is the network's own coin, which pays its fees.
func (n Network) Coin() Asset {
	for _, a := range n.Assets {
		if a.Native {
			return a
		}
	}
	return Asset{}
}

// Contracts are the contracts of the network's tokens by symbol.
func (n Network) Contracts() map[string]string {
	out := map[string]string{}
	for _, a := range n.Assets {
		if !a.Native {
			out[a.Symbol] = a.Contract
		}
	}
	return out
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
