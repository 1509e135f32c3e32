package chain

import (
	"fmt"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
)

// Token is a listed token contract. No other contract counts as a token.
type Token struct {
	Symbol   string
	Contract string // canonical text
	Key      []byte // the chain's own form of the contract
	Decimals int64
}

// Tokens checks the contracts of a network's tokens, given by symbol.
func Tokens(n money.Network, contracts map[string]string) ([]Token, error) {
	out := make([]Token, 0, len(contracts))
	taken := map[string]string{}
	for symbol, contract := range contracts {
		asset, ok := n.Asset(symbol)
		if !ok || asset.Native {
			return nil, fmt.Errorf("%q is not a token of this network", symbol)
		}
		key, err := address.Parse(n.Family, address.Mainnet, contract)
		if err != nil {
			return nil, fmt.Errorf("the contract of %s %w", symbol, err)
		}
		canonical, err := address.Encode(n.Family, address.Mainnet, key)
		if err != nil {
			return nil, fmt.Errorf("the contract of %s: %w", symbol, err)
		}
		if twin, twice := taken[canonical]; twice {
			return nil, fmt.Errorf("%s and %s have one contract", symbol, twin)
		}
		taken[canonical] = symbol
		out = append(out, Token{Symbol: asset.Symbol, Contract: canonical, Key: key, Decimals: int64(asset.Decimals)})
	}
	return out, nil
}
