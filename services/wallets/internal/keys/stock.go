package keys

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/wallet"
)

// Pooled is the slot whose addresses come from the stock.
var Pooled = wallet.Slot{Mode: tenant.Live, Family: money.Solana}

// Import verifies a batch of the signer and adds it to the stock. Only live mode takes batches: test mode makes its own
// addresses.
func (k Keeper) Import(ctx context.Context, b intent.Batch) (fresh bool, err error) {
	if b.Mode != string(Pooled.Mode) {
		return false, errors.New("only live mode takes address batches")
	}
	if err := b.Verify(k.Pinned); err != nil {
		return false, err
	}
	keys, err := b.Keys()
	if err != nil {
		return false, err
	}
	signature, err := base64.StdEncoding.DecodeString(b.Signature)
	if err != nil {
		return false, err
	}
	return k.Store.ImportBatch(ctx, wallet.Batch{
		Slot: wallet.Slot{Mode: Pooled.Mode, Family: b.Family}, From: int64(b.From), Addresses: b.Addresses, Keys: keys,
		PublicKey: k.Pinned, Signature: signature,
	})
}

// ProveStock checks the slot that has no key to derive from: the pinned key signed every batch, and a sample of the
// issued addresses is in the stock under its index. It returns the reason why not as wrong.
func (k Keeper) ProveStock(ctx context.Context) (wrong, err error) {
	signers, err := k.Store.BatchKeys(ctx, Pooled)
	if err != nil {
		return nil, err
	}
	for _, key := range signers {
		if !bytes.Equal(key, k.Pinned) {
			return fmt.Errorf("%s is not the key that signed a batch of issued addresses", Pooled.Setting()), nil
		}
	}
	issued, err := k.Store.Sample(ctx, sampled)
	if err != nil {
		return nil, fmt.Errorf("reading issued addresses: %w", err)
	}
	issued = slices.DeleteFunc(issued, func(i wallet.Issued) bool {
		return wallet.Slot{Mode: i.Mode, Family: i.Family} != Pooled
	})
	indices := make([]int64, len(issued))
	for n, i := range issued {
		indices[n] = i.Index
	}
	stock, err := k.Store.Imported(ctx, Pooled, indices)
	if err != nil {
		return nil, err
	}
	for _, i := range issued {
		if stock[i.Index] != i.Address {
			return fmt.Errorf("%s address %d was issued, but the stock has another at that index", Pooled, i.Index), nil
		}
	}
	return nil, nil
}

// Level measures the stock of imported addresses and logs when it falls below its mark.
type Level struct {
	store Store
	low   int64
	log   *slog.Logger
	left  prometheus.Gauge
	below bool
}

// NewLevel registers the measures. low is the mark.
func NewLevel(store Store, low int64, registry prometheus.Registerer, log *slog.Logger) *Level {
	labels := prometheus.Labels{"mode": string(Pooled.Mode), "family": string(Pooled.Family)}
	left := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "wallets_address_pool", Help: "Imported addresses that are left to hand out.", ConstLabels: labels,
	})
	mark := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "wallets_address_pool_low", Help: "Level of wallets_address_pool below which an operator has to import more.",
		ConstLabels: labels,
	})
	registry.MustRegister(left, mark)
	mark.Set(float64(low))
	return &Level{store: store, low: low, log: log, left: left}
}

// Measure reads the level.
func (l *Level) Measure(ctx context.Context) error {
	left, err := l.store.Left(ctx, Pooled)
	if err != nil {
		return err
	}
	l.left.Set(float64(left))
	was := l.below
	if l.below = left < l.low; l.below && !was {
		l.log.WarnContext(ctx, "imported addresses running out", "left", left, "mark", l.low)
	}
	return nil
}
