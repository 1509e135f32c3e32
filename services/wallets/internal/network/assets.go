package network

import (
	"errors"
	"maps"
	"slices"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/trontx"
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
	for _, a := range s.solanaTreasury() {
		all = append(all, wire.OwnedAddress{Mode: tenant.Live, Family: money.Solana, Address: a.String()})
	}
	if treasury, err := trontx.ParseAccount(s.Tron.Sweep.Treasury); err == nil {
		all = append(all, wire.OwnedAddress{Mode: tenant.Live, Family: money.Tron, Address: treasury.String()})
	}
	if text := s.Bitcoin.Sweep.Treasury; text != "" {
		if _, err := btctx.Treasury(text); err == nil {
			all = append(all, wire.OwnedAddress{Mode: tenant.Live, Family: money.Bitcoin, Address: text})
		}
	}
	return all
}

// solanaTreasury is the treasury on solana with its token accounts: a payer could name one of them for a refund.
func (s Settings) solanaTreasury() []soltx.Account {
	treasury, err := soltx.ParseOwner(s.Solana.Sweep.Treasury)
	if err != nil {
		return nil
	}
	all := []soltx.Account{treasury}
	n, _ := money.NetworkOf(string(money.Solana))
	mints, err := contracts(n, s.Solana.Tokens)
	if err != nil {
		return all // the scan refuses these settings
	}
	for _, text := range slices.Sorted(maps.Values(mints)) {
		mint, bad := soltx.ParseAccount(text)
		if holder, err := soltx.TokenAccount(treasury, mint); errors.Join(bad, err) == nil {
			all = append(all, holder)
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
		tokens, err := set[n.Name].contracts(n)
		if err != nil {
			return nil, err
		}
		for symbol, contract := range tokens {
			asset, _ := n.Asset(symbol)
			out = append(out, wallet.Counted{Mode: tenant.Live, Network: n.Name, Asset: symbol, Contract: contract, Decimals: asset.Decimals})
		}
	}
	return out, nil
}
