package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/address"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/wallet"
)

// openKeys takes the extended public keys out of the database, keeps those that the configuration brings, and proves that
// they are those of the issued addresses. No address is issued before it returns.
func (p *process) openKeys(ctx context.Context) error {
	ring, err := keyring.Parse(p.cfg.MasterKeys.Reveal())
	if err != nil {
		return fmt.Errorf("MASTER_KEYS: %w", err)
	}
	given, err := p.cfg.World.keys()
	if err != nil {
		return err
	}
	if err := p.keep(ctx, ring, given); err != nil {
		return err
	}
	if p.cfg.World.BatchKey == "" {
		return nil
	}
	if p.pinned, err = intent.ParseBatchKey(p.cfg.World.BatchKey); err != nil {
		return fmt.Errorf("ADDRESS_BATCH_KEY %w", err)
	}
	if err := p.cases().ProveStock(ctx, p.book, imported, p.pinned); err != nil {
		return fmt.Errorf("proving the imported addresses: %w", err)
	}
	return nil
}

// keep loads the kept keys and keeps the given ones. They are proved before they are kept: a key that is not that of the
// issued addresses must leave no trace.
func (p *process) keep(ctx context.Context, ring *keyring.Ring, given app.Keys) (err error) {
	prove := func(keys app.Keys) error {
		if p.sources, err = p.cfg.World.sources(keys, p.nets); err != nil {
			return err
		}
		if err := p.cases().ProveKeys(ctx); err != nil {
			return fmt.Errorf("proving the extended keys: %w", err)
		}
		return nil
	}
	if err := prove(given); err != nil {
		return err
	}
	keys, err := app.LoadKeys(ctx, p.book, ring, given)
	if err != nil {
		return err
	}
	return prove(keys)
}

// imported is where addresses come in batches.
var imported = wallet.Slot{Mode: wallet.Live, Family: money.Solana}

const poolEvery = 10 * time.Second

// watchStock measures the stock of imported addresses and warns when it falls below its mark.
func (p *process) watchStock() func(context.Context) error {
	labels := prometheus.Labels{"mode": string(imported.Mode), "family": string(imported.Family)}
	level := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "wallets_address_pool", Help: "Imported addresses that are left to hand out.", ConstLabels: labels,
	})
	mark := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "wallets_address_pool_low", Help: "Level of wallets_address_pool below which an operator has to import more.", ConstLabels: labels,
	})
	p.tel.Registry.MustRegister(level, mark)
	mark.Set(float64(p.cfg.World.PoolLow))
	low := false
	return func(ctx context.Context) error {
		left, err := p.book.Left(ctx, imported)
		if err != nil {
			return err
		}
		level.Set(float64(left))
		if was := low; left < p.cfg.World.PoolLow && !was {
			p.tel.Log.WarnContext(ctx, "imported addresses run out: make a batch with the signer and import it",
				"left", left, "mark", p.cfg.World.PoolLow)
		}
		low = left < p.cfg.World.PoolLow
		return nil
	}
}

const (
	keyMost   = 1 << 10
	batchMost = 64 << 20 // bytes of a batch of a hundred thousand addresses, with room
)

// importKey keeps the extended public key that is read from in.
func (p *process) importKey(ctx context.Context, slot wallet.Slot, in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(in, keyMost))
	if err != nil {
		return err
	}
	key, err := address.ParseExtended(string(bytes.TrimSpace(text)))
	if err != nil {
		return fmt.Errorf("the %s key %w", slot, err)
	}
	ring, err := keyring.Parse(p.cfg.MasterKeys.Reveal())
	if err != nil {
		return fmt.Errorf("MASTER_KEYS: %w", err)
	}
	if err := p.keep(ctx, ring, app.Keys{slot: key}); err != nil {
		return err
	}
	return writeJSON(out, map[string]any{
		"mode": slot.Mode, "family": slot.Family, "kept": true, "restart": "running processes read it at their next start",
	})
}

// importAddresses adds the signed batch that is read from in to the stock.
func (p *process) importAddresses(ctx context.Context, in io.Reader, out io.Writer) error {
	pinned, err := intent.ParseBatchKey(p.cfg.World.BatchKey)
	if err != nil {
		return fmt.Errorf("ADDRESS_BATCH_KEY %w", err)
	}
	var b intent.Batch
	d := json.NewDecoder(io.LimitReader(in, batchMost))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return fmt.Errorf("reading the batch: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("reading the batch: something follows it")
	}
	fresh, err := app.Import(ctx, p.book, pinned, b)
	if err != nil {
		return err
	}
	left, err := p.book.Left(ctx, imported)
	if err != nil {
		return err
	}
	return writeJSON(out, map[string]any{"from": b.From, "count": len(b.Addresses), "imported": fresh, "left": left})
}
