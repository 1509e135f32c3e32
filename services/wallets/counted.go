package main

import (
	"context"

	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

// proveAssets compares the decimals of every scanned network's assets with those that stored amounts were counted in, and
// closes networks where they differ: old money would be read wrong by a power of ten. Another contract with the same decimals
// is taken and recorded here; the network's driver asks the contract itself before its first use.
func (p *process) proveAssets(ctx context.Context) error {
	now, err := p.cfg.World.Live.Assets()
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
			p.tel.Log.ErrorContext(ctx, "network closed: decimals differ from those of stored amounts", "mode", b.Mode,
				"network", b.Network, "asset", b.Asset, "stored", b.Decimals, "now", c.Decimals)
		} else if b.Contract != c.Contract {
			p.tel.Log.WarnContext(ctx, "contract of asset changed", "mode", b.Mode, "network", b.Network, "asset", b.Asset,
				"from", b.Contract, "to", c.Contract)
		}
	}
	return nil
}
