package scanner

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"causeway.internal/services/wallets/internal/chain"
)

// Waiting is a transaction that is in no block, with what it spends and what it pays to watched addresses.
type Waiting struct {
	TxHash    string
	Inputs    []string
	Transfers []chain.Transfer
}

// Look is what one look at a node's mempool has shown.
type Look struct {
	Height   int64     // of the node's chain after the look: what is mined up to there may be missing for that reason
	Found    []Waiting // transactions that pay watched addresses, each once
	Absent   []string  // of those that waited, the ones that the mempool does not hold
	Replaced []string  // of those, the ones that can never be mined: something else spends what they spend
}

// MempoolStore keeps the deposits that wait for a block.
type MempoolStore interface {
	// Waits lists the transactions of those deposits.
	Waits(ctx context.Context, c Chain) ([]Waiting, error)
	// Mempool takes a look in as one transaction. It returns ErrFenced unless the lease's epoch is the cursor's. A
	// transaction that is only absent is gone after the grace.
	Mempool(ctx context.Context, lease Lease, look Look, grace time.Duration) error
}

// MempoolConfig bounds the watch of a mempool.
type MempoolConfig struct {
	Poll  time.Duration // how often the mempool is listed
	Reads int           // transactions read in one look
	Grace time.Duration // how long a transaction may be missing
}

// mempoolAtOnce bounds the reads under way, so that blocks are never kept waiting for them.
const mempoolAtOnce = 4

// Mempool watches what waits for a block of one chain. It works beside the scan and never holds it up: what it finds is
// shown, and nothing is credited by it.
type Mempool struct {
	cfg     MempoolConfig
	chain   Chain
	driver  chain.Mempool
	store   MempoolStore
	watch   *Watch
	log     *slog.Logger
	metrics *Metrics

	read   map[chain.TxID]reading // of the ids listed last: no more than the node's mempool holds
	failed bool                   // the last look
}

// reading is what is known of a transaction in the mempool.
type reading byte

// Not read yet; read, and it pays nobody here; read, and it pays us. One that pays us and does not wait is read again: a
// block that held it may have left the chain since.
const (
	unread reading = iota
	paysNobody
	paysUs
)

// NewMempool makes a watch of a mempool.
func NewMempool(cfg MempoolConfig, c Chain, driver chain.Mempool, store MempoolStore, watch *Watch, log *slog.Logger, metrics *Metrics) *Mempool {
	return &Mempool{
		cfg: cfg, chain: c, driver: driver, store: store, watch: watch, metrics: metrics, log: log.With("chain", c.String()),
	}
}

// Run looks again and again until ctx ends or the lease is lost, which is ErrFenced. A look that fails is logged and
// counted; the next one shows the same.
func (m *Mempool) Run(ctx context.Context, epoch int64) error {
	m.read = map[chain.TxID]reading{}
	for pause(ctx, m.cfg.Poll, nil) {
		err := m.Look(ctx, Lease{Chain: m.chain, Epoch: epoch})
		if errors.Is(err, ErrFenced) {
			return err
		}
		if ctx.Err() != nil {
			break
		}
		if m.metrics.looked(m.chain, err == nil); err != nil && !m.failed {
			m.log.WarnContext(ctx, "mempool not read", "err", err)
		}
		m.failed = err != nil
	}
	return nil
}

// Look lists the mempool, reads what is new in it, and stores what that means.
func (m *Mempool) Look(ctx context.Context, lease Lease) error {
	waiting, err := m.store.Waits(ctx, m.chain)
	if err != nil {
		return err
	}
	ids, err := m.driver.Waiting(ctx)
	if err != nil {
		return fmt.Errorf("listing the mempool: %w", err)
	}
	waits, err := idsOf(waiting)
	if err != nil {
		return err
	}
	listed := make(map[chain.TxID]reading, len(ids))
	for _, id := range ids {
		listed[id] = m.read[id]
	}
	txs, err := m.fetch(ctx, m.next(ids, waits))
	if err != nil {
		return err
	}
	look, err := m.judge(ctx, waits, listed, txs)
	if err != nil {
		return err
	}
	if err := m.store.Mempool(ctx, lease, look, m.cfg.Grace); err != nil {
		return fmt.Errorf("storing what waits: %w", err)
	}
	for id := range txs {
		listed[id] = paysNobody
	}
	ours, err := idsOf(look.Found)
	if err != nil {
		return err
	}
	for id := range ours {
		listed[id] = paysUs
	}
	left := 0
	for _, read := range listed {
		if read == unread {
			left++
		}
	}
	m.read = listed
	m.metrics.waiting(m.chain, left)
	return nil
}

// idsOf indexes transactions by their ids.
func idsOf(list []Waiting) (map[chain.TxID]Waiting, error) {
	out := make(map[chain.TxID]Waiting, len(list))
	for _, w := range list {
		var id chain.TxID
		if len(w.TxHash) != hex.EncodedLen(len(id)) {
			return nil, fmt.Errorf("%q is no transaction", w.TxHash)
		}
		if _, err := hex.Decode(id[:], []byte(w.TxHash)); err != nil {
			return nil, fmt.Errorf("%q is no transaction: %w", w.TxHash, err)
		}
		out[id] = w
	}
	return out, nil
}

// next picks the ids to be read now: first those that were not listed in the last look, which are the newest.
func (m *Mempool) next(ids []chain.TxID, waits map[chain.TxID]Waiting) (out []chain.TxID) {
	var older []chain.TxID
	for _, id := range ids {
		read, known := m.read[id]
		_, waiting := waits[id]
		switch {
		case !known:
			out = append(out, id)
		case read == unread, read == paysUs && !waiting:
			older = append(older, id)
		}
	}
	out = append(out, older...)
	return out[:min(len(out), m.cfg.Reads)]
}

// fetch reads transactions. One that the node does not have any more is nil: the next list does not name it.
func (m *Mempool) fetch(ctx context.Context, ids []chain.TxID) (map[chain.TxID]chain.Unmined, error) {
	out := make(map[chain.TxID]chain.Unmined, len(ids))
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(mempoolAtOnce)
	for _, id := range ids {
		g.Go(func() error {
			tx, err := m.driver.Unmined(ctx, id)
			if err != nil && !errors.Is(err, chain.ErrNoTx) {
				return fmt.Errorf("reading a waiting transaction: %w", err)
			}
			mu.Lock()
			defer mu.Unlock()
			out[id] = tx
			return nil
		})
	}
	return out, g.Wait()
}

// judge says what the transactions that were read pay to us, and what became of those that waited. Every address that was
// allocated before they were read is in the set before they are matched.
func (m *Mempool) judge(ctx context.Context, waits map[chain.TxID]Waiting, listed map[chain.TxID]reading, txs map[chain.TxID]chain.Unmined) (look Look, err error) {
	if err := m.watch.Refresh(ctx); err != nil {
		return look, err
	}
	spent := map[string]bool{}
	for id, tx := range txs {
		if tx == nil {
			continue
		}
		transfers, err := tx.Match(ctx, m.watch)
		if err != nil {
			return look, fmt.Errorf("matching a waiting transaction: %w", err)
		}
		for _, input := range tx.Inputs() {
			spent[input] = true
		}
		if len(transfers) > 0 {
			look.Found = append(look.Found, Waiting{TxHash: id.String(), Inputs: tx.Inputs(), Transfers: transfers})
		}
	}
	for id, w := range waits {
		if _, there := listed[id]; there {
			continue
		}
		look.Absent = append(look.Absent, w.TxHash)
		replaced := slices.ContainsFunc(w.Inputs, func(input string) bool { return spent[input] })
		if !replaced {
			if replaced, err = m.driver.Spent(ctx, w.Inputs); err != nil {
				return look, fmt.Errorf("asking what took the place of %s: %w", w.TxHash, err)
			}
		}
		if replaced {
			look.Replaced = append(look.Replaced, w.TxHash)
		}
	}
	if len(look.Absent) > 0 { // asked last: a block that came meanwhile may be what spends
		head, err := m.driver.Head(ctx)
		if err != nil {
			return look, fmt.Errorf("asking for the head: %w", err)
		}
		look.Height = head.Height
	}
	return look, nil
}
