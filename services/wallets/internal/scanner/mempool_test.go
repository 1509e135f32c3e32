package scanner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
)

// pond is a node's mempool with its store.
type pond struct {
	chain.Driver
	ids     []chain.TxID
	txs     map[chain.TxID]puddle
	spent   bool
	keeps   bool       // whether findings wait from then on
	mu      sync.Mutex // guards reads, which are concurrent
	reads   []chain.TxID
	waits   []Waiting
	looks   []Look
	refused error
}

// puddle is a transaction in it.
type puddle struct {
	id    chain.TxID
	spend string
	key   string
}

func (p puddle) Inputs() []string { return []string{p.spend} }

func (p puddle) Match(_ context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	if !watched.Has([]byte(p.key)) {
		return nil, nil
	}
	return []chain.Transfer{{TxHash: p.id.String(), To: []byte(p.key), Amount: big.NewInt(1)}}, nil
}

func (p *pond) Waiting(context.Context) ([]chain.TxID, error) { return p.ids, nil }

func (p *pond) Unmined(_ context.Context, id chain.TxID) (chain.Unmined, error) {
	p.mu.Lock()
	p.reads = append(p.reads, id)
	p.mu.Unlock()
	if tx, ok := p.txs[id]; ok {
		return tx, nil
	}
	return nil, chain.ErrNoTx
}
func (p *pond) Spent(context.Context, []string) (bool, error) { return p.spent, nil }
func (p *pond) Head(context.Context) (chain.Head, error) {
	return chain.Head{Header: chain.Header{Height: 7}}, nil
}
func (p *pond) Waits(context.Context, Chain) ([]Waiting, error) { return p.waits, nil }

func (p *pond) Mempool(_ context.Context, _ Lease, look Look, _ time.Duration) error {
	if p.refused != nil {
		return p.refused
	}
	p.looks = append(p.looks, look)
	if p.keeps {
		p.waits = slices.DeleteFunc(p.waits, func(w Waiting) bool { return slices.Contains(look.Absent, w.TxHash) })
		p.waits = append(p.waits, look.Found...)
	}
	return nil
}

// issued are issued addresses.
type issued []string

func (i issued) CountAddresses(context.Context, tenant.Mode, money.Family) (int64, error) {
	return int64(len(i)), nil
}

func (i issued) AddressesAfter(_ context.Context, _ tenant.Mode, _ money.Family, seq int64, f func(int64, []byte)) error {
	for n := seq; n < int64(len(i)); n++ {
		f(n+1, []byte(i[n]))
	}
	return nil
}

func txID(n int) chain.TxID { return chain.TxID{byte(n >> 8), byte(n)} }

// put makes transactions wait, each with its own input.
func (p *pond) put(key string, numbers ...int) {
	for _, n := range numbers {
		p.ids = append(p.ids, txID(n))
		p.txs[txID(n)] = puddle{txID(n), fmt.Sprint(n), key}
	}
}

func newPond(reads int) (*pond, *Mempool) {
	p := &pond{txs: map[chain.TxID]puddle{}}
	watch := NewWatch(tenant.Live, money.Bitcoin, issued{"ours"})
	cfg := MempoolConfig{Chain: Chain{tenant.Live, "bitcoin"}, Poll: time.Second, Reads: reads}
	m := NewMempool(cfg, p, p, watch, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()))
	return p, m
}

func (p *pond) look(t *testing.T, m *Mempool) Look {
	t.Helper()
	if err := m.Look(t.Context(), Lease{}); err != nil {
		t.Fatal(err)
	}
	return p.looks[len(p.looks)-1]
}

// Every transaction is read once while it waits, and those that pay watched addresses are found. A look that was not
// stored counts for nothing.
func TestMempool_readsOnce(t *testing.T) {
	p, m := newPond(100)
	p.put("theirs", 1, 2)
	p.put("ours", 3)
	p.refused = errors.New("the database is away")
	if err := m.Look(t.Context(), Lease{}); err == nil {
		t.Fatal("the look was taken in")
	}
	p.refused = nil
	if look := p.look(t, m); len(look.Found) != 1 || look.Found[0].TxHash != txID(3).String() || !slices.Equal(look.Found[0].Inputs, []string{"3"}) {
		t.Errorf("look at the mempool again after a failure: got %+v, want the transaction found", look)
	}
	p.reads, p.waits = nil, []Waiting{{TxHash: txID(3).String()}}
	if look := p.look(t, m); len(look.Found) > 0 || len(p.reads) > 0 {
		t.Errorf("read again: %v, %+v", p.reads, look)
	}
	p.waits = nil // a block held it for a while and has left the chain
	if look := p.look(t, m); len(look.Found) != 1 || len(p.reads) != 1 {
		t.Errorf("not read again: %v, %+v", p.reads, look)
	}
}

// The reads of one look are bounded. Transactions that arrived since the last look are read before those that wait for
// longer.
func TestMempool_newestFirst(t *testing.T) {
	p, m := newPond(3)
	p.keeps = true
	p.put("theirs", 1, 2, 3, 4, 5, 6)
	p.look(t, m)
	p.put("ours", 7)
	p.reads = nil
	look := p.look(t, m)
	if len(p.reads) != 3 || !slices.Contains(p.reads, txID(7)) || len(look.Found) != 1 {
		t.Errorf("read %v: %+v", p.reads, look)
	}
	p.look(t, m)
	if len(p.reads) != 4 { // 3 and the one that was left out
		t.Errorf("read %d", len(p.reads))
	}
}

// A missing transaction is absent. It is replaced when another one spends its input, in the mempool or in the chain.
func TestMempool_absent(t *testing.T) {
	for name, c := range map[string]struct {
		there, spent bool
		other        string // input of a new transaction
		absent, gone int
		height       int64
	}{
		"there":                     {there: true},
		"missing":                   {absent: 1, height: 7},
		"spent in the chain":        {spent: true, absent: 1, gone: 1, height: 7},
		"replaced in the mempool":   {other: "3", absent: 1, gone: 1, height: 7},
		"beside one of its own":     {other: "9", absent: 1, height: 7},
		"there, and others are not": {there: true, spent: true, other: "9"},
	} {
		t.Run(name, func(t *testing.T) {
			p, m := newPond(100)
			p.waits = []Waiting{{TxHash: txID(3).String(), Inputs: []string{"3"}}}
			p.spent = c.spent
			if c.there {
				p.put("ours", 3)
			}
			if c.other != "" {
				p.ids = append(p.ids, txID(9))
				p.txs[txID(9)] = puddle{txID(9), c.other, "theirs"}
			}
			if look := p.look(t, m); len(look.Absent) != c.absent || len(look.Replaced) != c.gone || look.Height != c.height {
				t.Errorf("look for what left the mempool: got %+v, want %d absent, %d replaced at %d", look, c.absent, c.gone, c.height)
			}
		})
	}
}

// In any sequence of mempools, the memory is bounded by the node's mempool, and each payment is found.
func TestMempool_bounded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p, m := newPond(rapid.IntRange(1, 10).Draw(r, "reads"))
		p.keeps = true
		found := map[string]bool{}
		for range rapid.IntRange(1, 20).Draw(r, "looks") {
			p.ids = nil
			p.put("theirs", rapid.SliceOfNDistinct(rapid.IntRange(0, 300), 0, 40, rapid.ID[int]).Draw(r, "theirs")...)
			p.put("ours", rapid.SliceOfNDistinct(rapid.IntRange(301, 305), 0, 3, rapid.ID[int]).Draw(r, "ours")...)
			p.reads = nil
			if err := m.Look(t.Context(), Lease{}); err != nil {
				r.Fatal(err)
			}
			if len(m.read) != len(p.ids) || len(p.reads) > m.cfg.Reads {
				r.Fatalf("%d remembered of %d, %d read", len(m.read), len(p.ids), len(p.reads))
			}
			for _, w := range p.looks[len(p.looks)-1].Found {
				found[w.TxHash] = true
			}
		}
		for range 45 {
			if err := m.Look(t.Context(), Lease{}); err != nil {
				r.Fatal(err)
			}
			for _, w := range p.looks[len(p.looks)-1].Found {
				found[w.TxHash] = true
			}
		}
		for _, id := range p.ids {
			if p.txs[id].key == "ours" && !found[id.String()] {
				r.Fatalf("%s was never found", id)
			}
		}
	})
}
