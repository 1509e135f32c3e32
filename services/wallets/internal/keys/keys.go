// Package keys holds the sources of addresses: the extended public keys of each mode and family, which the database
// keeps sealed, and the stock of addresses that the signer made in advance. At start it proves that both are those of
// the issued addresses. It holds no private key.
package keys

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"causeway.internal/libs/address"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/wallet"
)

// Store keeps the sealed keys, the stock and the issued addresses.
type Store interface {
	KeptKeys(ctx context.Context) ([]wallet.SealedKey, error)
	// KeepKey keeps a key unless one is kept already.
	KeepKey(ctx context.Context, k wallet.SealedKey) error
	// ResealKey replaces the sealed value unless it was replaced meanwhile.
	ResealKey(ctx context.Context, k wallet.SealedKey, sealed []byte) error
	// ImportBatch adds a verified batch whole, or reports that it was added before.
	ImportBatch(ctx context.Context, b wallet.Batch) (fresh bool, err error)
	Left(ctx context.Context, slot wallet.Slot) (int64, error)
	Imported(ctx context.Context, slot wallet.Slot, indices []int64) (map[int64]string, error)
	BatchKeys(ctx context.Context, slot wallet.Slot) ([][]byte, error)
	// Sample returns the first, the newest and up to n random issued addresses of every mode and family.
	Sample(ctx context.Context, n int) ([]wallet.Issued, error)
}

// Sources are the address sources by mode and family. Without one, requests wait.
type Sources map[tenant.Mode]map[money.Family]derivation.Source

// Keeper keeps the keys of one database.
type Keeper struct {
	Store  Store
	Ring   *keyring.Ring
	Nets   map[tenant.Mode]address.Net // how bitcoin addresses of each mode are written
	Pinned ed25519.PublicKey           // of address batches; nil: no address is imported
}

// Set is extended public keys by their slot.
type Set map[wallet.Slot]derivation.Extended

// Distinct refuses keys that would mix modes or families: every slot needs its own.
func (k Set) Distinct() error {
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

// Open keeps the given keys and returns the address sources of all kept keys. It returns no source for a slot whose
// settings differ from those of the issued addresses. No address may be issued before it returns.
func (k Keeper) Open(ctx context.Context, given Set) (Sources, Mismatches, error) {
	sources, wrong, err := k.keep(ctx, given)
	if err != nil {
		return nil, nil, err
	}
	if k.Pinned != nil {
		why, err := k.ProveStock(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("proving the imported addresses: %w", err)
		}
		if why != nil {
			wrong[Pooled] = why
		}
	}
	for slot := range wrong {
		delete(sources[slot.Mode], slot.Family)
	}
	return sources, wrong, nil
}

// Add keeps one more key.
func (k Keeper) Add(ctx context.Context, slot wallet.Slot, key derivation.Extended) error {
	_, wrong, err := k.keep(ctx, Set{slot: key})
	if err != nil {
		return err
	}
	return wrong[slot]
}

// keep keeps the given keys and loads all. It proves them before it keeps them: a key that is not the key of the issued
// addresses must leave no trace.
func (k Keeper) keep(ctx context.Context, given Set) (Sources, Mismatches, error) {
	_, wrong, err := k.prove(ctx, given)
	if err != nil {
		return nil, nil, err
	}
	right := maps.Clone(given)
	maps.DeleteFunc(right, func(slot wallet.Slot, _ derivation.Extended) bool { return wrong[slot] != nil })
	kept, others, err := k.Load(ctx, right)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(wrong, others)
	sources, others, err := k.prove(ctx, kept)
	if err != nil {
		return nil, nil, err
	}
	for slot, why := range others {
		if wrong[slot] == nil {
			wrong[slot] = why
		}
	}
	return sources, wrong, nil
}

// Sources opens the address sources of the keys, and the stock of imported addresses if a batch key is pinned.
func (k Keeper) Sources(of Set) (Sources, error) {
	out := Sources{tenant.Live: {}, tenant.Test: {money.Solana: derivation.NewSandbox()}}
	var problems []error
	for slot, key := range of {
		account, err := derivation.NewAccount(slot.Family, k.Nets[slot.Mode], key)
		if err != nil {
			problems = append(problems, fmt.Errorf("the %s key %w", slot, err))
			continue
		}
		out[slot.Mode][slot.Family] = account
	}
	if k.Pinned != nil {
		out[Pooled.Mode][Pooled.Family] = derivation.Pooled{}
	}
	return out, errors.Join(problems...)
}

// place binds a sealed key to its slot: it does not open in another row.
func place(s wallet.Slot) string { return "extended-key/" + string(s.Mode) + "/" + string(s.Family) }

// Load returns every key that the database keeps. It seals and keeps a given key when its slot has none. Where the
// slot has another key, addresses were made with that one, and the given key is a mismatch. It seals keys of an old
// master key again.
func (k Keeper) Load(ctx context.Context, given Set) (Set, Mismatches, error) {
	kept, err := k.open(ctx)
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
		sealed := k.Ring.Seal([]byte(key.String()), place(slot))
		if err := k.Store.KeepKey(ctx, wallet.SealedKey{Slot: slot, Sealed: sealed}); err != nil {
			return nil, nil, err
		}
	}
	// Another replica may have stored another key first: the stored key counts.
	if kept, err = k.open(ctx); err != nil {
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

func (k Keeper) open(ctx context.Context) (Set, error) {
	kept, _, err := k.reseal(ctx)
	return kept, err
}

// Reseal seals every kept key again that another master key than the first one has sealed, and returns their
// number. It may run beside the service and be repeated: it replaces a key only if nobody changed it since it was read,
// and there are only a few.
func (k Keeper) Reseal(ctx context.Context) (changed int, err error) {
	_, changed, err = k.reseal(ctx)
	return changed, err
}

func (k Keeper) reseal(ctx context.Context) (kept Set, changed int, err error) {
	list, err := k.Store.KeptKeys(ctx)
	if err != nil {
		return nil, 0, err
	}
	kept = Set{}
	for _, sealed := range list {
		text, err := k.Ring.Open(sealed.Sealed, place(sealed.Slot))
		if err != nil {
			return nil, changed, fmt.Errorf("opening the %s key: %w", sealed.Slot, err)
		}
		if kept[sealed.Slot], err = derivation.ParseExtended(string(text)); err != nil {
			return nil, changed, fmt.Errorf("the kept %s key %w", sealed.Slot, err)
		}
		if !k.Ring.Stale(sealed.Sealed) {
			continue
		}
		if err := k.Store.ResealKey(ctx, sealed, k.Ring.Seal(text, place(sealed.Slot))); err != nil {
			return nil, changed, err
		}
		changed++
	}
	return kept, changed, nil
}
