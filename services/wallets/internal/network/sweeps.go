package network

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/trontx"
	"causeway.internal/services/wallets/internal/unseen"
)

// resendMost is the longest time until the bytes of a transaction are sent to a node again.
const resendMost = 30 * time.Second

// Sweeps are the live networks that have a treasury. Each needs a signer and endpoints.
func (c *Chains) Sweeps(signer bool) (all []sweeper.Config, err error) {
	for name, set := range c.Networks.EVM() {
		chain := scanner.Chain{Mode: tenant.Live, Network: name}
		if set.Sweep.Treasury == "" || c.Closed[chain] != nil {
			continue
		}
		n, _ := money.NetworkOf(name)
		reader, scanned := c.readers[chain]
		driver, sweepable := reader.Driver.(sweeper.EVM)
		treasury, err := evmtx.ParseAccount(set.Sweep.Treasury)
		switch {
		case !signer:
			return nil, fmt.Errorf("%s has a treasury, but SIGNER_SOCKET is empty", name)
		case !scanned || !sweepable:
			return nil, fmt.Errorf("%s has a treasury, but no RPC URLs", name)
		case err != nil:
			return nil, fmt.Errorf("treasury of %s: %w", name, err)
		}
		terms, err := set.Sweep.Terms(n)
		if err != nil {
			return nil, err
		}
		all = append(all, sweeper.Config{
			//nolint:gosec // a chain id is positive
			Network: name, Chain: driver, Coin: n.Coin().Symbol, ChainID: uint64(set.ID(n)), Treasury: treasury.String(), Terms: terms,
			Stuck: set.Sweep.Stuck, Resend: min(set.Sweep.Stuck/3, resendMost),
		})
	}
	solana, err := c.solanaSweep(signer)
	if err != nil {
		return nil, err
	}
	bitcoin, err := c.bitcoinSweep(signer)
	if err != nil {
		return nil, err
	}
	tron, err := c.tronSweep(signer)
	return slices.Concat(all, solana, bitcoin, tron), err
}

// tronSweep is tron, if it has a treasury.
func (c *Chains) tronSweep(signer bool) ([]sweeper.Config, error) {
	const name = "tron"
	chain, set := scanner.Chain{Mode: tenant.Live, Network: name}, c.Networks.Tron.Sweep
	if set.Treasury == "" || c.Closed[chain] != nil {
		return nil, nil
	}
	n, _ := money.NetworkOf(name)
	driver, sweepable := c.readers[chain].Driver.(sweeper.Tron)
	treasury, err := trontx.ParseAccount(set.Treasury)
	switch {
	case !signer:
		return nil, fmt.Errorf("%s has a treasury, but SIGNER_SOCKET is empty", name)
	case !sweepable:
		return nil, fmt.Errorf("%s has a treasury, but no RPC URLs", name)
	case err != nil:
		return nil, fmt.Errorf("treasury of %s: %w", name, err)
	}
	terms, tron, err := set.Terms(n)
	if err != nil {
		return nil, err
	}
	return []sweeper.Config{{
		Network: name, Chain: driver, Coin: n.Coin().Symbol, Treasury: treasury.String(), Terms: terms, Tron: tron, Resend: set.Resend,
	}}, nil
}

// bitcoinSweep is bitcoin, if it has a treasury.
func (c *Chains) bitcoinSweep(signer bool) ([]sweeper.Config, error) {
	n, _ := money.NetworkOf(string(money.Bitcoin))
	chain := scanner.Chain{Mode: tenant.Live, Network: n.Name}
	set := c.Networks.Bitcoin.Sweep
	if set.Treasury == "" || c.Closed[chain] != nil {
		return nil, nil
	}
	driver, sweepable := c.readers[chain].Driver.(sweeper.Bitcoin)
	_, err := address.Parse(money.Bitcoin, c.Bitcoin, set.Treasury)
	switch {
	case !signer:
		return nil, fmt.Errorf("%s has a treasury, but SIGNER_SOCKET is empty", n.Name)
	case !sweepable:
		return nil, fmt.Errorf("%s has a treasury, but no RPC URLs", n.Name)
	case err != nil || address.Canonical(money.Bitcoin, set.Treasury) != set.Treasury:
		return nil, fmt.Errorf("treasury of %s: %q is not an address of %s in its usual form: %w", n.Name, set.Treasury, c.Bitcoin, err)
	}
	batches, err := set.Batches(n)
	if err != nil {
		return nil, err
	}
	return []sweeper.Config{{
		Network: n.Name, Chain: driver, Coin: n.Coin().Symbol, Treasury: set.Treasury, Batches: batches,
		Stuck: set.Stuck, Resend: min(set.Stuck/3, resendMost),
	}}, nil
}

// solanaSweep is solana, if it has a treasury.
func (c *Chains) solanaSweep(signer bool) ([]sweeper.Config, error) {
	const name = "solana"
	chain, set := scanner.Chain{Mode: tenant.Live, Network: name}, c.Networks.Solana.Sweep
	if set.Treasury == "" || c.Closed[chain] != nil {
		return nil, nil
	}
	n, _ := money.NetworkOf(name)
	driver, sweepable := c.readers[chain].Driver.(sweeper.Solana)
	treasury, err := soltx.ParseAccount(set.Treasury)
	switch {
	case !signer:
		return nil, fmt.Errorf("%s has a treasury, but SIGNER_SOCKET is empty", name)
	case !sweepable:
		return nil, fmt.Errorf("%s has a treasury, but no RPC URLs", name)
	case err != nil:
		return nil, fmt.Errorf("treasury of %s: %w", name, err)
	}
	terms, err := set.Terms(n)
	if err != nil {
		return nil, err
	}
	return []sweeper.Config{{
		Network: name, Chain: driver, Coin: n.Coin().Symbol, Treasury: treasury.String(), Terms: terms, Settle: set.Settle,
		Stuck: set.Stuck, Resend: min(set.Stuck/3, resendMost),
	}}, nil
}

// worthFraction of the smallest sum that is worth a sweep is the surplus above which an unexplained balance is listed.
const worthFraction = 10

// Unseen are the live EVM networks on which coin may arrive that the scans do not see. On traced networks only the
// transactions that payers name are inspected.
func (c *Chains) Unseen() map[string]unseen.Network {
	out := map[string]unseen.Network{}
	untraced := c.Networks.Untraced()
	for name, set := range c.Networks.EVM() {
		driver, ok := c.readers[scanner.Chain{Mode: tenant.Live, Network: name}].Driver.(unseen.Chain)
		if !ok {
			continue
		}
		out[name] = unseen.Network{Chain: driver, Untraced: untraced[name], Worth: set.worthLooking(name)}
	}
	return out
}

// worthLooking is the surplus of a balance above which an operator should inspect it.
func (e EVM) worthLooking(network string) *big.Int {
	n, _ := money.NetworkOf(network)
	terms, err := e.Sweep.Terms(n)
	if err != nil {
		return new(big.Int) // the sweeps have refused these settings already
	}
	return new(big.Int).Div(terms.Least[n.Coin().Symbol], big.NewInt(worthFraction))
}
