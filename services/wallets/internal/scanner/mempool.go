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

// Waiting is a transaction that is in no block, with the outputs that it spends and its payments to watched addresses.
type Waiting struct {
	TxHash    string
	Inputs    []string
	Transfers []chain.Transfer
}

// Look is the result of one look at a node's mempool.
type Look struct {
	Height   int64     // of the node's chain after the look: a block up to there may hold a missing transaction
	Found    []Waiting // transactions that pay watched addresses, each once
	Absent   []string  // those that waited and are not in the mempool
	Replaced []string  // those of Absent that can never be mined, because another transaction spends their inputs
}

// MempoolStore keeps the deposits that wait for a block.
type MempoolStore interface {
	// Waits lists the transactions of those deposits.
	Waits(ctx context.Context, c Chain) ([]Waiting, error)
	// Mempool stores a look in one transaction. It returns ErrFenced unless the lease's epoch is the cursor's. A
	// transaction that is only absent is dropped after the grace.
	Mempool(ctx context.Context, lease Lease, look Look, grace time.Duration) error
}

// MempoolConfig bounds the watch of a mempool.
type MempoolConfig struct {
	Chain
	Poll  time.Duration // how often the mempool is listed
	Reads int           // transactions read in one look
	Grace time.Duration // how long a transaction may be missing
}

// mempoolAtOnce bounds the concurrent reads, so that they never delay blocks.
const mempoolAtOnce = 4

// Mempool watches the transactions that wait for a block of one chain. It works beside the scan and never delays it.
// Its findings are shown and never credited.
type Mempool struct {
	cfg     MempoolConfig
	driver  chain.Mempool
	store   MempoolStore
	watch   *Watch
	log     *slog.Logger
	metrics *Metrics

	read   map[chain.TxID]reading // of the ids in the last list, so no more than the node's mempool holds
	failed bool                   // whether the last look failed
}

// reading is the knowledge about a transaction in the mempool.
type reading byte

// Not read yet; read, and it pays no watched address; read, and it pays one. A paying transaction that has no waiting
// deposit is read again: a block that held it may have left the chain since.
const (
	unread reading = iota
	paysNobody
	paysUs
)

// NewMempool makes the watch of a mempool.
func NewMempool(cfg MempoolConfig, driver chain.Mempool, store MempoolStore, watch *Watch, log *slog.Logger, metrics *Metrics) *Mempool {
	return &Mempool{
		cfg: cfg, driver: driver, store: store, watch: watch, metrics: metrics, log: log.With("chain", cfg.Chain.String()),
	}
}

// Run looks repeatedly until ctx ends or the lease is lost, which is ErrFenced. A failed look is logged and counted;
// the next one shows the same.
func (m *Mempool) Run(ctx context.Context, epoch int64) error {
	m.read = map[chain.TxID]reading{}
	for pause(ctx, m.cfg.Poll, nil) {
		err := m.Look(ctx, Lease{Chain: m.cfg.Chain, Epoch: epoch})
		if errors.Is(err, ErrFenced) {
			return err
		}
		if ctx.Err() != nil {
			break
		}
		if m.metrics.looked(m.cfg.Chain, err == nil); err != nil && !m.failed {
			m.log.WarnContext(ctx, "mempool not read", "err", err)
		}
		m.failed = err != nil
	}
	return nil
}

// Look lists the mempool, reads its new transactions, and stores the result.
func (m *Mempool) Look(ctx context.Context, lease Lease) error {
	waiting, err := m.store.Waits(ctx, m.cfg.Chain)
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
		return fmt.Errorf("storing waiting transactions: %w", err)
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
	m.metrics.waiting(m.cfg.Chain, left)
	return nil
}

// idsOf indexes transactions by their ids.
func idsOf(list []Waiting) (map[chain.TxID]Waiting, error) {
	out := make(map[chain.TxID]Waiting, len(list))
	for _, w := range list {
		var id chain.TxID
		if len(w.TxHash) != hex.EncodedLen(len(id)) {
			return nil, fmt.Errorf("%q is not a transaction id", w.TxHash)
		}
		if _, err := hex.Decode(id[:], []byte(w.TxHash)); err != nil {
			return nil, fmt.Errorf("%q is not a transaction id: %w", w.TxHash, err)
		}
		out[id] = w
	}
	return out, nil
}

// next picks the ids to read now: first those that the last look did not list, which are the newest.
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

// fetch reads transactions. The result is nil for one that the node no longer has: the next list omits it.
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

// judge returns the payments of the read transactions to watched addresses, and the fate of those that waited. Every
// address that was allocated before the reading is in the set before the matching.
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
				return look, fmt.Errorf("reading what replaced %s: %w", w.TxHash, err)
			}
		}
		if replaced {
			look.Replaced = append(look.Replaced, w.TxHash)
		}
	}
	if len(look.Absent) > 0 { // asked last, since a block that arrived meanwhile may hold the spending transaction
		head, err := m.driver.Head(ctx)
		if err != nil {
			return look, fmt.Errorf("asking for the head: %w", err)
		}
		look.Height = head.Height
	}
	return look, nil
}
