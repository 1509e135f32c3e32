//go:build integration

package main

import (
	"slices"
	"testing"
	"time"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/scanner"
)

// newMempool is bitcoin on btcd with a watched mempool.
func newMempool(t *testing.T, grace time.Duration) *liveChain {
	t.Helper()
	s := subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.chain == "bitcoin" })]
	l := newLiveChain(t, s, s.start(t))
	l.caughtUp()
	l.stop()
	l.mempool = scanner.MempoolConfig{Poll: 25 * time.Millisecond, Reads: 100, Grace: grace}
	l.start()
	return l
}

// unmined makes a transfer that waits for a block.
func (l *liveChain) unmined(to string) string {
	l.t.Helper()
	return l.transfer(map[string]any{"to": to, "amount": l.subject.coins, "token": false})
}

func isWaiting(d wire.DepositChanged) bool { return d.State == wire.Seen && d.BlockHeight == 0 }

// A transaction is seen before it is mined, with no block and no depth. Once mined it is the same deposit, with the
// time at which it was first seen.
func TestMempool_seenThenMined(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Hour)
	tx := l.unmined(l.addresses[0])
	first := l.one(tx, "waiting", isWaiting)
	if first.Version != 1 || first.Depth != 0 || first.Finalized || first.BlockHash != "" || !first.BlockTime.IsZero() || first.Amount != l.subject.coins || len(first.Senders) != 1 {
		t.Errorf("see an unmined deposit: got %+v, want its version 1 without a block", first)
	}
	l.mine(1)
	mined := l.one(tx, "mined", func(d wire.DepositChanged) bool { return d.BlockHeight > 0 })
	if mined.Key != first.Key || mined.Version != 2 || mined.Depth != 1 || !mined.FirstSeenAt.Equal(first.FirstSeenAt) || mined.BlockTime.IsZero() {
		t.Errorf("first %+v, mined %+v", first, mined)
	}
	l.mine(1)
	l.one(tx, "confirmed", isConfirmed)
	if len(l.last) != 1 {
		t.Errorf("%d deposits", len(l.last))
	}
}

// A transaction that another one replaces is reverted at once; the other one is a deposit of its own.
func TestMempool_replaced(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Hour)
	tx := l.unmined(l.addresses[0])
	l.one(tx, "waiting", isWaiting)
	instead := l.replace(tx, map[string]any{"to": l.addresses[1], "amount": "7000000", "token": false})
	l.one(tx, "reverted", isReverted)
	l.one(instead, "waiting", isWaiting)
	l.mine(2)
	l.one(instead, "confirmed", isConfirmed)
	if d := l.one(tx, "reverted", isReverted); d.Version != 2 || d.Depth != 0 {
		t.Errorf("replace an unmined deposit: got %+v, want its version 2, reverted", d)
	}
}

// A transaction that another one replaces in a block, unseen in the mempool, is reverted too.
func TestMempool_replacedInABlock(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Hour)
	tx := l.unmined(l.addresses[0])
	l.one(tx, "waiting", isWaiting)
	l.stop()
	l.replace(tx, map[string]any{"to": l.foreign[0], "amount": "7000000", "token": false})
	l.mine(1)
	l.start()
	l.one(tx, "reverted", isReverted)
}

// A transaction that the mempool loses is reverted after the grace, also across a restart, and returns when it is sent
// again.
func TestMempool_dropped(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Second)
	tx := l.unmined(l.addresses[0])
	first := l.one(tx, "waiting", isWaiting)
	l.stop()
	l.do("/drop", map[string]any{"txHashes": []string{tx}})
	l.start()
	l.one(tx, "reverted", isReverted)
	l.do("/include", map[string]any{"txHash": tx})
	l.one(tx, "waiting", isWaiting)
	l.mine(1)
	again := l.one(tx, "back", func(d wire.DepositChanged) bool { return d.BlockHeight > 0 })
	if again.Key != first.Key || !again.FirstSeenAt.Equal(first.FirstSeenAt) {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

// A transaction that a reorganisation removes from its block waits again where the node returns it to its mempool.
func TestMempool_reorganised(t *testing.T) {
	t.Parallel()
	l := newMempool(t, time.Hour)
	tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": l.subject.coins, "token": false, "mine": 1})
	l.one(tx, "mined", func(d wire.DepositChanged) bool { return d.BlockHeight > 0 })
	l.do("/reorg", map[string]any{"depth": 1, "blocks": 2})
	l.one(tx, "waiting", isWaiting)
}
