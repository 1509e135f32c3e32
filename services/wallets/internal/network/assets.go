package network

import (
	"context"
	"fmt"
	"log/slog"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// Scanned reports whether a network of a mode is scanned: every simulated one is, and a live one with endpoints.
func (s Settings) Scanned(mode tenant.Mode, network string) bool {
	return mode == tenant.Test || len(s.Networks("")[network].Endpoints()) > 0
}

// Treasuries are the treasury addresses of the settings. It omits an unreadable one, which sweeps refuses.
func (s Settings) Treasuries() (all []wire.OwnedAddress) {
	for _, set := range s.EVM() {
		if treasury, err := evmtx.ParseAccount(set.Sweep.Treasury); err == nil {
			all = append(all, wire.OwnedAddress{Mode: tenant.Live, Family: money.EVM, Address: treasury.String()})
		}
	}
	return all
}

// Assets are the assets of every scanned network. Tokens of simulated networks have no contract.
func (s Settings) Assets() (out []wallet.Counted, err error) {
	set := s.Networks("")
	for _, n := range money.Networks() {
		for _, a := range n.Assets {
			out = append(out, wallet.Counted{Mode: tenant.Test, Network: n.Name, Asset: a.Symbol, Decimals: a.Decimals})
		}
		if !s.Scanned(tenant.Live, n.Name) {
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

// ProveAssets compares the decimals of every scanned network's assets with those of the stored amounts, and closes
// networks where they differ: old amounts would be misread by a power of ten. It accepts and records another contract
// with the same decimals; the network's driver checks the contract itself before its first use.
func (c Closed) ProveAssets(ctx context.Context, networks Settings, book *store.Store, log *slog.Logger) error {
	now, err := networks.Assets()
	if err != nil {
		return err
	}
	byKey := map[wallet.Counted]wallet.Counted{}
	for _, a := range now {
		byKey[wallet.Counted{Mode: a.Mode, Network: a.Network, Asset: a.Asset}] = a
	}
	before, err := book.CountAssets(ctx, now)
	if err != nil {
		return err
	}
	for _, b := range before {
		a := byKey[wallet.Counted{Mode: b.Mode, Network: b.Network, Asset: b.Asset}]
		if err := b.Recount(a.Decimals); err != nil {
			c[scanner.Chain{Mode: b.Mode, Network: b.Network}] = err
			log.ErrorContext(ctx, "network closed: decimals differ from those of stored amounts", "mode", b.Mode,
				"network", b.Network, "asset", b.Asset, "stored", b.Decimals, "now", a.Decimals)
		} else if b.Contract != a.Contract {
			log.WarnContext(ctx, "contract of asset changed", "mode", b.Mode, "network", b.Network, "asset", b.Asset,
				"from", b.Contract, "to", a.Contract)
		}
	}
	return nil
}
