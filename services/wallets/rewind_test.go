//go:build integration

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/scanner"
)

// rewound is the output of the verb.
type rewound struct {
	From, Fork, To int64
	Reverted       int
}

// typed runs the verb with an operator's arguments.
func typed(t *testing.T, environ map[string]string, args ...string) (out rewound) {
	t.Helper()
	var text bytes.Buffer
	if err := program.Run(t.Context(), command.Input{Args: args, Environ: environ, Out: &text}); err != nil {
		t.Fatalf("run wallets %v: %v", args, err)
	}
	if err := json.Unmarshal(text.Bytes(), &out); err != nil {
		t.Fatalf("read the answer %s: %v", text.Bytes(), err)
	}
	return out
}

// environ is the environment of this chain's service.
func (c crashSettings) environ() map[string]string {
	n, _ := money.NetworkOf(c.Network)
	prefix := strings.ToUpper(c.Network) + "_"
	if n.Family == money.EVM {
		prefix = "EVM_" + prefix
	}
	out := map[string]string{
		"DATABASE_URL": c.Database, "LOG_LEVEL": "warn", "BITCOIN_NETWORK_LIVE": string(c.Net),
		"MASTER_KEYS":       "k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("m"), 32)),
		prefix + "RPC_URLS": c.URLs,
	}
	if c.Tokens != "" {
		out[prefix+"TOKENS"] = c.Tokens
	}
	if c.Genesis != "" && n.Family != money.Bitcoin {
		out[prefix+"GENESIS"] = c.Genesis
	}
	if c.ChainID != 0 && n.Family == money.EVM {
		out[prefix+"CHAIN_ID"] = fmt.Sprint(c.ChainID)
	}
	return out
}

// work runs the scan by leases, as the service does, until the test ends.
func (l *liveChain) work() {
	l.t.Helper()
	job := scanner.Job{Chain: l.cfg.Chain, Run: func(ctx context.Context, epoch int64) error {
		watch := scanner.NewWatch(tenant.Live, l.cfg.Family, l.book)
		return scanner.New(l.cfg, l.driver, l.book, watch, l.log, l.metrics).Run(ctx, epoch)
	}}
	if _, err := l.pool.Exec(l.t.Context(), `UPDATE cursors SET epoch = 0`); err != nil { // leases count from one
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.t.Context()))
	done := make(chan struct{})
	worker := scanner.NewWorker(l.book, "worker", []scanner.Job{job}, l.log, l.metrics)
	go func() { defer close(done); _ = worker.Run(ctx) }()
	l.stop = func() { cancel(); <-done }
}

// One verb rewinds a halted scan to the fork and scans forward on the right chain while the worker runs. Deposits of
// removed blocks are reverted, those that were mined again exist once, later ones are found, and a deposit below the
// fork does not change.
func TestConformance_rewind(t *testing.T) {
	on(t, servedForks, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		l.caughtUp()
		l.stop()
		l.cfg.FinalDepth = 5
		registry := prometheus.NewRegistry()
		l.metrics = scanner.NewMetrics(registry)
		l.work()
		below := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 3})
		gone := l.transfer(map[string]any{"to": l.addresses[1], "amount": s.coins, "token": false, "mine": 1})
		again := l.transfer(map[string]any{"to": l.addresses[2], "amount": s.coins, "token": false, "mine": 7})
		for _, tx := range []string{below, gone, again} {
			l.one(tx, "final", func(d wire.DepositChanged) bool { return d.Finalized })
		}
		l.caughtUp()
		before, stays := l.scanned(), l.last
		l.do("/reorg", map[string]any{"depth": 8, "blocks": 12, "include": again, "includeAfter": 2})
		await(t, "the scan to halt", func() bool { return gathered(t, registry, "wallets_scan_halted") == 1 })
		unmoved := stays[l.one(below, "there", isConfirmed).Key]

		environ := l.settings.environ()
		got := typed(t, environ, "rewind", "--network", s.network, "--reason", "provider was on a fork")
		fork := before - 8
		if s.chain == "solana" { // every tenth slot of solana is empty
			fork = max(unmoved.BlockHeight, min(got.Fork, fork))
		}
		if got.From != before || got.Fork != fork || got.To != fork || got.Reverted != 2 {
			t.Errorf("%+v from %d", got, before)
		}
		l.one(gone, "reverted", isReverted)
		back := l.one(again, "mined again", func(d wire.DepositChanged) bool { return d.Finalized })
		if now := l.one(below, "there", isConfirmed); now.Version != unmoved.Version {
			t.Errorf("a deposit below the fork was told again: %+v", now)
		}
		later := l.transfer(map[string]any{"to": l.addresses[3], "amount": s.coins, "token": false, "mine": s.depth + 5})
		l.one(later, "final", func(d wire.DepositChanged) bool { return d.Finalized })
		l.caughtUp()
		if gathered(t, registry, "wallets_scan_halted") != 0 || len(l.last) != 4 {
			t.Errorf("halted still, or %d deposits", len(l.last))
		}

		// Repeated, the verb finds nothing to do; with a height it reads blocks again and changes nothing.
		if got := typed(t, environ, "rewind", "--network", s.network, "--reason", "once more"); got.Reverted != 0 || got.Fork != got.From {
			t.Errorf("typed again: %+v", got)
		}
		if got := typed(t, environ, "rewind", "--network", s.network, "--to", fmt.Sprint(before-9), "--reason", "to be sure"); got.Reverted != 0 || got.To != before-9 {
			t.Errorf("with a height: %+v", got)
		}
		l.caughtUp()
		if now := l.one(again, "as it was", isConfirmed); now.Version != back.Version || len(l.last) != 4 {
			t.Errorf("looking again changed %+v", now)
		}
		var acts int
		if err := l.pool.QueryRow(t.Context(), `SELECT count(*) FROM audit WHERE action = 'rewind' AND operator LIKE 'cli:%' AND detail->>'reason' <> ''`).Scan(&acts); err != nil || acts != 2 {
			t.Errorf("%d acts in the audit: %v", acts, err)
		}
	})
}

// The headers around the fork were pruned: the verb finds the fork by the blocks of the deposits, or by the given
// height.
func TestConformance_rewindBelowTheKeptHeaders(t *testing.T) {
	on(t, servedForks, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		below := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 3})
		gone := l.transfer(map[string]any{"to": l.addresses[1], "amount": s.coins, "token": false, "mine": 8})
		last := l.found(below)
		l.found(gone)
		l.caughtUp()
		height := l.scanned()
		l.stop()
		if _, err := l.pool.Exec(t.Context(), `DELETE FROM headers WHERE mode = 'live' AND height < $1`, height-2); err != nil {
			t.Fatal(err)
		}
		l.work()
		l.do("/reorg", map[string]any{"depth": 8, "blocks": 12})
		await(t, "the scan to halt", func() bool { return l.metrics.Ready(t.Context()) != nil })
		environ := l.settings.environ()
		err := program.Run(t.Context(), command.Input{
			Args: []string{"rewind", "--network", s.network, "--to", fmt.Sprint(height - 1), "--reason", "too high"}, Environ: environ, Out: io.Discard,
		})
		if err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("a height above the fork: %v", err)
		}
		if got := typed(t, environ, "rewind", "--network", s.network, "--reason", "deep"); got.To != last.BlockHeight || got.Reverted != 1 {
			t.Errorf("%+v, the last block known is %d", got, last.BlockHeight)
		}
		l.one(gone, "reverted", isReverted)
		later := l.transfer(map[string]any{"to": l.addresses[2], "amount": s.coins, "token": false, "mine": 1})
		l.found(later)
		l.caughtUp()
		if len(l.last) != 3 {
			t.Errorf("%d deposits", len(l.last))
		}
	})
}

// The same on each simulated chain, in the whole service with its worker running.
func TestService_rewind(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	_, _, ops := w.replica()
	for _, family := range money.Families() {
		w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: string(family), Mode: tenant.Test, Family: family, Count: 20})
	}
	w.until("stocked", func() bool { return len(w.addresses) == len(money.Families()) })
	pool, err := pgxpool.New(t.Context(), w.environ["DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	chain := newBook(pool, nil)
	hash := func() string {
		b := make([]byte, 32)
		_, _ = rand.Read(b)
		return hex.EncodeToString(b)
	}
	networks := money.Networks()
	deposit := func(run string) {
		for i, n := range networks {
			w.publish(wire.SimulateDepositV1, wire.SimulateDeposit{
				RequestID: run + n.Name, Address: w.addresses[n.Family][i], Network: n.Name, Asset: n.Assets[0].Symbol, Amount: "1500000",
			})
		}
	}
	count := func(holds func(wire.DepositChanged) bool, want int) func() bool {
		return func() bool {
			n := 0
			for _, d := range w.deposits {
				if holds(d) {
					n++
				}
			}
			return n == want
		}
	}
	isFinal := func(d wire.DepositChanged) bool { return d.Finalized }
	deposit("one ")
	w.until("confirmed on every network", count(isConfirmed, len(networks)))
	above := map[string]int64{}
	w.mu.Lock()
	for _, d := range w.deposits {
		above[d.Network] = d.BlockHeight - 1
	}
	w.mu.Unlock()
	for _, n := range networks {
		for range 70 { // deeper than any simulated chain's final block
			if _, err := chain.SimMine(t.Context(), n.Name, hash()); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.until("final on every network", count(isFinal, len(networks)))
	for _, n := range networks {
		if err := chain.SimFork(t.Context(), n.Name, above[n.Name], true, hash); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range networks {
		w.until(n.Name+" to halt", func() bool { return metric(ops, fmt.Sprintf(`wallets_scan_halted{mode="test",network=%q} 1`, n.Name)) })
		got := typed(t, w.environ, "rewind", "--network", n.Name, "--mode", "test", "--reason", "drill")
		if got.Fork != above[n.Name] || got.Reverted != 1 {
			t.Errorf("%s: %+v, the fork is above %d", n.Name, got, above[n.Name])
		}
	}
	w.until("reverted on every network", count(isReverted, len(networks)))
	deposit("two ")
	w.until("found on the right chain", count(isConfirmed, len(networks)))
	for _, args := range [][]string{
		{"rewind"}, {"rewind", "--network", "tron"}, {"rewind", "--network", "tron", "--reason", " "}, {"rewind", "--network", "tron", "--mode", "x", "--reason", "y"},
	} {
		if err := program.Run(t.Context(), command.Input{Args: args, Environ: w.environ, Out: io.Discard}); !errors.Is(err, command.ErrUsage) {
			t.Errorf("run wallets %v: got %v, want the usage", args, err)
		}
	}
}

// metric reports whether the service shows a line.
func metric(ops, line string) bool {
	res, err := http.Get(ops + "/metrics")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return err == nil && strings.Contains(string(text), line)
}
