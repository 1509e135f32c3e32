//go:build integration

package store_test

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/wallet"
)

const payer = "0x000000000000000000000000000000000000dEaD"

func approved(id string, mode tenant.Mode) app.Refund {
	network, _ := money.NetworkOf("ethereum")
	return app.Refund{
		Network: network, To: payer, Contract: "0xusdt",
		Ordered: intent.Ordered{Signature: "signed", Order: order.Order{
			Kind: order.Refund, ID: id, Mode: mode, Network: "ethereum", Asset: "USDT", Contract: "0xusdt", Amount: "5", To: payer, Approval: order.Automatic,
		}},
	}
}

// changes are the messages about refunds, as state and version.
func changes(t *testing.T, pool *pgxpool.Pool) (list []string) {
	t.Helper()
	for _, c := range drain[wire.RefundChanged](t, pool, wire.RefundChangedV1) {
		list = append(list, fmt.Sprint(c.RefundID, " ", c.State, " ", c.Version, " ", c.Amount, " ", c.Fee, " ", c.Reason))
	}
	return list
}

// tells compares the messages about refunds since the last call.
func tells(t *testing.T, pool *pgxpool.Pool, what string, want ...string) {
	t.Helper()
	if got := changes(t, pool); !slices.Equal(got, want) {
		t.Errorf("%s: got the messages %q, want %q", what, got, want)
	}
}

// A refund is taken once for its id, however often and at how many places it arrives; other terms are refused.
func TestTakeRefund(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.TakeRefund(t.Context(), approved("rfd_1", tenant.Live)); err != nil {
				t.Errorf("take the same refund again: got %v, want none", err)
			}
		})
	}
	wg.Wait()
	tells(t, pool, "take one refund eight times", "rfd_1 signing 1 5 0 ")
	for name, change := range map[string]func(r *app.Refund){
		"amount":   func(r *app.Refund) { r.Ordered.Amount = "6" },
		"address":  func(r *app.Refund) { r.Ordered.To, r.To = "0xother", "0xother" },
		"mode":     func(r *app.Refund) { r.Ordered.Mode = tenant.Test },
		"approval": func(r *app.Refund) { r.Ordered.Approval = order.Operator },
	} {
		r := approved("rfd_1", tenant.Live)
		change(&r)
		if err := s.TakeRefund(t.Context(), r); !errors.Is(err, app.ErrOtherOrder) {
			t.Errorf("take a refund of another %s under a known id: got %v, want ErrOtherOrder", name, err)
		}
	}
	tells(t, pool, "take other refunds under the same id")
}

// Test mode needs no signer: a refund is sent and confirmed under a hash that follows from its id.
func TestSimulateRefunds(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	for _, r := range []app.Refund{approved("rfd_1", tenant.Test), approved("rfd_live", tenant.Live)} {
		if err := s.TakeRefund(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	tells(t, pool, "take two refunds", "rfd_1 signing 1 5 0 ", "rfd_live signing 1 5 0 ")
	for range 4 {
		if _, err := pool.Exec(ctx, `UPDATE refunds SET changed_at = changed_at - interval '1 minute'`); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := s.SimulateRefunds(ctx); err != nil {
					t.Errorf("simulate refunds at once: %v", err)
				}
			})
		}
		wg.Wait()
	}
	tells(t, pool, "simulate refunds", "rfd_1 sent 2 5 0 ", "rfd_1 confirmed 3 5 0 ")
	var hashes, states int
	if err := pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE tx_hash LIKE '0x%'), count(*) FILTER (WHERE id = 'rfd_live' AND state = 'signing') FROM refunds`).
		Scan(&hashes, &states); err != nil || hashes != 1 || states != 1 {
		t.Errorf("read the refunds: got %d hashes and %d live ones that wait, %v, want one of each", hashes, states, err)
	}
}

// plannedRefund is a transaction for a refund.
func plannedRefund(id string, w sweep.Sweep, nonce uint64) sweep.Outgoing {
	r := intent.Request{ID: id + "-1", Kind: intent.Refund, Amount: "5", EVM: &intent.EVM{}, Order: w.Order}
	return sweep.Outgoing{
		ID: id, Kind: intent.Refund, Sweep: w, Sender: "0xstation", Nonce: nonce, State: sweep.Planned, Version: 1,
		Attempts: []sweep.Attempt{{Number: 1, Request: r}},
	}
}

// Parallel planners make one transaction of a refund, under one number. It is followed to its end, which a rewind
// beyond the final block undoes.
func TestRefunds_parallel(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	if err := base.Begin(ctx, liveLease, scanner.Cursor{Header: header(0, "h0", "")}); err != nil {
		t.Fatal(err)
	}
	if err := base.TakeRefund(ctx, approved("rfd_1", tenant.Live)); err != nil {
		t.Fatal(err)
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 1 || idle[0].Treasury != payer || idle[0].Order == nil || idle[0].Order.ID != "rfd_1" {
		t.Fatalf("list the refunds that wait: got %+v, %v, want one with its order", idle, err)
	}
	once := func(what string, f func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		var won atomic.Int64
		for i := range 16 {
			wg.Go(func() {
				switch err := f(i); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, sweeper.ErrStale):
					t.Errorf("%s at once: got %v, want success or ErrStale", what, err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%s at once: got %d successes, want one", what, won.Load())
		}
	}
	once("plan", func(i int) error { return s.Plan(ctx, plannedRefund(fmt.Sprint("out_", i), idle[0], uint64(i))) })
	if left, err := s.Idle(ctx, "ethereum", 10); err != nil || len(left) != 0 {
		t.Errorf("list the refunds that wait after the plan: got %+v, %v, want none", left, err)
	}
	if err := s.GiveUpRefund(ctx, "rfd_1"); !errors.Is(err, store.ErrRefundSigned) {
		t.Errorf("give a planned refund up: got %v, want ErrRefundSigned", err)
	}
	step := func(what string, f func(o sweep.Outgoing) error) {
		t.Helper()
		list, err := s.Underway(ctx, "ethereum", 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: list what is under way: got %+v, %v, want one", what, list, err)
		}
		once(what, func(int) error { return f(list[0]) })
	}
	step("sign", func(o sweep.Outgoing) error { return s.Signed(ctx, o, []byte("raw"), "0xhash") })
	step("send", func(o sweep.Outgoing) error { return s.Sent(ctx, o, true) })
	r := sweep.Receipt{TxHash: "0xhash", Height: 2, Block: "h2", OK: true, Fee: big.NewInt(7)}
	step("mine", func(o sweep.Outgoing) error { return s.Mined(ctx, o, r) })
	step("lose the block", func(o sweep.Outgoing) error { return s.Unmined(ctx, o) })
	step("send again", func(o sweep.Outgoing) error { return s.Sent(ctx, o, true) })
	step("mine again", func(o sweep.Outgoing) error { return s.Mined(ctx, o, r) })
	refused(t, base, "finish before the block is final", r)
	final(t, base, pool)
	other := r
	other.Block = "h2b"
	refused(t, base, "finish in a block that the scan does not have", other)
	step("finish", func(o sweep.Outgoing) error { return s.Finish(ctx, o, r, true, big.NewInt(5)) })
	tells(t, pool, "carry a refund out", "rfd_1 signing 1 5 0 ", "rfd_1 sent 2 5 0 ", "rfd_1 confirmed 3 5 7 ")
	balances(t, pool, 5, 7)
	if others, err := base.Sweeps().Underway(ctx, "ethereum", 10); err != nil || len(others) != 0 {
		t.Errorf("list the transactions of sweeps: got %+v, %v, want none", others, err)
	}

	rewound(t, base)
	tells(t, pool, "rewind below the refund", "rfd_1 sent 4 5 0 ")
	balances(t, pool, 0, 0)
	r.Block = "h2b"
	step("mine on the other branch", func(o sweep.Outgoing) error { return s.Mined(ctx, o, r) })
	refused(t, base, "finish after the rewind", r)
	branch := header(2, "h2b", "h1")
	if err := base.Advance(ctx, liveLease, scanner.Cursor{Header: header(1, "h1", "h0"), Finalized: 1}, scanner.Step{Headers: []chain.Header{branch}, Finalized: 2}); err != nil {
		t.Fatal(err)
	}
	step("finish on the other branch", func(o sweep.Outgoing) error { return s.Finish(ctx, o, r, true, big.NewInt(5)) })
	tells(t, pool, "confirm again", "rfd_1 confirmed 5 5 7 ")
	balances(t, pool, 5, 7)
}

// final lets the scan of ethereum follow its chain to a final block 2.
func final(t *testing.T, base *store.Store, pool *pgxpool.Pool) {
	t.Helper()
	from := scanner.Cursor{Header: header(0, "h0", "")}
	headers := []chain.Header{header(1, "h1", "h0"), header(2, "h2", "h1")}
	if err := base.Advance(t.Context(), liveLease, from, scanner.Step{Headers: headers, Finalized: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE cursors SET scan_state = 'following', judged_at = now()`); err != nil {
		t.Fatal(err)
	}
}

// rewound takes the scan of ethereum back from block 2 to block 1.
func rewound(t *testing.T, base *store.Store) {
	t.Helper()
	plan := scanner.Plan{From: scanner.Cursor{Header: header(2, "h2", "h1"), Finalized: 2}, Fork: 1, To: header(1, "h1", "h0")}
	if _, err := base.TakeBack(t.Context(), liveLease.Chain, plan, scanner.Note{Operator: "amina", Reason: "a fork"}); err != nil {
		t.Fatal(err)
	}
}

// refused checks that the only transaction under way cannot end by a receipt.
func refused(t *testing.T, base *store.Store, what string, r sweep.Receipt) {
	t.Helper()
	s := base.Refunds()
	list, err := s.Underway(t.Context(), "ethereum", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: list what is under way: got %+v, %v, want one", what, list, err)
	}
	if err := s.Finish(t.Context(), list[0], r, true, big.NewInt(5)); !errors.Is(err, sweeper.ErrStale) {
		t.Errorf("%s: got %v, want ErrStale", what, err)
	}
}

// balances compares what the books say that the refund station has paid.
func balances(t *testing.T, pool *pgxpool.Pool, refunded, fees int64) {
	t.Helper()
	var gotRefunded, gotFees int64
	if err := pool.QueryRow(t.Context(), `SELECT coalesce(sum(credit - debit) FILTER (WHERE asset = 'USDT'), 0)::bigint,
coalesce(sum(credit - debit) FILTER (WHERE asset = 'ETH'), 0)::bigint FROM custody_entries WHERE account = 'refund_station'`).Scan(&gotRefunded, &gotFees); err != nil {
		t.Fatal(err)
	}
	if gotRefunded != refunded || gotFees != fees {
		t.Errorf("read the books of the refund station: got %d paid and %d of fees, want %d and %d", gotRefunded, gotFees, refunded, fees)
	}
}

// A refund that reverts has failed, with its fee, until a rewind below its block. An operator can give up one without a
// transaction, and never one that was signed, here or as the signer says.
func TestRefunds_failed(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	if err := base.Begin(ctx, liveLease, scanner.Cursor{Header: header(0, "h0", "")}); err != nil {
		t.Fatal(err)
	}
	final(t, base, pool)
	for _, id := range []string{"rfd_1", "rfd_2", "rfd_3", "rfd_4"} {
		if err := base.TakeRefund(ctx, approved(id, tenant.Live)); err != nil {
			t.Fatal(err)
		}
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 4 {
		t.Fatalf("list the refunds that wait: got %+v, %v, want four", idle, err)
	}
	for i, w := range idle[:2] {
		if err := s.Plan(ctx, plannedRefund(fmt.Sprint("out_", i), w, uint64(i))); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Underway(ctx, "ethereum", 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("list what is under way: got %+v, %v, want two", list, err)
	}
	for i := range list {
		if err := s.Signed(ctx, list[i], []byte("raw"), fmt.Sprint("0x", i)); err != nil {
			t.Fatal(err)
		}
	}
	list, err = s.Underway(ctx, "ethereum", 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("list what is signed: got %+v, %v, want two", list, err)
	}
	for _, o := range list {
		if err := s.Sent(ctx, o, true); err != nil {
			t.Fatal(err)
		}
	}
	changes(t, pool)
	list, err = s.Underway(ctx, "ethereum", 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("list what is sent: got %+v, %v, want two", list, err)
	}
	r := sweep.Receipt{TxHash: "0x0", Height: 2, Block: "h2", Fee: big.NewInt(7)}
	if err := s.Mined(ctx, list[0], r); err != nil {
		t.Fatal(err)
	}
	mined := list[0]
	mined.State, mined.Version = sweep.Mined, mined.Version+1
	if err := s.Finish(ctx, mined, r, false, new(big.Int)); err != nil {
		t.Fatal(err)
	}
	tells(t, pool, "revert a refund", "rfd_1 failed 3 5 7 "+wire.RefundReverted)
	balances(t, pool, 0, 7)
	if err := s.GiveUpRefund(ctx, "rfd_2"); !errors.Is(err, store.ErrRefundSigned) {
		t.Errorf("give a sent refund up: got %v, want ErrRefundSigned", err)
	}
	if err := s.Block(ctx, idle[1], "its number was used"); err != nil {
		t.Fatal(err)
	}
	if err := s.GiveUpRefund(ctx, "rfd_2"); !errors.Is(err, store.ErrRefundSigned) {
		t.Errorf("give a sent refund up while it is blocked: got %v, want ErrRefundSigned", err)
	}
	blocked := func(what string, want int64) {
		t.Helper()
		levels, err := s.Levels(ctx)
		if err != nil || len(levels) != 1 || levels[0].Blocked != want {
			t.Errorf("%s: got %+v, %v, want %d blocked", what, levels, err, want)
		}
	}
	blocked("block a sent refund", 1)
	if err := s.Unblock(ctx, idle[1]); err != nil {
		t.Fatal(err)
	}
	blocked("see its number unused again", 0)
	if err := s.Spent(ctx, idle[3], "order_spent"); err != nil {
		t.Fatal(err)
	}
	blocked("hear from the signer that its order is spent", 1)
	if err := s.ReleaseRefund(ctx, "rfd_4"); err != nil {
		t.Fatal(err)
	}
	if err := s.GiveUpRefund(ctx, "rfd_4"); !errors.Is(err, store.ErrRefundSigned) {
		t.Errorf("give a refund up that the signer has signed: got %v, want ErrRefundSigned", err)
	}
	if err := s.GiveUpRefund(ctx, "rfd_3"); err != nil {
		t.Errorf("give a refund up that has no transaction: %v", err)
	}
	if err := s.GiveUpRefund(ctx, "rfd_3"); err == nil {
		t.Error("give a refund up twice: got no error, want one")
	}
	tells(t, pool, "give a refund up", "rfd_3 failed 2 5 0 "+wire.RefundGivenUp)
	if left, err := s.UnfinishedRefunds(ctx); err != nil || len(left) != 2 {
		t.Errorf("list the refunds at the end: got %+v, %v, want two", left, err)
	}
	rewound(t, base)
	tells(t, pool, "rewind below the failed refund", "rfd_1 sent 4 5 0 ")
	balances(t, pool, 0, 0)
}

// A refund was sent when a node has taken it or a block holds it, and not when every node has refused it.
func TestRefunds_refusedByNodes(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	if err := base.TakeRefund(ctx, approved("rfd_1", tenant.Live)); err != nil {
		t.Fatal(err)
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 1 {
		t.Fatalf("list the refunds that wait: got %+v, %v, want one", idle, err)
	}
	if err := s.Plan(ctx, plannedRefund("out_1", idle[0], 0)); err != nil {
		t.Fatal(err)
	}
	step := func(what string, f func(o sweep.Outgoing) error) {
		t.Helper()
		list, err := s.Underway(ctx, "ethereum", 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: list what is under way: got %+v, %v, want one", what, list, err)
		}
		if err := f(list[0]); err != nil {
			t.Fatalf("%s: got %v, want no error", what, err)
		}
	}
	step("sign", func(o sweep.Outgoing) error { return s.Signed(ctx, o, []byte("raw"), "0xhash") })
	changes(t, pool)
	step("send in vain", func(o sweep.Outgoing) error { return s.Sent(ctx, o, false) })
	tells(t, pool, "send a refund that every node refuses")
	r := sweep.Receipt{TxHash: "0xhash", Height: 2, Block: "h2", OK: true, Fee: big.NewInt(7)}
	step("mine", func(o sweep.Outgoing) error { return s.Mined(ctx, o, r) })
	tells(t, pool, "see it in a block", "rfd_1 sent 2 5 0 ")
}

// Payments signs an order again after a change of its keys: the same terms replace the signature, and a refund that the
// signer has refused is tried again.
func TestTakeRefund_signedAgain(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	if err := base.TakeRefund(ctx, approved("rfd_1", tenant.Live)); err != nil {
		t.Fatal(err)
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 1 {
		t.Fatalf("list the refunds that wait: got %+v, %v, want one", idle, err)
	}
	if err := s.Block(ctx, idle[0], "the signer refuses (order)"); err != nil {
		t.Fatal(err)
	}
	changes(t, pool)
	again := approved("rfd_1", tenant.Live)
	again.Ordered.Signature = "another"
	if err := base.TakeRefund(ctx, again); err != nil {
		t.Fatalf("take the same order with another signature: %v", err)
	}
	tells(t, pool, "take the same order with another signature")
	if idle, err = s.Idle(ctx, "ethereum", 10); err != nil || len(idle) != 1 || idle[0].Order.Signature != "another" {
		t.Errorf("list the refunds that wait: got %+v, %v, want one with the new signature", idle, err)
	}
	// A payments of this release adds the time, which one of the release before does not take away.
	at := time.Date(2026, 11, 23, 14, 30, 5, 123_456_000, time.UTC)
	timed := approved("rfd_1", tenant.Live)
	timed.Ordered.Signature, timed.Ordered.TimedSignature, timed.Ordered.ApprovedAt = "another", "timed", at
	if err := s.Block(ctx, idle[0], "the signer refuses (order_age)"); err != nil {
		t.Fatal(err)
	}
	for n, r := range []app.Refund{timed, again} {
		if err := base.TakeRefund(ctx, r); err != nil {
			t.Fatalf("take order %d of one with its time and one without: %v", n, err)
		}
		idle, err = s.Idle(ctx, "ethereum", 10)
		if err != nil || len(idle) != 1 || *idle[0].Order != timed.Ordered {
			t.Errorf("list the refunds that wait after order %d: got %+v, %v, want one with the time %s", n, idle, err, at)
		}
	}
}

// Nothing is refunded on a network unless its scan has said within a minute that it follows the chain.
func TestRefunds_follows(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	want := func(what string, follows bool) {
		t.Helper()
		if got, err := s.Follows(ctx, "ethereum"); err != nil || got != follows {
			t.Errorf("ask whether the scan follows %s: got %v, %v, want %v", what, got, err, follows)
		}
	}
	want("without a scan", false)
	at := scanner.Cursor{Header: header(0, "h0", "")}
	if err := base.Begin(ctx, liveLease, at); err != nil {
		t.Fatal(err)
	}
	want("before it has said so", false)
	for state, follows := range map[string]bool{"following": true, "behind": false, "halted": false, "mismatched": false, "unreachable": false, "stalled": false} {
		if err := base.Announce(ctx, liveLease, at, scanner.Health{State: wallet.ScanState(state)}); err != nil {
			t.Fatal(err)
		}
		want(state, follows)
	}
	if err := base.Announce(ctx, liveLease, at, scanner.Health{State: wallet.ScanFollowing}); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `UPDATE cursors SET judged_at = now() - interval '2 minutes'`); err != nil {
		t.Fatal(err)
	}
	want("two minutes later", false)
}
