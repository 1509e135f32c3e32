//go:build integration

package keys_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
	"causeway.internal/services/wallets/migrations"
)

// keeper keeps keys under master keys.
func keeper(t *testing.T, s *store.Store, masters string) keys.Keeper {
	t.Helper()
	r, err := keyring.Parse(masters)
	if err != nil {
		t.Fatal(err)
	}
	return keys.Keeper{Store: s, Ring: r}
}

// The first start keeps the keys, sealed; later starts need no configuration, refuse another key, and seal again under
// a new master key.
func TestKeeper_Load(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations.FS)
	s := store.New(pool, messaging.Out{Now: time.Now}, store.Settings{Now: time.Now})
	ctx := t.Context()
	parse := func(text string) derivation.Extended {
		k, err := derivation.ParseExtended(text)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a := parse("zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs")
	b := parse("xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt")
	evm, test := wallet.Slot{Mode: tenant.Live, Family: money.EVM}, wallet.Slot{Mode: tenant.Test, Family: money.EVM}
	one := "k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32))
	two := "k2:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, 32))
	var wg sync.WaitGroup
	for range 8 { // replicas that start at once
		wg.Go(func() {
			if got, _, err := keeper(t, s, one).Load(ctx, keys.Set{evm: a}); err != nil || !got[evm].Same(a) {
				t.Errorf("load the keys at once: got %v", err)
			}
		})
	}
	wg.Wait()
	var sealed []byte
	if err := pool.QueryRow(ctx, `SELECT sealed FROM account_keys`).Scan(&sealed); err != nil || bytes.Contains(sealed, []byte("xpub")) {
		t.Fatalf("read the sealed key: got %q, %v, want no public key in the clear", sealed, err)
	}
	if got, _, err := keeper(t, s, two+","+one).Load(ctx, nil); err != nil || len(got) != 1 || !got[evm].Same(a) {
		t.Errorf("without configuration: %v, %v", got, err)
	}
	if got, _, err := keeper(t, s, two).Load(ctx, nil); err != nil || !got[evm].Same(a) {
		t.Errorf("not sealed again: %v", err)
	}
	if _, _, err := keeper(t, s, one).Load(ctx, nil); !errors.Is(err, keyring.ErrUnknownKey) {
		t.Errorf("load the keys under the old master key: got %v, want ErrUnknownKey", err)
	}
	if got, wrong, err := keeper(t, s, two).Load(ctx, keys.Set{evm: b}); err != nil || wrong[evm] == nil || !strings.Contains(wrong[evm].Error(), "XPUB_LIVE_EVM") || !got[evm].Same(a) {
		t.Errorf("another key: %v, %v, %v", got, wrong, err)
	}
	if _, _, err := keeper(t, s, two).Load(ctx, keys.Set{test: a}); err == nil {
		t.Error("test mode was given the key of live mode")
	}
	if _, err := pool.Exec(ctx, `UPDATE account_keys SET mode = 'test'`); err != nil {
		t.Fatal(err)
	}
	if _, _, err := keeper(t, s, two).Load(ctx, nil); !errors.Is(err, keyring.ErrOpen) {
		t.Errorf("a key that was moved to another slot opens: %v", err)
	}
}
