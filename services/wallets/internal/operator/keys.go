package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/wallet"
)

const (
	keyMost   = 1 << 10
	batchMost = 64 << 20 // bytes of a batch of a hundred thousand addresses, with a margin
)

// ImportKey keeps the extended public key from the input.
func ImportKey(in command.Input) (Operation, error) {
	var mode, family string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&mode, "mode", string(tenant.Live), "live or test")
		f.StringVar(&family, "family", "", "bitcoin, evm or tron")
	})
	if err != nil {
		return nil, err
	}
	slot := wallet.Slot{Mode: tenant.Mode(mode), Family: money.Family(family)}
	if !slot.Mode.Valid() {
		return nil, in.Usage()
	}
	return func(ctx context.Context, p Parts) error {
		text, err := io.ReadAll(io.LimitReader(in.In, keyMost))
		if err != nil {
			return err
		}
		key, err := derivation.ParseExtended(string(bytes.TrimSpace(text)))
		if err != nil {
			return fmt.Errorf("the %s key %w", slot, err)
		}
		if err := p.Keys.Add(ctx, slot, key); err != nil {
			return err
		}
		return show(in.Out, map[string]any{
			"mode": slot.Mode, "family": slot.Family, "kept": true, "restart": "running processes read it at their next start",
		})
	}, nil
}

// RotateMaster seals the extended public keys again under the first master key. Other processes may run meanwhile: they
// open keys with any of their master keys (docs/runbooks/rotation.md#master-keys).
func RotateMaster(in command.Input) (Operation, error) {
	return func(ctx context.Context, p Parts) error {
		master := p.Keys.Ring.First()
		p.Log.InfoContext(ctx, "extended public keys sealed again by operator", "operator", in.Operator(), "master", master)
		sealed, err := p.Keys.Reseal(ctx)
		if err != nil {
			return err
		}
		return show(in.Out, map[string]any{"master": master, "sealed": sealed})
	}, none(in)
}

// ImportAddresses adds the signed batch from the input to the stock.
func ImportAddresses(in command.Input) (Operation, error) {
	return func(ctx context.Context, p Parts) error {
		if p.Keys.Pinned == nil {
			return errors.New("ADDRESS_BATCH_KEY is empty")
		}
		b, err := readBatch(in.In)
		if err != nil {
			return fmt.Errorf("reading the batch: %w", err)
		}
		fresh, err := p.Keys.Import(ctx, b)
		if err != nil {
			return err
		}
		left, err := p.Store.Left(ctx, keys.Pooled)
		if err != nil {
			return err
		}
		return show(in.Out, map[string]any{"from": b.From, "count": len(b.Addresses), "imported": fresh, "left": left})
	}, none(in)
}

func readBatch(from io.Reader) (b intent.Batch, err error) {
	d := json.NewDecoder(io.LimitReader(from, batchMost))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return b, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return b, errors.New("trailing data")
	}
	return b, nil
}
