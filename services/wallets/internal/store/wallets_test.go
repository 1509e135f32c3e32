//go:build integration

package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

var owner = tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Test}

// draft is a USDT wallet on ethereum in the API's form.
func draft(id string, now time.Time) wallet.Wallet {
	now = now.UTC().Truncate(time.Millisecond)
	return wallet.Wallet{
		ID: id, Mode: tenant.Test, MerchantID: owner.MerchantID, KeyID: owner.KeyID, Family: money.EVM, Network: "ethereum", NetworkName: "erc20",
		Crypto: "USDT", Metadata: []byte(`{"order":"A-17"}`), CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}.Born()
}

func text(w wallet.Wallet) (idempotency.Answer, error) {
	return idempotency.Answer{Status: 201, Body: []byte(w.ID + " " + w.Address)}, nil
}

func makeWallet(t testing.TB, s *store.Store, w wallet.Wallet, k idempotency.Key) idempotency.Answer {
	t.Helper()
	a, err := s.CreateWallet(t.Context(), w, source(t, money.EVM), k, text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

type event struct {
	Type string
	Data struct {
		Wallet struct {
			ID, Status, Amount string
			Sequence           int64
			Metadata           json.RawMessage
		}
	}
}

// events takes the webhooks of wallets out of the outbox.
func events(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	var out []string
	for _, m := range drain[wire.StatusChanged](t, pool, wire.WalletStatusChangedV1) {
		var e event
		if err := json.Unmarshal(m.Body, &e); err != nil {
			t.Fatal(err)
		}
		w := e.Data.Wallet
		if m.Sequence != w.Sequence || m.ObjectID != w.ID || m.Type != e.Type || e.Type != "wallet."+w.Status || m.MerchantID != "acme" ||
			string(w.Metadata) != `{"order":"A-17"}` {
			t.Errorf("write the event %s: got %s", m.Type, m.Body)
		}
		out = append(out, fmt.Sprintf("%d %s %s", w.Sequence, w.Status, w.Amount))
	}
	return out
}

func same(t testing.TB, what string, got any, want string) {
	t.Helper()
	if fmt.Sprint(got) != want {
		t.Errorf("%s: got %v, want %s", what, got, want)
	}
}

// The life of a wallet on a chain: its address is watched before the answer, its money is reported to the merchant and
// booked, and payments receives nothing about it.
func TestWallet_life(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	makeWallet(t, s, draft("wal_a", time.Now()), idempotency.Key{})
	same(t, "created", events(t, pool), "[1 watching 0]")
	var key []byte
	if err := s.AddressesAfter(ctx, tenant.Test, money.EVM, 0, func(_ int64, k []byte) { key = append([]byte(nil), k...) }); err != nil || len(key) != 20 {
		t.Fatal(key, err)
	}
	at := begin(t, s)
	usdt := func(tx string, units int64) chain.Transfer {
		return chain.Transfer{TxHash: tx, To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(units)}
	}
	stray := usdt("0xdd", 9)
	stray.Asset = "USDC"
	advance := func(from, to int64, branch string, transfers ...chain.Transfer) {
		t.Helper()
		var run []chain.Header
		before := at.Hash
		for h := from; h <= to; h++ {
			run = append(run, header(h, fmt.Sprint(branch, h), before))
			before = fmt.Sprint(branch, h)
		}
		if err := s.Advance(ctx, lease, at, scanner.Step{Headers: run, Transfers: transfers}); err != nil {
			t.Fatal(err)
		}
		at = scanner.Cursor{Header: run[len(run)-1]}
	}
	balances := func() string {
		list, err := s.Balances(ctx, owner)
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, b := range list {
			out += fmt.Sprintf("%s %s+%s ", b.Asset, b.Available, b.Pending)
		}
		return out
	}
	advance(1, 1, "h", usdt("0xaa", 1_500_000), stray)
	same(t, "seen", events(t, pool), "[2 deposit_detected 1.5]")
	same(t, "balances when seen", balances(), "USDC 0+9 USDT 0+1500000 ")
	advance(2, 12, "h")
	same(t, "deep", events(t, pool), "[3 confirmed 1.5]")
	same(t, "balances when deep", balances(), "USDC 9+0 USDT 1500000+0 ")
	advance(13, 13, "h", usdt("0xbb", 500_000), usdt("0xcc", 1))
	same(t, "more", events(t, pool), "[4 deposit_detected 2.000001]")
	w, err := s.FindWallet(ctx, owner, "wal_a")
	if err != nil || w.Confirmations() != 1 || w.Amount.String() != "2000001" || w.Deposits != 3 {
		t.Errorf("find the wallet: got %+v, %v, want 2000001 of three deposits with one confirmation", w, err)
	}
	if err := s.Rewind(ctx, lease, at, header(0, "h0", "")); err != nil {
		t.Fatal(err)
	}
	at = scanner.Cursor{Header: header(0, "h0", "")}
	same(t, "reorganised away", events(t, pool), "[5 watching 0]")
	same(t, "balances after", balances(), "USDC 0+0 USDT 0+0 ")
	advance(1, 2, "g", usdt("0xaa", 1_500_000))
	advance(3, 20, "g")
	same(t, "in the other branch", events(t, pool), "[6 deposit_detected 1.5 7 confirmed 1.5]")
	same(t, "balances at last", balances(), "USDC 0+0 USDT 1500000+0 ")
	lone := stray
	lone.TxHash = "0xee"
	advance(21, 21, "g", lone)
	same(t, "another crypto changes no status", events(t, pool), "[]")
	same(t, "and is pending all the same", balances(), "USDC 0+9 USDT 1500000+0 ")
	if told := drain[wire.DepositChanged](t, pool, wire.DepositChangedV1); len(told) != 0 {
		t.Errorf("message to payments about a standalone wallet's money: %+v", told)
	}
	list, heads, err := s.ListDeposits(ctx, w, app.DepositQuery{Limit: 2})
	if err != nil || len(list) != 3 || heads["ethereum"] != 21 {
		t.Fatalf("list the deposits: got %v, heads %v, %v, want three at head 21", list, heads, err)
	}
	var unbalanced, history int
	if err := pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM (SELECT FROM custody_entries GROUP BY journal HAVING sum(debit) <> sum(credit)) AS x),
(SELECT count(*) FROM wallet_history)`).Scan(&unbalanced, &history); err != nil || unbalanced != 0 || history != 7 {
		t.Errorf("%d journals do not balance, %d rows of history, %v", unbalanced, history, err)
	}
	if _, err := pool.Exec(ctx, `INSERT INTO custody_entries SELECT journal, 9, mode, merchant_id, account, network, asset, 1, 0 FROM custody_entries LIMIT 1`); err == nil {
		t.Error("an entry without its other half was accepted")
	}
}

// A window closes only once the network is scanned a minute past it, and late money is reported nevertheless.
func TestWallet_expiry(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	w := draft("wal_a", time.Date(2026, 4, 1, 11, 0, 0, 0, time.UTC)) // ends at 12:00, when block 0 is made
	makeWallet(t, s, w, idempotency.Key{})
	events(t, pool)
	at := begin(t, s)
	step := func(height int64, transfers ...chain.Transfer) {
		t.Helper()
		h := header(height, fmt.Sprint("h", height), at.Hash)
		if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{h}, Transfers: transfers}); err != nil {
			t.Fatal(err)
		}
		at = scanner.Cursor{Header: h}
	}
	closed := func(want int) {
		t.Helper()
		if n, err := s.CloseWindows(ctx, 10); err != nil || n != want {
			t.Errorf("closed %d, %v, want %d", n, err, want)
		}
	}
	closed(0)
	step(59)
	closed(0)
	step(60)
	closed(1)
	closed(0)
	same(t, "over", events(t, pool), "[2 expired 0]")
	var key []byte
	if err := pool.QueryRow(ctx, `SELECT key FROM addresses`).Scan(&key); err != nil {
		t.Fatal(err)
	}
	step(61, chain.Transfer{TxHash: "0xaa", To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(5)})
	step(75)
	same(t, "late", events(t, pool), "[3 deposit_detected 0.000005 4 confirmed 0.000005]")
}

// 64 creates at once, each key sent twice: one wallet for each key, every address once, the same answer to both
// callers.
func TestCreateWallet_parallel(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	src := source(t, money.EVM)
	answers, wg := make([]string, 64), sync.WaitGroup{}
	for i := range answers {
		wg.Go(func() {
			k := idempotency.Key{Scope: "s", Key: fmt.Sprint("k", i/2), Hash: [32]byte{byte(i / 2)}}
			a, err := s.CreateWallet(t.Context(), draft(fmt.Sprint("wal_", i), time.Now()), src, k, text)
			if errors.Is(err, idempotency.ErrTaken) {
				a, err = s.Settled(t.Context(), k)
			}
			if err != nil {
				t.Error(err)
			}
			answers[i] = string(a.Body)
		})
	}
	wg.Wait()
	distinct := map[string]bool{}
	for i, a := range answers {
		if distinct[a] = true; a != answers[i^1] {
			t.Errorf("one key had the answers %q and %q", a, answers[i^1])
		}
	}
	if got := events(t, pool); len(distinct) != 32 || len(got) != 32 {
		t.Errorf("%d answers, %d events", len(distinct), len(got))
	}
	_, err := s.CreateWallet(t.Context(), draft("wal_x", time.Now()), src, idempotency.Key{Scope: "s", Key: "k1", Hash: [32]byte{9}}, text)
	if errors.Is(err, idempotency.ErrTaken) {
		_, err = s.Settled(t.Context(), idempotency.Key{Scope: "s", Key: "k1", Hash: [32]byte{9}})
	}
	if !fault.Is(err, "idempotency_key_reused") {
		t.Errorf("create another wallet under the same key: got %v, want idempotency_key_reused", err)
	}
}

// Only its own key sees a wallet: another key of the merchant, another merchant and the other mode find nothing.
func TestWallet_otherOwners(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	ctx := t.Context()
	for i := range 5 {
		makeWallet(t, s, draft(fmt.Sprint("wal_", i), time.UnixMilli(int64(1_700_000_000_000+i/2))), idempotency.Key{})
	}
	for name, o := range map[string]tenant.Owner{
		"another key": {MerchantID: "acme", KeyID: 8, Mode: tenant.Test}, "another merchant": {MerchantID: "other", KeyID: 7, Mode: tenant.Test},
		"live": {MerchantID: "acme", KeyID: 7, Mode: tenant.Live},
	} {
		if _, err := s.FindWallet(ctx, o, "wal_1"); !errors.Is(err, app.ErrWalletNotFound) {
			t.Errorf("find the wallet as %s: got %v, want ErrWalletNotFound", name, err)
		}
		if list, err := s.ListWallets(ctx, o, app.ListQuery{Limit: 10}); err != nil || len(list) != 0 {
			t.Errorf("list the wallets as %s: got %v, %v, want none", name, list, err)
		}
	}
	owner := owner
	ids := func(q app.ListQuery) (out []string) {
		t.Helper()
		list, err := s.ListWallets(ctx, owner, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range list {
			out = append(out, w.ID)
		}
		return out
	}
	same(t, "all", ids(app.ListQuery{Limit: 10}), "[wal_4 wal_3 wal_2 wal_1 wal_0]")
	same(t, "a page", ids(app.ListQuery{Limit: 2, Offset: 1}), "[wal_3 wal_2]")
	same(t, "beyond", ids(app.ListQuery{Limit: 2, Offset: 1 << 60}), "[]")
	same(t, "by status", ids(app.ListQuery{Limit: 2, Status: wallet.StatusWatching}), "[wal_4 wal_3]")
	same(t, "by another status", ids(app.ListQuery{Limit: 2, Status: wallet.StatusExpired}), "[]")
	same(t, "after one", ids(app.ListQuery{Limit: 2, Cursor: true, After: app.Position{At: time.UnixMilli(1_700_000_000_001), Name: "wal_3"}}), "[wal_2 wal_1 wal_0]")

	// A person of the merchant sees the wallets of all its keys, and those alone.
	owner.Person, owner.KeyID = true, 9
	same(t, "all, to a person", ids(app.ListQuery{Limit: 10}), "[wal_4 wal_3 wal_2 wal_1 wal_0]")
	same(t, "a page, to a person", ids(app.ListQuery{Limit: 2, Offset: 1}), "[wal_3 wal_2]")
	same(t, "by status, to a person", ids(app.ListQuery{Limit: 2, Status: wallet.StatusWatching}), "[wal_4 wal_3]")
	same(t, "by another status, to a person", ids(app.ListQuery{Limit: 2, Status: wallet.StatusExpired}), "[]")
	if w, err := s.FindWallet(ctx, owner, "wal_1"); err != nil || w.KeyID != 7 {
		t.Errorf("find the wallet of a key as a person: got key %d, %v", w.KeyID, err)
	}
	for name, o := range map[string]tenant.Owner{
		"another merchant": {MerchantID: "other", KeyID: 9, Mode: tenant.Test, Person: true}, "live": {MerchantID: "acme", KeyID: 9, Mode: tenant.Live, Person: true},
	} {
		if list, err := s.ListWallets(ctx, o, app.ListQuery{Limit: 10}); err != nil || len(list) != 0 {
			t.Errorf("list the wallets as a person of %s: got %v, %v, want none", name, list, err)
		}
		if _, err := s.FindWallet(ctx, o, "wal_1"); !errors.Is(err, app.ErrWalletNotFound) {
			t.Errorf("find the wallet as a person of %s: got %v, want ErrWalletNotFound", name, err)
		}
	}
}

// A key that is still in use by a large allocation does not hold a request for ever.
func TestCreateWallet_busy(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT FROM counters FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateWallet(t.Context(), draft("wal_a", time.Now()), source(t, money.EVM), idempotency.Key{Key: "k"}, text); !fault.Is(err, "busy") {
		t.Errorf("create a wallet while the counter is locked: got %v, want busy", err)
	}
}
