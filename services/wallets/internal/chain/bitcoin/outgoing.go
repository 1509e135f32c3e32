package bitcoin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/sweep"
)

// The chain queries of a sweep. Every one works on a pruned node without an index of transactions: the sweeper finds
// its transactions in the blocks, which prove what they hold.

// answered makes one call and decodes its result. It returns errRefused if no endpoint serves it.
func answered[T any](ctx context.Context, d *Driver, method string, params ...any) (out T, err error) {
	err = d.ask(ctx, func(e *rpc.Endpoint) error {
		result, err := e.Call(ctx, method, params...)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(result, &out); err != nil {
			return fmt.Errorf("%s at endpoint %s: %w", method, e.Name, err)
		}
		return nil
	})
	return out, err
}

// soon is the number of blocks in which a transaction should be mined.
const soon = 6

// perCoin turns bitcoin for 1000 bytes into a sweep.Rate.
var perCoin = decimal.New(1, 8)

// absurd is a rate that no market ever had, in bitcoin for 1000 bytes: somebody's mistake, mined.
var absurd = decimal.New(1, -1)

// Rate is the node's estimate of the rate at which a transaction is soon mined. It is false while the node has none.
// Bitcoin Core estimates by estimatesmartfee, btcd by estimatefee.
func (d *Driver) Rate(ctx context.Context) (rate sweep.Rate, ok bool, err error) {
	var perKilobyte decimal.Decimal
	smart, err := answered[struct{ Feerate decimal.Decimal }](ctx, d, "estimatesmartfee", soon)
	if perKilobyte = smart.Feerate; errors.Is(err, errRefused) {
		perKilobyte, err = answered[decimal.Decimal](ctx, d, "estimatefee", soon)
	}
	if errors.Is(err, errRefused) || (err == nil && !perKilobyte.IsPositive()) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if perKilobyte.GreaterThan(absurd) {
		d.log.DebugContext(ctx, "absurd fee estimate ignored", "bitcoin_per_kilobyte", perKilobyte)
		return 0, false, nil
	}
	return sweep.Rate(perKilobyte.Mul(perCoin).Ceil().IntPart()), true, nil
}

// Unspent reports whether the chain has an output that no block spends.
func (d *Driver) Unspent(ctx context.Context, txID string, output int) (unspent bool, err error) {
	err = d.ask(ctx, func(e *rpc.Endpoint) error {
		result, err := e.Call(ctx, "gettxout", txID, output, false)
		unspent = err == nil && string(result) != "null"
		return err
	})
	return unspent, err
}

// At is the hash of the block at a height; false above the head.
func (d *Driver) At(ctx context.Context, height int64) (hash string, ok bool, err error) {
	h, err := d.Header(ctx, height)
	if errors.Is(err, chain.ErrNoBlock) {
		return "", false, nil
	}
	return h.Hash, err == nil, err
}

// Spending are the transactions of the block at a height that spend one of the outputs, written txid:number. It is
// false above the head.
func (d *Driver) Spending(ctx context.Context, height int64, outputs []string) (b sweep.Spending, ok bool, err error) {
	fetched, err := d.Fetch(ctx, height)
	if errors.Is(err, chain.ErrNoBlock) {
		return b, false, nil
	}
	if err != nil {
		return b, false, err
	}
	held := fetched.(*matchable).block
	b.Block = held.hash.String()
	b.Parent = held.parent.String()
	for _, tx := range held.txs[1:] {
		if slices.ContainsFunc(tx.inputs, func(from outpoint) bool { return slices.Contains(outputs, from.String()) }) {
			b.TxHashes = append(b.TxHashes, tx.id.String())
		}
	}
	return b, true, nil
}

// Paying are the outputs of the block at a height that pay an address (P2WPKH). It is false above the head.
func (d *Driver) Paying(ctx context.Context, height int64, to string) (b sweep.Paying, ok bool, err error) {
	key, err := address.Parse(money.Bitcoin, d.net, to)
	if err != nil {
		return b, false, fmt.Errorf("the address %w", err)
	}
	fetched, err := d.Fetch(ctx, height)
	if errors.Is(err, chain.ErrNoBlock) {
		return b, false, nil
	}
	if err != nil {
		return b, false, err
	}
	held := fetched.(*matchable).block
	b.Block = held.hash.String()
	for _, tx := range held.txs[1:] { // a miner's reward cannot be spent for a hundred blocks
		for vout, o := range tx.outputs {
			if o.value > 0 && bytes.Equal(o.key(), key) {
				b.Outputs = append(b.Outputs, sweep.Input{TxHash: tx.id.String(), Output: vout, Amount: big.NewInt(o.value), Block: b.Block})
			}
		}
	}
	return b, true, nil
}

// Previous are the bytes of a transaction, by its id, which proves them: from the node's index of transactions, or else
// out of its block.
func (d *Driver) Previous(ctx context.Context, txID, block string) (raw []byte, err error) {
	id, err := digestOf(txID)
	if err != nil {
		return nil, err
	}
	err = d.ask(ctx, func(e *rpc.Endpoint) error {
		result, err := e.Call(ctx, "getrawtransaction", txID, 0)
		if err == nil {
			raw, err = unhex(result)
		}
		if err == nil {
			_, err = parseTx(raw, id)
		}
		return err
	})
	if !errors.Is(err, errRefused) {
		return raw, err
	}
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		held, err := asked(ctx, e, "getblock", block, 0)
		if err == nil {
			raw, err = within(held, id)
		}
		if err != nil {
			return fmt.Errorf("transaction %s in block %s at endpoint %s: %w", txID, block, e.Name, err)
		}
		return nil
	})
	return raw, err
}

func digestOf(txID string) (id digest, err error) {
	raw, err := hex.DecodeString(txID)
	if err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("%.80q is not the id of a transaction", txID)
	}
	slices.Reverse(raw)
	return digest(raw), nil
}

// within cuts a transaction out of a serialized block.
func within(block []byte, id digest) ([]byte, error) {
	c := &cursor{b: block}
	c.take(headerLength)
	hasher := sha256.New()
	for range c.count(leastTx) {
		from := c.at
		if tx := c.transaction(hasher); c.err == nil && tx.id == id {
			return slices.Clone(block[from:c.at]), nil
		}
	}
	return nil, errors.Join(errors.New("the block does not hold the transaction"), c.err)
}

// Send gives signed bytes to a node, which says first whether it takes them. It succeeds if the node or the chain knows
// them already; any other refusal is the error.
func (d *Driver) Send(ctx context.Context, raw []byte) error {
	text := hex.EncodeToString(raw)
	verdicts, err := answered[[]struct {
		Allowed bool
		Reason  string `json:"reject-reason"`
	}](ctx, d, "testmempoolaccept", []string{text}, feeMost)
	if err != nil && !errors.Is(err, errRefused) { // a node without the call says it at the next one
		return err
	}
	if len(verdicts) == 1 && !verdicts[0].Allowed {
		return refusal(verdicts[0].Reason)
	}
	_, err = answered[string](ctx, d, "sendrawtransaction", text)
	if no, is := errors.AsType[*rpc.NodeError](err); is {
		return refusal(no.Message)
	}
	return err
}

// feeMost is the rate, in bitcoin for 1000 virtual bytes, above which a node refuses a transaction as a mistake: the
// default of Bitcoin Core. btcd wants the rate in each call.
const feeMost = 0.1

// known are the ways in which nodes write that they, or the chain, have a transaction. An output that is "already
// spent" is no such way.
var known = []string{"txn-already", "already have transaction", "already exists", "already in"}

// refusal is the error of a node's reason.
func refusal(reason string) error {
	if text := strings.ToLower(reason); slices.ContainsFunc(known, func(k string) bool { return strings.Contains(text, k) }) {
		return nil
	}
	return fmt.Errorf("%w: %.200s", sweep.ErrRefused, reason)
}
