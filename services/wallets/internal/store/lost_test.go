//go:build integration

package store_test

import (
	"errors"
	"fmt"
	"math/big"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

// A sweep is given up while the scan follows its chain and has the foreign block as final, and while nothing of the
// sweep may land. Deposits that are not spent are free again, and those that are spent stay until a rewind below the
// foreign block.
func TestEndLost(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Sweeps(), t.Context()
	w := opened(t, base, pool, 3)
	finalTwo(t, pool)
	o, found, err := s.Missed(ctx, w.ID)
	if err != nil || !found || len(o.Inputs) != 3 || o.Sender != w.Address || o.From != 0 || o.Sweep.Amount.Int64() != 15 {
		t.Fatalf("read a sweep that misses its money: got %+v, %t, %v, want its three deposits of block 1", o, found, err)
	}
	beside := foreignTx(2, "h2")
	beside.Spent = o.Inputs[:2]
	holds := func(what, state string, amount, free, lost int) {
		t.Helper()
		var gotState string
		var gotAmount, gotFree, gotLost int
		if err := pool.QueryRow(ctx, `SELECT state, amount::int, (SELECT count(*) FROM deposits WHERE sweep IS NULL AND finalized),
(SELECT count(*) FROM lost_sweeps) FROM sweeps WHERE id = $1`, w.ID).Scan(&gotState, &gotAmount, &gotFree, &gotLost); err != nil ||
			gotState != state || gotAmount != amount || gotFree != free || gotLost != lost {
			t.Errorf("%s: got %s of %d with %d free deposits and %d lost sweeps, %v, want %s of %d with %d and %d",
				what, gotState, gotAmount, gotFree, gotLost, err, state, amount, free, lost)
		}
	}
	refused := func(what string, by sweep.Rival, want error) {
		t.Helper()
		if err := s.EndLost(ctx, w, by, incident); !errors.Is(err, want) {
			t.Errorf("give up a sweep while %s: got %v, want %v", what, err, want)
		}
		holds("give it up while "+what, "open", 15, 0, 0)
	}
	refused("the block is not final", foreignTx(3, "h3"), store.ErrScanMoved)
	refused("the scan has another block", foreignTx(2, "h9"), store.ErrScanMoved)
	judge(t, pool, "halted")
	refused("the scan is halted", beside, store.ErrScanMoved)
	judge(t, pool, "following")
	if err := s.Plan(ctx, planned("out_one", w, true)); err != nil {
		t.Fatal(err)
	}
	refused("its transaction may land", beside, store.ErrSweepBusy)
	list, err := s.Underway(ctx, "ethereum", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("list what is under way: got %+v, %v, want one", list, err)
	}
	if err := s.Signed(ctx, list[0], []byte("raw"), "0xown"); err != nil {
		t.Fatal(err)
	}
	if list, err = s.Underway(ctx, "ethereum", 10); err != nil || len(list) != 1 {
		t.Fatalf("list what is under way: got %+v, %v, want one", list, err)
	}
	if err := s.Replaced(ctx, list[0]); err != nil {
		t.Fatal(err)
	}
	if o, _, err = s.Missed(ctx, w.ID); err != nil || fmt.Sprint(o.Signed()) != "[0xown]" {
		t.Errorf("read the forms of the address: got %v, %v, want 0xown", o.Signed(), err)
	}
	if err := s.EndLost(ctx, w, beside, incident); err != nil {
		t.Fatalf("give up a sweep whose money is gone: got %v, want no error", err)
	}
	holds("give it up", "released", 10, 1, 1)
	for hash, want := range map[string]bool{"0xF0": true, "0xf1": false} {
		if is, err := s.LostBy(ctx, w.ID, hash); err != nil || is != want {
			t.Errorf("ask whether %s has taken its money: got %t, %v, want %t", hash, is, err, want)
		}
	}
	if err := s.EndLost(ctx, w, beside, incident); err == nil {
		t.Errorf("give up a sweep again: got no error, want one")
	}
	var rows int
	if err := pool.QueryRow(ctx, `SELECT count(*) FROM audit WHERE operator = 'cli:ada.obi' AND action = 'give up sweep'`).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("count the rows of the audit: got %d, %v, want 1", rows, err)
	}
	rewound(t, base)
	holds("rewind below the foreign block", "released", 10, 3, 0)
}

// finalTwo makes block 2 of ethereum final.
func finalTwo(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), `UPDATE cursors SET finalized = 2, scan_state = 'following', judged_at = now()`); err != nil {
		t.Fatal(err)
	}
}

// A sweep that is lost as a whole keeps its deposits. The report of the treasury reads its address, since the books
// have its money, and its coins are no merchant's coins on that address any more.
func TestEndLost_whole(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Sweeps(), t.Context()
	w := opened(t, base, pool, 2)
	finalTwo(t, pool)
	if _, err := pool.Exec(ctx, `UPDATE deposits SET contract = '' WHERE sweep = $1`, w.ID); err != nil {
		t.Fatal(err)
	}
	holds := func(when string, want int64) {
		t.Helper()
		held, err := s.Held(ctx, "ethereum", w.Address)
		if err != nil || held.Int64() != want {
			t.Errorf("add up the merchant's coins %s: got %v, %v, want %d", when, held, err, want)
		}
		if list, err := base.Refunds().HeldAccounts(ctx, "ethereum", 1, 10); err != nil || len(list) != 1 || list[0].Address != w.Address {
			t.Errorf("list the accounts with money %s: got %+v, %v, want that of the sweep", when, list, err)
		}
	}
	holds("before the end", 10)
	if err := s.EndLost(ctx, w, foreignTx(2, "h2"), incident); err != nil {
		t.Fatalf("give up a sweep whose money is gone: got %v, want no error", err)
	}
	holds("after the end", 0)
	due, err := s.Due(ctx, "ethereum", sweeper.Least{Sum: map[string]*big.Int{"USDT": big.NewInt(1)}}, 10)
	if err != nil || len(due) != 0 {
		t.Errorf("list the due sums: got %+v, %v, want none", due, err)
	}
}

// A sweep gets a transaction, or it is given up, and never both, however the two meet.
func TestEndLost_whilePlanned(t *testing.T) {
	t.Parallel()
	for range 3 {
		base, pool := open(t)
		s, ctx := base.Sweeps(), t.Context()
		w := opened(t, base, pool, 1)
		finalTwo(t, pool)
		var wg sync.WaitGroup
		var plan, end error
		wg.Go(func() { plan = s.Plan(ctx, planned("out_one", w, false)) })
		wg.Go(func() { end = s.EndLost(ctx, w, foreignTx(2, "h2"), incident) })
		wg.Wait()
		if (plan == nil) == (end == nil) {
			t.Errorf("plan and give up a sweep at once: got %v and %v, want one of them", plan, end)
		}
	}
}
