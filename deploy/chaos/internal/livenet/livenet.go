// Package livenet gives a chaos run live networks: nodes of private chains (deploy/realchain), a signer with a seed of
// its own and a policy for them, and payers. It says what the operators of the stations and treasuries put there, so
// that an auditor can compare the chains with the books. It shares no code with the product.
package livenet

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
)

// Asset is what payers of a chain pay in.
type Asset struct {
	Symbol   string
	Contract string // "" for the coin
	Digits   int
}

// Chain is one private chain.
type Chain struct {
	Family   string
	Network  string
	Node     Node
	Treasury string
	Assets   []Asset // the coin first
	Pays     []string
	Payer    string // address to which refunds go; "" where none are made
	Merchant string // address to which crypto of wallets is withdrawn; "" where none is
}

// Coin is the asset in which fees are paid.
func (c Chain) Coin() Asset { return c.Assets[0] }

// Asset finds one by its symbol.
func (c Chain) Asset(symbol string) (Asset, bool) {
	i := slices.IndexFunc(c.Assets, func(a Asset) bool { return a.Symbol == symbol })
	if i < 0 {
		return Asset{}, false
	}
	return c.Assets[i], true
}

// Units turns an amount into base units, and nothing if it has more digits than the asset.
func (a Asset) Units(amount string) (*big.Int, error) {
	r, ok := new(big.Rat).SetString(amount)
	if !ok {
		return nil, fmt.Errorf("%q is no amount", amount)
	}
	r.Mul(r, new(big.Rat).SetInt(scale(a.Digits)))
	if !r.IsInt() {
		return nil, fmt.Errorf("%s %s has more than %d digits", amount, a.Symbol, a.Digits)
	}
	return r.Num(), nil
}

// Text writes base units as an amount.
func (a Asset) Text(units *big.Int) string {
	return new(big.Rat).SetFrac(units, scale(a.Digits)).FloatString(a.Digits)
}

func scale(digits int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
}

// Networks is all chains of a run, with the signer's files.
type Networks struct {
	Chains []Chain
	Batch  string // file with the addresses of solana that the signer made, "" without solana

	Stations map[string]string              `json:"-"` // by family, once they are furnished
	Refunds  map[string]string              `json:"-"` // the refund stations
	Given    map[string]map[string]*big.Int `json:"-"` // by network and asset: what operators put on stations and treasuries
}

// file is where the networks are written, for the process that runs chaos on them.
const file = "networks.json"

// write leaves the networks in a directory.
func (n *Networks) write(dir string) (path string, err error) {
	text, err := json.Marshal(n)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, file)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("writing the live networks: %w", err)
	}
	return path, nil
}

// Open reads the networks that Lay has written.
func Open(path string) (*Networks, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the live networks: %w", err)
	}
	n := &Networks{Stations: map[string]string{}, Given: map[string]map[string]*big.Int{}}
	if err := json.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("reading the live networks: %w", err)
	}
	return n, nil
}

// given notes what an operator put on a station or a treasury.
func (n *Networks) given(network, asset string, units int64) {
	if n.Given[network] == nil {
		n.Given[network] = map[string]*big.Int{}
	}
	if n.Given[network][asset] == nil {
		n.Given[network][asset] = new(big.Int)
	}
	n.Given[network][asset].Add(n.Given[network][asset], big.NewInt(units))
}
