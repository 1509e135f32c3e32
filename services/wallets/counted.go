package main

import (
	"context"
	"fmt"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

// closed are the networks that this process does not scan, each with what is wrong.
type closed map[scanner.Chain]error

// proveAssets compares the decimals of every scanned network's assets with those that stored amounts were counted in, and
// closes networks where they differ: old money would be read wrong by a power of ten. Another contract with the same decimals
// is taken and recorded here; the network's driver asks the contract itself before its first use.
func (p *process) proveAssets(ctx context.Context) error {
	now, err := p.cfg.World.counted()
	if err != nil {
		return err
	}
	byKey := map[wallet.Counted]wallet.Counted{}
	for _, c := range now {
		byKey[wallet.Counted{Mode: c.Mode, Network: c.Network, Asset: c.Asset}] = c
	}
	before, err := p.book.CountAssets(ctx, now)
	if err != nil {
		return err
	}
	for _, b := range before {
		c := byKey[wallet.Counted{Mode: b.Mode, Network: b.Network, Asset: b.Asset}]
		if err := b.Recount(c.Decimals); err != nil {
			p.closed[scanner.Chain{Mode: b.Mode, Network: b.Network}] = err
			p.tel.Log.ErrorContext(ctx, "network closed: its decimals are not those of the stored amounts", "mode", b.Mode,
				"network", b.Network, "asset", b.Asset, "stored", b.Decimals, "now", c.Decimals)
		} else if b.Contract != c.Contract {
			p.tel.Log.WarnContext(ctx, "the contract of an asset changed", "mode", b.Mode, "network", b.Network, "asset", b.Asset,
				"from", b.Contract, "to", c.Contract)
		}
	}
	return nil
}

// counted are the assets of every scanned network. On simulated networks no token has a contract.
func (s worldSettings) counted() (out []wallet.Counted, err error) {
	set := s.Live.networks("")
	for _, n := range money.Networks() {
		for _, a := range n.Assets {
			out = append(out, wallet.Counted{Mode: tenant.Test, Network: n.Name, Asset: a.Symbol, Decimals: a.Decimals})
		}
		if !s.scanned(tenant.Live, n.Name) {
			continue
		}
		coin := n.Coin()
		out = append(out, wallet.Counted{Mode: tenant.Live, Network: n.Name, Asset: coin.Symbol, Decimals: coin.Decimals})
		listed, err := contracts(n, set[n.Name].tokens)
		if err != nil {
			return nil, err
		}
		tokens, err := chain.Tokens(n, listed)
		if err != nil {
			return nil, fmt.Errorf("%s tokens: %w", n.Name, err)
		}
		for _, t := range tokens {
			asset, _ := n.Asset(t.Symbol)
			out = append(out, wallet.Counted{Mode: tenant.Live, Network: n.Name, Asset: t.Symbol, Contract: t.Contract, Decimals: asset.Decimals})
		}
	}
	return out, nil
}
