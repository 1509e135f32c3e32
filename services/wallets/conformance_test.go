//go:build integration

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/scanner"
)

// subject is a kind of chain that the conformance suite runs against: the same cases for every driver, on the chain's
// real software where that exists.
type subject struct {
	chain   string   // verb of deploy/realchain
	network string   // of docs/api-contract.md#networks
	flags   []string // of the node
	coin    string
	coins   string   // an amount of the coin that the chain's rules let an account hold
	tokens  []string // listed
	batch   string   // asset in which one transaction pays several, "" for the coin
	depth   int      // blocks, including its own, at which a deposit is confirmed
	forks   bool     // whether the node can reorganise
	final   bool     // whether the chain itself reports finality

	simulated bool // the chain of test mode, which has no provider
}

var subjects = []subject{
	{chain: "evm", network: "ethereum", flags: []string{"--chain-id", "1337"}, coin: "ETH", coins: "1500000000000000000", tokens: []string{"USDT", "USDC"}, batch: "USDT", depth: 12, forks: true, final: true},
	{chain: "tron", network: "tron", coin: "TRX", coins: "25000000", tokens: []string{"USDT"}, batch: "USDT", depth: 19, forks: true, final: true},
	{chain: "solana", network: "solana", coin: "SOL", coins: "25000000", tokens: []string{"USDT", "USDC"}, depth: 32, forks: true, final: true},
	{chain: "bitcoin", network: "bitcoin", coin: "BTC", coins: "25000000", depth: 2, forks: true},
	{chain: "simulated", network: "ethereum", coin: "ETH", coins: "25000000", depth: 12, forks: true, simulated: true},
}

// on runs a case against every subject that supports it.
func on(t *testing.T, sense func(s subject) bool, f func(t *testing.T, s subject)) {
	t.Parallel()
	for _, s := range subjects {
		if sense(s) {
			t.Run(s.chain, func(t *testing.T) {
				t.Parallel()
				f(t, s)
			})
		}
	}
}

func always(subject) bool            { return true }
func served(s subject) bool          { return !s.simulated }
func servedForks(s subject) bool     { return s.forks && served(s) }
func canFork(s subject) bool         { return s.forks }
func hasTokens(s subject) bool       { return len(s.tokens) > 0 }
func saysWhatIsFinal(s subject) bool { return s.final }

func TestConformance_foundAndConfirmed(t *testing.T) {
	on(t, always, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		sent := map[string]string{}
		for _, asset := range append([]string{""}, s.tokens...) {
			amount := "25000000"
			if asset == "" {
				amount = s.coins
			}
			sent[asset] = l.transfer(map[string]any{"to": l.addresses[len(sent)], "amount": amount, "token": asset})
		}
		l.mine(1)
		i := 0
		for _, asset := range append([]string{""}, s.tokens...) {
			d := l.one(sent[asset], "seen", isSeen)
			want, contract, amount := asset, l.Tokens[asset], "25000000"
			if asset == "" {
				want, amount = s.coin, s.coins
			}
			if d.Asset != want || d.Contract != contract || d.Amount != amount || d.Address != l.addresses[i] || d.Mode != tenant.Live || d.Network != s.network || d.Depth != 1 {
				t.Errorf("find the deposit of %s: got %+v", want, d)
			}
			i++
		}
		if s.depth > 2 {
			l.mine(s.depth - 2)
		}
		l.caughtUp()
		if d := l.one(sent[""], "seen", isSeen); d.Version != 1 {
			t.Errorf("%d blocks deep: %+v", s.depth-1, d)
		}
		l.mine(1)
		for _, tx := range sent {
			if d := l.one(tx, "confirmed", isConfirmed); d.Version != 2 {
				t.Errorf("confirm a deposit: got %+v, want the version 2", d)
			}
		}
	})
}

// One transaction that pays several deposit addresses and a foreign one credits each deposit address with its own
// amount.
func TestConformance_oneTransactionPaysSeveral(t *testing.T) {
	on(t, served, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		for _, to := range l.addresses[1:3] { // a first balance of a token costs more than a node gives a batch
			l.transfer(map[string]any{"to": to, "amount": s.dust(1), "token": s.batch, "mine": 1})
		}
		tx := l.transfer(map[string]any{"token": s.batch, "mine": 1, "payments": []map[string]string{
			{"to": l.addresses[1], "amount": s.dust(11)}, {"to": l.foreign[0], "amount": s.dust(12)}, {"to": l.addresses[2], "amount": s.dust(13)},
		}})
		l.caughtUp()
		amounts := map[string]string{}
		for _, d := range l.of(tx) {
			amounts[d.Address] += d.Amount
		}
		if len(amounts) != 2 || amounts[l.addresses[1]] != s.dust(11) || amounts[l.addresses[2]] != s.dust(13) {
			t.Errorf("credited %v", amounts)
		}
	})
}

// dust is the smallest amount with which the chain lets an account be opened.
func (s subject) dust(n int64) string {
	if s.coin == "SOL" && s.batch == "" {
		return fmt.Sprint(n * 1_000_000)
	}
	return fmt.Sprint(n)
}

// A token that only has the name of a listed one is not credited.
func TestConformance_fakeToken(t *testing.T) {
	on(t, hasTokens, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		fake := l.transfer(map[string]any{"to": l.addresses[0], "amount": "99", "token": "FAKE", "mine": 1})
		real := l.transfer(map[string]any{"to": l.addresses[0], "amount": "14", "token": s.tokens[0], "mine": 1})
		l.one(real, "seen", isSeen)
		l.caughtUp()
		if list := l.of(fake); len(list) > 0 {
			t.Errorf("the fake token was credited: %+v", list)
		}
	})
}

// No transaction shows coin that a contract sends: the scan finds it in the traces of an EVM chain and in the contract
// results of tron's node.
func TestConformance_coinSentByAContract(t *testing.T) {
	on(t, func(s subject) bool { return s.chain == "evm" || s.chain == "tron" }, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		l.stop()
		l.settings.Trace = "debug"
		l.driver, _ = l.settings.open(l.log, l.endpoints, l.book)
		l.start()
		for _, to := range append(l.addresses[:2:2], l.foreign[0]) { // a first balance costs more than a node gives a batch
			l.transfer(map[string]any{"to": to, "amount": "1000000", "token": false, "mine": 1})
		}
		tx := l.transfer(map[string]any{"token": false, "mine": 1, "payments": []map[string]string{
			{"to": l.addresses[0], "amount": "11"}, {"to": l.foreign[0], "amount": "12"}, {"to": l.addresses[1], "amount": "13"},
		}})
		l.caughtUp()
		amounts := map[string]string{}
		for _, d := range l.of(tx) {
			amounts[d.Address] += d.Asset + d.Amount
		}
		if len(amounts) != 2 || amounts[l.addresses[0]] != s.coin+"11" || amounts[l.addresses[1]] != s.coin+"13" {
			t.Errorf("credited %v", amounts)
		}
	})
}

// A deposit is final before it is deep where the chain reports finality.
func TestConformance_finalByTheChain(t *testing.T) {
	on(t, saysWhatIsFinal, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		l.do("/finality", map[string]any{"depth": 1})
		tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 2})
		l.one(tx, "final", func(d wire.DepositChanged) bool { return d.Finalized && d.State == wire.Confirmed })
	})
}

// Case i: the deposit's block leaves the chain and the transaction with it.
func TestConformance_reorg_i_dropped(t *testing.T) {
	on(t, canFork, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 2})
		l.found(tx)
		l.do("/reorg", map[string]any{"depth": 2, "blocks": 3})
		l.one(tx, "reverted", isReverted)
		l.mine(s.depth)
		l.caughtUp()
		if d := l.one(tx, "reverted", isReverted); d.Depth != 0 {
			t.Errorf("drop a transaction by a reorganisation: got %+v, want the depth 0", d)
		}
	})
}

// Case ii: the same transaction in another block, at another height and position, is the same deposit.
func TestConformance_reorg_ii_minedAgainElsewhere(t *testing.T) {
	on(t, canFork, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		token := ""
		if len(s.tokens) > 0 {
			token = s.tokens[0]
		}
		tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": "25000000", "token": token, "mine": 2})
		first := l.found(tx)
		l.do("/reorg", map[string]any{"depth": 2, "blocks": 4, "include": tx, "includeAfter": 2, "ahead": 3})
		again := l.one(tx, "in another block", func(d wire.DepositChanged) bool { return d.State != wire.Reverted && d.BlockHash != first.BlockHash })
		if again.Key != first.Key || again.BlockHeight == first.BlockHeight || again.Amount != first.Amount || !again.FirstSeenAt.Equal(first.FirstSeenAt) || len(l.last) != 1 {
			t.Errorf("first %+v, again %+v of %d deposits", first, again, len(l.last))
		}
		l.mine(s.depth)
		l.one(tx, "confirmed", isConfirmed)
	})
}

// Case iii: another transaction replaces the deposit's.
func TestConformance_reorg_iii_replaced(t *testing.T) {
	on(t, servedForks, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 2})
		l.found(tx)
		l.do("/fork", map[string]any{"depth": 2})
		instead := l.replace(tx, map[string]any{"to": l.addresses[1], "amount": "7000000", "token": false})
		l.mine(3)
		l.one(tx, "reverted", isReverted)
		l.found(instead)
		l.caughtUp()
		if len(l.last) != 2 {
			t.Errorf("%d deposits", len(l.last))
		}
	})
}

// Case iv: the head goes back and stays back for a while.
func TestConformance_reorg_iv_headGoesBack(t *testing.T) {
	on(t, servedForks, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 2})
		l.found(tx)
		l.do("/fork", map[string]any{"depth": 2})
		l.one(tx, "reverted", isReverted)
		l.mine(1)
		l.do("/reorg", map[string]any{"depth": 1, "blocks": 2, "include": tx})
		l.one(tx, "back", func(d wire.DepositChanged) bool { return d.State != wire.Reverted })
	})
}

// Case v: deeper than a final block. The scan halts and says so; nothing is reverted and nothing is skipped.
func TestConformance_reorg_v_tooDeep(t *testing.T) {
	on(t, canFork, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		l.stop()
		l.cfg.FinalDepth = 5
		l.start()
		tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 8})
		l.one(tx, "final", func(d wire.DepositChanged) bool { return d.Finalized })
		l.caughtUp()
		before := l.scanned()
		l.do("/reorg", map[string]any{"depth": 8, "blocks": 12})
		await(t, "the scan to halt", func() bool { return l.metrics.Ready(t.Context()) != nil })
		if after := l.scanned(); after != before {
			t.Errorf("the scan went from %d to %d", before, after)
		}
		if d := l.one(tx, "confirmed", isConfirmed); !d.Finalized {
			t.Errorf("keep a deposit above which the chain forks: got %+v, want it final", d)
		}
	})
}

// Case vi: kill -9 before and after every call of the scanner, while it goes forward and while it goes back. Every
// deposit exists once, and each of its versions was published once and in order (collect checks that).
func TestConformance_reorg_vi_killedAtEveryStep(t *testing.T) {
	killed := func(s subject) bool { return slices.Contains(strings.Fields(killedOn), s.chain) }
	on(t, killed, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		l.caughtUp()
		l.stop()
		forward := l.killedAtEveryStep(func(i int) {
			l.transfer(map[string]any{"to": l.addresses[i%len(l.addresses)], "amount": s.coins, "token": false, "mine": 1})
		})
		var back []string
		if s.forks {
			tx := ""
			back = l.killedAtEveryStep(func(int) {
				if tx == "" {
					tx = l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 1})
					l.runOnce()
				}
				l.do("/reorg", map[string]any{"depth": 1, "blocks": 2, "include": tx, "includeAfter": 1})
			})
		}
		t.Logf("killed forward at %v", forward)
		t.Logf("killed on the way back at %v", back)
		for _, step := range []string{"before Head", "after Head", "before Fetch", "after Fetch", "after AddressesAfter", "before Match", "after Match", "before Advance", "after Advance"} {
			if !slices.Contains(forward, step) {
				t.Errorf("no process died %s", step)
			}
		}
		if s.forks && (!slices.Contains(back, "before Rewind") || !slices.Contains(back, "after Rewind")) {
			t.Error("no process died around a rewind")
		}
		l.collect()
		want := len(l.sent)
		if len(l.last) != want {
			t.Errorf("%d deposits of %d transfers", len(l.last), want)
		}
		for _, tx := range l.sent {
			if list := l.of(tx); len(list) != 1 || list[0].State == wire.Reverted || list[0].Amount != s.coins {
				t.Errorf("scan %s after every kill: got %+v, want one whole deposit", tx, list)
			}
		}
	})
}

// Case vii: after a fail-over to a provider on another fork the scan has that provider's chain.
func TestConformance_reorg_vii_twoProviders(t *testing.T) {
	on(t, servedForks, func(t *testing.T, s subject) {
		a, b := s.start(t), s.start(t)
		l := newLiveChain(t, s, a, b.RPC)
		l.stop()
		l.cfg.FinalDepth, l.cfg.Start = 100_000, 1 // the two have their first block in common
		l.forget()
		l.start()
		tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 3})
		l.found(tx)
		b.mine(20)
		on := b.transfer(map[string]any{"to": l.addresses[1], "amount": s.coins, "token": false, "mine": 1})
		a.do("/rpc", map[string]any{"enabled": false})
		l.one(tx, "reverted", isReverted)
		l.found(on)
	})
}

// Downtime: the scan stops and starts while money moves, and the node goes away and comes back.
func TestConformance_downtime(t *testing.T) {
	on(t, served, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		for i := range 3 {
			l.transfer(map[string]any{"to": l.addresses[i], "amount": s.coins, "token": false, "mine": 1})
			l.stop()
			l.transfer(map[string]any{"to": l.addresses[i], "amount": s.coins, "token": false, "mine": 3})
			l.start()
		}
		l.do("/rpc", map[string]any{"enabled": false, "mode": "error"})
		l.transfer(map[string]any{"to": l.addresses[4], "amount": s.coins, "token": false, "mine": s.depth + 2})
		l.do("/rpc", map[string]any{"enabled": true})
		for _, tx := range l.sent {
			l.one(tx, "confirmed", isConfirmed)
		}
		if len(l.last) != len(l.sent) {
			t.Errorf("%d deposits of %d transfers", len(l.last), len(l.sent))
		}
	})
}

// Catching up a thousand blocks shows its progress in the log and in the metrics.
func TestConformance_catchingUp(t *testing.T) {
	on(t, func(s subject) bool { return s.chain == "evm" }, func(t *testing.T, s subject) {
		l := newLiveChain(t, s, s.start(t))
		l.caughtUp()
		l.stop()
		tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 1})
		l.mine(1000)
		registry := prometheus.NewRegistry()
		l.metrics = scanner.NewMetrics(registry)
		l.start()
		l.one(tx, "confirmed", isConfirmed)
		l.caughtUp()
		for name, want := range map[string]int{"wallets_scanned_blocks_total": 1001, "wallets_matched_transfers_total": 1, "wallets_scan_lag_blocks": 0} {
			await(t, name, func() bool { return gathered(t, registry, name) == want })
		}
	})
}

// gathered adds up a metric, of one value of a label if one is given.
func gathered(t *testing.T, registry *prometheus.Registry, name string, label ...string) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			counts := len(label) == 0
			for _, pair := range m.GetLabel() {
				counts = counts || pair.GetName() == label[0] && pair.GetValue() == label[1]
			}
			if counts {
				sum += int(m.GetGauge().GetValue() + m.GetCounter().GetValue())
			}
		}
	}
	return sum
}

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(4 * time.Minute) // the machine may be busy
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

func isSeen(d wire.DepositChanged) bool      { return d.State == wire.Seen }
func isConfirmed(d wire.DepositChanged) bool { return d.State == wire.Confirmed }
func isReverted(d wire.DepositChanged) bool  { return d.State == wire.Reverted }

func (s subject) money() money.Network {
	n, ok := money.NetworkOf(s.network)
	if !ok {
		panic(s.network + " is no network")
	}
	return n
}

func lower(s subject, hash string) string {
	if s.chain == "evm" {
		return strings.ToLower(hash)
	}
	return hash
}

// A bitcoin deposit names its senders where the node has an index of transactions, and has none where the node has no
// index.
func TestConformance_sendersOfBitcoin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flag  string
		known bool
	}{"with an index": {"--txindex=true", true}, "without": {"--txindex=false", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.chain == "bitcoin" })]
			s.flags = []string{c.flag}
			l := newLiveChain(t, s, s.start(t))
			d := l.found(l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": 1}))
			if (len(d.Senders) == 1) != c.known || (c.known && !strings.HasPrefix(d.Senders[0], "bcrt1q")) {
				t.Errorf("senders %v", d.Senders)
			}
		})
	}
}
