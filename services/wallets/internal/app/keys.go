package app

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/wallet"
)

// KeyBook keeps the extended public keys, sealed.
type KeyBook interface {
	KeptKeys(ctx context.Context) ([]wallet.SealedKey, error)
	// KeepKey keeps a key unless one is kept already.
	KeepKey(ctx context.Context, k wallet.SealedKey) error
	// ResealKey replaces the sealed value unless it was replaced meanwhile.
	ResealKey(ctx context.Context, k wallet.SealedKey, sealed []byte) error
}

// Sealer seals values under a master key (libs/keyring).
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
	Stale(sealed []byte) bool
}

// Keys are extended public keys by their slot.
type Keys map[wallet.Slot]derivation.Extended

// Distinct refuses keys that would mix modes or families: every slot needs its own.
func (k Keys) Distinct() error {
	var problems []error
	slots := slices.SortedFunc(maps.Keys(k), func(a, b wallet.Slot) int { return strings.Compare(a.String(), b.String()) })
	for i, a := range slots {
		for _, b := range slots[:i] {
			if k[a].Same(k[b]) {
				problems = append(problems, fmt.Errorf("%s and %s have one key: every mode and family needs its own", b, a))
			}
		}
	}
	return errors.Join(problems...)
}

// place binds a sealed key to its slot: it does not open in another row.
func place(s wallet.Slot) string { return "extended-key/" + string(s.Mode) + "/" + string(s.Family) }

// LoadKeys returns every key that the database keeps. It seals and keeps a given key when its slot has none. Where the
// slot has another key, addresses were made with that one, and the given key is a mismatch. It seals keys of an old
// master key again.
func LoadKeys(ctx context.Context, book KeyBook, ring Sealer, given Keys) (Keys, Mismatches, error) {
	kept, err := openKeys(ctx, book, ring)
	if err != nil {
		return nil, nil, err
	}
	all := maps.Clone(kept)
	for slot, key := range given {
		if _, ok := kept[slot]; !ok {
			all[slot] = key
		}
	}
	if err := all.Distinct(); err != nil {
		return nil, nil, err
	}
	for slot, key := range given {
		if _, ok := kept[slot]; ok {
			continue
		}
		if err := book.KeepKey(ctx, wallet.SealedKey{Slot: slot, Sealed: ring.Seal([]byte(key.String()), place(slot))}); err != nil {
			return nil, nil, err
		}
	}
	// Another replica may have stored another key first: the stored key counts.
	if kept, err = openKeys(ctx, book, ring); err != nil {
		return nil, nil, err
	}
	wrong := Mismatches{}
	for slot, key := range given {
		if !kept[slot].Same(key) {
			wrong[slot] = fmt.Errorf("%s is not the key that this database keeps", slot.Setting())
		}
	}
	return kept, wrong, kept.Distinct()
}

func openKeys(ctx context.Context, book KeyBook, ring Sealer) (Keys, error) {
	kept, _, err := resealKeys(ctx, book, ring)
	return kept, err
}

// ResealKeys seals every kept key again that another master key than the first one has sealed, and returns their
// number. It may run beside the service and be repeated: it replaces a key only if nobody changed it since it was read,
// and there are only a few.
func ResealKeys(ctx context.Context, book KeyBook, ring Sealer) (changed int, err error) {
	_, changed, err = resealKeys(ctx, book, ring)
	return changed, err
}

func resealKeys(ctx context.Context, book KeyBook, ring Sealer) (kept Keys, changed int, err error) {
	list, err := book.KeptKeys(ctx)
	if err != nil {
		return nil, 0, err
	}
	kept = Keys{}
	for _, k := range list {
		text, err := ring.Open(k.Sealed, place(k.Slot))
		if err != nil {
			return nil, changed, fmt.Errorf("opening the %s key: %w", k.Slot, err)
		}
		if kept[k.Slot], err = derivation.ParseExtended(string(text)); err != nil {
			return nil, changed, fmt.Errorf("the kept %s key %w", k.Slot, err)
		}
		if !ring.Stale(k.Sealed) {
			continue
		}
		if err := book.ResealKey(ctx, k, ring.Seal(text, place(k.Slot))); err != nil {
			return nil, changed, err
		}
		changed++
	}
	return kept, changed, nil
}

// Pool keeps addresses that the signer made in advance.
type Pool interface {
	// ImportBatch adds a verified batch whole, or reports that it was added before.
	ImportBatch(ctx context.Context, b wallet.Batch) (fresh bool, err error)
	Left(ctx context.Context, slot wallet.Slot) (int64, error)
	Imported(ctx context.Context, slot wallet.Slot, indices []int64) (map[int64]string, error)
	BatchKeys(ctx context.Context, slot wallet.Slot) ([][]byte, error)
}

// Import verifies a batch of the signer and adds it to the stock. Only live mode takes batches: test mode makes its own
// addresses.
func Import(ctx context.Context, pool Pool, pinned ed25519.PublicKey, b intent.Batch) (fresh bool, err error) {
	if b.Mode != string(tenant.Live) {
		return false, errors.New("only live mode takes address batches")
	}
	if err := b.Verify(pinned); err != nil {
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
	return pool.ImportBatch(ctx, wallet.Batch{
		Slot: wallet.Slot{Mode: tenant.Live, Family: b.Family}, From: int64(b.From), Addresses: b.Addresses, Keys: keys,
		PublicKey: pinned, Signature: signature,
	})
}

// ProveStock checks at start what ProveKeys cannot derive: that the pinned key signed every batch, and that a sample of
// the issued addresses is in the stock under its index.
func (a *App) ProveStock(ctx context.Context, pool Pool, slot wallet.Slot, pinned ed25519.PublicKey) (Mismatches, error) {
	signers, err := pool.BatchKeys(ctx, slot)
	if err != nil {
		return nil, err
	}
	for _, key := range signers {
		if !bytes.Equal(key, pinned) {
			return Mismatches{slot: fmt.Errorf("%s is not the key that signed a batch of issued addresses", slot.Setting())}, nil
		}
	}
	issued, err := a.book.Sample(ctx, sampled)
	if err != nil {
		return nil, fmt.Errorf("reading issued addresses: %w", err)
	}
	var indices []int64
	for _, i := range issued {
		if i.Mode == slot.Mode && i.Family == slot.Family {
			indices = append(indices, i.Index)
		}
	}
	stock, err := pool.Imported(ctx, slot, indices)
	if err != nil {
		return nil, err
	}
	for _, i := range issued {
		if i.Mode == slot.Mode && i.Family == slot.Family && stock[i.Index] != i.Address {
			return Mismatches{slot: fmt.Errorf("%s address %d was issued, but the stock has another at that index", slot, i.Index)}, nil
		}
	}
	return nil, nil
}
