// Package evm reads EVM chains over JSON-RPC: native transfers from the block itself, ERC-20 transfers from the logs of
// the listed tokens, bound to the block's hash, and the receipt of every hit. It decodes the few fields it needs itself,
// so transaction types that no client library knows (Base, Arbitrum) are no obstacle. It believes no answer that is
// missing, malformed, of another block or suspiciously empty: such an answer is an error, and the scanner does not move.
package evm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/address"
	"causeway.internal/services/wallets/internal/chain"
)

// Config says which chain it is and who serves it.
type Config struct {
	Network money.Network
	ChainID int64
	URLs    []string          // JSON-RPC endpoints in order of preference; http or https
	Tokens  map[string]string // contract of each token by symbol
	Timeout time.Duration     // of one call
}

// Driver reads one EVM chain. It implements chain.Driver.
type Driver struct {
	chainID   int64
	symbol    string // of the native coin
	tokens    map[account]token
	filter    []string // contracts, as eth_getLogs wants them
	endpoints []*endpoint
	log       *slog.Logger
	calls     *Calls
	current   atomic.Int64

	finalMu sync.Mutex
	finalOf hash // the head for which final was asked
	final   int64
}

// token is a listed contract.
type token struct {
	symbol   string
	contract string
	decimals int64
	bits     [3]uint // of the contract in a bloom
}

var _ chain.Driver = (*Driver)(nil)

// Calls counts what endpoints answer.
type Calls = prometheus.CounterVec

// Metrics registers the count of what endpoints do; make one for all chains of a process.
func Metrics(registry prometheus.Registerer) *Calls {
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wallets_rpc_answers_total", Help: "Reads from RPC endpoints by outcome: ok, failed, or empty (logs that a bloom filter contradicted).",
	}, []string{"network", "endpoint", "outcome"})
	registry.MustRegister(calls)
	return calls
}

// New makes the driver of a chain. It checks addresses and URLs; endpoints are checked before their first use.
func New(cfg Config, log *slog.Logger, calls *Calls) (*Driver, error) {
	endpoints, err := newEndpoints(cfg.URLs, cfg.Timeout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Network.Name, err)
	}
	d := &Driver{
		chainID: cfg.ChainID, tokens: map[account]token{}, endpoints: endpoints,
		log: log.With("network", cfg.Network.Name), calls: calls.MustCurryWith(prometheus.Labels{"network": cfg.Network.Name}),
	}
	for _, a := range cfg.Network.Assets {
		if a.Native {
			d.symbol = a.Symbol
		}
	}
	for symbol, contract := range cfg.Tokens {
		asset, ok := cfg.Network.Asset(symbol)
		if !ok || asset.Native {
			return nil, fmt.Errorf("%s: %q is no token of this network", cfg.Network.Name, symbol)
		}
		key, err := address.Parse(money.EVM, address.Mainnet, contract)
		if err != nil {
			return nil, fmt.Errorf("%s: the contract of %s %w", cfg.Network.Name, symbol, err)
		}
		canonical, err := address.Encode(money.EVM, address.Mainnet, key)
		if err != nil {
			return nil, fmt.Errorf("%s: the contract of %s: %w", cfg.Network.Name, symbol, err)
		}
		if twin, taken := d.tokens[account(key)]; taken {
			return nil, fmt.Errorf("%s: %s and %s have one contract", cfg.Network.Name, symbol, twin.symbol)
		}
		d.tokens[account(key)] = token{symbol: asset.Symbol, contract: canonical, decimals: int64(asset.Decimals), bits: bloomBits(key)}
		d.filter = append(d.filter, account(key).String())
	}
	return d, nil
}

// errMoved says that the chain changed between two calls: nobody's fault, and gone at the next try.
var errMoved = errors.New("the chain moved while it was read")

// read runs f on an endpoint that works: the one that served last, and after a failure the others in turn. It stays with
// the one that answered, so that the chain is not read from two nodes alternately.
func (d *Driver) read(ctx context.Context, f func(e *endpoint) error) error {
	start := d.current.Load()
	problems := []error{}
	for i := range int64(len(d.endpoints)) {
		at := (start + i) % int64(len(d.endpoints))
		e := d.endpoints[at]
		if e.resting(time.Now()) {
			continue
		}
		err := d.verify(ctx, e)
		if err == nil {
			err = f(e)
		}
		switch {
		case err == nil, errors.Is(err, chain.ErrNoBlock):
			e.succeeded()
			d.calls.WithLabelValues(e.name, "ok").Inc()
			if at != start && d.current.CompareAndSwap(start, at) {
				d.log.WarnContext(ctx, "changed to another RPC endpoint", "endpoint", e.name)
			}
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errMoved):
			return err
		}
		e.failed(err, time.Now())
		d.calls.WithLabelValues(e.name, "failed").Inc()
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		return errors.New("every RPC endpoint rests after its failures")
	}
	return errors.Join(problems...)
}

// verify proves, before first use and after a failure, that the endpoint serves our chain and that the listed contracts
// count in the decimals we assume.
func (d *Driver) verify(ctx context.Context, e *endpoint) error {
	if e.isVerified() {
		return nil
	}
	result, err := e.call(ctx, "eth_chainId")
	if err != nil {
		return err
	}
	id, err := decodeNumber(result)
	if err != nil {
		return fmt.Errorf("chain id of endpoint %s: %w", e.name, err)
	}
	if id != d.chainID {
		return fmt.Errorf("endpoint %s serves chain %d, want %d", e.name, id, d.chainID)
	}
	for key, t := range d.tokens {
		const decimals = "0x313ce567" // the selector of decimals()
		result, err := e.call(ctx, "eth_call", map[string]string{"to": key.String(), "data": decimals}, "latest")
		if err != nil {
			return err
		}
		n, err := decodeWord(result)
		if err != nil {
			return fmt.Errorf("decimals of %s %s at endpoint %s: %w", t.symbol, t.contract, e.name, err)
		}
		if n != t.decimals {
			return fmt.Errorf("%s %s has %d decimals at endpoint %s, want %d", t.symbol, t.contract, n, e.name, t.decimals)
		}
	}
	e.setVerified()
	return nil
}

// Head implements chain.Driver.
func (d *Driver) Head(ctx context.Context) (head chain.Head, err error) {
	err = d.read(ctx, func(e *endpoint) error {
		b, err := e.block(ctx, "latest", false)
		if err != nil {
			return err
		}
		head = chain.Head{Header: b.header(), Finalized: d.finalized(ctx, e, b)}
		return nil
	})
	return head, err
}

// finalized asks for the newest final block, once for each head. A node that does not know the tag answers an error or
// nothing; then depth decides.
func (d *Driver) finalized(ctx context.Context, e *endpoint, head *block) int64 {
	d.finalMu.Lock()
	defer d.finalMu.Unlock()
	if d.finalOf == head.hash {
		return d.final
	}
	d.final = 0
	if b, err := e.block(ctx, "finalized", false); err == nil && b.number <= head.number {
		d.final = b.number
	}
	d.finalOf = head.hash
	return d.final
}

// block asks for one block; ErrNoBlock when the node has none.
func (e *endpoint) block(ctx context.Context, which string, full bool) (*block, error) {
	result, err := e.call(ctx, "eth_getBlockByNumber", which, full)
	if err != nil {
		return nil, err
	}
	b, err := decodeBlock(result, full)
	if err != nil {
		return nil, fmt.Errorf("block %s at endpoint %s: %w", which, e.name, err)
	}
	if b == nil {
		return nil, chain.ErrNoBlock
	}
	return b, nil
}

// numbered asks for the block of a height and checks that it is that.
func (e *endpoint) numbered(ctx context.Context, height int64, full bool) (*block, error) {
	b, err := e.block(ctx, fmt.Sprintf("0x%x", height), full)
	if err == nil && b.number != height {
		err = fmt.Errorf("endpoint %s answers block %d for block %d", e.name, b.number, height)
	}
	return b, err
}

// Header implements chain.Driver.
func (d *Driver) Header(ctx context.Context, height int64) (h chain.Header, err error) {
	err = d.read(ctx, func(e *endpoint) error {
		b, err := e.numbered(ctx, height, false)
		if err == nil {
			h = b.header()
		}
		return err
	})
	return h, err
}

// Fetch implements chain.Driver.
func (d *Driver) Fetch(ctx context.Context, height int64) (fetched chain.Block, err error) {
	err = d.read(ctx, func(e *endpoint) error {
		b, err := e.numbered(ctx, height, true)
		if err != nil {
			return err
		}
		events, err := d.events(ctx, e, b)
		if err == nil {
			fetched = &matchable{driver: d, endpoint: e, block: b, events: events}
		}
		return err
	})
	return fetched, err
}

// events returns the listed tokens' transfers in a block, asked for by the block's hash: a node that has reorganised
// meanwhile answers an error and not another block's logs. An empty answer that the header's bloom filter contradicts is
// checked against the receipts, because backends are known to answer nothing for blocks they lack.
func (d *Driver) events(ctx context.Context, e *endpoint, b *block) ([]event, error) {
	if len(d.filter) == 0 {
		return nil, nil
	}
	result, err := e.call(ctx, "eth_getLogs", map[string]any{
		"blockHash": b.hash.String(), "address": d.filter, "topics": []string{transferTopic.String()},
	})
	if err != nil {
		return nil, err
	}
	events, err := decodeLogs(result)
	if err != nil {
		return nil, fmt.Errorf("logs of block %d at endpoint %s: %w", b.number, e.name, err)
	}
	for _, each := range events {
		if each.block != b.hash {
			return nil, fmt.Errorf("endpoint %s answers logs of block %s for %s", e.name, each.block, b.hash)
		}
	}
	if events = d.listed(events); len(events) > 0 || !d.promises(b) {
		return events, nil
	}
	events, err = d.eventsOfReceipts(ctx, e, b)
	if err == nil && len(events) > 0 {
		d.calls.WithLabelValues(e.name, "empty").Inc()
		d.log.WarnContext(ctx, "endpoint left logs out; its receipts have them", "endpoint", e.name, "height", b.number, "logs", len(events))
	}
	return events, err
}

// listed keeps the events of listed tokens: anybody may emit a Transfer and call himself USDT.
func (d *Driver) listed(events []event) []event {
	out := events[:0]
	for _, e := range events {
		if _, ok := d.tokens[e.token]; ok {
			out = append(out, e)
		}
	}
	return out
}

// eventsOfReceipts reads the logs of a block from its receipts: all at once, or one by one where the node cannot do that.
func (d *Driver) eventsOfReceipts(ctx context.Context, e *endpoint, b *block) ([]event, error) {
	receipts, err := e.blockReceipts(ctx, b)
	if _, refused := errors.AsType[*rpcError](err); refused {
		receipts, err = e.receipts(ctx, b.txs)
	}
	if err != nil {
		return nil, err
	}
	if len(receipts) != len(b.txs) {
		return nil, fmt.Errorf("endpoint %s has %d receipts for the %d transactions of block %d", e.name, len(receipts), len(b.txs), b.number)
	}
	var out []event
	for i, r := range receipts {
		if r.tx != b.txs[i] || r.block != b.hash {
			return nil, errMoved
		}
		out = append(out, r.events...)
	}
	return d.listed(out), nil
}

func (e *endpoint) blockReceipts(ctx context.Context, b *block) ([]*receipt, error) {
	result, err := e.call(ctx, "eth_getBlockReceipts", b.hash.String())
	if err != nil {
		return nil, err
	}
	if string(result) == "null" {
		return nil, fmt.Errorf("endpoint %s has no receipts of block %d", e.name, b.number)
	}
	return decodeReceipts(result)
}

// receiptsAtOnce bounds the receipts asked for at the same time.
const receiptsAtOnce = 8

// receipts asks for the receipt of each transaction; a missing one is an error.
func (e *endpoint) receipts(ctx context.Context, txs []hash) ([]*receipt, error) {
	out := make([]*receipt, len(txs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(receiptsAtOnce)
	for i, tx := range txs {
		g.Go(func() error {
			result, err := e.call(ctx, "eth_getTransactionReceipt", tx.String())
			if err != nil {
				return err
			}
			if out[i], err = decodeReceipt(result); err == nil && out[i] == nil {
				err = errMoved
			}
			return err
		})
	}
	return out, g.Wait()
}
