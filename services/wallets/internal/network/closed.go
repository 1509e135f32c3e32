package network

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// Closed are the networks that this process closes, each with the reason. A closed network issues no address, scans and
// sweeps nothing, and is announced as closed to payments.
type Closed map[scanner.Chain]error

// Close closes the networks whose address sources are wrong, and those whose decimals differ from those of the stored
// amounts.
func Close(ctx context.Context, wrong keys.Mismatches, networks Settings, book *store.Store, log *slog.Logger) (
	Closed, error,
) {
	c := Closed{}
	for slot, why := range wrong {
		for _, n := range money.Networks() {
			if n.Family == slot.Family {
				c[scanner.Chain{Mode: slot.Mode, Network: n.Name}] = why
			}
		}
		log.ErrorContext(ctx, "networks closed: setting differs from issued addresses", "mode", slot.Mode,
			"family", slot.Family, "err", why)
	}
	return c, c.proveAssets(ctx, networks, book, log)
}

// Err joins the reasons.
func (c Closed) Err() error { return errors.Join(slices.Collect(maps.Values(c))...) }

// Scanned reports whether processes with these settings scan a network of a mode.
func (c Closed) Scanned(networks Settings) func(mode tenant.Mode, network string) bool {
	return func(mode tenant.Mode, network string) bool {
		return networks.Scanned(mode, network) && c[scanner.Chain{Mode: mode, Network: network}] == nil
	}
}

// proveAssets compares the decimals of every scanned network's assets with those of the stored amounts, and closes
// networks where they differ: old amounts would be misread by a power of ten. It accepts and records another contract
// with the same decimals; the network's driver checks the contract itself before its first use.
func (c Closed) proveAssets(ctx context.Context, networks Settings, book *store.Store, log *slog.Logger) error {
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
