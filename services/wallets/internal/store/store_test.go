//go:build integration

package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"causeway.internal/libs/address"
	"causeway.internal/libs/discard"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/placed"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
	"causeway.internal/services/wallets/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var nets = map[tenant.Mode]address.Net{tenant.Test: address.Testnet, tenant.Live: address.Mainnet}

func settings() store.Settings {
	return store.Settings{Nets: nets, Depths: wallet.DefaultDepths(), Now: time.Now}
}

func open(t testing.TB) (*store.Store, *pgxpool.Pool) {
	t.Helper()
	pool := pg.New(t, migrations.FS)
	return store.New(pool, messaging.Out{Now: time.Now}, settings()), pool
}

// source opens the account of a published test key.
func source(t testing.TB, family money.Family) derivation.Source {
	t.Helper()
	if family == money.Solana {
		return derivation.NewSandbox()
	}
	key, err := derivation.ParseExtended("zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs")
	if err != nil {
		t.Fatal(err)
	}
	a, err := derivation.NewAccount(family, address.Testnet, key)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// drain takes every message of a kind from the outbox, oldest first.
func drain[T any](t testing.TB, pool *pgxpool.Pool, name wire.Name) []T {
	t.Helper()
	rows, err := pool.Query(t.Context(), `WITH gone AS (DELETE FROM outbox WHERE name = $1 RETURNING id, body) SELECT body FROM gone ORDER BY id`, string(name))
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	out := make([]T, len(bodies))
	for i, b := range bodies {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestMigrations_closeFunctions(t *testing.T) {
	t.Parallel()
	pg.Closed(t, pg.New(t, migrations.FS), migrations.FS)
}

func TestSchema(t *testing.T) {
	t.Parallel()
	pg.Holds(t, migrations.FS, outbox.Schema)
	pg.Holds(t, migrations.FS, outbox.WakeSchema)
	pg.Holds(t, migrations.FS, outbox.StoredSchema)
	pg.Holds(t, migrations.FS, "CREATE INDEX CONCURRENTLY "+outbox.NamesIndex)
	pg.Holds(t, migrations.FS, outbox.NewestSchema)
	pg.Holds(t, migrations.FS, outbox.InlineSchema)
	pg.Holds(t, migrations.FS, inbox.Schema)
	pg.Holds(t, migrations.FS, discard.Schema)
	pg.Holds(t, migrations.FS, idempotency.Schema)
	pg.Holds(t, migrations.FS, presence.Schema)
	pg.Holds(t, migrations.FS, placed.Schema)
	_, pool := open(t)
	pg.Listed(t, "Statements")
	pg.Prepare(t, pool, store.Statements())
}

func TestAllocate(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	r := wallet.Request{ID: "r1", Mode: tenant.Test, Family: money.EVM, Count: 1024}
	if err := s.Allocate(ctx, "m1", r, source(t, money.EVM)); err != nil {
		t.Fatal(err)
	}
	first := drain[wire.AddressesAllocated](t, pool, wire.AddressesAllocatedV1)
	if len(first) != 3 || len(first[0].Addresses) != 500 || len(first[2].Addresses) != 24 || first[2].Part != 3 || first[2].Parts != 3 {
		t.Fatalf("%d messages", len(first))
	}
	made, err := source(t, money.EVM).Derive(0, 1024)
	if err != nil {
		t.Fatal(err)
	}
	if first[0].Addresses[0].Address != made[0].Address || first[2].Addresses[23].Address != made[1023].Address || first[0].Addresses[0].WalletID == "" {
		t.Errorf("%+v is not what the key gives", first[0].Addresses[0])
	}
	t.Run("the same message again does nothing", func(t *testing.T) {
		if err := s.Allocate(ctx, "m1", r, source(t, money.EVM)); err != nil {
			t.Fatal(err)
		}
		if again := drain[wire.AddressesAllocated](t, pool, wire.AddressesAllocatedV1); len(again) != 0 {
			t.Errorf("%d messages", len(again))
		}
	})
	t.Run("the same request in another message is answered the same", func(t *testing.T) {
		if err := s.Allocate(ctx, "m2", r, source(t, money.EVM)); err != nil {
			t.Fatal(err)
		}
		again := drain[wire.AddressesAllocated](t, pool, wire.AddressesAllocatedV1)
		if fmt.Sprint(again) != fmt.Sprint(first) {
			t.Error("another answer")
		}
	})
	t.Run("the same id for something else is refused", func(t *testing.T) {
		other := r
		other.Count = 7
		if err := s.Allocate(ctx, "m3", other, source(t, money.EVM)); !errors.Is(err, wallet.ErrOtherRequest) {
			t.Errorf("allocate another stock under the same id: got %v, want ErrOtherRequest", err)
		}
	})
	t.Run("without a key the request waits", func(t *testing.T) {
		wait := wallet.Request{ID: "r2", Mode: tenant.Live, Family: money.Tron, Count: 3}
		if err := s.Allocate(ctx, "m4", wait, nil); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Waiting(ctx); err != nil || len(list) != 1 || list[0] != wait {
			t.Fatalf("list the requests that wait: got %v, %v, want one", list, err)
		}
		if err := s.Allocate(ctx, "", wait, source(t, money.Tron)); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Waiting(ctx); err != nil || len(list) != 0 {
			t.Errorf("list the requests after the grant: got %v, %v, want none", list, err)
		}
		if got := drain[wire.AddressesAllocated](t, pool, wire.AddressesAllocatedV1); len(got) != 1 || len(got[0].Addresses) != 3 {
			t.Errorf("read the grant: got %v, want three addresses", got)
		}
	})
	t.Run("the sample has first and newest", func(t *testing.T) {
		list, err := s.Sample(ctx, 5)
		if err != nil {
			t.Fatal(err)
		}
		found := map[int64]bool{}
		for _, i := range list {
			if i.Family == money.EVM {
				found[i.Index] = true
			}
		}
		if !found[0] || !found[1023] {
			t.Errorf("list the issued indices: got %v, want 0 to 1023", found)
		}
	})
}

// 64 allocators at once, and the same request by several of them: no address twice, no gap in what a reader sees.
func TestAllocate_parallel(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	src := source(t, money.EVM)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			r := wallet.Request{ID: fmt.Sprint("r", i/2), Mode: tenant.Test, Family: money.EVM, Count: 20}
			if err := s.Allocate(t.Context(), fmt.Sprint("m", i), r, src); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	// A reader that continues from the last seq it saw, during writes, misses nothing.
	last, seen := int64(0), map[string]bool{}
	read := func() {
		if err := s.AddressesAfter(t.Context(), tenant.Test, money.EVM, last, func(seq int64, key []byte) {
			if seq != last+1 {
				t.Errorf("seq %d after %d", seq, last)
			}
			last, seen[string(key)] = seq, true
		}); err != nil {
			t.Error(err)
		}
	}
	for busy := true; busy; {
		select {
		case <-done:
			busy = false
		default:
		}
		read()
	}
	if len(seen) != 32*20 {
		t.Errorf("%d addresses were seen, want %d", len(seen), 32*20)
	}
	byRequest, all := map[string]map[string]bool{}, map[string]bool{}
	for _, m := range drain[wire.AddressesAllocated](t, pool, wire.AddressesAllocatedV1) {
		if byRequest[m.RequestID] == nil {
			byRequest[m.RequestID] = map[string]bool{}
		}
		for _, a := range m.Addresses {
			byRequest[m.RequestID][a.Address], all[a.Address] = true, true
		}
	}
	if len(byRequest) != 32 || len(all) != 32*20 {
		t.Errorf("%d requests, %d addresses", len(byRequest), len(all))
	}
	for id, list := range byRequest {
		if len(list) != 20 {
			t.Errorf("%s was given %d addresses", id, len(list))
		}
	}
}

var lease = scanner.Lease{Chain: scanner.Chain{Mode: tenant.Test, Network: "ethereum"}, Epoch: 1}

func header(height int64, hash, parent string) chain.Header {
	return chain.Header{Height: height, Hash: hash, Parent: parent, Time: time.Date(2026, 4, 1, 12, 0, int(height), 0, time.UTC)}
}

// fund allocates one address and returns its key.
func fund(t testing.TB, s *store.Store, pool *pgxpool.Pool) []byte {
	t.Helper()
	if err := s.Allocate(t.Context(), "", wallet.Request{ID: "fund", Mode: tenant.Test, Family: money.EVM, Count: 1}, source(t, money.EVM)); err != nil {
		t.Fatal(err)
	}
	var key []byte
	if err := pool.QueryRow(t.Context(), `SELECT key FROM addresses WHERE mode = 'test' AND family = 'evm'`).Scan(&key); err != nil {
		t.Fatal(err)
	}
	drain[wire.AddressesAllocated](t, pool, wire.AddressesAllocatedV1)
	return key
}

func begin(t testing.TB, s *store.Store) scanner.Cursor {
	t.Helper()
	if _, found, err := s.Adopt(t.Context(), lease); found || err != nil {
		t.Fatal(found, err)
	}
	at := scanner.Cursor{Header: header(0, "h0", "")}
	if err := s.Begin(t.Context(), lease, at); err != nil {
		t.Fatal(err)
	}
	return at
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	key := fund(t, s, pool)
	at := begin(t, s)
	huge, _ := new(big.Int).SetString(strings.Repeat("9", 77), 10)
	pay := []chain.Transfer{
		{TxHash: "0xaa", Ordinal: 1, To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(5), Senders: []string{"0xpayer"}},
		{TxHash: "0xaa", Ordinal: 2, To: key, Asset: "USDT", Contract: "0xusdt", Amount: huge},
		{TxHash: "0xbb", To: make([]byte, 20), Asset: "ETH", Amount: big.NewInt(5)}, // not an issued address
	}
	one := header(1, "h1", "h0")
	health := scanner.Health{State: wallet.ScanBehind, Head: header(7, "h7", "h6")}
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{one}, Transfers: pay, Announce: true, Health: health}); err != nil {
		t.Fatal(err)
	}
	at = scanner.Cursor{Header: one}
	got := drain[wire.DepositChanged](t, pool, wire.DepositChangedV1)
	if len(got) != 2 || got[0].State != wire.Seen || got[0].Key != "ethereum:0xaa:1" || got[0].Amount != "5" || got[0].Version != 1 || got[0].Depth != 1 ||
		got[0].Senders[0] != "0xpayer" || got[1].Amount != huge.String() || !got[0].BlockTime.Equal(one.Time) || got[0].Mode != tenant.Test {
		t.Fatalf("scan the first block: got %+v, want two deposits as seen", got)
	}
	if through := drain[wire.ScannedThrough](t, pool, wire.ScannedThroughV1); len(through) != 1 || through[0].Height != 1 || !through[0].BlockTime.Equal(one.Time) ||
		through[0].State != wire.ScanBehind || through[0].Head != 7 || time.Since(through[0].ToldAt).Abs() > time.Minute {
		t.Errorf("report the first block: got %+v, want height 1 of 7", through)
	}
	// The depth of the table, reached inside one step of empty blocks.
	var run []chain.Header
	for h := int64(2); h <= 13; h++ {
		run = append(run, header(h, fmt.Sprint("h", h), fmt.Sprint("h", h-1)))
	}
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: run, Finalized: 0}); err != nil {
		t.Fatal(err)
	}
	at = scanner.Cursor{Header: run[len(run)-1]}
	if got = drain[wire.DepositChanged](t, pool, wire.DepositChangedV1); len(got) != 2 || got[0].State != wire.Confirmed || got[0].Version != 2 || got[0].Depth != 13 {
		t.Fatalf("scan twelve blocks more: got %+v, want both confirmed", got)
	}
	// Rewound, and in another block at another position.
	if err := s.Rewind(ctx, lease, at, header(0, "h0", "")); err != nil {
		t.Fatal(err)
	}
	if got = drain[wire.DepositChanged](t, pool, wire.DepositChangedV1); len(got) != 2 || got[0].State != wire.Reverted || got[0].Version != 3 {
		t.Fatalf("rewind below the deposits: got %+v, want both reverted", got)
	}
	at = scanner.Cursor{Header: header(0, "h0", "")}
	branch := []chain.Header{header(1, "g1", "h0"), header(2, "g2", "g1")}
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: branch, Transfers: pay[:1], Finalized: 2}); err != nil {
		t.Fatal(err)
	}
	if got = drain[wire.DepositChanged](t, pool, wire.DepositChangedV1); len(got) != 1 || got[0].Version != 4 || got[0].BlockHash != "g2" || !got[0].Finalized ||
		got[0].State != wire.Confirmed {
		t.Fatalf("scan the other branch: got %+v, want one deposit, confirmed and final", got)
	}
	var live, orphaned int
	if err := pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE orphaned_at IS NULL), count(*) FILTER (WHERE orphaned_at IS NOT NULL) FROM transfers`).Scan(&live, &orphaned); err != nil || live != 1 || orphaned != 2 {
		t.Errorf("%d transfers stand, %d are orphaned, %v", live, orphaned, err)
	}
}

// counted is a store over one session, and pages says how many pages of a table and its indexes that session looks at
// in f. No vacuum comes to the table.
func counted(t *testing.T, table string) (s *store.Store, one *pgxpool.Pool, pages func(f func() error) int) {
	t.Helper()
	_, pool := open(t)
	ctx := t.Context()
	cfg := pool.Config()
	cfg.MaxConns, cfg.MinConns = 1, 0
	one, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(one.Close)
	if _, err := one.Exec(ctx, `ALTER TABLE `+table+` SET (autovacuum_enabled = false)`); err != nil {
		t.Fatal(err)
	}
	read := func() (n int) {
		t.Helper()
		if _, err := one.Exec(ctx, `SELECT pg_stat_force_next_flush()`); err != nil {
			t.Fatal(err)
		}
		if err := one.QueryRow(ctx, `SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit FROM pg_statio_user_tables WHERE relname = $1`, table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	return store.New(one, messaging.Out{Now: time.Now}, settings()), one, func(f func() error) int {
		t.Helper()
		before := read()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		return read() - before
	}
}

// A block costs what is due in it. Each change of a deposit leaves its old version in the indexes of what is due until
// a vacuum, which comes after a part of the table has changed: far too late for a look at each block.
func TestAdvance_pastVersions(t *testing.T) {
	t.Parallel()
	s, one, pages := counted(t, "deposits")
	ctx := t.Context()
	key, at := fund(t, s, one), begin(t, s)
	// advance scans a block and returns how many pages it looked at.
	advance := func(transfers int, finalized int64) int {
		t.Helper()
		next := header(at.Height+1, fmt.Sprint("h", at.Height+1), at.Hash)
		step := scanner.Step{Headers: []chain.Header{next}, Finalized: finalized}
		for n := range transfers {
			step.Transfers = append(step.Transfers, chain.Transfer{
				TxHash: fmt.Sprintf("0x%x", next.Height), Ordinal: n, To: key, Asset: "ETH", Amount: big.NewInt(5), Senders: []string{"0xpayer"},
			})
		}
		n := pages(func() error { return s.Advance(ctx, lease, at, step) })
		at = scanner.Cursor{Header: next, Finalized: finalized}
		return n
	}
	const blocks, deposits = 20, 100
	for range blocks {
		advance(deposits, 0)
	}
	if _, err := one.Exec(ctx, `ANALYZE deposits`); err != nil { // while many are due soon, so that a bitmap looks cheap
		t.Fatal(err)
	}
	for range blocks {
		advance(0, 0) // all are deep enough now
	}
	advance(0, blocks)
	var open int
	if err := one.QueryRow(ctx, `SELECT count(*) FROM deposits WHERE NOT finalized OR due_height > 0`).Scan(&open); err != nil || open > 0 {
		t.Fatalf("%d deposits are not final, %v", open, err)
	}
	// A look that sees that an old version is dead says so in the index, whose pages stay. It may not see it while other
	// sessions of the server are in transactions that began before.
	fixture.Await(t, "a block without anything due that looks at 64 pages at most", func() bool { return advance(0, blocks) <= 64 })
}

// A deposit that another session changes in the moment of a block, as a sweep that gives it back does, is changed by
// that block, and not by the next one: a block of bitcoin is ten minutes away.
func TestAdvance_besideAChange(t *testing.T) {
	t.Parallel()
	for name, final := range map[string]bool{"deep enough": false, "final": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, pool := open(t)
			ctx := t.Context()
			s := store.New(pg.LockTimeout(t, pool, "4min"), // the machine may be busy
				messaging.Out{Now: time.Now}, settings())
			key, at := fund(t, s, pool), begin(t, s)
			next := header(1, "h1", "h0")
			pay := []chain.Transfer{{TxHash: "0xaa", To: key, Asset: "ETH", Amount: big.NewInt(5), Senders: []string{"0xpayer"}}}
			if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{next}, Transfers: pay}); err != nil {
				t.Fatal(err)
			}
			at = scanner.Cursor{Header: next}
			var until, finalized int64
			if err := pool.QueryRow(ctx, `SELECT due_height FROM deposits`).Scan(&until); err != nil {
				t.Fatal(err)
			}
			if final {
				until, finalized = 2, 1
			}
			var run []chain.Header
			for h := at.Height + 1; h <= until; h++ {
				run = append(run, header(h, fmt.Sprint("h", h), fmt.Sprint("h", h-1)))
			}
			other, err := pool.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Rollback(context.WithoutCancel(ctx)) }()
			if _, err := other.Exec(ctx, `UPDATE deposits SET witness = 'contradicted'`); err != nil {
				t.Fatal(err)
			}
			advanced := make(chan error, 1)
			go func() { advanced <- s.Advance(ctx, lease, at, scanner.Step{Headers: run, Finalized: finalized}) }()
			fixture.Await(t, "the block to wait for the change", func() (waits bool) {
				return pool.QueryRow(ctx, lockWaitedFor).Scan(&waits) == nil && waits
			})
			if err := errors.Join(other.Commit(ctx), <-advanced); err != nil {
				t.Fatal(err)
			}
			got := drain[wire.DepositChanged](t, pool, wire.DepositChangedV1)
			if len(got) != 2 || got[1].State != wire.Confirmed || got[1].Finalized != final {
				t.Errorf("scan the block in which the deposit is %s: got %+v, want it seen and confirmed", name, got)
			}
			var witness string
			if err := pool.QueryRow(ctx, `SELECT witness FROM deposits`).Scan(&witness); err != nil || witness != "contradicted" {
				t.Errorf("the change has set the witness to %q (%v), want contradicted as before the block", witness, err)
			}
		})
	}
}

// broken fails at the last moment of a transaction.
type broken struct {
	messaging.Out
	err error
}

func (b broken) ScannedThrough(context.Context, wallet.Progress) (outbox.Message, error) {
	return outbox.Message{}, b.err
}

// A process that dies inside a step leaves no part of it behind, and the step can be repeated.
func TestAdvance_wholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	key := fund(t, s, pool)
	at := begin(t, s)
	step := scanner.Step{
		Headers: []chain.Header{header(1, "h1", "h0")}, Announce: true,
		Transfers: []chain.Transfer{{TxHash: "0xaa", To: key, Asset: "ETH", Amount: big.NewInt(5)}},
	}
	dying := errors.New("killed")
	if err := store.New(pool, broken{err: dying}, settings()).Advance(t.Context(), lease, at, step); !errors.Is(err, dying) {
		t.Fatal(err)
	}
	var rows int
	if err := pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM headers) + (SELECT count(*) FROM deposits) + (SELECT count(*) FROM transfers)
		+ (SELECT count(*) FROM outbox) + (SELECT height FROM cursors)`).Scan(&rows); err != nil || rows != 1 { // the first header
		t.Errorf("%d rows are left behind, %v", rows, err)
	}
	if err := s.Advance(t.Context(), lease, at, step); err != nil {
		t.Fatal(err)
	}
	if got := drain[wire.DepositChanged](t, pool, wire.DepositChangedV1); len(got) != 1 || got[0].Version != 1 {
		t.Errorf("advance with one deposit: got %+v, want its version 1", got)
	}
	// The answer to the commit was lost: the same step again finds the cursor moved and writes nothing.
	if err := s.Advance(t.Context(), lease, at, step); !errors.Is(err, scanner.ErrFenced) {
		t.Errorf("advance again from the old cursor: got %v, want ErrFenced", err)
	}
}

// A paused former owner writes nothing once another has taken over.
func TestFencing(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	at := begin(t, s)
	young := lease
	young.Epoch = 2
	if got, found, err := s.Adopt(ctx, young); !found || err != nil || got.Hash != "h0" || got.Height != 0 {
		t.Fatal(got, found, err)
	}
	step := scanner.Step{Headers: []chain.Header{header(1, "h1", "h0")}}
	for name, err := range map[string]error{
		"advance":  s.Advance(ctx, lease, at, step),
		"rewind":   s.Rewind(ctx, lease, at, at.Header),
		"announce": s.Announce(ctx, lease, at, scanner.Health{}),
		"adopt":    func() error { _, _, err := s.Adopt(ctx, lease); return err }(),
	} {
		if !errors.Is(err, scanner.ErrFenced) {
			t.Errorf("%s by the former owner: %v", name, err)
		}
	}
	if err := s.Begin(ctx, lease, at); err == nil {
		t.Error("a second first cursor was made")
	}
	if err := s.Advance(ctx, young, at, step); err != nil {
		t.Error(err)
	}
	var waiting int
	if err := pool.QueryRow(ctx, `SELECT count(*) FROM outbox`).Scan(&waiting); err != nil || waiting != 0 {
		t.Errorf("%d messages, %v", waiting, err)
	}
}

func TestLeases(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations.FS)
	pool := pg.Open(t, cfg, migrations.FS)
	s := store.New(pool, messaging.Out{Now: time.Now}, settings())
	ctx := t.Context()
	alive := func(owner string) (kill func()) {
		ctx, cancel := context.WithCancel(ctx)
		up, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Alive(ctx, cfg, owner, slog.New(slog.NewTextHandler(t.Output(), nil)), func(ctx context.Context) error {
				close(up)
				<-ctx.Done()
				return nil
			})
		}()
		<-up
		return func() { cancel(); <-done }
	}
	killOne, killTwo := alive("one"), alive("two")
	names := []string{"scan test:a", "scan test:b"}
	take := func(owner string, want map[string]int64) {
		t.Helper()
		if got, err := s.Acquire(ctx, owner, names, time.Minute); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s holds %v, %v; want %v", owner, got, err, want)
		}
	}
	take("one", map[string]int64{names[0]: 1, names[1]: 1})
	take("two", map[string]int64{})
	take("one", map[string]int64{names[0]: 1, names[1]: 1})
	if _, err := pool.Exec(ctx, `UPDATE leases SET until = now() - interval '1 second' WHERE name = $1`, names[1]); err != nil {
		t.Fatal(err)
	}
	take("two", map[string]int64{names[1]: 2})
	take("one", map[string]int64{names[0]: 1})
	if err := s.Release(ctx, "one"); err != nil {
		t.Fatal(err)
	}
	take("two", map[string]int64{names[0]: 2, names[1]: 2})
	take("one", map[string]int64{})
	killTwo() // its leases have a minute left, but the server notices that the process is gone
	const soon = 45 * time.Second
	deadline := time.Now().Add(soon)
	for {
		got, err := s.Acquire(ctx, "one", names, time.Minute)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the leases of a dead process stand: %v, %v", got, err)
		}
		if len(got) == 2 {
			break
		}
	}
	take("one", map[string]int64{names[0]: 3, names[1]: 3})
	killOne()
}
