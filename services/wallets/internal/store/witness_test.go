//go:build integration

package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// Old deposits that no host can answer for do not keep newer ones from being asked about, and pending ones go first.
func TestUnwitnessed_fair(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	key := fund(t, s, pool)
	at := begin(t, s)
	pay := func(tx string) chain.Transfer {
		return chain.Transfer{TxHash: tx, To: key, Asset: "ETH", Amount: big.NewInt(5)}
	}
	step := scanner.Step{Headers: []chain.Header{header(1, "h1", "h0")}, Transfers: []chain.Transfer{pay("0xold"), pay("0xnew"), pay("0xdenied")}}
	if err := s.Advance(t.Context(), lease, at, step); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE deposits SET state = 'confirmed', height = CASE tx_hash WHEN '0xnew' THEN 2 ELSE 1 END,
witness = CASE tx_hash WHEN '0xdenied' THEN 'contradicted' ELSE 'pending' END`); err != nil {
		t.Fatal(err)
	}
	answers := []wallet.Witness{wallet.WitnessPending, wallet.WitnessContradicted}
	asked := map[string]bool{}
	for range 64 {
		list, err := s.Unwitnessed(t.Context(), lease.Chain, answers, 1)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		asked[list[0].TxHash] = true
	}
	if !asked["0xold"] || !asked["0xnew"] || asked["0xdenied"] {
		t.Errorf("asked about %v", asked)
	}
}

// Where one host serves a network, its deposits stay alone for ever. A hearing, which looks each second, reads none of
// them.
func TestUnwitnessed_alone(t *testing.T) {
	t.Parallel()
	s, one, pages := counted(t, "deposits")
	ctx := t.Context()
	key, at := fund(t, s, one), begin(t, s)
	step := scanner.Step{Headers: []chain.Header{header(1, "h1", "h0")}}
	for n := range 2000 {
		step.Transfers = append(step.Transfers, chain.Transfer{TxHash: "0xaa", Ordinal: n, To: key, Asset: "ETH", Amount: big.NewInt(5)})
	}
	if err := s.Advance(ctx, lease, at, step); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`UPDATE deposits SET state = 'confirmed', witness = CASE ordinal WHEN 7 THEN 'pending' WHEN 8 THEN 'contradicted' ELSE 'alone' END`,
		`VACUUM ANALYZE deposits`,
	} {
		if _, err := one.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	const times = 8 // PostgreSQL plans a statement five times for its arguments before it considers any
	for n := range times {
		if read := pages(func() error {
			list, err := s.Unwitnessed(ctx, lease.Chain, []wallet.Witness{wallet.WitnessPending}, 100)
			if len(list) != 1 || list[0].Ordinal != 7 {
				t.Errorf("deposits that are pending: got %v, want the one with ordinal 7", list)
			}
			contradicted, pending, unsure := s.Unsure(ctx, lease.Chain)
			if contradicted != 1 || pending != 1 {
				t.Errorf("%d deposits are contradicted and %d pending, want one and one", contradicted, pending)
			}
			return errors.Join(err, unsure)
		}); read > 32 {
			t.Errorf("look %d at two deposits of 2 000, of which the others are alone, reads %d pages, want 32 at most", n, read)
		}
	}
}

// Money on a standalone wallet of live mode is withdrawable once two hosts have it. Before that it is pending, and it
// stays so when a host denies it.
func TestTestify_books(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	ctx := t.Context()
	live := scanner.Lease{Chain: scanner.Chain{Mode: tenant.Live, Network: "ethereum"}, Epoch: 1}
	w := draft("wal_live", time.Now())
	w.Mode = tenant.Live
	makeWallet(t, s, w, idempotency.Key{})
	var key []byte
	if err := s.AddressesAfter(ctx, tenant.Live, money.EVM, 0, func(_ int64, k []byte) { key = append([]byte(nil), k...) }); err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.Adopt(ctx, live); found || err != nil {
		t.Fatal(found, err)
	}
	at := scanner.Cursor{Header: header(0, "h0", "")}
	if err := s.Begin(ctx, live, at); err != nil {
		t.Fatal(err)
	}
	pay := func(tx string, units int64) chain.Transfer {
		return chain.Transfer{TxHash: tx, To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(units)}
	}
	for h := int64(1); h <= 40; h++ {
		step := scanner.Step{Headers: []chain.Header{header(h, fmt.Sprint("h", h), fmt.Sprint("h", h-1))}}
		if h == 1 {
			step.Transfers = []chain.Transfer{pay("0xinvented", 900), pay("0xpaid", 5)}
		}
		if err := s.Advance(ctx, live, at, step); err != nil {
			t.Fatal(err)
		}
		at = scanner.Cursor{Header: step.Last()}
	}
	balance := func(what, want string) {
		t.Helper()
		list, err := s.Balances(ctx, tenant.Owner{MerchantID: "acme", Mode: tenant.Live})
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: got the balances %+v, %v, want one", what, list, err)
		}
		same(t, what, fmt.Sprint(list[0].Available, "+", list[0].Pending), want)
	}
	balance("deep, and nobody has answered", "0+905")
	if take(t, s, withdrawal("wwd_early", tenant.Live)) {
		t.Error("withdraw what one host alone has shown: got it taken, want insufficient_balance")
	}
	answer := func(a wallet.Witness, tx string) {
		t.Helper()
		testify(ctx, t, s, live.Chain, tx, a)
	}
	answer(wallet.WitnessContradicted, "0xinvented")
	balance("a host denies a deposit", "0+905")
	answer(wallet.WitnessConfirmed, "0xpaid")
	balance("two hosts have the other", "5+900")
	answer(wallet.WitnessConfirmed, "0xinvented")
	balance("the honest hosts are left", "905+0")
	if !take(t, s, withdrawal("wwd_late", tenant.Live)) {
		t.Error("withdraw what two hosts have: got insufficient_balance, want it taken")
	}
}

// testify stores the answer of hosts about the deposit of a transaction.
func testify(ctx context.Context, t *testing.T, s *store.Store, c scanner.Chain, tx string, answer wallet.Witness) {
	t.Helper()
	list, err := s.Unwitnessed(ctx, c, []wallet.Witness{wallet.WitnessPending, wallet.WitnessContradicted}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if d.TxHash == tx {
			if err := s.Testify(ctx, c, d.Deposit, answer); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no host is to be asked about %s", tx)
}
