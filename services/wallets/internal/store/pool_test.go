//go:build integration

package store_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

var liveSolana = wallet.Slot{Mode: tenant.Live, Family: money.Solana}

// signer is the key that signs batches in these tests.
var signer = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

func pinned() ed25519.PublicKey { return signer.Public().(ed25519.PublicKey) }

// batch signs addresses of the sandbox, which stand in for the signer's.
func batch(t testing.TB, from uint32, count int) intent.Batch {
	t.Helper()
	made, err := derivation.NewSandbox().Derive(from, count)
	if err != nil {
		t.Fatal(err)
	}
	b := intent.Batch{Version: 1, Mode: "live", Family: money.Solana, From: from, PublicKey: base64.StdEncoding.EncodeToString(pinned())}
	for _, d := range made {
		b.Addresses = append(b.Addresses, d.Address)
	}
	message, err := b.Message()
	if err != nil {
		t.Fatal(err)
	}
	b.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(signer, message))
	return b
}

// stock takes the batches of the pinned key.
func stock(s *store.Store) keys.Keeper { return keys.Keeper{Store: s, Pinned: pinned()} }

func importBatch(t testing.TB, s *store.Store, b intent.Batch) {
	t.Helper()
	if fresh, err := stock(s).Import(t.Context(), b); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	first := batch(t, 0, 50)
	importBatch(t, s, first)
	if fresh, err := stock(s).Import(t.Context(), first); err != nil || fresh {
		t.Errorf("the same batch again: %v, %v", fresh, err)
	}
	moved := batch(t, 60, 10)
	moved.Addresses[3] = first.Addresses[3]
	resigned := batch(t, 200, 5)
	resigned.From = 300
	other := batch(t, 100, 5)
	other.PublicKey = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 32))
	test := batch(t, 400, 5)
	test.Mode = "test"
	twice := batch(t, 500, 5)
	twice.Addresses[4] = twice.Addresses[0]
	for name, b := range map[string]intent.Batch{
		"overlapping":            batch(t, 40, 20),
		"another with its start": batch(t, 0, 51),
		"a changed address":      moved,
		"another range":          resigned,
		"another key":            other,
		"test mode":              test,
		"one address twice":      twice,
		"nothing":                {Version: 1, Mode: "live", Family: money.Solana},
	} {
		if fresh, err := stock(s).Import(t.Context(), b); err == nil || fresh {
			t.Errorf("%s: imported", name)
		}
	}
	if left, err := s.Left(t.Context(), liveSolana); err != nil || left != 50 {
		t.Errorf("%d left, %v", left, err)
	}
	var batches int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM address_batches`).Scan(&batches); err != nil || batches != 1 {
		t.Errorf("%d batches, %v", batches, err)
	}
}

// When the stock is used up a request for addresses waits for the next import, and a create says so.
func TestPool_empty(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	importBatch(t, s, batch(t, 0, 3))
	r := wallet.Request{ID: "r", Mode: tenant.Live, Family: money.Solana, Count: 4}
	if err := s.Allocate(t.Context(), "m", r, derivation.Pooled{}); err != nil {
		t.Fatal(err)
	}
	if waiting, err := s.Waiting(t.Context()); err != nil || len(waiting) != 1 {
		t.Fatal(waiting, err)
	}
	for i := range 4 {
		d := draft(fmt.Sprint("wal_", i), time.Now())
		d.Mode, d.Family, d.Network, d.Crypto = tenant.Live, money.Solana, "solana", "SOL"
		if _, err := s.CreateWallet(t.Context(), d, derivation.Pooled{}, idempotency.Key{}, text); (i < 3) != (err == nil) || (i == 3 && !fault.Is(err, "no_address")) {
			t.Errorf("wallet %d: %v", i, err)
		}
	}
	importBatch(t, s, batch(t, 10, 10)) // a gap in the numbers is allowed
	if err := s.Allocate(t.Context(), "", r, derivation.Pooled{}); err != nil {
		t.Fatal(err)
	}
	if waiting, err := s.Waiting(t.Context()); err != nil || len(waiting) != 0 {
		t.Error(waiting, err)
	}
	given := drain[wire.AddressesAllocated](t, pool, wire.AddressesAllocatedV1)
	if len(given) != 1 || len(given[0].Addresses) != 4 {
		t.Errorf("grant from the pool: got %+v, want one message of four addresses", given)
	}
}

// TestNeverTwice is the promise of every mode and family: 64 allocators at once, then the database loses the addresses
// that were issued since its backup and is restored, and 64 allocators again. No address is issued twice.
func TestNeverTwice(t *testing.T) {
	t.Parallel()
	for _, mode := range tenant.Modes() {
		for _, family := range crowded[mode] {
			t.Run(string(mode)+" "+string(family), func(t *testing.T) {
				t.Parallel()
				s, pool := open(t)
				src := source(t, family)
				if mode == tenant.Live && family == money.Solana {
					importBatch(t, s, batch(t, 0, 4_000))
					src = derivation.Pooled{}
				}
				slot := wallet.Slot{Mode: mode, Family: family}
				all := crowd{s, pool, slot, src, map[string]string{}}
				all.allocate(t, "before")
				database := pool.Config().ConnString()
				pg.Backup(t, database)
				all.allocate(t, "lost")
				pg.Restore(t, database)
				a := app.New(s, s, app.Settings{
					Sources: keys.Sources{mode: {family: src}}, Nets: nets, Most: 10, Margin: 1_000, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
				})
				if err := a.Recover(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				all.allocate(t, "after")
				for _, text := range []string{"before", "lost", "after"} {
					n := 0
					for _, when := range all.seen {
						if strings.HasPrefix(when, text) {
							n++
						}
					}
					if n != 64*5 {
						t.Errorf("%d addresses %s, want %d", n, text, 64*5)
					}
				}
			})
		}
	}
}

// crowd is 64 allocators and the receivers of their addresses.
type crowd struct {
	store *store.Store
	pool  *pgxpool.Pool
	slot  wallet.Slot
	src   derivation.Source
	seen  map[string]string
}

// allocate allocates from all sides at once and records each receiver.
func (c crowd) allocate(t *testing.T, name string) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			r := wallet.Request{ID: fmt.Sprint(name, i), Mode: c.slot.Mode, Family: c.slot.Family, Count: 5}
			if err := c.store.Allocate(t.Context(), r.ID, r, c.src); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, m := range drain[wire.AddressesAllocated](t, c.pool, wire.AddressesAllocatedV1) {
		for _, a := range m.Addresses {
			if before, twice := c.seen[a.Address]; twice {
				t.Fatalf("%s was given to %s and to %s", a.Address, before, m.RequestID)
			}
			c.seen[a.Address] = m.RequestID
		}
	}
}

// Every issued address must be in the stock, signed by the pinned key.
func TestProveStock(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	importBatch(t, s, batch(t, 0, 20))
	if err := s.Allocate(t.Context(), "", wallet.Request{ID: "r", Mode: tenant.Live, Family: money.Solana, Count: 5}, derivation.Pooled{}); err != nil {
		t.Fatal(err)
	}
	prove := func(key []byte) error {
		wrong, err := keys.Keeper{Store: s, Pinned: key}.ProveStock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return wrong
	}
	if err := prove(pinned()); err != nil {
		t.Error(err)
	}
	if err := prove(bytes.Repeat([]byte{3}, 32)); err == nil || !strings.Contains(err.Error(), "ADDRESS_BATCH_KEY") {
		t.Errorf("batches of another key: %v", err)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE address_pool SET address = 'x' WHERE idx = 0`); err != nil {
		t.Fatal(err)
	}
	if err := prove(pinned()); err == nil {
		t.Error("an address that is not in the stock passes")
	}
}
