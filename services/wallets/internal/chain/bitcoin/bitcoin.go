// Package bitcoin reads the bitcoin chain from a node's JSON-RPC (Bitcoin Core, Knots or btcd). It asks for raw blocks
// and parses them itself: the header's work and the merkle root prove that a block is whole and of the chain, so a
// provider can withhold one but not invent a deposit.
package bitcoin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"sync"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// Config names the chain and its endpoints. Credentials are part of the URLs: http://user:password@host:8332.
type Config struct {
	Network money.Network
	Net     address.Net
	RPC     rpc.Config
}

// Driver reads the chain. It implements chain.Driver.
type Driver struct {
	genesis string
	net     address.Net
	limit   *big.Int // the lowest difficulty that the network allows
	symbol  string
	pool    *rpc.Pool
	log     *slog.Logger

	spentMu    sync.Mutex
	spentBlock string // the last block whose previous outputs were requested
	spent      spending
}

var _ chain.Driver = (*Driver)(nil)

// geneses are the first blocks of the nets; a node's genesis shows its net.
var geneses = map[address.Net]string{
	address.Mainnet: "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
	address.Testnet: "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
	address.Regtest: "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
}

// New makes the driver. Endpoints are checked before their first use.
func New(cfg Config, log *slog.Logger, metrics *rpc.Metrics) (*Driver, error) {
	d := &Driver{
		genesis: geneses[cfg.Net], net: cfg.Net, symbol: cfg.Network.Coin().Symbol, log: log.With("network", cfg.Network.Name),
		limit: header{bits: 0x1d00ffff}.target(),
	}
	if d.genesis == "" {
		return nil, fmt.Errorf("%s: no such net %q", cfg.Network.Name, cfg.Net)
	}
	if cfg.Net == address.Regtest {
		d.limit = header{bits: 0x207fffff}.target()
	}
	cfg.RPC.Network, cfg.RPC.Verify, cfg.RPC.Height = cfg.Network.Name, d.verify, count
	var err error
	if d.pool, err = rpc.New(cfg.RPC, log, metrics); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Network.Name, err)
	}
	return d, nil
}

// verify proves that the endpoint serves the configured chain.
func (d *Driver) verify(ctx context.Context, e *rpc.Endpoint) error {
	genesis, err := hashAt(ctx, e, 0)
	if err == nil && genesis != d.genesis {
		err = fmt.Errorf("endpoint %s serves the chain of block %s, want %s", e.Name, genesis, d.genesis)
	}
	return err
}

func count(ctx context.Context, e *rpc.Endpoint) (int64, error) {
	result, err := e.Call(ctx, "getblockcount")
	if err != nil {
		return 0, err
	}
	r := rpc.NewReader(result)
	n, err := r.Int()
	if err != nil {
		return 0, fmt.Errorf("the height of endpoint %s: %w", e.Name, err)
	}
	return n, r.End()
}

// outOfRange reports whether a node answers that its chain does not reach a height: Core with code -8, btcd with -1.
func outOfRange(err error) bool {
	node, ok := errors.AsType[*rpc.NodeError](err)
	return ok && (node.Code == -8 || node.Code == -1) && strings.Contains(node.Message, "out of range")
}

func hashAt(ctx context.Context, e *rpc.Endpoint, height int64) (string, error) {
	result, err := e.Call(ctx, "getblockhash", height)
	if outOfRange(err) {
		return "", chain.ErrNoBlock
	}
	if err != nil {
		return "", err
	}
	raw, err := unhex(result)
	if err == nil && len(raw) != len(digest{}) {
		err = fmt.Errorf("a hash of %d bytes", len(raw))
	}
	if err != nil {
		return "", fmt.Errorf("the hash of block %d at endpoint %s: %w", height, e.Name, err)
	}
	return hex.EncodeToString(raw), nil
}

// unhex reads a JSON string of hexadecimal digits.
func unhex(result []byte) ([]byte, error) {
	r := rpc.NewReader(result)
	text, err := r.Text()
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, err
	}
	out := make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(out, text); err != nil {
		return nil, errors.New("an answer is not in hex")
	}
	return out, nil
}

// unknown is code -5 of every node: no block with that hash, so the chain moved after the hash was read.
func unknown(err error) bool {
	node, ok := errors.AsType[*rpc.NodeError](err)
	return ok && node.Code == -5
}

// asked requests a header or a block by hash and returns its bytes.
func asked(ctx context.Context, e *rpc.Endpoint, method, hash string, form any) ([]byte, error) {
	result, err := e.Call(ctx, method, hash, form)
	if unknown(err) {
		return nil, rpc.ErrMoved
	}
	if err != nil {
		return nil, err
	}
	raw, err := unhex(result)
	if err != nil {
		return nil, fmt.Errorf("block %s at endpoint %s: %w", hash, e.Name, err)
	}
	return raw, nil
}

func (d *Driver) headerAt(ctx context.Context, e *rpc.Endpoint, height int64) (chain.Header, error) {
	hash, err := hashAt(ctx, e, height)
	if err != nil {
		return chain.Header{}, err
	}
	h, err := d.headerOf(ctx, e, hash)
	if err != nil {
		return chain.Header{}, err
	}
	return h.at(height), nil
}

// Head implements chain.Driver. Bitcoin has no final blocks: depth decides.
func (d *Driver) Head(ctx context.Context) (head chain.Head, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		height, err := count(ctx, e)
		if err == nil {
			head.Header, err = d.headerAt(ctx, e, height)
		}
		if errors.Is(err, chain.ErrNoBlock) { // the head went back between the two calls
			return rpc.ErrMoved
		}
		return err
	})
	if err == nil {
		d.pool.Judge(ctx, head.Height)
	}
	return head, err
}

// Header implements chain.Driver.
func (d *Driver) Header(ctx context.Context, height int64) (h chain.Header, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) (err error) {
		h, err = d.headerAt(ctx, e, height)
		return err
	})
	return h, err
}

// Fetch implements chain.Driver.
func (d *Driver) Fetch(ctx context.Context, height int64) (fetched chain.Block, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		hash, err := hashAt(ctx, e, height)
		if err != nil {
			return err
		}
		raw, err := asked(ctx, e, "getblock", hash, 0)
		if err != nil {
			return err
		}
		b, err := parseBlock(raw, d.limit)
		if err == nil && b.hash.String() != hash {
			err = fmt.Errorf("is block %s", b.hash)
		}
		if err != nil {
			return fmt.Errorf("block %s at endpoint %s: %w", hash, e.Name, err)
		}
		if err := d.work(ctx, e, height, b.header); err != nil {
			return err
		}
		fetched = &matchable{driver: d, height: height, block: b}
		return nil
	})
	return fetched, err
}

// matchable is a fetched block.
type matchable struct {
	driver *Driver
	height int64
	block  *block
}

// Header implements chain.Block.
func (m *matchable) Header() chain.Header { return m.block.at(m.height) }

// Match implements chain.Block. A miner's reward to a deposit address is logged and not credited: nobody can spend it
// for a hundred blocks, which is deeper than any deposit waits.
func (m *matchable) Match(ctx context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	var out []chain.Transfer
	for i, tx := range m.block.txs {
		found := m.driver.transfers(tx, watched)
		if len(found) == 0 {
			continue
		}
		if i == 0 {
			m.driver.log.WarnContext(ctx, "coinbase output not credited", "tx", tx.id.String(), "height", m.height)
			continue
		}
		senders, err := m.driver.senders(ctx, tx, m.block.hash.String())
		if err != nil {
			return nil, err
		}
		for j := range found {
			found[j].Senders = senders
		}
		out = append(out, found...)
	}
	return out, nil
}

// transfers are a transaction's payments to watched addresses.
func (d *Driver) transfers(tx transaction, watched chain.Watched) (out []chain.Transfer) {
	for vout, o := range tx.outputs {
		if key := o.key(); key != nil && o.value > 0 && watched.Has(key) {
			out = append(out, chain.Transfer{TxHash: tx.id.String(), Ordinal: vout, To: key, Asset: d.symbol, Amount: big.NewInt(o.value)})
		}
	}
	return out
}
