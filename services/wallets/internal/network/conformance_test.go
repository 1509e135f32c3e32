//go:build integration

package network_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/scanner"
)

// on runs a case against every subject that supports it.
func on(t *testing.T, supports func(s fixture.Subject) bool, f func(t *testing.T, s fixture.Subject)) {
	t.Parallel()
	for _, s := range fixture.Subjects() {
		if supports(s) {
			t.Run(s.Chain, func(t *testing.T) {
				t.Parallel()
				f(t, s)
			})
		}
	}
}

// broadly is for cases of the scanner and the store, which are the same on every chain.
func broadly(supports func(s fixture.Subject) bool) func(s fixture.Subject) bool {
	return func(s fixture.Subject) bool { return supports(s) && slices.Contains(strings.Fields(broadOn), s.Chain) }
}

func always(fixture.Subject) bool            { return true }
func served(s fixture.Subject) bool          { return !s.Simulated }
func servedForks(s fixture.Subject) bool     { return s.Forks && served(s) }
func canFork(s fixture.Subject) bool         { return s.Forks }
func hasTokens(s fixture.Subject) bool       { return len(s.Tokens) > 0 }
func saysWhatIsFinal(s fixture.Subject) bool { return s.Final }

func TestConformance_foundAndConfirmed(t *testing.T) {
	on(t, always, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		sent := map[string]string{}
		for _, asset := range append([]string{""}, s.Tokens...) {
			amount := "25000000"
			if asset == "" {
				amount = s.Coins
			}
			sent[asset] = l.Transfer(map[string]any{"to": l.Addresses[len(sent)], "amount": amount, "token": asset})
		}
		l.Mine(1)
		i := 0
		for _, asset := range append([]string{""}, s.Tokens...) {
			d := l.One(sent[asset], "seen", fixture.IsSeen)
			want, contract, amount := asset, l.Tokens[asset], "25000000"
			if asset == "" {
				want, amount = s.Coin, s.Coins
			}
			if d.Asset != want || d.Contract != contract || d.Amount != amount || d.Address != l.Addresses[i] || d.Mode != tenant.Live || d.Network != s.Network || d.Depth != 1 {
				t.Errorf("find the deposit of %s: got %+v", want, d)
			}
			i++
		}
		if s.Depth > 2 {
			l.Mine(s.Depth - 2)
		}
		l.CaughtUp()
		if d := l.One(sent[""], "seen", fixture.IsSeen); d.Version != 1 {
			t.Errorf("%d blocks deep: %+v", s.Depth-1, d)
		}
		l.Mine(1)
		for _, tx := range sent {
			if d := l.One(tx, "confirmed", fixture.IsConfirmed); d.Version != 2 {
				t.Errorf("confirm a deposit: got %+v, want the version 2", d)
			}
		}
	})
}

// One transaction that pays several deposit addresses and a foreign one credits each deposit address with its own
// amount.
func TestConformance_oneTransactionPaysSeveral(t *testing.T) {
	on(t, served, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		for _, to := range l.Addresses[1:3] { // a first balance of a token costs more than a node gives a batch
			l.Transfer(map[string]any{"to": to, "amount": dust(s, 1), "token": s.Batch, "mine": 1})
		}
		tx := l.Transfer(map[string]any{"token": s.Batch, "mine": 1, "payments": []map[string]string{
			{"to": l.Addresses[1], "amount": dust(s, 11)}, {"to": l.Foreign[0], "amount": dust(s, 12)}, {"to": l.Addresses[2], "amount": dust(s, 13)},
		}})
		l.CaughtUp()
		amounts := map[string]string{}
		for _, d := range l.Of(tx) {
			amounts[d.Address] += d.Amount
		}
		if len(amounts) != 2 || amounts[l.Addresses[1]] != dust(s, 11) || amounts[l.Addresses[2]] != dust(s, 13) {
			t.Errorf("credited %v", amounts)
		}
	})
}

// dust is the smallest amount with which the chain lets an account be opened.
func dust(s fixture.Subject, n int64) string {
	if s.Coin == "SOL" && s.Batch == "" {
		return fmt.Sprint(n * 1_000_000)
	}
	return fmt.Sprint(n)
}

// A token that only has the name of a listed one is not credited.
func TestConformance_fakeToken(t *testing.T) {
	on(t, hasTokens, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		fake := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": "99", "token": "FAKE", "mine": 1})
		real := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": "14", "token": s.Tokens[0], "mine": 1})
		l.One(real, "seen", fixture.IsSeen)
		l.CaughtUp()
		if list := l.Of(fake); len(list) > 0 {
			t.Errorf("the fake token was credited: %+v", list)
		}
	})
}

// No transaction shows coin that a contract sends: the scan finds it in the traces of an EVM chain and in the contract
// results of tron's node.
func TestConformance_coinSentByAContract(t *testing.T) {
	on(t, func(s fixture.Subject) bool { return s.Chain == "evm" || s.Chain == "tron" }, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		l.Stop()
		l.Settings.Trace = "debug"
		l.Driver, _ = l.Settings.Open(l.Log, l.Endpoints, l.Book)
		l.Start()
		for _, to := range append(l.Addresses[:2:2], l.Foreign[0]) { // a first balance costs more than a node gives a batch
			l.Transfer(map[string]any{"to": to, "amount": "1000000", "token": false, "mine": 1})
		}
		tx := l.Transfer(map[string]any{"token": false, "mine": 1, "payments": []map[string]string{
			{"to": l.Addresses[0], "amount": "11"}, {"to": l.Foreign[0], "amount": "12"}, {"to": l.Addresses[1], "amount": "13"},
		}})
		l.CaughtUp()
		amounts := map[string]string{}
		for _, d := range l.Of(tx) {
			amounts[d.Address] += d.Asset + d.Amount
		}
		if len(amounts) != 2 || amounts[l.Addresses[0]] != s.Coin+"11" || amounts[l.Addresses[1]] != s.Coin+"13" {
			t.Errorf("credited %v", amounts)
		}
	})
}

// A deposit is final before it is deep where the chain reports finality.
func TestConformance_finalByTheChain(t *testing.T) {
	on(t, saysWhatIsFinal, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		l.Do("/finality", map[string]any{"depth": 1})
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 2})
		l.One(tx, "final", func(d wire.DepositChanged) bool { return d.Finalized && d.State == wire.Confirmed })
	})
}

// Case i: the deposit's block leaves the chain and the transaction with it.
func TestConformance_reorg_i_dropped(t *testing.T) {
	on(t, canFork, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 2})
		l.Found(tx)
		l.Do("/reorg", map[string]any{"depth": 2, "blocks": 3})
		l.One(tx, "reverted", fixture.IsReverted)
		l.Mine(s.Depth)
		l.CaughtUp()
		if d := l.One(tx, "reverted", fixture.IsReverted); d.Depth != 0 {
			t.Errorf("drop a transaction by a reorganisation: got %+v, want the depth 0", d)
		}
	})
}

// Case ii: the same transaction in another block, at another height and position, is the same deposit.
func TestConformance_reorg_ii_minedAgainElsewhere(t *testing.T) {
	on(t, canFork, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		token := ""
		if len(s.Tokens) > 0 {
			token = s.Tokens[0]
		}
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": "25000000", "token": token, "mine": 2})
		first := l.Found(tx)
		l.Do("/reorg", map[string]any{"depth": 2, "blocks": 4, "include": tx, "includeAfter": 2, "ahead": 3})
		again := l.One(tx, "in another block", func(d wire.DepositChanged) bool { return d.State != wire.Reverted && d.BlockHash != first.BlockHash })
		if again.Key != first.Key || again.BlockHeight == first.BlockHeight || again.Amount != first.Amount || !again.FirstSeenAt.Equal(first.FirstSeenAt) || len(l.Last) != 1 {
			t.Errorf("first %+v, again %+v of %d deposits", first, again, len(l.Last))
		}
		l.Mine(s.Depth)
		l.One(tx, "confirmed", fixture.IsConfirmed)
	})
}

// Case iii: another transaction replaces the deposit's.
func TestConformance_reorg_iii_replaced(t *testing.T) {
	on(t, broadly(servedForks), func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 2})
		l.Found(tx)
		l.Do("/fork", map[string]any{"depth": 2})
		instead := l.Replace(tx, map[string]any{"to": l.Addresses[1], "amount": "7000000", "token": false})
		l.Mine(3)
		l.One(tx, "reverted", fixture.IsReverted)
		l.Found(instead)
		l.CaughtUp()
		if len(l.Last) != 2 {
			t.Errorf("%d deposits", len(l.Last))
		}
	})
}

// Case iv: the head goes back and stays back for a while.
func TestConformance_reorg_iv_headGoesBack(t *testing.T) {
	on(t, broadly(servedForks), func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 2})
		l.Found(tx)
		l.Do("/fork", map[string]any{"depth": 2})
		l.One(tx, "reverted", fixture.IsReverted)
		l.Mine(1)
		l.Do("/reorg", map[string]any{"depth": 1, "blocks": 2, "include": tx})
		l.One(tx, "back", func(d wire.DepositChanged) bool { return d.State != wire.Reverted })
	})
}

// Case v: deeper than a final block. The scan halts and says so; nothing is reverted and nothing is skipped.
func TestConformance_reorg_v_tooDeep(t *testing.T) {
	on(t, broadly(canFork), func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		l.Stop()
		l.Config.FinalDepth = 5
		l.Start()
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 8})
		l.One(tx, "final", func(d wire.DepositChanged) bool { return d.Finalized })
		l.CaughtUp()
		before := l.Scanned()
		l.Do("/reorg", map[string]any{"depth": 8, "blocks": 12})
		fixture.Await(t, "the scan to halt", func() bool { return l.Metrics.Ready(t.Context()) != nil })
		if after := l.Scanned(); after != before {
			t.Errorf("the scan went from %d to %d", before, after)
		}
		if d := l.One(tx, "confirmed", fixture.IsConfirmed); !d.Finalized {
			t.Errorf("keep a deposit above which the chain forks: got %+v, want it final", d)
		}
	})
}

// Case vi: kill -9 before and after every call of the scanner, while it goes forward and while it goes back. Every
// deposit exists once, and each of its versions was published once and in order (collect checks that).
func TestConformance_reorg_vi_killedAtEveryStep(t *testing.T) {
	killed := func(s fixture.Subject) bool { return slices.Contains(strings.Fields(killedOn), s.Chain) }
	on(t, killed, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		l.CaughtUp()
		l.Stop()
		forward := killedAtEveryStep(l, func(i int) {
			l.Transfer(map[string]any{"to": l.Addresses[i%len(l.Addresses)], "amount": s.Coins, "token": false, "mine": 1})
		})
		var back []string
		if s.Forks {
			tx := ""
			back = killedAtEveryStep(l, func(int) {
				if tx == "" {
					tx = l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 1})
					l.RunOnce()
				}
				l.Do("/reorg", map[string]any{"depth": 1, "blocks": 2, "include": tx, "includeAfter": 1})
			})
		}
		t.Logf("killed forward at %v", forward)
		t.Logf("killed on the way back at %v", back)
		for _, step := range []string{"before Head", "after Head", "before Fetch", "after Fetch", "after AddressesAfter", "before Match", "after Match", "before Advance", "after Advance"} {
			if !slices.Contains(forward, step) {
				t.Errorf("no process died %s", step)
			}
		}
		if s.Forks && (!slices.Contains(back, "before Rewind") || !slices.Contains(back, "after Rewind")) {
			t.Error("no process died around a rewind")
		}
		l.Collect()
		want := len(l.Sent)
		if len(l.Last) != want {
			t.Errorf("%d deposits of %d transfers", len(l.Last), want)
		}
		for _, tx := range l.Sent {
			if list := l.Of(tx); len(list) != 1 || list[0].State == wire.Reverted || list[0].Amount != s.Coins {
				t.Errorf("scan %s after every kill: got %+v, want one whole deposit", tx, list)
			}
		}
	})
}

// Case vii: after a fail-over to a provider on another fork the scan has that provider's chain.
func TestConformance_reorg_vii_twoProviders(t *testing.T) {
	on(t, broadly(servedForks), func(t *testing.T, s fixture.Subject) {
		a, b := s.Start(t), s.Start(t)
		l := fixture.NewChain(t, s, a, b.RPC)
		l.Stop()
		l.Config.FinalDepth, l.Config.Start = 100_000, 1 // the two have their first block in common
		l.Forget()
		l.Start()
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 3})
		l.Found(tx)
		b.Mine(20)
		on := b.Transfer(map[string]any{"to": l.Addresses[1], "amount": s.Coins, "token": false, "mine": 1})
		a.Do("/rpc", map[string]any{"enabled": false})
		l.One(tx, "reverted", fixture.IsReverted)
		l.Found(on)
	})
}

// Downtime: the scan stops and starts while money moves, and the node goes away and comes back.
func TestConformance_downtime(t *testing.T) {
	on(t, served, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		for i := range 3 {
			l.Transfer(map[string]any{"to": l.Addresses[i], "amount": s.Coins, "token": false, "mine": 1})
			l.Stop()
			l.Transfer(map[string]any{"to": l.Addresses[i], "amount": s.Coins, "token": false, "mine": 3})
			l.Start()
		}
		l.Do("/rpc", map[string]any{"enabled": false, "mode": "error"})
		l.Transfer(map[string]any{"to": l.Addresses[4], "amount": s.Coins, "token": false, "mine": s.Depth + 2})
		l.Do("/rpc", map[string]any{"enabled": true})
		for _, tx := range l.Sent {
			l.One(tx, "confirmed", fixture.IsConfirmed)
		}
		if len(l.Last) != len(l.Sent) {
			t.Errorf("%d deposits of %d transfers", len(l.Last), len(l.Sent))
		}
	})
}

// Catching up a thousand blocks shows its progress in the log and in the metrics.
func TestConformance_catchingUp(t *testing.T) {
	on(t, func(s fixture.Subject) bool { return s.Chain == "evm" }, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		l.CaughtUp()
		l.Stop()
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 1})
		l.Mine(1000)
		registry := prometheus.NewRegistry()
		l.Metrics = scanner.NewMetrics(registry)
		l.Start()
		l.One(tx, "confirmed", fixture.IsConfirmed)
		l.CaughtUp()
		for name, want := range map[string]int{"wallets_scanned_blocks_total": 1001, "wallets_matched_transfers_total": 1, "wallets_scan_lag_blocks": 0} {
			fixture.Await(t, name, func() bool { return gathered(t, registry, name) == want })
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
			s := fixture.SubjectOf(t, "bitcoin")
			s.Flags = []string{c.flag}
			l := fixture.NewChain(t, s, s.Start(t))
			d := l.Found(l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 1}))
			if (len(d.Senders) == 1) != c.known || (c.known && !strings.HasPrefix(d.Senders[0], "bcrt1q")) {
				t.Errorf("senders %v", d.Senders)
			}
		})
	}
}
