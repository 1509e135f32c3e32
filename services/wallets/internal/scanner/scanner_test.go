package scanner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/wallet"
)

// bench is one scanner between a node and a store, in a bubble of fake time.
type bench struct {
	t       testing.TB
	node    *node
	store   *memory
	metrics *Metrics
	stop    context.CancelFunc
	ended   chan error
}

const (
	testGrace = 10 * time.Second
	testPoll  = 100 * time.Millisecond
)

func testConfig() Config {
	return Config{
		Chain: Chain{Mode: tenant.Live, Network: "ethereum"}, Family: money.EVM, Poll: testPoll, Prefetch: 4,
		Announce: 5 * time.Second, Grace: testGrace, FinalDepth: 1000, Window: 4096, Start: 1,
		Behind: 3 * time.Minute, Stall: 30 * time.Minute,
	}
}

func start(t testing.TB, n chain.Driver, m *memory, cfg Config, epoch int64) *bench {
	ctx, stop := context.WithCancel(context.Background())
	b := &bench{t: t, store: m, stop: stop, ended: make(chan error, 1), metrics: NewMetrics(prometheus.NewRegistry())}
	b.node, _ = n.(*node)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := New(cfg, n, m, NewWatch(cfg.Mode, cfg.Family, m), log, b.metrics)
	go func() { b.ended <- s.Run(ctx, epoch) }()
	return b
}

// settle advances time until nothing can change any more.
func (b *bench) settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) end() {
	b.stop()
	if err := <-b.ended; err != nil && !errors.Is(err, ErrFenced) {
		b.t.Errorf("the scan ended with %v", err)
	}
}

func (b *bench) want(tx string, state wallet.State, height int64, versions int) {
	b.t.Helper()
	d, told := b.store.look(tx)
	if d.State != state || (state != wallet.Reverted && d.BlockHeight != height) || told != versions || d.Version != int64(versions) {
		b.t.Errorf("%s is %q in block %d, version %d, announced %d times; want %q in block %d, %d versions",
			tx, d.State, d.BlockHeight, d.Version, told, state, height, versions)
	}
}

func TestScan_seenThenConfirmedThenFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, m := newNode(), newMemory(ours)
		b := start(t, n, m, testConfig(), 1)
		defer b.end()
		n.mine(pay("a", ours), pay("b", foreign))
		b.settle(time.Second)
		b.want("a", wallet.Seen, 1, 1)
		n.mine()
		b.settle(time.Second)
		b.want("a", wallet.Seen, 1, 1)
		n.mine()
		b.settle(time.Second)
		b.want("a", wallet.Confirmed, 1, 2)
		n.mu.Lock()
		n.finalized = 2
		n.mu.Unlock()
		n.mine()
		b.settle(time.Second)
		b.want("a", wallet.Confirmed, 1, 3)
		if d, _ := m.look("a"); !d.Finalized {
			t.Error("a is not final")
		}
		n.mineMany(50)
		b.settle(6 * time.Second)
		b.want("a", wallet.Confirmed, 1, 3)
		if d, told := m.look("b"); told != 0 {
			t.Errorf("a transfer to a foreign address was published: %+v", d)
		}
		if last := m.scanned[len(m.scanned)-1]; last != 54 {
			t.Errorf("scanned through %d was announced last, want 54", last)
		}
	})
}

// The seven cases of a reorganisation. Crashes (vi) and two providers (vii) are below.
func TestReorg(t *testing.T) {
	cases := map[string]func(t *testing.T, n *node, b *bench){
		"i: the deposit is dropped": func(_ *testing.T, n *node, b *bench) {
			n.cut(2)
			n.mineMany(3)
			b.settle(time.Second)
			b.want("a", wallet.Reverted, 0, 2)
		},
		"ii: mined again in another block": func(t *testing.T, n *node, b *bench) {
			first, _ := b.store.look("a")
			n.cut(2)
			n.mineMany(2)
			n.mine(pay("other", foreign), pay("a", ours))
			b.settle(time.Second)
			b.want("a", wallet.Seen, 4, 3)
			if again, _ := b.store.look("a"); again.FirstSeenAt != first.FirstSeenAt || again.Key() != first.Key() {
				t.Error("the key or the time of the first sighting changed")
			}
			n.mineMany(2)
			b.settle(time.Second)
			b.want("a", wallet.Confirmed, 4, 4)
		},
		"iii: replaced by another transaction": func(_ *testing.T, n *node, b *bench) {
			n.cut(2)
			n.mine()
			n.mine(pay("instead", ours))
			n.mine()
			b.settle(time.Second)
			b.want("a", wallet.Reverted, 0, 2)
			b.want("instead", wallet.Seen, 3, 1)
		},
		"iv: the head goes back for good": func(_ *testing.T, n *node, b *bench) {
			n.cut(2)
			b.settle(testGrace / 2)
			b.want("a", wallet.Seen, 2, 1)
			b.settle(testGrace)
			b.want("a", wallet.Reverted, 0, 2)
			n.mine()
			n.mine(pay("a", ours))
			b.settle(time.Second)
			b.want("a", wallet.Seen, 3, 3)
		},
		"iv: the head goes back and a new branch appears at once": func(_ *testing.T, n *node, b *bench) {
			n.cut(2)
			n.mine()
			b.settle(time.Second) // lower than the cursor, but another block: no lag
			b.want("a", wallet.Reverted, 0, 2)
		},
		"iv: the node merely lags": func(t *testing.T, n *node, b *bench) {
			n.mu.Lock()
			ahead := n.blocks
			n.blocks = n.blocks[:2]
			n.mu.Unlock()
			b.settle(testGrace / 2)
			n.mu.Lock()
			n.blocks = ahead
			n.mu.Unlock()
			b.settle(2 * testGrace)
			b.want("a", wallet.Seen, 2, 1)
		},
		"the tip is replaced at the same height": func(_ *testing.T, n *node, b *bench) {
			n.mine(pay("tip", ours))
			b.settle(time.Second)
			b.want("tip", wallet.Seen, 4, 1)
			n.cut(1)
			n.mine()
			b.settle(time.Second)
			b.want("tip", wallet.Reverted, 0, 2)
			b.want("a", wallet.Confirmed, 2, 2)
		},
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, m := newNode(), newMemory(ours)
				b := start(t, n, m, testConfig(), 1)
				defer b.end()
				n.mine()
				n.mine(pay("a", ours))
				n.mine()
				b.settle(time.Second)
				b.want("a", wallet.Seen, 2, 1)
				f(t, n, b)
			})
		})
	}
}

// Case v: deeper than the kept headers, or below a final block. The scan halts, says so, and resumes by itself when the
// node is back on the scanned chain.
func TestReorg_tooDeep(t *testing.T) {
	for name, prepare := range map[string]func(n *node, m *memory){
		"beyond every kept header": func(_ *node, m *memory) {
			m.mu.Lock()
			defer m.mu.Unlock()
			for h := range m.headers {
				if h < 15 {
					delete(m.headers, h)
				}
			}
		},
		"below a final block": func(n *node, _ *memory) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.finalized = 15
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, m := newNode(), newMemory(ours)
				b := start(t, n, m, testConfig(), 1)
				defer b.end()
				n.mine(pay("a", ours))
				n.mineMany(19)
				b.settle(time.Second)
				prepare(n, m)
				n.mine()
				b.settle(time.Second)
				before := m.height()
				n.mu.Lock()
				ours := append([]nodeBlock(nil), n.blocks...)
				n.finalized = 0
				n.mu.Unlock()
				n.cut(10)
				n.mineMany(20)
				b.settle(time.Minute)
				if m.height() != before || b.metrics.Ready(t.Context()) == nil {
					t.Errorf("the scan is at %d, ready: %v; want it halted at %d", m.height(), b.metrics.Ready(t.Context()), before)
				}
				if d, _ := m.look("a"); d.State != wallet.Confirmed {
					t.Errorf("a is %s", d.State)
				}
				n.mu.Lock()
				n.blocks = ours
				n.mu.Unlock()
				n.mine()
				b.settle(time.Minute)
				if err := b.metrics.Ready(t.Context()); err != nil || m.height() != before+1 {
					t.Errorf("the scan did not go on: %d, %v", m.height(), err)
				}
			})
		})
	}
}

// Case vi: the process dies or loses its database before or after any commit. Every deposit is published exactly once
// for each of its changes.
func TestScan_crashesBetweenSteps(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			n, m := newNode(), newMemory(ours)
			dice := rand.New(rand.NewPCG(seed, 1))
			m.crash = func(_ string, committed bool) error {
				if dice.IntN(3) == 0 {
					return fmt.Errorf("connection lost (committed: %v)", committed)
				}
				return nil
			}
			b := start(t, n, m, testConfig(), 1)
			defer b.end()
			n.mineMany(2)
			n.mine(pay("a", ours))
			b.settle(2 * time.Minute)
			n.cut(1)
			n.mine()
			n.mine(pay("a", ours))
			n.mineMany(2)
			b.settle(2 * time.Minute)
			m.mu.Lock()
			versions := int64(0)
			for i, d := range m.told {
				if d.TxHash == "a" && d.Version != versions+1 {
					t.Errorf("seed %d: message %d tells version %d after %d", seed, i, d.Version, versions)
				}
				versions = d.Version
			}
			m.mu.Unlock()
			if d, _ := m.look("a"); d.State != wallet.Confirmed || d.BlockHeight != 4 || m.height() != 6 {
				t.Errorf("seed %d: a is %s in block %d, scanned to %d", seed, d.State, d.BlockHeight, m.height())
			}
		})
	}
}

// twoProviders answers from one of two nodes.
type twoProviders struct {
	pick func() *node
}

func (p twoProviders) Head(ctx context.Context) (chain.Head, error) { return p.pick().Head(ctx) }

func (p twoProviders) Header(ctx context.Context, h int64) (chain.Header, error) {
	return p.pick().Header(ctx, h)
}

func (p twoProviders) Fetch(ctx context.Context, h int64) (chain.Block, error) {
	return p.pick().Fetch(ctx, h)
}

// Case vii: providers A and B have different forks. After a fail-over the scan has B's chain and nothing of A's. While
// calls alternate between them, nothing is credited twice and no mixture stays.
func TestReorg_twoProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newNode()
		a.mineMany(3)
		other := a.clone()
		a.mine(pay("on a", ours))
		a.mine(pay("on both", ours))
		other.mine(pay("on both", ours))
		other.mine(pay("on b", ours))
		other.mine()
		m := newMemory(ours)
		var current atomic.Pointer[node]
		current.Store(a)
		b := start(t, twoProviders{current.Load}, m, testConfig(), 1)
		defer b.end()
		b.settle(time.Second)
		b.want("on a", wallet.Seen, 4, 1)
		b.want("on both", wallet.Seen, 5, 1)
		current.Store(other)
		b.settle(time.Second)
		b.want("on a", wallet.Reverted, 0, 2)
		b.want("on b", wallet.Seen, 5, 1)
		if d, _ := m.look("on both"); d.State != wallet.Confirmed || d.BlockHeight != 4 {
			t.Errorf("on both is %s in block %d", d.State, d.BlockHeight)
		}
	})
}

func TestReorg_providersAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newNode()
		a.mineMany(3)
		other := a.clone()
		a.mine(pay("on a", ours))
		a.mine()
		other.mine(pay("on b", ours))
		other.mineMany(3)
		m := newMemory(ours)
		var mu sync.Mutex
		dice := rand.New(rand.NewPCG(7, 7))
		settled := false
		b := start(t, twoProviders{func() *node {
			mu.Lock()
			defer mu.Unlock()
			if !settled && dice.IntN(2) == 0 {
				return a
			}
			return other
		}}, m, testConfig(), 1)
		defer b.end()
		b.settle(time.Minute)
		mu.Lock()
		settled = true
		mu.Unlock()
		b.settle(time.Minute)
		if d, _ := m.look("on b"); d.State != wallet.Confirmed {
			t.Errorf("on b is %q", d.State)
		}
		if d, told := m.look("on a"); told > 0 && d.State != wallet.Reverted {
			t.Errorf("on a is %q", d.State)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		for h := int64(1); h <= m.cursor.Height; h++ {
			if m.headers[h].Parent != m.headers[h-1].Hash {
				t.Errorf("the kept chain is broken at %d", h)
			}
		}
	})
}

// An address that is committed before the block is requested is in the set when the block is matched, however late the
// scan learns of it.
func TestScan_watchBeforePay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, m := newNode(), newMemory()
		n.fetched = func(height int64) {
			if height == 2 {
				m.allocate(ours) // committed after the block was fetched, before it is matched
			}
		}
		b := start(t, n, m, testConfig(), 1)
		defer b.end()
		n.mine()
		b.settle(time.Second)
		n.mine(pay("a", ours))
		b.settle(time.Second)
		b.want("a", wallet.Seen, 2, 1)
	})
}

// The scan never passes a missing or failing answer.
func TestScan_doesNotPassFailures(t *testing.T) {
	for _, call := range []string{"head", "fetch", "match"} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, m := newNode(), newMemory(ours)
				n.mineMany(9)
				n.mine(pay("a", ours))
				n.mineMany(5)
				n.setFail(func(c string, height int64) error {
					if c == call && (height == 10 || c == "head") {
						return errNode
					}
					return nil
				})
				b := start(t, n, m, testConfig(), 1)
				defer b.end()
				b.settle(time.Minute)
				if m.height() >= 10 {
					t.Errorf("scanned to %d", m.height())
				}
				n.setFail(nil)
				b.settle(10 * time.Second)
				if d, _ := m.look("a"); d.State != wallet.Confirmed || d.BlockHeight != 10 {
					t.Errorf("a is %q in block %d", d.State, d.BlockHeight)
				}
			})
		})
	}
}

// A scanner that was paused while another took over writes nothing more.
func TestScan_fenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, m := newNode(), newMemory(ours)
		old := start(t, n, m, testConfig(), 1)
		n.mine()
		old.settle(time.Second)
		young := start(t, n, m, testConfig(), 2)
		defer young.end()
		young.settle(time.Second)
		n.mine(pay("a", ours))
		young.settle(time.Second)
		young.want("a", wallet.Seen, 2, 1)
		if err := <-old.ended; !errors.Is(err, ErrFenced) {
			t.Errorf("the old scanner ended with %v", err)
		}
	})
}

func TestScan_beginsBelowTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, m := newNode(), newMemory(ours)
		n.mineMany(500)
		cfg := testConfig()
		cfg.Start = 0
		b := start(t, n, m, cfg, 1)
		defer b.end()
		b.settle(time.Second)
		if oldest, _ := m.Oldest(t.Context(), cfg.Chain); oldest != 500-beginBelow || m.height() != 500 {
			t.Errorf("scanned %d to %d", oldest, m.height())
		}
		n.cut(3)
		n.mineMany(4)
		b.settle(time.Second)
		if m.height() != 501 {
			t.Errorf("scanned to %d after a reorganisation near the beginning", m.height())
		}
	})
}

// Catching up logs its progress.
func TestScan_showsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, m := newNode(), newMemory(ours)
		n.mineMany(1000)
		slow := slowDriver{n}
		var log strings.Builder
		cfg := testConfig()
		s := New(cfg, slow, m, NewWatch(cfg.Mode, cfg.Family, m), slog.New(slog.NewTextHandler(&log, nil)), NewMetrics(prometheus.NewRegistry()))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, 1) }()
		time.Sleep(30 * time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if lines := strings.Count(log.String(), "catching up"); lines < 4 || lines > 6 || !strings.Contains(log.String(), "blocks_per_second=4 ") && !strings.Contains(log.String(), "blocks_per_second=4\n") {
			t.Errorf("%d lines in 30 s:\n%s", lines, log.String())
		}
	})
}

// slowDriver takes a second for every block.
type slowDriver struct{ *node }

func (s slowDriver) Fetch(ctx context.Context, height int64) (chain.Block, error) {
	time.Sleep(time.Second)
	return s.node.Fetch(ctx, height)
}

// TestScan_converges lets a chain change in any way for a while. In the end the deposits are those of the chain, each
// version was published once and in order, and the kept headers link.
func TestScan_converges(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 25).Draw(r, "ops")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 6), len(ops), len(ops)).Draw(r, "sizes")
		var problem string
		synctest.Test(t, func(t *testing.T) { problem = converge(t, ops, sizes) })
		if problem != "" {
			r.Fatalf("the scan does not converge: %s", problem)
		}
	})
}

func converge(t *testing.T, ops, sizes []int) string {
	n, m := newNode(), newMemory(ours)
	b := start(t, n, m, testConfig(), 1)
	defer b.end()
	tx := 0
	for i, op := range ops {
		switch {
		case op <= 3:
			n.mineMany(sizes[i])
		case op <= 6:
			tx++
			n.mine(pay(fmt.Sprint("tx ", tx), ours), pay(fmt.Sprint("other ", tx), foreign))
		case op <= 8:
			n.mu.Lock()
			depth := min(sizes[i], len(n.blocks)-1)
			var pool []chain.Transfer
			for _, gone := range n.blocks[len(n.blocks)-depth:] {
				pool = append(pool, gone.transfers...)
			}
			n.mu.Unlock()
			n.cut(depth)
			n.mineMany(depth)
			if op == 7 {
				n.mine(pool...)
			} else {
				n.mine()
			}
		default:
			n.setFail(func(string, int64) error { return errNode })
			b.settle(time.Second)
			n.setFail(nil)
		}
		b.settle(time.Duration(sizes[i]*60) * time.Millisecond)
	}
	n.mine()
	b.settle(time.Minute)
	return check(n, m)
}

func check(n *node, m *memory) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	on := map[string]int64{}
	for _, blk := range n.blocks {
		for _, tr := range blk.transfers {
			if string(tr.To) == string(ours) {
				on[tr.TxHash] = blk.Height
			}
		}
	}
	var out []string
	for id, d := range m.deposits {
		height, there := on[id.TxHash]
		if there != (d.State != wallet.Reverted) || (there && height != d.BlockHeight) {
			out = append(out, fmt.Sprintf("%s is %s in block %d; on the chain: %v in %d", id.TxHash, d.State, d.BlockHeight, there, height))
		}
		delete(on, id.TxHash)
	}
	for tx, height := range on {
		out = append(out, fmt.Sprintf("%s in block %d was never announced", tx, height))
	}
	versions := map[wallet.ID]int64{}
	for _, d := range m.told {
		if versions[d.ID]++; versions[d.ID] != d.Version {
			out = append(out, fmt.Sprintf("%s: version %d announced as number %d", d.TxHash, d.Version, versions[d.ID]))
		}
	}
	if m.cursor.Hash != n.blocks[len(n.blocks)-1].Hash {
		out = append(out, fmt.Sprintf("scanned to %d of %d", m.cursor.Height, len(n.blocks)-1))
	}
	return strings.Join(out, "; ")
}
