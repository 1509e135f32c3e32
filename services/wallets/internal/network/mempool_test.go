//go:build integration

package network_test

import (
	"testing"
	"time"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/scanner"
)

// newMempool is bitcoin on btcd with a watched mempool.
func newMempool(t *testing.T, grace time.Duration) *fixture.Chain {
	t.Helper()
	s := fixture.SubjectOf(t, "bitcoin")
	l := fixture.NewChain(t, s, s.Start(t))
	l.CaughtUp()
	l.Stop()
	l.Mempool = scanner.MempoolConfig{Poll: 25 * time.Millisecond, Reads: 100, Grace: grace}
	l.Start()
	return l
}

// unmined makes a transfer that waits for a block.
func unmined(l *fixture.Chain, to string) string {
	l.T.Helper()
	return l.Transfer(map[string]any{"to": to, "amount": l.Subject.Coins, "token": false})
}

func isWaiting(d wire.DepositChanged) bool { return d.State == wire.Seen && d.BlockHeight == 0 }

// A transaction is seen before it is mined, with no block and no depth. Once mined it is the same deposit, with the
// time at which it was first seen.
func TestMempool_seenThenMined(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Hour)
	tx := unmined(l, l.Addresses[0])
	first := l.One(tx, "waiting", isWaiting)
	if first.Version != 1 || first.Depth != 0 || first.Finalized || first.BlockHash != "" || !first.BlockTime.IsZero() || first.Amount != l.Subject.Coins || len(first.Senders) != 1 {
		t.Errorf("see an unmined deposit: got %+v, want its version 1 without a block", first)
	}
	l.Mine(1)
	mined := l.One(tx, "mined", func(d wire.DepositChanged) bool { return d.BlockHeight > 0 })
	if mined.Key != first.Key || mined.Version != 2 || mined.Depth != 1 || !mined.FirstSeenAt.Equal(first.FirstSeenAt) || mined.BlockTime.IsZero() {
		t.Errorf("first %+v, mined %+v", first, mined)
	}
	l.Mine(1)
	l.One(tx, "confirmed", fixture.IsConfirmed)
	if len(l.Last) != 1 {
		t.Errorf("%d deposits", len(l.Last))
	}
}

// A transaction that another one replaces is reverted at once; the other one is a deposit of its own.
func TestMempool_replaced(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Hour)
	tx := unmined(l, l.Addresses[0])
	l.One(tx, "waiting", isWaiting)
	instead := l.Replace(tx, map[string]any{"to": l.Addresses[1], "amount": "7000000", "token": false})
	l.One(tx, "reverted", fixture.IsReverted)
	l.One(instead, "waiting", isWaiting)
	l.Mine(2)
	l.One(instead, "confirmed", fixture.IsConfirmed)
	if d := l.One(tx, "reverted", fixture.IsReverted); d.Version != 2 || d.Depth != 0 {
		t.Errorf("replace an unmined deposit: got %+v, want its version 2, reverted", d)
	}
}

// A transaction that another one replaces in a block, unseen in the mempool, is reverted too.
func TestMempool_replacedInABlock(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Hour)
	tx := unmined(l, l.Addresses[0])
	l.One(tx, "waiting", isWaiting)
	l.Stop()
	l.Replace(tx, map[string]any{"to": l.Foreign[0], "amount": "7000000", "token": false})
	l.Mine(1)
	l.Start()
	l.One(tx, "reverted", fixture.IsReverted)
}

// A transaction that the mempool loses is reverted after the grace, also across a restart, and returns when it is sent
// again.
func TestMempool_dropped(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Second)
	tx := unmined(l, l.Addresses[0])
	first := l.One(tx, "waiting", isWaiting)
	l.Stop()
	l.Do("/drop", map[string]any{"txHashes": []string{tx}})
	l.Start()
	l.One(tx, "reverted", fixture.IsReverted)
	l.Do("/include", map[string]any{"txHash": tx})
	l.One(tx, "waiting", isWaiting)
	l.Mine(1)
	again := l.One(tx, "back", func(d wire.DepositChanged) bool { return d.BlockHeight > 0 })
	if again.Key != first.Key || !again.FirstSeenAt.Equal(first.FirstSeenAt) {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

// A transaction that a reorganisation removes from its block waits again where the node returns it to its mempool.
func TestMempool_reorganised(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Hour)
	tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": l.Subject.Coins, "token": false, "mine": 1})
	l.One(tx, "mined", func(d wire.DepositChanged) bool { return d.BlockHeight > 0 })
	l.Do("/reorg", map[string]any{"depth": 1, "blocks": 2})
	l.One(tx, "waiting", isWaiting)
}
