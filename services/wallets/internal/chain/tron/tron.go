// Package tron reads the TRON chain over the HTTP API of its nodes: a block together with the results of its
// transactions. TRX comes from plain transfers and payments of contracts, tokens from the logs of the listed contracts.
// The backends of one address differ and answer {} or [] for missing data; such an answer never means "nothing there".
package tron

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strconv"
	"sync"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// Config names the chain and its endpoints.
type Config struct {
	Network money.Network
	Genesis string            // id of block 0; "" for the main network's
	Tokens  map[string]string // contract of each token by symbol
	RPC     rpc.Config
}

// MainGenesis is block 0 of the main network.
const MainGenesis = "00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc"

// Driver reads the chain. It implements chain.Driver.
type Driver struct {
	genesis string
	symbol  string
	tokens  map[account]chain.Token
	pool    *rpc.Pool

	finalMu sync.Mutex
	finalOf hash // the head for which final was asked
	final   int64
}

var _ chain.Driver = (*Driver)(nil)

// New makes the driver. Endpoints are checked before their first use.
func New(cfg Config, log *slog.Logger, metrics *rpc.Metrics) (*Driver, error) {
	name := cfg.Network.Name
	tokens, err := chain.Tokens(cfg.Network, cfg.Tokens)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d := &Driver{genesis: cfg.Genesis, symbol: cfg.Network.Coin().Symbol, tokens: map[account]chain.Token{}}
	if d.genesis == "" {
		d.genesis = MainGenesis
	}
	for _, t := range tokens {
		d.tokens[account(t.Key)] = t
	}
	cfg.RPC.Network, cfg.RPC.Verify, cfg.RPC.Height = name, d.verify, height
	if d.pool, err = rpc.New(cfg.RPC, log, metrics); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// verify proves that the endpoint serves the configured chain and that the listed contracts have the expected decimals.
func (d *Driver) verify(ctx context.Context, e *rpc.Endpoint) error {
	b, err := numbered(ctx, e, 0, false)
	if err != nil {
		return err
	}
	if b.id.String() != d.genesis {
		return fmt.Errorf("endpoint %s serves the chain of block %s, want %s", e.Name, b.id, d.genesis)
	}
	for key, t := range d.tokens {
		at := "41" + hex.EncodeToString(key[:])
		answer, err := e.Post(ctx, "/wallet/triggerconstantcontract", map[string]any{
			"owner_address": at, "contract_address": at, "function_selector": "decimals()", "parameter": "",
		})
		if err != nil {
			return err
		}
		n, err := decodeConstant(answer)
		if err != nil {
			return fmt.Errorf("decimals of %s %s at endpoint %s: %w", t.Symbol, t.Contract, e.Name, err)
		}
		if n != t.Decimals {
			return fmt.Errorf("%s %s has %d decimals at endpoint %s, want %d", t.Symbol, t.Contract, n, e.Name, t.Decimals)
		}
	}
	return nil
}

// now requests the newest block of a view of the chain: wallet, or walletsolidity for the newest final one.
func now(ctx context.Context, e *rpc.Endpoint, view string) (*block, error) {
	answer, err := e.Post(ctx, "/"+view+"/getnowblock", map[string]any{})
	if err != nil {
		return nil, err
	}
	b, err := decodeBlock(answer)
	if err != nil {
		return nil, fmt.Errorf("newest block at endpoint %s: %w", e.Name, err)
	}
	return b, nil
}

func height(ctx context.Context, e *rpc.Endpoint) (int64, error) {
	b, err := now(ctx, e, "wallet")
	if err != nil {
		return 0, err
	}
	return b.number, nil
}

// numbered requests the block of a height. {} means that no block exists only if the endpoint's own head is lower;
// otherwise this backend has a gap, which is an error.
func numbered(ctx context.Context, e *rpc.Endpoint, at int64, detail bool) (*block, error) {
	answer, err := e.Post(ctx, "/wallet/getblock", map[string]any{"id_or_num": strconv.FormatInt(at, 10), "detail": detail})
	if err != nil {
		return nil, err
	}
	b, err := decodeBlock(answer)
	if errors.Is(err, errEmpty) {
		head, err := height(ctx, e)
		if err != nil {
			return nil, err
		}
		if head < at {
			return nil, chain.ErrNoBlock
		}
	}
	if err == nil && b.number != at {
		err = fmt.Errorf("is block %d", b.number)
	}
	if err != nil {
		return nil, fmt.Errorf("block %d at endpoint %s: %w", at, e.Name, err)
	}
	return b, nil
}

// Head implements chain.Driver.
func (d *Driver) Head(ctx context.Context) (head chain.Head, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		b, err := now(ctx, e, "wallet")
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

// finalized reads the newest solid block, once for each head. Where that view is not served, depth decides.
func (d *Driver) finalized(ctx context.Context, e *rpc.Endpoint, head *block) int64 {
	d.finalMu.Lock()
	defer d.finalMu.Unlock()
	if d.finalOf == head.id {
		return d.final
	}
	d.final = 0
	if b, err := now(ctx, e, "walletsolidity"); err == nil && b.number <= head.number {
		d.final = b.number
	}
	d.finalOf = head.id
	return d.final
}

// Header implements chain.Driver.
func (d *Driver) Header(ctx context.Context, at int64) (h chain.Header, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		b, err := numbered(ctx, e, at, false)
		if err == nil {
			h = b.header()
		}
		return err
	})
	return h, err
}

// Fetch implements chain.Driver.
func (d *Driver) Fetch(ctx context.Context, at int64) (fetched chain.Block, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		b, err := numbered(ctx, e, at, true)
		if err != nil {
			return err
		}
		infos, err := infosOf(ctx, e, b)
		if err == nil {
			fetched = &matchable{driver: d, endpoint: e, block: b, infos: infos}
		}
		return err
	})
	return fetched, err
}

// infosOf requests the results of a block's transactions: one for each, or the backend does not have them all.
func infosOf(ctx context.Context, e *rpc.Endpoint, b *block) ([]info, error) {
	if len(b.txs) == 0 {
		return nil, nil
	}
	answer, err := e.Post(ctx, "/wallet/gettransactioninfobyblocknum", map[string]any{"num": b.number})
	if err != nil {
		return nil, err
	}
	infos, err := decodeInfos(answer)
	if err != nil {
		return nil, fmt.Errorf("block %d at endpoint %s: %w", b.number, e.Name, err)
	}
	if len(infos) != len(b.txs) {
		return nil, fmt.Errorf("endpoint %s has the results of %d of the %d transactions of block %d", e.Name, len(infos), len(b.txs), b.number)
	}
	ours := make(map[hash]bool, len(b.txs))
	for _, tx := range b.txs {
		ours[tx] = true
	}
	for _, i := range infos { // requested by number: a reorganisation between the two calls shows here
		if !ours[i.tx] || i.block != b.number {
			return nil, rpc.ErrMoved
		}
		delete(ours, i.tx)
	}
	return infos, nil
}

// matchable is a fetched block.
type matchable struct {
	driver   *Driver
	endpoint *rpc.Endpoint
	block    *block
	infos    []info
}

// Header implements chain.Block.
func (m *matchable) Header() chain.Header { return m.block.header() }

// Match implements chain.Block.
func (m *matchable) Match(ctx context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	var out []chain.Transfer
	for i := range m.block.payments {
		p := &m.block.payments[i]
		if !watched.Has(p.to[:]) {
			continue
		}
		if !p.signed() {
			err := fmt.Errorf("transaction %s at endpoint %s differs from its signed bytes", p.tx, m.endpoint.Name)
			m.driver.pool.Failed(ctx, m.endpoint, err)
			return nil, err
		}
		out = append(out, chain.Transfer{
			TxHash: p.tx.String(), To: p.to[:], Asset: m.driver.symbol, Amount: big.NewInt(p.amount), Senders: senders(p.from),
		})
	}
	for _, i := range m.infos {
		for at := range i.logs {
			e := &i.logs[at]
			t, listed := m.driver.tokens[e.token]
			if !listed || e.amount == nil || !watched.Has(e.to[:]) {
				continue
			}
			out = append(out, chain.Transfer{
				TxHash: i.tx.String(), Ordinal: at + 1, To: e.to[:], Asset: t.Symbol, Contract: t.Contract, Amount: e.amount, Senders: senders(e.from),
			})
		}
		for at := range i.internal {
			if c := &i.internal[at]; watched.Has(c.to[:]) {
				out = append(out, chain.Transfer{
					TxHash: i.tx.String(), Ordinal: chain.FirstInternal + at, To: c.to[:], Asset: m.driver.symbol,
					Amount: big.NewInt(c.amount), Senders: senders(c.from),
				})
			}
		}
	}
	return out, nil
}

// senders writes the payer's address, for screening.
func senders(a account) []string {
	text, err := address.Encode(money.Tron, address.Mainnet, a[:])
	if err != nil {
		return nil
	}
	return []string{text}
}
