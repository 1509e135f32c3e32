package keys

import (
	"context"
	"fmt"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/wallet"
)

// sampled is how many random addresses of each mode and family are proved at start, in addition to the first and the
// newest.
const sampled = 32

// Mismatches are the slots whose settings differ from those of the issued addresses, each with the reason.
type Mismatches map[wallet.Slot]error

// prove derives a sample of the issued addresses again and compares. A mismatch means that a key was exchanged or
// belongs to another database: the signer would not find the money of addresses made with it.
func (k Keeper) prove(ctx context.Context, of Set) (Sources, Mismatches, error) {
	sources, err := k.Sources(of)
	if err != nil {
		return nil, nil, err
	}
	issued, err := k.Store.Sample(ctx, sampled)
	if err != nil {
		return nil, nil, fmt.Errorf("proving the extended keys: reading issued addresses: %w", err)
	}
	wrong := Mismatches{}
	for _, i := range issued {
		slot := wallet.Slot{Mode: i.Mode, Family: i.Family}
		source := sources[i.Mode][i.Family]
		if source == nil || wrong[slot] != nil {
			continue // without a source nothing is issued either
		}
		if err := k.made(source, slot, i); err != nil {
			wrong[slot] = err
		}
	}
	return sources, wrong, nil
}

// made returns an error if a source did not make an issued address.
func (k Keeper) made(source derivation.Source, slot wallet.Slot, i wallet.Issued) error {
	if _, err := address.Parse(i.Family, k.Nets[i.Mode], i.Address); err != nil && i.Family == money.Bitcoin {
		return fmt.Errorf("%s is %s, but issued address %d belongs to another network", netSetting, k.Nets[i.Mode], i.Index)
	}
	if int64(source.Account()) != i.Account {
		return fmt.Errorf("%s is of account %d, but issued addresses are of account %d", slot.Setting(), source.Account(), i.Account)
	}
	if _, imported := source.(derivation.Pooled); imported {
		return nil // ProveStock proves imported addresses
	}
	made, err := source.Derive(uint32(i.Index), 1) //nolint:gosec // an index has 31 bits
	if err != nil {
		return fmt.Errorf("%s: deriving address %d: %w", slot.Setting(), i.Index, err)
	}
	if made[0].Address != i.Address {
		return fmt.Errorf("%s derives another address %d than the issued one: it is not the key of this database", slot.Setting(), i.Index)
	}
	return nil
}

// netSetting names the setting of how live bitcoin addresses are written. Those of test mode always use testnet's form.
const netSetting = "BITCOIN_NETWORK_LIVE"
