//go:build integration

package store_test

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/wallet"
)

var liveLease = scanner.Lease{Chain: scanner.Chain{Mode: tenant.Live, Network: "ethereum"}, Epoch: 1}

// paid is a live wallet with so many final deposits of five units of USDT, and one that is not final.
func paid(t *testing.T, s *store.Store, pool *pgxpool.Pool, deposits int) string {
	t.Helper()
	d := draft("wal_live", time.Now())
	d.Mode, d.Network = tenant.Live, "ethereum"
	if _, err := s.CreateWallet(t.Context(), d, source(t, money.EVM), idempotency.Key{}, text); err != nil {
		t.Fatal(err)
	}
	var key []byte
	var at string
	if err := pool.QueryRow(t.Context(), `SELECT key, address FROM addresses WHERE mode = 'live'`).Scan(&key, &at); err != nil {
		t.Fatal(err)
	}
	from := scanner.Cursor{Header: header(0, "h0", "")}
	if err := s.Begin(t.Context(), liveLease, from); err != nil {
		t.Fatal(err)
	}
	pay := func(tx string) chain.Transfer {
		return chain.Transfer{TxHash: tx, To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(5)}
	}
	var transfers []chain.Transfer
	for i := range deposits {
		transfers = append(transfers, pay(fmt.Sprint("0x", i)))
	}
	one := header(1, "h1", "h0")
	if err := s.Advance(t.Context(), liveLease, from, scanner.Step{Headers: []chain.Header{one}, Transfers: transfers, Finalized: 1}); err != nil {
		t.Fatal(err)
	}
	two := scanner.Step{Headers: []chain.Header{header(2, "h2", "h1")}, Transfers: []chain.Transfer{pay("0xyoung")}, Finalized: 1}
	if err := s.Advance(t.Context(), liveLease, scanner.Cursor{Header: one, Finalized: 1}, two); err != nil {
		t.Fatal(err)
	}
	return at
}

// Parallel processes open, plan and move: one sweep, one transaction, one step.
func TestSweeps_parallel(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Sweeps(), t.Context()
	at := paid(t, base, pool, 3)
	least := sweeper.Least{Sum: map[string]*big.Int{"USDT": big.NewInt(15), "ETH": big.NewInt(1)}}
	due, err := s.Due(ctx, "ethereum", least, 10)
	if err != nil || len(due) != 1 || due[0].Address != at || due[0].Amount.Int64() != 15 {
		t.Fatalf("list the due wallets: got %+v, %v, want one with 15", due, err)
	}
	if none, err := s.Due(ctx, "ethereum", sweeper.Least{Sum: map[string]*big.Int{"USDT": big.NewInt(16)}}, 10); err != nil || len(none) != 0 {
		t.Errorf("below the smallest sum: %+v, %v", none, err)
	}
	once := func(what string, f func(i int) (bool, error)) {
		t.Helper()
		var wg sync.WaitGroup
		var won atomic.Int64
		for i := range 16 {
			wg.Go(func() {
				ok, err := f(i)
				if err != nil && !errors.Is(err, sweeper.ErrStale) {
					t.Errorf("%s at once: got %v, want success or ErrStale", what, err)
				} else if ok && err == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%s: %d won", what, won.Load())
		}
	}
	once("open", func(int) (bool, error) { return s.Open(ctx, "ethereum", due[0], "0xtreasury") })
	if again, err := s.Due(ctx, "ethereum", least, 10); err != nil || len(again) != 0 {
		t.Errorf("list the due wallets after the opening: got %+v, %v, want none", again, err)
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 1 || idle[0].Amount.Int64() != 15 || idle[0].WalletID != "wal_live" {
		t.Fatalf("list the idle sweeps: got %+v, %v, want that of wal_live with 15", idle, err)
	}
	plan := func(i int) sweep.Outgoing {
		r := intent.Request{ID: fmt.Sprint("out_", i, "-1"), Kind: intent.Sweep, Amount: "15", EVM: &intent.EVM{}}
		return sweep.Outgoing{
			ID: fmt.Sprint("out_", i), Kind: intent.Sweep, Sweep: idle[0], Sender: at, State: sweep.Planned, Version: 1, Attempts: []sweep.Attempt{{Number: 1, Request: r}},
		}
	}
	once("plan", func(i int) (bool, error) { return true, s.Plan(ctx, plan(i)) })
	if q, err := s.Queue(ctx, "ethereum", at); err != nil || q != (sweep.Queue{Next: 1, Unsent: 1}) {
		t.Errorf("read the sender's queue: got %+v, %v, want 1 as the next nonce, and one unsent", q, err)
	}
	step := func(what string, f func(o sweep.Outgoing) error) {
		t.Helper()
		list, err := s.Underway(ctx, "ethereum", 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: list what is under way: got %+v, %v, want one", what, list, err)
		}
		once(what, func(int) (bool, error) { return true, f(list[0]) })
	}
	step("sign", func(o sweep.Outgoing) error { return s.Signed(ctx, o, []byte("raw"), "0xhash") })
	step("send", func(o sweep.Outgoing) error { return s.Sent(ctx, o, true) })
	r := sweep.Receipt{TxHash: "0xhash", Height: 1, Block: "h1", OK: true, Fee: big.NewInt(7)}
	step("mine", func(o sweep.Outgoing) error { return s.Mined(ctx, o, r) })
	step("finish", func(o sweep.Outgoing) error { return s.Finish(ctx, o, r, true, big.NewInt(15)) })
	var journals, entries int
	if err := pool.QueryRow(ctx, `SELECT count(DISTINCT key), count(*) FROM custody_journals j JOIN custody_entries e ON e.journal = j.key WHERE event = 'swept'`).
		Scan(&journals, &entries); err != nil || journals != 1 || entries != 4 {
		t.Errorf("%d journals of %d entries, %v", journals, entries, err)
	}
	// The young deposit counts for the wallet and is not swept, so the wallet is not swept either.
	if w, err := base.FindWallet(ctx, tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Live}, "wal_live"); err != nil || w.Status != wallet.StatusDetected {
		t.Errorf("find the swept wallet: got %s, %v, want a young deposit left", w.Status, err)
	}
	if left, err := s.Underway(ctx, "ethereum", 10); err != nil || len(left) != 0 {
		t.Errorf("list what is under way at the end: got %+v, %v, want nothing", left, err)
	}
	// Payments receives messages about its own addresses only; a rescan sends it lost ones again, under the same id.
	if told := drain[wire.OutgoingFinal](t, pool, wire.OutgoingFinalV1); len(told) != 0 {
		t.Errorf("message to payments about a standalone wallet: %+v", told)
	}
	if _, err := pool.Exec(ctx, `UPDATE sweeps SET wallet_id = 'wal_of_payments'`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := base.Retell(ctx, liveLease.Chain, 1, 1); err != nil {
			t.Fatal(err)
		}
		var ids []string
		if err := pool.QueryRow(ctx, `SELECT array_agg(message_id) FROM outbox WHERE name = $1`, string(wire.OutgoingFinalV1)).Scan(&ids); err != nil || len(ids) != 1 ||
			!strings.HasPrefix(ids[0], "live:out_") {
			t.Errorf("list the messages of final transactions: got %q, %v, want one", ids, err)
		}
		want := wire.OutgoingFinal{Mode: tenant.Live, Network: "ethereum", TxHash: "0xhash", Kind: wire.OutgoingSweep, Asset: "USDT", Amount: "15", Fee: "7"}
		if told := drain[wire.OutgoingFinal](t, pool, wire.OutgoingFinalV1); len(told) != 1 || told[0] != want {
			t.Errorf("read the message of a final transaction: got %+v, want %+v", told, want)
		}
	}
	if _, err := base.Retell(ctx, liveLease.Chain, 2, 2); err != nil {
		t.Fatal(err)
	}
	if told := drain[wire.OutgoingFinal](t, pool, wire.OutgoingFinalV1); len(told) != 0 {
		t.Errorf("of another block: %+v", told)
	}
}

// One transaction carries the sweeps of two addresses: neither they nor their outputs enter another while it may land.
// When it is final, each wallet is swept, the parts add up, and payments gets one message about its own part.
func TestSweeps_batch(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Sweeps(), t.Context()
	paid(t, base, pool, 3)
	d := draft("wal_other", time.Now())
	d.Mode, d.Network = tenant.Live, "ethereum"
	if _, err := base.CreateWallet(ctx, d, source(t, money.EVM), idempotency.Key{}, text); err != nil {
		t.Fatal(err)
	}
	var key []byte
	if err := pool.QueryRow(ctx, `SELECT key FROM addresses WHERE wallet_id = 'wal_other'`).Scan(&key); err != nil {
		t.Fatal(err)
	}
	more := scanner.Step{Headers: []chain.Header{header(3, "h3", "h2")}, Finalized: 3, Transfers: []chain.Transfer{
		{TxHash: "0xother", To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(10)},
		{TxHash: "0xdust", To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(4)},
	}}
	if err := base.Advance(ctx, liveLease, scanner.Cursor{Header: header(2, "h2", "h1"), Finalized: 1}, more); err != nil {
		t.Fatal(err)
	}
	due, err := s.Due(ctx, "ethereum", sweeper.Least{Sum: map[string]*big.Int{"USDT": big.NewInt(5)}, Deposit: big.NewInt(5)}, 10)
	if err != nil || len(due) != 2 || due[0].Amount.Int64() != 20 || due[1].Amount.Int64() != 10 {
		t.Fatalf("due sums: got %+v, %v, want 20 and 10 without the small deposit", due, err)
	}
	for _, each := range due {
		if opened, err := s.Open(ctx, "ethereum", each, "0xtreasury"); err != nil || !opened {
			t.Fatalf("opening %+v: %v, %v", each, opened, err)
		}
	}
	if _, err := pool.Exec(ctx, `UPDATE sweeps SET wallet_id = 'wal_of_payments' WHERE wallet_id = 'wal_other'`); err != nil {
		t.Fatal(err)
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 2 {
		t.Fatalf("idle sweeps: %+v, %v", idle, err)
	}
	outputs, err := s.Outputs(ctx, idle)
	if err != nil || len(outputs) != 5 {
		t.Fatalf("outputs: %+v, %v, want 5", outputs, err)
	}
	plan := func(id string, batch []sweep.Sweep, inputs []sweep.Input) error {
		r := intent.Request{ID: id + "-1", Kind: intent.Sweep, Amount: "27"}
		return s.Plan(ctx, sweep.Outgoing{
			ID: id, Kind: intent.Sweep, Sweep: batch[0], Batch: batch, Inputs: inputs, Sender: id, From: 3, State: sweep.Planned, Version: 1,
			Attempts: []sweep.Attempt{{Number: 1, Request: r}},
		})
	}
	only := func() sweep.Outgoing {
		t.Helper()
		list, err := s.Underway(ctx, "ethereum", 10)
		if err != nil || len(list) != 1 || len(list[0].Batch) != 2 || len(list[0].Inputs) != 5 || list[0].From != 3 {
			t.Fatalf("under way: %+v, %v, want one transaction of two sweeps", list, err)
		}
		return list[0]
	}
	if err := plan("out_first", idle, outputs); err != nil {
		t.Fatal(err)
	}
	if none, err := s.Idle(ctx, "ethereum", 10); err != nil || len(none) != 0 {
		t.Errorf("idle sweeps of a planned transaction: %+v, %v", none, err)
	}
	for name, err := range map[string]error{
		"a sweep twice":   plan("out_second", idle[1:], nil),
		"an output twice": plan("out_third", []sweep.Sweep{{ID: "swp_new", Network: "ethereum"}}, outputs[:1]),
	} {
		if err == nil {
			t.Errorf("%s: the second plan was written", name)
		}
	}
	// A foreign transaction spends an input: both sweeps and all outputs are free again.
	if err := s.Replaced(ctx, only()); err != nil {
		t.Fatal(err)
	}
	if err := plan("out_again", idle, outputs); err != nil {
		t.Fatal(err)
	}
	if err := s.Signed(ctx, only(), []byte("raw"), "0xhash"); err != nil {
		t.Fatal(err)
	}
	if err := s.Sent(ctx, only(), true); err != nil {
		t.Fatal(err)
	}
	r := sweep.Receipt{TxHash: "0xhash", Height: 3, Block: "h3", OK: true, Fee: big.NewInt(3)}
	if err := s.Mined(ctx, only(), r); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(ctx, only(), r, true, big.NewInt(27)); err != nil {
		t.Fatal(err)
	}
	want := wire.OutgoingFinal{Mode: tenant.Live, Network: "ethereum", TxHash: "0xhash", Kind: wire.OutgoingSweep, Asset: "USDT", Amount: "9", Fee: "1"}
	if told := drain[wire.OutgoingFinal](t, pool, wire.OutgoingFinalV1); len(told) != 1 || told[0] != want {
		t.Errorf("messages to payments: got %+v, want %+v", told, want)
	}
	if _, err := base.Retell(ctx, liveLease.Chain, 3, 3); err != nil {
		t.Fatal(err)
	}
	if told := drain[wire.OutgoingFinal](t, pool, wire.OutgoingFinalV1); len(told) != 1 || told[0] != want {
		t.Errorf("messages to payments again: got %+v, want %+v", told, want)
	}
	var parts string
	if err := pool.QueryRow(ctx, `SELECT string_agg(p.amount || '+' || p.fee || ' ' || s.state, ', ' ORDER BY p.amount)
		FROM outgoing_parts p JOIN sweeps s ON s.id = p.sweep WHERE p.state = 'final'`).Scan(&parts); err != nil || parts != "9+1 swept, 18+2 swept" {
		t.Errorf("parts: got %q, %v, want 9+1 and 18+2", parts, err)
	}
	if w, err := base.FindWallet(ctx, tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Live}, "wal_live"); err != nil || w.Status != wallet.StatusSwept {
		t.Errorf("the wallet is %s, %v, want swept", w.Status, err)
	}
	if err := plan("out_late", idle, outputs); !errors.Is(err, sweeper.ErrStale) {
		t.Errorf("a plan of ended sweeps: %v, want ErrStale", err)
	}
}

// planned is a transaction of a sweep, alone or as a batch.
func planned(id string, w sweep.Sweep, batch bool) sweep.Outgoing {
	r := intent.Request{ID: id + "-1", Kind: intent.Sweep, Amount: "15", EVM: &intent.EVM{}}
	o := sweep.Outgoing{
		ID: id, Kind: intent.Sweep, Sweep: w, Sender: id, State: sweep.Planned, Version: 1, Attempts: []sweep.Attempt{{Number: 1, Request: r}},
	}
	if batch {
		o.Batch = []sweep.Sweep{w}
	}
	return o
}

// opened is the only open sweep of a new database.
func opened(t *testing.T, base *store.Store, pool *pgxpool.Pool, deposits int) sweep.Sweep {
	t.Helper()
	s, ctx := base.Sweeps(), t.Context()
	paid(t, base, pool, deposits)
	due, err := s.Due(ctx, "ethereum", sweeper.Least{Sum: map[string]*big.Int{"USDT": big.NewInt(1)}}, 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("list the due sums: got %+v, %v, want one", due, err)
	}
	if done, err := s.Open(ctx, "ethereum", due[0], "0xtreasury"); err != nil || !done {
		t.Fatalf("open a sweep: got %v, %v", done, err)
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 1 {
		t.Fatalf("list the idle sweeps: got %+v, %v, want one", idle, err)
	}
	return idle[0]
}

// A plan and a release of the same sweep at the same time: the later one sees the earlier one, and fails.
func TestSweeps_planOrRelease(t *testing.T) {
	t.Parallel()
	for _, batch := range []bool{false, true} {
		base, pool := open(t)
		s, ctx := base.Sweeps(), t.Context()
		w := opened(t, base, pool, 3)
		// waits runs f while another transaction has done first, and commits that one when f waits for a lock or has ended.
		waits := func(f func() error, first ...string) error {
			t.Helper()
			tx, err := pool.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, sql := range first {
				if _, err := tx.Exec(ctx, sql, w.ID); err != nil {
					t.Fatalf("prepare with %s: %v", sql, err)
				}
			}
			done := make(chan error, 1)
			go func() { done <- f() }()
			for {
				var locked bool
				// Outside the transaction, which would see the sessions as they were at its first look.
				if err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).
					Scan(&locked); err != nil {
					t.Fatal(err)
				}
				if locked || len(done) > 0 {
					break
				}
			}
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			return <-done
		}
		row := `INSERT INTO outgoing_tx (id, sweep, kind, mode, network, sender, nonce, state, version, attempt) SELECT 'out_before', id, 'sweep',
			'live', network, 'out_before', 0, 'planned', 1, 1 FROM sweeps WHERE id = $1 AND state = 'open' FOR SHARE`
		if err := waits(func() error { return s.ReleaseSweep(ctx, w.ID) }, row); !errors.Is(err, store.ErrSweepBusy) {
			t.Errorf("release a sweep during its plan, batch %v: got %v, want ErrSweepBusy", batch, err)
		}
		if _, err := pool.Exec(ctx, `DELETE FROM outgoing_tx`); err != nil {
			t.Fatal(err)
		}
		err := waits(func() error { return s.Plan(ctx, planned("out_late", w, batch)) },
			`SELECT FROM sweeps WHERE id = $1 FOR UPDATE`, `UPDATE sweeps SET state = 'released' WHERE id = $1`, `UPDATE deposits SET sweep = NULL WHERE sweep = $1`)
		if !errors.Is(err, sweeper.ErrStale) {
			t.Errorf("plan a sweep during its release, batch %v: got %v, want ErrStale", batch, err)
		}
		var n int
		if err := pool.QueryRow(ctx, `SELECT count(*) FROM outgoing_tx`).Scan(&n); err != nil || n != 0 {
			t.Errorf("count the transactions of a released sweep, batch %v: got %d, %v, want 0", batch, n, err)
		}
	}
}

// A sweep leaves outputs behind: its sum falls by them, and they may enter another sweep. Without any it ends. Nothing
// leaves a sweep whose transaction may land.
func TestSweeps_leave(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Sweeps(), t.Context()
	w := opened(t, base, pool, 3)
	outputs, err := s.Outputs(ctx, []sweep.Sweep{w})
	if err != nil || len(outputs) != 3 {
		t.Fatalf("list the outputs: got %+v, %v, want 3", outputs, err)
	}
	if err := s.Plan(ctx, planned("out_one", w, true)); err != nil {
		t.Fatal(err)
	}
	if err := s.Leave(ctx, w, outputs[:1]); !errors.Is(err, store.ErrSweepBusy) {
		t.Errorf("leave an output of a transaction that may land: got %v, want ErrSweepBusy", err)
	}
	if list, err := s.Underway(ctx, "ethereum", 10); err != nil || len(list) != 1 {
		t.Fatalf("list what is under way: got %+v, %v, want one", list, err)
	} else if err := s.Drop(ctx, list[0]); err != nil {
		t.Fatal(err)
	}
	holds := func(what, state string, amount, free int) {
		t.Helper()
		var gotState string
		var gotAmount, gotFree int
		if err := pool.QueryRow(ctx, `SELECT state, amount::int, (SELECT count(*) FROM deposits WHERE sweep IS NULL AND finalized) FROM sweeps WHERE id = $1`, w.ID).
			Scan(&gotState, &gotAmount, &gotFree); err != nil || gotState != state || gotAmount != amount || gotFree != free {
			t.Errorf("%s: got %s of %d with %d free deposits, %v, want %s of %d with %d", what, gotState, gotAmount, gotFree, err, state, amount, free)
		}
	}
	if err := s.Leave(ctx, w, outputs[:1]); err != nil {
		t.Fatal(err)
	}
	holds("leave one of three", "open", 10, 1)
	if err := s.Together(ctx, []sweep.Sweep{w}, 7, "refused"); err != nil {
		t.Fatal(err)
	}
	if idle, err := s.Idle(ctx, "ethereum", 10); err != nil || len(idle) != 1 || idle[0].Together != 7 || idle[0].Amount.Int64() != 10 {
		t.Errorf("list the idle sweeps: got %+v, %v, want one of 10 in a batch of 7", idle, err)
	}
	if err := s.Leave(ctx, w, outputs[1:]); err != nil {
		t.Fatal(err)
	}
	holds("leave the rest", "released", 10, 3)
}

// openOne is the only open sweep of a live wallet with one deposit.
func openOne(t *testing.T, base *store.Store, pool *pgxpool.Pool) sweep.Sweep {
	t.Helper()
	s, ctx := base.Sweeps(), t.Context()
	paid(t, base, pool, 1)
	due, err := s.Due(ctx, "ethereum", sweeper.Least{Sum: map[string]*big.Int{"USDT": big.NewInt(1)}}, 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("list the due wallets: got %+v, %v, want one", due, err)
	}
	if ok, err := s.Open(ctx, "ethereum", due[0], "0xtreasury"); err != nil || !ok {
		t.Fatalf("open the sweep: %v, %v", ok, err)
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 1 {
		t.Fatalf("list the idle sweeps: got %+v, %v, want one", idle, err)
	}
	return idle[0]
}

// Two processes that both believe to lead plan fundings of one sweep under two nonces of the gas station: one is
// stored.
func TestSweeps_oneFunding(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx, w := base.Sweeps(), t.Context(), openOne(t, base, pool)
	plan := func(nonce uint64) error {
		id := fmt.Sprint("out_", nonce)
		r := intent.Request{ID: id + "-1", Kind: intent.Fund, Amount: "1", EVM: &intent.EVM{Nonce: nonce}}
		return s.Plan(ctx, sweep.Outgoing{
			ID: id, Kind: intent.Fund, Sweep: w, Sender: "0xstation", Nonce: nonce, State: sweep.Planned, Version: 1, Attempts: []sweep.Attempt{{Number: 1, Request: r}},
		})
	}
	if err := plan(0); err != nil {
		t.Fatalf("plan a funding: %v", err)
	}
	if err := plan(1); !errors.Is(err, sweeper.ErrStale) {
		t.Errorf("plan a second funding of the same sweep: got %v, want %v", err, sweeper.ErrStale)
	}
	list, err := s.Underway(ctx, "ethereum", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("list what is under way: got %d, %v, want the first funding", len(list), err)
	}
	if err := s.Replaced(ctx, list[0]); err != nil {
		t.Fatal(err)
	}
	if err := plan(2); err != nil {
		t.Errorf("plan a funding after the first one has ended: %v", err)
	}
}

// presentedBy is the transaction of another party that ended a sweep.
func presentedBy(id, sender, hash string, w sweep.Sweep) sweep.Outgoing {
	r := intent.Request{ID: id + "-1", Kind: intent.Sweep, Amount: "5", EVM: &intent.EVM{Authorization: &intent.Authorization{Owner: w.Address}}}
	return sweep.Outgoing{
		ID: id, Kind: intent.Sweep, Sweep: w, Sender: sender, Nonce: 4, Presented: true, State: sweep.Broadcast, Version: 1,
		Attempts: []sweep.Attempt{{Number: 1, Request: r, TxHash: hash, Sent: true}},
	}
}

// One transaction of another party presents the authorizations of two sweeps, one of them blocked: both are booked.
func TestSweeps_presentedTogether(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Sweeps(), t.Context()
	first := opened(t, base, pool, 3)
	const second = `INSERT INTO sweeps (id, mode, network, family, account, idx, address, wallet_id, asset, contract, amount, treasury, state)
SELECT 'swp_two', mode, network, family, account, idx, address, wallet_id, 'USDC', contract, amount, treasury, 'open' FROM sweeps`
	if _, err := pool.Exec(ctx, second); err != nil {
		t.Fatal(err)
	}
	other := first
	other.ID, other.Asset = "swp_two", "USDC"
	if err := s.Block(ctx, other, "it reverts"); err != nil {
		t.Fatal(err)
	}
	for id, w := range map[string]sweep.Sweep{"out_1": first, "out_2": other} {
		if err := s.Present(ctx, presentedBy(id, "0xanother", "0xboth", w)); err != nil {
			t.Fatalf("store the transaction that presented the authorization of %s: %v", w.ID, err)
		}
	}
	list, err := s.Underway(ctx, "ethereum", 10)
	if err != nil || len(list) != 2 || !list[0].Presented || !list[1].Presented {
		t.Fatalf("list what is under way: got %+v, %v, want both presented transactions", list, err)
	}
	for _, o := range list {
		r := sweep.Receipt{TxHash: "0xboth", Height: 1, Block: "h1", OK: true, Fee: new(big.Int)}
		if err := s.Mined(ctx, o, r); err != nil {
			t.Fatal(err)
		}
		o.State, o.Version = sweep.Mined, o.Version+1
		if err := s.Finish(ctx, o, r, true, o.Sweep.Amount); err != nil {
			t.Errorf("finish the sweep %s: %v", o.Sweep.ID, err)
		}
	}
	var swept, booked int
	if err := pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM sweeps WHERE state = 'swept'), (SELECT count(*) FROM custody_journals
WHERE event = 'swept')`).Scan(&swept, &booked); err != nil || swept != 2 || booked != 2 {
		t.Errorf("count the swept sweeps and their journals: got %d and %d, %v, want 2 and 2", swept, booked, err)
	}
	if err := s.Present(ctx, presentedBy("out_3", "0xanother", "0xboth", first)); !errors.Is(err, sweeper.ErrStale) {
		t.Errorf("present an ended sweep: got %v, want %v", err, sweeper.ErrStale)
	}
}

// An own transaction that seemed to be replaced, and is the one that the contract names, is followed again.
func TestSweeps_presentedByOwn(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx, w := base.Sweeps(), t.Context(), openOne(t, base, pool)
	o := planned("out_own", w, false)
	o.Sender, o.Nonce = "0xstation", 4
	o.Attempts[0].Request.EVM.Authorization = &intent.Authorization{Owner: w.Address}
	if err := s.Plan(ctx, o); err != nil {
		t.Fatal(err)
	}
	if err := s.Signed(ctx, o, []byte{1}, "0xown"); err != nil {
		t.Fatal(err)
	}
	o.State, o.Version = sweep.Signed, 2
	if err := s.Sent(ctx, o, true); err != nil {
		t.Fatal(err)
	}
	o.State, o.Version = sweep.Broadcast, 3
	if err := s.Replaced(ctx, o); err != nil {
		t.Fatal(err)
	}
	if err := s.Present(ctx, presentedBy("out_new", "0xstation", "0xown", w)); err != nil {
		t.Fatalf("present a sweep by its own transaction: %v", err)
	}
	list, err := s.Underway(ctx, "ethereum", 10)
	if err != nil || len(list) != 1 || list[0].ID != "out_own" || list[0].Presented || list[0].State != sweep.Broadcast {
		t.Errorf("list what is under way: got %+v, %v, want the own transaction", list, err)
	}
}

// A blocked sweep is released only once the sweeper has seen on the chain that its authorization ended unused.
func TestSweeps_releaseAuthorized(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx, w := base.Sweeps(), t.Context(), openOne(t, base, pool)
	ends := time.Now().Add(-time.Hour)
	o := planned("out_own", w, false)
	o.Attempts[0].Request.EVM.Authorization = &intent.Authorization{Owner: w.Address, Before: ends.Unix()}
	if err := s.Plan(ctx, o); err != nil {
		t.Fatal(err)
	}
	if err := s.Replaced(ctx, o); err != nil {
		t.Fatal(err)
	}
	if err := s.Block(ctx, w, "it reverts"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Blocked(ctx, "ethereum", 10); err != nil || len(list) != 1 || list[0].ID != w.ID {
		t.Errorf("list the blocked sweeps with an authorization: got %+v, %v, want one", list, err)
	}
	for _, c := range []struct {
		until time.Time
		want  error
	}{{time.Time{}, store.ErrSweepBusy}, {ends.Add(9 * time.Minute), store.ErrSweepBusy}, {ends.Add(11 * time.Minute), nil}} {
		if err := s.Unused(ctx, w, c.until); err != nil {
			t.Fatal(err)
		}
		if err := s.ReleaseSweep(ctx, w.ID); !errors.Is(err, c.want) {
			t.Errorf("release a sweep whose authorization was unused until %s: got %v, want %v", c.until, err, c.want)
		}
	}
}

// The proofs of a bitcoin transaction's inputs go when it ends. Its terms and its signed bytes stay.
func TestSweeps_dropProofs(t *testing.T) {
	t.Parallel()
	for _, end := range []sweep.State{sweep.Final, sweep.Replaced} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			base, pool := open(t)
			s, ctx, w := base.Sweeps(), t.Context(), openOne(t, base, pool)
			r := intent.Request{ID: "out_1-1", Kind: intent.Sweep, Amount: "4", Bitcoin: &intent.Bitcoin{
				Inputs: []intent.Output{{TxID: "aa", Vout: 1, Value: 5, Index: 7}}, PSBT: strings.Repeat("cHNidP", 1_000),
			}}
			outputs, err := s.Outputs(ctx, []sweep.Sweep{w})
			if err != nil || len(outputs) != 1 {
				t.Fatalf("list the outputs of the sweep: got %v, %v, want one", outputs, err)
			}
			if err := s.Plan(ctx, sweep.Outgoing{
				ID: "out_1", Kind: intent.Sweep, Sweep: w, Batch: []sweep.Sweep{w}, Inputs: outputs, Sender: "inputs", State: sweep.Planned, Version: 1,
				Attempts: []sweep.Attempt{{Number: 1, Request: r}},
			}); err != nil {
				t.Fatal(err)
			}
			step := func(f func(o sweep.Outgoing) error) sweep.Outgoing {
				t.Helper()
				list, err := s.Underway(ctx, "ethereum", 10)
				if err != nil || len(list) != 1 {
					t.Fatalf("list what is under way: got %d, %v, want one", len(list), err)
				}
				if err := f(list[0]); err != nil {
					t.Fatal(err)
				}
				return list[0]
			}
			step(func(o sweep.Outgoing) error { return s.Signed(ctx, o, []byte("raw"), "hash") })
			before := step(func(o sweep.Outgoing) error { return s.Sent(ctx, o, true) })
			if before.Newest().Request.Bitcoin.PSBT == "" {
				t.Error("read a transaction under way: got no proofs, which the next form needs")
			}
			if end == sweep.Replaced {
				step(func(o sweep.Outgoing) error { return s.Replaced(ctx, o) })
			} else {
				mined := sweep.Receipt{TxHash: "hash", Height: 1, Block: "h1", OK: true, Fee: big.NewInt(1)}
				step(func(o sweep.Outgoing) error { return s.Mined(ctx, o, mined) })
				step(func(o sweep.Outgoing) error { return s.Finish(ctx, o, mined, true, big.NewInt(4)) })
			}
			var request, raw string
			if err := pool.QueryRow(ctx, `SELECT request, convert_from(raw, 'UTF8') FROM outgoing_attempts`).Scan(&request, &raw); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(request, "psbt") || !strings.Contains(request, `"aa"`) || raw != "raw" {
				t.Errorf("read the form of a transaction that has ended: got %s and %q, want its inputs and bytes without the proofs", request, raw)
			}
		})
	}
}

// A block that holds an older form ends a raise of the fee which is not signed. After a reorganisation the older form
// is sent again, and no form without a hash is looked for.
func TestSweeps_unsignedRaise(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Sweeps(), t.Context()
	if err := s.Plan(ctx, planned("out_1", opened(t, base, pool, 1), false)); err != nil {
		t.Fatal(err)
	}
	step := func(what string, f func(o sweep.Outgoing) error) (o sweep.Outgoing) {
		t.Helper()
		list, err := s.Underway(ctx, "ethereum", 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: list what is under way: got %+v, %v, want one", what, list, err)
		}
		if err := f(list[0]); err != nil {
			t.Fatalf("%s: got %v, want no error", what, err)
		}
		return list[0]
	}
	again := func(o sweep.Outgoing) error {
		return s.Again(ctx, o, sweep.Attempt{Number: 2, Request: o.Newest().Request})
	}
	r := sweep.Receipt{TxHash: "0xhash", Height: 3, Block: "h3", OK: true, Fee: big.NewInt(3)}
	step("sign", func(o sweep.Outgoing) error { return s.Signed(ctx, o, []byte("raw"), "0xhash") })
	step("send", func(o sweep.Outgoing) error { return s.Sent(ctx, o, true) })
	step("raise the fee", again)
	step("mine the older form", func(o sweep.Outgoing) error { return s.Mined(ctx, o, r) })
	step("lose the block", func(o sweep.Outgoing) error { return s.Unmined(ctx, o) })
	got := step("look", func(sweep.Outgoing) error { return nil })
	if n := got.Newest(); len(got.Attempts) != 1 || n.TxHash != "0xhash" || n.SentAgo < time.Hour {
		t.Errorf("lose the block of an older form: got the forms %+v, want the signed one, due to be sent again", got.Attempts)
	}
	if hashes := got.Sent(); !slices.Equal(hashes, []string{"0xhash"}) {
		t.Errorf("list the hashes that a block may hold: got %q, want the signed form's", hashes)
	}
	step("raise the fee again", again)
}
