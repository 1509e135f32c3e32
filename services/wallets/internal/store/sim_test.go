//go:build integration

package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/tick"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain/simulated"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// slow is the pace of a simulated chain while no deposit waits for a block.
const slow = 5 * time.Second

// simulation is a simulated chain with its scanner, as the service runs them.
type simulation struct {
	t     *testing.T
	store *store.Store
	pool  *pgxpool.Pool
	chain *simulated.Chain
	key   []byte
	stop  func()
	last  map[string]wire.DepositChanged
	told  []wire.DepositChanged
}

// newSimulation starts a chain that makes a block every so often while no deposit waits for one.
func newSimulation(t *testing.T, every time.Duration) *simulation {
	s, pool := open(t)
	w := &simulation{t: t, store: s, pool: pool, key: fund(t, s, pool), last: map[string]wire.DepositChanged{}}
	network, _ := money.NetworkOf("ethereum")
	w.chain = simulated.New(network, s, every, tick.NewTurns(1), slog.New(slog.NewTextHandler(t.Output(), nil)))
	w.start(1)
	t.Cleanup(func() { w.stop() })
	return w
}

// start runs miner and scanner under an epoch.
func (w *simulation) start(epoch int64) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	ethereum, _ := money.NetworkOf("ethereum")
	cfg := scanner.Config{
		Chain: lease.Chain, Family: money.EVM, Poll: simulated.PollEvery, Prefetch: 4, Announce: time.Second,
		FinalDepth: ethereum.FinalDepth, Window: 4096,
	}
	watch := scanner.NewWatch(tenant.Test, money.EVM, w.store)
	mined, scanned := make(chan struct{}), make(chan struct{})
	go func() { defer close(mined); _ = w.chain.Mine(ctx) }()
	go func() {
		defer close(scanned)
		_ = scanner.New(cfg, w.chain, w.store, watch, log, scanner.NewMetrics(prometheus.NewRegistry())).Run(ctx, epoch)
	}()
	w.stop = func() { cancel(); <-mined; <-scanned }
}

func (w *simulation) deposit(id string, confirmations int64) {
	w.t.Helper()
	w.depositUntil(id, confirmations, 0, false)
}

// depositUntil makes a deposit whose block leaves the chain after so many confirmations.
func (w *simulation) depositUntil(id string, confirmations, leavesAfter int64, returns bool) {
	w.t.Helper()
	if err := w.store.Simulate(w.t.Context(), nil, []wallet.Simulated{{
		RequestID: id, Network: "ethereum", TxHash: "0x" + id, To: w.key, Asset: "USDT", Contract: "c", Amount: big.NewInt(100), Sender: "s",
		Confirmations: confirmations, LeavesAfter: leavesAfter, Returns: returns,
	}}); err != nil {
		w.t.Fatal(err)
	}
	w.chain.Taken()
}

// until reads messages until one deposit has the wanted state.
func (w *simulation) until(id, what string, holds func(d wire.DepositChanged) bool) {
	w.t.Helper()
	deadline := time.After(2 * time.Minute) // the machine may be busy
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, d := range drain[wire.DepositChanged](w.t, w.pool, wire.DepositChangedV1) {
			if before := w.last[d.Key]; d.Version != before.Version+1 {
				w.t.Fatalf("version %d of %s after %d", d.Version, d.Key, before.Version)
			}
			w.last[d.Key], w.told = d, append(w.told, d)
		}
		if holds(w.last["ethereum:0x"+id+":0"]) {
			return
		}
		select {
		case <-deadline:
			w.t.Fatalf("%s: not %s: %+v", id, what, w.last["ethereum:0x"+id+":0"])
		case <-tick.C:
		}
	}
}

func confirmed(d wire.DepositChanged) bool { return d.State == wire.Confirmed }
func seen(d wire.DepositChanged) bool      { return d.State == wire.Seen }
func reverted(d wire.DepositChanged) bool  { return d.State == wire.Reverted }

func TestSimulated_confirmsFast(t *testing.T) {
	t.Parallel()
	w := newSimulation(t, slow)
	began := time.Now()
	w.deposit("a", 12)
	w.deposit("a", 12) // once per request
	w.until("a", "confirmed", confirmed)
	if spent := time.Since(began); spent > 10*time.Second {
		t.Errorf("12 confirmations took %s", spent)
	}
	if len(w.told) != 2 || w.last["ethereum:0xa:0"].Amount != "100" {
		t.Errorf("confirm a simulated deposit: got %+v, want two messages of 100", w.told)
	}
}

func TestSimulated_forks(t *testing.T) {
	t.Parallel()
	w := newSimulation(t, slow)
	w.deposit("a", 3)
	w.deposit("b", 3)
	w.until("a", "seen", seen)
	w.until("b", "seen", seen)
	height := w.last["ethereum:0xa:0"].BlockHeight
	if err := w.chain.Fork(t.Context(), height-1, false); err != nil {
		t.Fatal(err)
	}
	// Mined again in another block: reverted in between, or only moved when the scan had not reached it yet.
	w.until("a", "in another block", func(d wire.DepositChanged) bool { return d.State != wire.Reverted && d.BlockHeight > height })
	w.deposit("c", 1)
	w.until("c", "seen", seen)
	if err := w.chain.Fork(t.Context(), w.last["ethereum:0xc:0"].BlockHeight-1, true); err != nil {
		t.Fatal(err)
	}
	w.until("c", "reverted", reverted)
}

// A transfer that is to leave the chain does so alone, and where it returns it is confirmed in another block.
func TestSimulated_oneTransferLeaves(t *testing.T) {
	t.Parallel()
	w := newSimulation(t, 200*time.Millisecond) // it returns after blocks that no deposit waits for
	w.depositUntil("returns", 12, 1, true)
	w.depositUntil("dropped", 12, 1, false)
	w.deposit("stays", 12)
	w.until("returns", "seen", seen)
	height := w.last["ethereum:0xreturns:0"].BlockHeight
	w.until("returns", "reverted", reverted)
	w.until("dropped", "reverted", reverted)
	w.until("returns", "confirmed in another block", func(d wire.DepositChanged) bool { return confirmed(d) && d.BlockHeight > height })
	w.until("stays", "confirmed", confirmed)
	w.until("dropped", "still reverted", reverted)
	for _, d := range w.told {
		if d.Key == "ethereum:0xstays:0" && d.State == wire.Reverted {
			t.Errorf("the transfer of somebody else was reverted: %+v", d)
		}
	}
}

// After crashes at any place, each deposit is published once for each of its versions.
func TestSimulated_survivesRestarts(t *testing.T) {
	t.Parallel()
	w := newSimulation(t, slow)
	for i := range int64(6) {
		w.deposit(fmt.Sprint("d", i), 12)
		w.stop()
		w.start(i + 2)
	}
	for i := range 6 {
		w.until(fmt.Sprint("d", i), "confirmed", confirmed)
	}
}

func TestSimulated_refusesAForkOfNothing(t *testing.T) {
	t.Parallel()
	w := newSimulation(t, slow)
	w.deposit("a", 1)
	w.until("a", "seen", seen)
	for _, above := range []int64{-1, 1_000_000} {
		if err := w.chain.Fork(t.Context(), above, true); err == nil {
			t.Errorf("a fork above block %d was made", above)
		}
	}
}

// A pack stores what is new in it: not what an earlier message or the same request has stored.
func TestSimulate_pack(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	key := fund(t, s, pool)
	deposit := func(request string) wallet.Simulated {
		return wallet.Simulated{
			RequestID: request, Network: "ethereum", TxHash: "0x" + request, To: key, Asset: "USDT", Amount: big.NewInt(int64(len(request))), Sender: "of " + request,
			Confirmations: 1,
		}
	}
	simulate := func(messages []string, requests ...string) {
		t.Helper()
		var deposits []wallet.Simulated
		for _, r := range requests {
			deposits = append(deposits, deposit(r))
		}
		if err := s.Simulate(t.Context(), messages, deposits); err != nil {
			t.Fatal(err)
		}
	}
	simulate([]string{"m1"}, "a")
	simulate([]string{"m3", "m1", "m2", "m4"}, "ccc", "never", "bb", "bb")
	simulate([]string{"m2"}, "never")
	rows, err := pool.Query(t.Context(), `SELECT request_id || ' ' || tx_hash || ' ' || amount || ' ' || sender FROM sim_transfers ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if want := []string{"a 0xa 1 of a", "bb 0xbb 2 of bb", "ccc 0xccc 3 of ccc"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("simulate deposits of new and old messages: got %q, %v, want %q", got, err, want)
	}
}

func TestNotOfTest(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	fund(t, s, pool)
	var text string
	if err := pool.QueryRow(t.Context(), `SELECT address FROM addresses`).Scan(&text); err != nil {
		t.Fatal(err)
	}
	own, foreign := wallet.Spelling{Family: money.EVM, Test: text, Live: text}, wallet.Spelling{Family: money.EVM, Test: "0xnobody", Live: "0xnobody"}
	look := func(what string, want []int) {
		t.Helper()
		got, err := s.NotOfTest(t.Context(), []wallet.Spelling{own, foreign, own})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", what, got, err, want)
		}
	}
	look("one of test mode, one of nobody", []int{1})
	if _, err := pool.Exec(t.Context(), `INSERT INTO counters SELECT (jsonb_populate_record(c, '{"mode": "live"}')).* FROM counters c WHERE mode = 'test' ON CONFLICT DO NOTHING`); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO addresses SELECT (jsonb_populate_record(a, '{"mode": "live", "wallet_id": "other", "address": "live one"}')).*
		FROM addresses a WHERE address = $1`, text); err != nil {
		t.Fatal(err)
	}
	look("one of test mode beside one of live mode", []int{1})
	own.Live = "live one"
	look("one of both modes", []int{0, 1, 2})
}
