// Package solana reads the solana chain by its blocks, slot after slot. An owner's gain is the difference of balances
// before and after a transaction: of lamports for SOL, and of all token accounts of the owner for a listed mint, so
// neither the paid token account nor the paying program matters.
//
// A slot may have no block. Such a slot is an empty block here, with the hash of the block before it. The driver
// accepts that it was skipped only when the next block names a parent below it, since a node that lacks a block answers
// the same.
package solana

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// Config names the chain and its endpoints.
type Config struct {
	Network money.Network
	Genesis string            // hash of the genesis; "" for the main network's
	Tokens  map[string]string // mint of each token by symbol
	RPC     rpc.Config
}

// MainGenesis is the genesis of mainnet-beta.
const MainGenesis = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"

// The commitments: blocks are read as soon as two thirds of the stake voted for them, and are final when they are
// rooted.
const (
	confirmed = "confirmed"
	finalized = "finalized"
)

// Driver reads the chain. It implements chain.Driver.
type Driver struct {
	genesis string
	symbol  string
	decoder decoder
	pool    *rpc.Pool
}

var _ chain.Driver = (*Driver)(nil)

// New makes the driver. Endpoints are checked before their first use.
func New(cfg Config, log *slog.Logger, metrics *rpc.Metrics) (*Driver, error) {
	name := cfg.Network.Name
	tokens, err := chain.Tokens(cfg.Network, cfg.Tokens)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d := &Driver{genesis: cfg.Genesis, symbol: cfg.Network.Coin().Symbol, decoder: decoder{map[string]*chain.Token{}}}
	if d.genesis == "" {
		d.genesis = MainGenesis
	}
	for i := range tokens {
		d.decoder.mints[tokens[i].Contract] = &tokens[i]
	}
	cfg.RPC.Network, cfg.RPC.Verify = name, d.verify
	cfg.RPC.Height = func(ctx context.Context, e *rpc.Endpoint) (int64, error) { return slot(ctx, e, confirmed) }
	if d.pool, err = rpc.New(cfg.RPC, log, metrics); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// verify proves that the endpoint serves the configured chain and that the listed mints have the expected decimals.
func (d *Driver) verify(ctx context.Context, e *rpc.Endpoint) error {
	result, err := e.Call(ctx, "getGenesisHash")
	if err != nil {
		return err
	}
	genesis, err := rpc.NewReader(result).Text()
	if err != nil {
		return fmt.Errorf("genesis of endpoint %s: %w", e.Name, err)
	}
	if string(genesis) != d.genesis {
		return fmt.Errorf("endpoint %s serves the chain of genesis %.80q, want %s", e.Name, genesis, d.genesis)
	}
	for mint, t := range d.decoder.mints {
		result, err := e.Call(ctx, "getAccountInfo", mint, map[string]any{"encoding": base64Encoded, "commitment": confirmed})
		if err != nil {
			return err
		}
		n, err := decodeMint(result)
		if err != nil {
			return fmt.Errorf("decimals of %s %s at endpoint %s: %w", t.Symbol, mint, e.Name, err)
		}
		if n != t.Decimals {
			return fmt.Errorf("%s %s has %d decimals at endpoint %s, want %d", t.Symbol, mint, n, e.Name, t.Decimals)
		}
	}
	return nil
}

func slot(ctx context.Context, e *rpc.Endpoint, commitment string) (int64, error) {
	result, err := e.Call(ctx, "getSlot", map[string]any{"commitment": commitment})
	if err != nil {
		return 0, err
	}
	n, err := decodeNumber(result)
	if err != nil {
		return 0, fmt.Errorf("%s slot of endpoint %s: %w", commitment, e.Name, err)
	}
	return n, nil
}

// Head implements chain.Driver.
func (d *Driver) Head(ctx context.Context) (head chain.Head, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		at, err := slot(ctx, e, confirmed)
		if err != nil {
			return err
		}
		b, err := d.getBlock(ctx, e, at, false)
		if err == nil && b == nil { // a node reports a slot a moment before its block
			err = rpc.ErrMoved
		}
		if err != nil {
			return err
		}
		head.Header = b.at(at)
		head.Finalized, err = slot(ctx, e, finalized)
		if err == nil && head.Finalized > at { // the chain moved between the two calls
			head.Finalized = at
		}
		return err
	})
	if err == nil {
		d.pool.Judge(ctx, head.Height)
	}
	return head, err
}

// Header implements chain.Driver.
func (d *Driver) Header(ctx context.Context, at int64) (h chain.Header, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		b, err := d.slotBlock(ctx, e, at, false)
		if err == nil {
			h = b.at(at)
		}
		return err
	})
	return h, err
}

// Fetch implements chain.Driver.
func (d *Driver) Fetch(ctx context.Context, at int64) (fetched chain.Block, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		b, err := d.slotBlock(ctx, e, at, true)
		if err == nil {
			fetched = &matchable{driver: d, slot: at, block: b}
		}
		return err
	})
	return fetched, err
}

// Codes by which a node answers that it has no block for a slot, whether none exists or only this node lacks it.
var lacking = map[int]bool{-32001: true, -32004: true, -32007: true, -32009: true, -32014: true}

// slotBlock returns the block of a slot, or for a skipped one an empty block between its neighbours.
func (d *Driver) slotBlock(ctx context.Context, e *rpc.Endpoint, at int64, full bool) (*block, error) {
	b, err := d.getBlock(ctx, e, at, full)
	if err != nil || b != nil {
		return b, err
	}
	next, err := d.next(ctx, e, at)
	if err != nil {
		return nil, err
	}
	child, err := d.getBlock(ctx, e, next, false)
	if err != nil {
		return nil, err
	}
	if child == nil || next <= at || child.parentSlot >= at {
		return nil, fmt.Errorf("endpoint %s lacks the block of slot %d, which was not skipped", e.Name, at)
	}
	return &block{hash: child.parent, parent: child.parent, time: child.time}, nil
}

// getBlock requests the block of a slot; nil when the node has none.
func (d *Driver) getBlock(ctx context.Context, e *rpc.Endpoint, at int64, full bool) (*block, error) {
	details := "none"
	if full {
		details = "full"
	}
	result, err := e.Call(ctx, "getBlock", at, map[string]any{
		"commitment": confirmed, "encoding": "json", "transactionDetails": details, "maxSupportedTransactionVersion": 0, "rewards": false,
	})
	if node, ok := errors.AsType[*rpc.NodeError](err); ok && lacking[node.Code] {
		return nil, nil //nolint:nilnil // no block is an answer
	}
	if err != nil {
		return nil, err
	}
	b, err := d.decoder.block(result, full)
	if err == nil && b != nil && at > 0 && b.parentSlot >= at {
		err = fmt.Errorf("its parent is in slot %d", b.parentSlot)
	}
	if err != nil {
		return nil, fmt.Errorf("slot %d at endpoint %s: %w", at, e.Name, err)
	}
	return b, nil
}

// nextWithin is how many slots are searched for the next block.
const nextWithin = 1000

// next finds the first slot above one that has a block; ErrNoBlock when the chain does not reach that far.
func (d *Driver) next(ctx context.Context, e *rpc.Endpoint, at int64) (int64, error) {
	head, err := slot(ctx, e, confirmed)
	if err != nil {
		return 0, err
	}
	if head < at {
		return 0, chain.ErrNoBlock
	}
	result, err := e.Call(ctx, "getBlocks", at, at+nextWithin, map[string]any{"commitment": confirmed})
	if err != nil {
		return 0, err
	}
	slots, err := decodeSlots(result)
	if err != nil {
		return 0, fmt.Errorf("blocks from slot %d at endpoint %s: %w", at, e.Name, err)
	}
	if len(slots) == 0 || slots[0] <= at {
		return 0, fmt.Errorf("endpoint %s lacks the block of slot %d", e.Name, at)
	}
	return slots[0], nil
}

// matchable is a fetched block.
type matchable struct {
	driver *Driver
	slot   int64
	block  *block
}

// Header implements chain.Block.
func (m *matchable) Header() chain.Header { return m.block.at(m.slot) }

// Match implements chain.Block. A transfer's ordinal is the position of the receiving account in its transaction: the
// owner's own for SOL, the token account for a token, so the two never meet.
func (m *matchable) Match(_ context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	var out []chain.Transfer
	for _, g := range m.block.gains {
		if !watched.Has(g.owner) {
			continue
		}
		t := chain.Transfer{TxHash: g.tx, Ordinal: g.index, To: g.owner, Asset: m.driver.symbol, Amount: g.amount, Senders: g.senders}
		if g.token != nil {
			t.Asset, t.Contract = g.token.Symbol, g.token.Contract
		}
		out = append(out, t)
	}
	return out, nil
}
