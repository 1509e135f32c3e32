// Package evm reads EVM chains over JSON-RPC: native transfers from the block itself, ERC-20 transfers from the logs of
// the listed tokens, bound to the block's hash, and the receipt of every hit. It decodes the few needed fields itself,
// so it reads transaction types that no client library knows (Base, Arbitrum). A missing, malformed or suspiciously
// empty answer, or one of another block, is an error, and the scanner does not move.
package evm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// Config names the chain and its endpoints.
type Config struct {
	Network money.Network
	ChainID int64
	Tokens  map[string]string // contract of each token by symbol
	Trace   string            // how coin that contracts send is seen: TraceNone, TraceDebug or TraceBlock
	RPC     rpc.Config        // URLs, time limit and bounds
}

// Driver reads one EVM chain. It implements chain.Driver.
type Driver struct {
	chainID int64
	symbol  string // of the native coin
	tokens  map[account]token
	filter  []string // contracts, as eth_getLogs wants them
	trace   string
	pool    *rpc.Pool
	log     *slog.Logger

	finalMu sync.Mutex
	finalOf hash // the head for which final was asked
	final   int64
}

// token is a listed contract.
type token struct {
	chain.Token
	bits [3]uint // of the contract in a bloom
}

var _ chain.Driver = (*Driver)(nil)

// New makes the driver of a chain. It checks addresses and URLs; endpoints are checked before their first use.
func New(cfg Config, log *slog.Logger, metrics *rpc.Metrics) (*Driver, error) {
	name := cfg.Network.Name
	tokens, err := chain.Tokens(cfg.Network, cfg.Tokens)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if cfg.Trace != TraceNone && cfg.Trace != TraceDebug && cfg.Trace != TraceBlock {
		return nil, fmt.Errorf("%s: no such way to trace: %q", name, cfg.Trace)
	}
	d := &Driver{chainID: cfg.ChainID, trace: cfg.Trace, symbol: cfg.Network.Coin().Symbol, tokens: map[account]token{}, log: log.With("network", name)}
	for _, t := range tokens {
		d.tokens[account(t.Key)] = token{t, bloomBits(t.Key)}
		d.filter = append(d.filter, account(t.Key).String())
	}
	cfg.RPC.Network, cfg.RPC.Verify, cfg.RPC.Height = name, d.verify, height
	if d.pool, err = rpc.New(cfg.RPC, log, metrics); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// verify proves, before first use and after a failure, that the endpoint serves the configured chain and that the
// listed contracts have the expected decimals.
func (d *Driver) verify(ctx context.Context, e *rpc.Endpoint) error {
	result, err := e.Call(ctx, "eth_chainId")
	if err != nil {
		return err
	}
	id, err := decodeNumber(result)
	if err != nil {
		return fmt.Errorf("chain id of endpoint %s: %w", e.Name, err)
	}
	if id != d.chainID {
		return fmt.Errorf("endpoint %s serves chain %d, want %d", e.Name, id, d.chainID)
	}
	for key, t := range d.tokens {
		const decimals = "0x313ce567" // the selector of decimals()
		result, err := e.Call(ctx, "eth_call", map[string]string{"to": key.String(), "data": decimals}, "latest")
		if err != nil {
			return err
		}
		n, err := decodeWord(result)
		if err != nil {
			return fmt.Errorf("decimals of %s %s at endpoint %s: %w", t.Symbol, t.Contract, e.Name, err)
		}
		if n != t.Decimals {
			return fmt.Errorf("%s %s has %d decimals at endpoint %s, want %d", t.Symbol, t.Contract, n, e.Name, t.Decimals)
		}
	}
	return nil
}

// Head implements chain.Driver.
func (d *Driver) Head(ctx context.Context) (head chain.Head, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		b, err := blockOf(ctx, e, "latest", false)
		if errors.Is(err, chain.ErrNoBlock) {
			err = fmt.Errorf("endpoint %s has no newest block", e.Name)
		}
		if err != nil {
			return err
		}
		head = chain.Head{Header: b.header(), Finalized: d.finalized(ctx, e, b)}
		return nil
	})
	if err == nil {
		d.pool.Judge(ctx, head.Height)
	}
	return head, err
}

// height asks for an endpoint's newest block.
func height(ctx context.Context, e *rpc.Endpoint) (int64, error) {
	result, err := e.Call(ctx, "eth_blockNumber")
	if err != nil {
		return 0, err
	}
	return decodeNumber(result)
}

// finalized reads the newest final block, once for each head. A node that does not know the tag answers an error or
// nothing; then depth decides.
func (d *Driver) finalized(ctx context.Context, e *rpc.Endpoint, head *block) int64 {
	d.finalMu.Lock()
	defer d.finalMu.Unlock()
	if d.finalOf == head.hash {
		return d.final
	}
	d.final = 0
	if b, err := blockOf(ctx, e, "finalized", false); err == nil && b.number <= head.number {
		d.final = b.number
	}
	d.finalOf = head.hash
	return d.final
}

// blockOf requests one block; ErrNoBlock when the node has none.
func blockOf(ctx context.Context, e *rpc.Endpoint, which string, full bool) (*block, error) {
	result, err := e.Call(ctx, "eth_getBlockByNumber", which, full)
	if err != nil {
		return nil, err
	}
	b, err := decodeBlock(result, full)
	if err != nil {
		return nil, fmt.Errorf("block %s at endpoint %s: %w", which, e.Name, err)
	}
	if b == nil {
		return nil, chain.ErrNoBlock
	}
	return b, nil
}

// numbered requests the block of a height and checks its number.
func numbered(ctx context.Context, e *rpc.Endpoint, height int64, full bool) (*block, error) {
	b, err := blockOf(ctx, e, fmt.Sprintf("0x%x", height), full)
	if err == nil && b.number != height {
		err = fmt.Errorf("endpoint %s answers block %d for block %d", e.Name, b.number, height)
	}
	return b, err
}

// Header implements chain.Driver.
func (d *Driver) Header(ctx context.Context, height int64) (h chain.Header, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		b, err := numbered(ctx, e, height, false)
		if err == nil {
			h = b.header()
		}
		return err
	})
	return h, err
}

// Fetch implements chain.Driver.
func (d *Driver) Fetch(ctx context.Context, height int64) (fetched chain.Block, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		b, err := numbered(ctx, e, height, true)
		if err != nil {
			return err
		}
		events, err := d.events(ctx, e, b)
		if err != nil {
			return err
		}
		internals, err := d.internals(ctx, e, b)
		if err == nil {
			fetched = &matchable{driver: d, endpoint: e, block: b, events: events, internals: internals}
		}
		return err
	})
	return fetched, err
}

// events returns the listed tokens' transfers in a block. It requests them by the block's hash, so a node that has
// reorganised meanwhile answers an error and not another block's logs. One answer is not trusted, because a node may
// omit some logs or all: another endpoint must return the same. Without another endpoint the receipts of all
// transactions must agree, if the header's bloom filter allows logs.
func (d *Driver) events(ctx context.Context, e *rpc.Endpoint, b *block) ([]event, error) {
	if len(d.filter) == 0 {
		return nil, nil
	}
	events, err := d.logs(ctx, e, b)
	if err != nil {
		return nil, err
	}
	if other := d.pool.Other(ctx, e); other != nil {
		second, err := d.logs(ctx, other, b)
		if err == nil {
			err = d.missed(ctx, other, b, without(events, second))
		}
		if err == nil {
			return events, d.missed(ctx, e, b, without(second, events))
		}
		if errors.Is(err, rpc.ErrMoved) {
			return nil, err
		}
		d.pool.Failed(ctx, other, err)
	}
	if len(events) == 0 && !d.promises(b) {
		return nil, nil
	}
	all, err := d.eventsOfReceipts(ctx, e, b)
	if err != nil {
		return nil, err
	}
	if extra := without(events, all); len(extra) > 0 {
		return nil, fmt.Errorf("endpoint %s has %d logs of block %d that are in no receipt", e.Name, len(extra), b.number)
	}
	if len(all) > len(events) {
		d.pool.Count(e, "empty")
		d.log.WarnContext(ctx, "RPC endpoint omitted logs that its receipts have", "endpoint", e.Name, "height", b.number, "logs", len(all)-len(events))
	}
	return all, nil
}

// without returns the events that are not in the other list.
func without(events, other []event) (out []event) {
	type key struct {
		tx    hash
		index int64
	}
	known := make(map[key]event, len(other))
	for _, o := range other {
		known[key{o.tx, o.index}] = o
	}
	for _, e := range events {
		o, ok := known[key{e.tx, e.index}]
		if !ok || o.token != e.token || o.from != e.from || o.to != e.to || o.amount.Cmp(e.amount) != 0 {
			out = append(out, e)
		}
	}
	return out
}

// missed judges an endpoint that omitted logs which another has. If the receipt has the first of them, the endpoint
// omitted logs; if the endpoint lacks the block, it cannot know. Else the two contradict each other: the scan waits
// until they agree.
func (d *Driver) missed(ctx context.Context, e *rpc.Endpoint, b *block, missing []event) error {
	if len(missing) == 0 {
		return nil
	}
	receipts, err := receiptsOf(ctx, e, []hash{missing[0].tx})
	if err == nil && receipts[0].block == b.hash {
		if _, ok := receipts[0].holds(missing[0]); ok {
			d.pool.Count(e, "empty")
			return fmt.Errorf("endpoint %s leaves out %d logs of block %d", e.Name, len(missing), b.number)
		}
	}
	if err != nil && !errors.Is(err, rpc.ErrMoved) {
		return err
	}
	known, err := numbered(ctx, e, b.number, false)
	if err != nil || known.hash != b.hash {
		return fmt.Errorf("endpoint %s does not have block %d as %s", e.Name, b.number, b.hash)
	}
	d.pool.Count(e, "contradicted")
	d.log.WarnContext(ctx, "RPC endpoints contradict each other on logs", "endpoint", e.Name, "height", b.number, "tx", missing[0].tx.String())
	return fmt.Errorf("%w: endpoints contradict each other about log %d of block %d", rpc.ErrMoved, missing[0].index, b.number)
}

// logs requests the listed tokens' transfers in a block from one endpoint.
func (d *Driver) logs(ctx context.Context, e *rpc.Endpoint, b *block) ([]event, error) {
	result, err := e.Call(ctx, "eth_getLogs", map[string]any{
		"blockHash": b.hash.String(), "address": d.filter, "topics": []string{transferTopic.String()},
	})
	if err != nil {
		return nil, err
	}
	events, err := decodeLogs(result)
	if err != nil {
		return nil, fmt.Errorf("logs of block %d at endpoint %s: %w", b.number, e.Name, err)
	}
	for _, each := range events {
		if each.block != b.hash {
			return nil, fmt.Errorf("endpoint %s answers logs of block %s for %s", e.Name, each.block, b.hash)
		}
	}
	return d.listed(events), nil
}

// listed keeps the events of listed tokens: any contract may emit a Transfer and call itself USDT.
func (d *Driver) listed(events []event) []event {
	out := events[:0]
	for _, e := range events {
		if _, ok := d.tokens[e.token]; ok {
			out = append(out, e)
		}
	}
	return out
}

// eventsOfReceipts reads the logs of a block from its receipts: all at once, or one by one where the node has no call
// for all.
func (d *Driver) eventsOfReceipts(ctx context.Context, e *rpc.Endpoint, b *block) ([]event, error) {
	receipts, err := blockReceipts(ctx, e, b)
	if rpc.Refused(err) {
		receipts, err = receiptsOf(ctx, e, b.txs)
	}
	if err != nil {
		return nil, err
	}
	if len(receipts) != len(b.txs) {
		return nil, fmt.Errorf("endpoint %s has %d receipts for the %d transactions of block %d", e.Name, len(receipts), len(b.txs), b.number)
	}
	var out []event
	for i, r := range receipts {
		if r.tx != b.txs[i] || r.block != b.hash {
			return nil, rpc.ErrMoved
		}
		out = append(out, r.events...)
	}
	return d.listed(out), nil
}

func blockReceipts(ctx context.Context, e *rpc.Endpoint, b *block) ([]*receipt, error) {
	result, err := e.Call(ctx, "eth_getBlockReceipts", b.hash.String())
	if err != nil {
		return nil, err
	}
	if string(result) == "null" {
		return nil, fmt.Errorf("endpoint %s has no receipts of block %d", e.Name, b.number)
	}
	return decodeReceipts(result)
}

// receiptsAtOnce bounds the concurrent requests for receipts.
const receiptsAtOnce = 8

// receiptsOf requests the receipt of each transaction; a missing one is an error.
func receiptsOf(ctx context.Context, e *rpc.Endpoint, txs []hash) ([]*receipt, error) {
	out := make([]*receipt, len(txs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(receiptsAtOnce)
	for i, tx := range txs {
		g.Go(func() error {
			result, err := e.Call(ctx, "eth_getTransactionReceipt", tx.String())
			if err != nil {
				return err
			}
			if out[i], err = decodeReceipt(result); err == nil && out[i] == nil {
				err = rpc.ErrMoved
			}
			return err
		})
	}
	return out, g.Wait()
}
