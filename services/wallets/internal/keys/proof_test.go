package keys

import (
	"context"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/wallet"
)

// issued is a Store without keys that has issued one address.
type issued struct {
	Store
	wallet.Issued
}

func (s issued) Sample(context.Context, int) ([]wallet.Issued, error) {
	return []wallet.Issued{s.Issued}, nil
}

func (issued) KeptKeys(context.Context) ([]wallet.SealedKey, error) { return nil, nil }

func TestKeeper_Open(t *testing.T) {
	made, err := derivation.NewSandbox().Derive(7, 1)
	if err != nil {
		t.Fatal(err)
	}
	good := wallet.Issued{Mode: tenant.Test, Family: money.Solana, Index: 7, Address: made[0].Address}
	nets := map[tenant.Mode]address.Net{tenant.Test: address.Testnet, tenant.Live: address.Mainnet}
	for name, c := range map[string]struct {
		issued wallet.Issued
		ok     bool
	}{
		"ours":            {good, true},
		"another address": {wallet.Issued{Mode: tenant.Test, Family: money.Solana, Index: 8, Address: good.Address}, false},
		"another account": {wallet.Issued{Mode: tenant.Test, Family: money.Solana, Account: 1, Index: 7, Address: good.Address}, false},
		"no key any more": {wallet.Issued{Mode: tenant.Live, Family: money.EVM, Index: 7, Address: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"}, true},
	} {
		_, wrong, err := Keeper{Store: issued{Issued: c.issued}, Nets: nets}.Open(t.Context(), nil)
		if why := wrong[wallet.Slot{Mode: c.issued.Mode, Family: c.issued.Family}]; err != nil || (why == nil) != c.ok {
			t.Errorf("%s: prove the keys: got %v, %v", name, why, err)
		}
	}
}
