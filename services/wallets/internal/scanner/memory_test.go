package scanner

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/wallet"
)

// node is a blockchain in memory that a test grows, forks and breaks. It implements chain.Driver.
type node struct {
	mu        sync.Mutex
	blocks    []nodeBlock // by height
	finalized int64
	made      int
	fail      func(call string, height int64) error // consulted before every answer
	fetched   func(height int64)                    // called after a block was fetched, before it is matched
}

type nodeBlock struct {
	chain.Header
	transfers []chain.Transfer
}

var ethereum, _ = money.NetworkOf("ethereum")

var errNode = errors.New("node is broken")

func newNode() *node {
	n := &node{}
	n.mine()
	return n
}

// mine adds a block with the transfers.
func (n *node) mine(transfers ...chain.Transfer) nodeBlock {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made++
	h := chain.Header{Height: int64(len(n.blocks)), Hash: fmt.Sprintf("block %d", n.made), Time: time.Unix(int64(1_700_000_000+n.made), 0).UTC()}
	if len(n.blocks) > 0 {
		h.Parent = n.blocks[len(n.blocks)-1].Hash
	}
	b := nodeBlock{Header: h, transfers: transfers}
	n.blocks = append(n.blocks, b)
	return b
}

// mineMany adds empty blocks.
func (n *node) mineMany(count int) {
	for range count {
		n.mine()
	}
}

// cut removes the newest blocks.
func (n *node) cut(depth int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocks = n.blocks[:len(n.blocks)-depth]
}

// clone is another provider with the same chain so far; its later blocks differ.
func (n *node) clone() *node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &node{blocks: append([]nodeBlock(nil), n.blocks...), made: n.made + 1_000_000}
}

func (n *node) setFail(f func(string, int64) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail = f
}

func (n *node) ask(call string, height int64) error {
	if n.fail == nil {
		return nil
	}
	return n.fail(call, height)
}

func (n *node) Head(context.Context) (chain.Head, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.ask("head", 0); err != nil {
		return chain.Head{}, err
	}
	return chain.Head{Header: n.blocks[len(n.blocks)-1].Header, Finalized: n.finalized}, nil
}

func (n *node) at(call string, height int64) (nodeBlock, error) {
	if err := n.ask(call, height); err != nil {
		return nodeBlock{}, err
	}
	if height < 0 || height >= int64(len(n.blocks)) {
		return nodeBlock{}, chain.ErrNoBlock
	}
	return n.blocks[height], nil
}

func (n *node) Header(_ context.Context, height int64) (chain.Header, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b, err := n.at("header", height)
	return b.Header, err
}

func (n *node) Fetch(_ context.Context, height int64) (chain.Block, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b, err := n.at("fetch", height)
	if err == nil && n.fetched != nil {
		n.fetched(height)
	}
	return nodeMatch{n, b}, err
}

type nodeMatch struct {
	node  *node
	block nodeBlock
}

func (m nodeMatch) Header() chain.Header { return m.block.Header }

func (m nodeMatch) Match(_ context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	m.node.mu.Lock()
	defer m.node.mu.Unlock()
	if err := m.node.ask("match", m.block.Height); err != nil {
		return nil, err
	}
	var out []chain.Transfer
	for _, t := range m.block.transfers {
		if watched.Has(t.To) {
			out = append(out, t)
		}
	}
	return out, nil
}

// memory is a Store without a database, with the same pure rules: a write happens as a whole or not at all.
type memory struct {
	mu        sync.Mutex
	epoch     int64
	cursor    *Cursor
	headers   map[int64]chain.Header
	deposits  map[wallet.ID]wallet.Deposit
	told      []wallet.Deposit // every version, in order
	scanned   []int64
	states    []wallet.ScanState // announced with each of them
	addresses [][]byte
	depths    []int64
	crash     func(call string, committed bool) error // consulted before and after every write
}

func newMemory(addresses ...[]byte) *memory {
	return &memory{headers: map[int64]chain.Header{}, deposits: map[wallet.ID]wallet.Deposit{}, addresses: addresses, depths: []int64{3}}
}

func (m *memory) CountAddresses(context.Context, tenant.Mode, money.Family) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.addresses)), nil
}

func (m *memory) AddressesAfter(_ context.Context, _ tenant.Mode, _ money.Family, seq int64, f func(int64, []byte)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := seq; i < int64(len(m.addresses)); i++ {
		f(i+1, m.addresses[i])
	}
	return nil
}

func (m *memory) allocate(key []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addresses = append(m.addresses, key)
}

// write runs a write as a transaction that may die before or after its commit.
func (m *memory) write(call string, l Lease, from *Cursor, f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crash != nil {
		if err := m.crash(call, false); err != nil {
			return err
		}
	}
	if l.Epoch < m.epoch || (from != nil && (m.cursor == nil || m.cursor.Hash != from.Hash || m.cursor.Height != from.Height)) {
		return ErrFenced
	}
	f()
	if m.crash != nil {
		return m.crash(call, true)
	}
	return nil
}

func (m *memory) Adopt(_ context.Context, l Lease) (Cursor, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.Epoch < m.epoch {
		return Cursor{}, false, ErrFenced
	}
	m.epoch = l.Epoch
	if m.cursor == nil {
		return Cursor{}, false, nil
	}
	return *m.cursor, true, nil
}

func (m *memory) Begin(_ context.Context, l Lease, at Cursor) error {
	return m.write("begin", l, nil, func() { m.cursor, m.headers[at.Height] = &at, at.Header })
}

func (m *memory) Header(_ context.Context, _ Chain, height int64) (chain.Header, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.headers[height]
	return h, ok, nil
}

func (m *memory) Oldest(context.Context, Chain) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldest := int64(-1)
	for h := range m.headers {
		if oldest < 0 || h < oldest {
			oldest = h
		}
	}
	return oldest, nil
}

func (m *memory) put(d wallet.Deposit) {
	m.deposits[d.ID] = d
	m.told = append(m.told, d)
}

func (m *memory) Advance(_ context.Context, l Lease, from Cursor, s Step) error {
	return m.write("advance", l, &from, func() {
		last := s.Last()
		m.cursor = &Cursor{Header: last, Finalized: s.Finalized}
		tip := wallet.Tip{Height: last.Height, Finalized: s.Finalized}
		for _, h := range s.Headers {
			m.headers[h.Height] = h
		}
		for _, d := range m.deposits {
			if next, ok := d.Deepen(tip, m.depths); ok {
				m.put(next)
			}
		}
		for _, t := range s.Transfers {
			sight := wallet.Sighting{
				ID: wallet.ID{TxHash: t.TxHash, Ordinal: t.Ordinal}, Amount: t.Amount,
				BlockHeight: last.Height, BlockHash: last.Hash, BlockTime: last.Time,
			}
			if known, ok := m.deposits[sight.ID]; !ok {
				m.put(wallet.See(l.Mode, ethereum, sight, tip, m.depths, last.Time))
			} else if next, ok := known.SeeAgain(sight, tip, m.depths); ok {
				m.put(next)
			}
		}
		if s.Announce {
			m.scanned, m.states = append(m.scanned, last.Height), append(m.states, s.Health.State)
		}
		for h := range m.headers {
			if h < s.KeepFrom {
				delete(m.headers, h)
			}
		}
	})
}

func (m *memory) Rewind(_ context.Context, l Lease, from Cursor, ancestor chain.Header) error {
	return m.write("rewind", l, &from, func() {
		m.cursor = &Cursor{Header: ancestor, Finalized: from.Finalized}
		for h := range m.headers {
			if h > ancestor.Height {
				delete(m.headers, h)
			}
		}
		for _, d := range m.deposits {
			if d.BlockHeight > ancestor.Height {
				if next, ok := d.Revert(ancestor.Height); ok {
					m.put(next)
				}
			}
		}
	})
}

func (m *memory) Announce(_ context.Context, l Lease, at Cursor, health Health) error {
	return m.write("announce", l, &at, func() { m.scanned, m.states = append(m.scanned, at.Height), append(m.states, health.State) })
}

// look returns the present state of a deposit and how many versions of it were published.
func (m *memory) look(tx string) (d wallet.Deposit, versions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.told {
		if t.TxHash == tx {
			versions++
		}
	}
	return m.deposits[wallet.ID{TxHash: tx}], versions
}

// fares are the announced states without repetitions, and the number of announcements.
func (m *memory) fares() (states []wallet.ScanState, told int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Compact(slices.Clone(m.states)), len(m.states)
}

func (m *memory) height() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cursor == nil {
		return -1
	}
	return m.cursor.Height
}

var (
	ours    = []byte("our address has 20 b")
	foreign = []byte("foreign has 20 bytes")
)

func pay(tx string, to []byte) chain.Transfer {
	return chain.Transfer{TxHash: tx, To: to, Asset: "ETH", Amount: big.NewInt(7)}
}
