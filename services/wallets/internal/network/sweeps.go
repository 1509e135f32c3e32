package network

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/lookup"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/trontx"
	"causeway.internal/services/wallets/internal/unseen"
)

// resendMost is the longest time until the bytes of a transaction are sent to a node again.
const resendMost = 30 * time.Second

// sweepable is a live network that can be swept: how its settings become those of a sweeper.
type sweepable struct {
	network  string
	treasury string                                           // "" where nothing is swept
	account  func(text string) (string, error)                // the treasury as the chain writes it
	complete func(n money.Network, cfg *sweeper.Config) error // adds the settings of the family
}

// Sweeps are the live networks that have a treasury. Each needs a signer and endpoints.
func (c *Chains) Sweeps(signer bool) (all []sweeper.Config, err error) {
	networks := c.Networks.Networks(c.Bitcoin)
	for _, s := range c.sweepable() {
		chain := scanner.Chain{Mode: tenant.Live, Network: s.network}
		if s.treasury == "" || c.Closed[chain] != nil {
			continue
		}
		n, _ := money.NetworkOf(s.network)
		driver, scanned := c.readers[chain].Driver.(sweeper.Chain)
		treasury, err := s.account(s.treasury)
		switch {
		case !signer:
			return nil, fmt.Errorf("%s has a treasury, but SIGNER_SOCKET is empty", n.Name)
		case !scanned:
			return nil, fmt.Errorf("%s has a treasury, but no RPC URLs", n.Name)
		case err != nil:
			return nil, fmt.Errorf("treasury of %s: %w", n.Name, err)
		}
		cfg := sweeper.Config{Network: n.Name, Chain: driver, Coin: n.Coin().Symbol, Treasury: treasury}
		if cfg.Tokens, err = networks[n.Name].contracts(n); err != nil {
			return nil, err
		}
		if err := s.complete(n, &cfg); err != nil {
			return nil, err
		}
		all = append(all, cfg)
	}
	return all, nil
}

func (c *Chains) sweepable() []sweepable {
	bitcoin, tron, solana := c.Networks.Bitcoin.Sweep, c.Networks.Tron.Sweep, c.Networks.Solana.Sweep
	all := []sweepable{
		{
			network: "bitcoin", treasury: bitcoin.Treasury, account: c.bitcoinAccount,
			complete: func(n money.Network, cfg *sweeper.Config) (err error) {
				cfg.Batches, err = bitcoin.Batches(n)
				cfg.Stuck, cfg.Resend, cfg.From = bitcoin.Stuck, resendAfter(bitcoin.Stuck), bitcoin.From
				return err
			},
		},
		{
			network: "tron", treasury: tron.Treasury, account: written(trontx.ParseAccount),
			complete: func(n money.Network, cfg *sweeper.Config) (err error) {
				cfg.Terms, cfg.Tron, err = tron.Terms(n)
				cfg.Resend = tron.Resend
				return err
			},
		},
		{
			network: "solana", treasury: solana.Treasury, account: written(soltx.ParseOwner),
			complete: func(n money.Network, cfg *sweeper.Config) (err error) {
				cfg.Terms, err = solana.Terms(n)
				cfg.Settle, cfg.Stuck, cfg.Resend = solana.Settle, solana.Stuck, resendAfter(solana.Stuck)
				return err
			},
		},
	}
	for name, set := range c.Networks.EVM() {
		all = append(all, sweepable{
			network: name, treasury: set.Sweep.Treasury, account: written(evmtx.ParseAccount),
			complete: func(n money.Network, cfg *sweeper.Config) (err error) {
				cfg.Terms, err = set.Sweep.Terms(n)
				cfg.ChainID = uint64(set.ID(n)) //nolint:gosec // a chain id is positive
				cfg.Stuck, cfg.Resend = set.Sweep.Stuck, resendAfter(set.Sweep.Stuck)
				return err
			},
		})
	}
	return all
}

// resendAfter is the time until the bytes of a transaction are sent again, which is less than that until a higher fee.
func resendAfter(stuck time.Duration) time.Duration { return min(stuck/3, resendMost) }

// written reads an account and writes it as the chain does.
func written[A fmt.Stringer](parse func(text string) (A, error)) func(text string) (string, error) {
	return func(text string) (string, error) {
		account, err := parse(text)
		if err != nil {
			return "", err
		}
		return account.String(), nil
	}
}

// bitcoinAccount accepts an address in its usual form alone, which the signer has pinned.
func (c *Chains) bitcoinAccount(text string) (string, error) {
	if _, err := address.Parse(money.Bitcoin, c.Bitcoin, text); err != nil {
		return "", fmt.Errorf("%q is not an address of %s: %w", text, c.Bitcoin, err)
	}
	if usual := address.Canonical(money.Bitcoin, text); usual != text {
		return "", fmt.Errorf("%q is not in its usual form %s", text, usual)
	}
	return text, nil
}

// Judge decides for an operator whether refunds on a live network can still land; false for a network that is not read.
func (c *Chains) Judge(network string) (sweeper.Judge, bool) {
	n, listed := money.NetworkOf(network)
	rivals, shows := c.readers[scanner.Chain{Mode: tenant.Live, Network: network}].Driver.(sweeper.Rivals)
	return sweeper.Judge{
		Network: network, Chain: rivals, Store: c.Book.Refunds(), Log: c.Telemetry.Log,
		Paid: func(ctx context.Context, hash, to string) (lookup.Finding, error) {
			key, err := address.Parse(n.Family, address.Mainnet, to) // the judge does not ask about bitcoin
			if err != nil {
				return lookup.Finding{}, fmt.Errorf("the address %w", err)
			}
			return c.Find(ctx, network, hash, key)
		},
	}, listed && shows
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
