package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/command"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

// openKeys reads the extended public keys from the database, keeps those of the configuration, and proves that they are
// the keys of the issued addresses. No address is issued before it returns.
func (p *process) openKeys(ctx context.Context) error {
	ring, err := keyring.Parse(p.cfg.MasterKeys.Reveal())
	if err != nil {
		return fmt.Errorf("MASTER_KEYS: %w", err)
	}
	given, err := p.cfg.Chains.keys()
	if err != nil {
		return err
	}
	if p.wrong, err = p.keep(ctx, ring, given); err != nil {
		return err
	}
	if p.cfg.Chains.BatchKey != "" {
		if p.pinned, err = intent.ParseBatchKey(p.cfg.Chains.BatchKey); err != nil {
			return fmt.Errorf("ADDRESS_BATCH_KEY %w", err)
		}
		stock, err := p.cases().ProveStock(ctx, p.book, imported, p.pinned)
		if err != nil {
			return fmt.Errorf("proving the imported addresses: %w", err)
		}
		maps.Copy(p.wrong, stock)
	}
	return p.closeWrong(ctx)
}

// closeWrong closes the networks whose settings differ from those of the issued addresses, or whose decimals differ
// from those of the stored amounts. A closed network issues no address, scans and sweeps nothing, and is announced as
// closed to payments. After a restore this stops the start instead: an index that is not moved would be used twice, and
// a network that is not scanned would not get its second look.
func (p *process) closeWrong(ctx context.Context) error {
	for slot, why := range p.wrong {
		delete(p.sources[slot.Mode], slot.Family)
		for _, n := range money.Networks() {
			if n.Family == slot.Family {
				p.closed[scanner.Chain{Mode: slot.Mode, Network: n.Name}] = why
			}
		}
		p.tel.Log.ErrorContext(ctx, "networks closed: setting differs from issued addresses", "mode", slot.Mode, "family", slot.Family, "err", why)
	}
	if err := p.closed.ProveAssets(ctx, p.cfg.Chains.Live, p.book, p.tel.Log); err != nil {
		return err
	}
	if p.cfg.Recovery && len(p.closed) > 0 {
		return fmt.Errorf("RECOVERY is on: %w", errors.Join(slices.Collect(maps.Values(p.closed))...))
	}
	return nil
}

// keep loads the kept keys and keeps the given ones. It proves them before it keeps them: a key that is not the key of
// the issued addresses must leave no trace.
func (p *process) keep(ctx context.Context, ring *keyring.Ring, given app.Keys) (app.Mismatches, error) {
	prove := func(keys app.Keys) (wrong app.Mismatches, err error) {
		if p.sources, err = p.cfg.Chains.sources(keys, p.nets); err != nil {
			return nil, err
		}
		if wrong, err = p.cases().ProveKeys(ctx); err != nil {
			return nil, fmt.Errorf("proving the extended keys: %w", err)
		}
		return wrong, nil
	}
	wrong, err := prove(given)
	if err != nil {
		return nil, err
	}
	right := maps.Clone(given)
	maps.DeleteFunc(right, func(slot wallet.Slot, _ derivation.Extended) bool { return wrong[slot] != nil })
	keys, others, err := app.LoadKeys(ctx, p.book, ring, right)
	if err != nil {
		return nil, err
	}
	maps.Copy(wrong, others)
	if others, err = prove(keys); err != nil {
		return nil, err
	}
	for slot, why := range others {
		if wrong[slot] == nil {
			wrong[slot] = why
		}
	}
	return wrong, nil
}

// imported is the slot whose addresses come in batches.
var imported = wallet.Slot{Mode: tenant.Live, Family: money.Solana}

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
	mark.Set(float64(p.cfg.Chains.PoolLow))
	low := false
	return func(ctx context.Context) error {
		left, err := p.book.Left(ctx, imported)
		if err != nil {
			return err
		}
		level.Set(float64(left))
		if was := low; left < p.cfg.Chains.PoolLow && !was {
			p.tel.Log.WarnContext(ctx, "imported addresses running out",
				"left", left, "mark", p.cfg.Chains.PoolLow)
		}
		low = left < p.cfg.Chains.PoolLow
		return nil
	}
}

const (
	keyMost   = 1 << 10
	batchMost = 64 << 20 // bytes of a batch of a hundred thousand addresses, with a margin
)

// importKey keeps the extended public key from the input.
func (p *process) importKey(ctx context.Context, slot wallet.Slot, in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(in, keyMost))
	if err != nil {
		return err
	}
	key, err := derivation.ParseExtended(string(bytes.TrimSpace(text)))
	if err != nil {
		return fmt.Errorf("the %s key %w", slot, err)
	}
	ring, err := keyring.Parse(p.cfg.MasterKeys.Reveal())
	if err != nil {
		return fmt.Errorf("MASTER_KEYS: %w", err)
	}
	wrong, err := p.keep(ctx, ring, app.Keys{slot: key})
	if err := cmp.Or(err, wrong[slot]); err != nil {
		return err
	}
	return writeJSON(out, map[string]any{
		"mode": slot.Mode, "family": slot.Family, "kept": true, "restart": "running processes read it at their next start",
	})
}

// rotateMaster seals the extended public keys again under the first master key. Other processes may run meanwhile: they
// open keys with any of their master keys (docs/runbooks/keys.md).
func (p *process) rotateMaster(ctx context.Context, in command.Input) error {
	ring, err := keyring.Parse(p.cfg.MasterKeys.Reveal())
	if err != nil {
		return fmt.Errorf("MASTER_KEYS: %w", err)
	}
	p.tel.Log.InfoContext(ctx, "extended public keys sealed again by operator", "operator", in.Operator(), "master", ring.First())
	sealed, err := app.ResealKeys(ctx, p.book, ring)
	if err != nil {
		return err
	}
	return writeJSON(in.Out, map[string]any{"master": ring.First(), "sealed": sealed})
}

// importAddresses adds the signed batch from the input to the stock.
func (p *process) importAddresses(ctx context.Context, in io.Reader, out io.Writer) error {
	pinned, err := intent.ParseBatchKey(p.cfg.Chains.BatchKey)
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
		return errors.New("reading the batch: trailing data")
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
