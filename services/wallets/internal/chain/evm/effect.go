package evm

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"golang.org/x/sync/errgroup"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// Traces reports whether the driver reads traces, which show the coin that contracts send.
func (d *Driver) Traces() bool { return d.trace != TraceNone }

// effectMost bounds the transactions of a block that are inspected for one address.
const effectMost = 32

// acted is a transaction of a block with its relation to one address.
type acted struct {
	Hash  string    `json:"hash"`
	From  string    `json:"from"`
	To    *string   `json:"to"`
	Value *quantity `json:"value"`
	Input string    `json:"input"`
	Data  string    `json:"data"` // some nodes call it input

	asked, fromIt, toIt, namesIt bool // whether it is the named transaction; its relation to the address
}

// actedBlock is a block with all of its parts that may change a balance.
type actedBlock struct {
	Hash         string   `json:"hash"`
	Parent       string   `json:"parentHash"`
	Miner        string   `json:"miner"`
	Transactions *[]acted `json:"transactions"`
	Withdrawals  []struct {
		Address string `json:"address"`
	} `json:"withdrawals"`
}

// Effect reads the effect of one transaction on the native coin of an address, without traces: the balance after its
// block, less the balance before it, less the amounts that the block's other transactions explain. The rest is
// attributed to the transaction only if it names the address in its call data and no other transaction of the block
// does. With several endpoints two of them must agree. A node's refusal is an answer here and no fault: a payer may
// name a transaction that no node knows.
func (d *Driver) Effect(ctx context.Context, tx string, key []byte) (chain.Effect, error) {
	var of account
	if copy(of[:], key) != len(of) || len(key) != len(of) {
		return chain.Effect{}, fmt.Errorf("%x is not an EVM account", key)
	}
	var first *rpc.Endpoint
	var out chain.Effect
	var no error
	err := d.pool.Read(ctx, func(e *rpc.Endpoint) (err error) {
		first = e
		out, no, err = d.effect(ctx, e, tx, of)
		return err
	})
	if err = errors.Join(err, no); err != nil {
		return chain.Effect{}, err
	}
	other := d.pool.Other(ctx, first)
	if other == nil {
		return out, nil
	}
	second, no, err := d.effect(ctx, other, tx, of)
	if err != nil && ctx.Err() == nil && !errors.Is(err, rpc.ErrMoved) {
		d.pool.Failed(ctx, other, err)
	}
	if err = errors.Join(err, no); err != nil {
		return chain.Effect{}, fmt.Errorf("asking a second endpoint: %w", err)
	}
	if second.Hash != out.Hash || second.Amount.Cmp(out.Amount) != 0 || second.Doubt != out.Doubt || second.Failed != out.Failed {
		return chain.Effect{}, fmt.Errorf("endpoints %s and %s disagree about the effect of %s", first.Name, other.Name, tx)
	}
	return out, nil
}

// refused treats a node's own refusal as an answer.
func refused(err, means error) (no, fault error) {
	if node, is := errors.AsType[*rpc.NodeError](err); is {
		return fmt.Errorf("%w: %w", means, node), nil
	}
	return nil, err
}

// effect asks one endpoint. no is the error for transactions that the node refuses or does not know.
func (d *Driver) effect(ctx context.Context, e *rpc.Endpoint, tx string, of account) (out chain.Effect, no, fault error) {
	mined, err := query[*answered](ctx, e, "eth_getTransactionReceipt", tx)
	if err != nil {
		no, fault = refused(err, chain.ErrNoTransaction)
		return out, no, fault
	}
	if mined == nil || mined.Number == nil {
		return out, chain.ErrNoTransaction, nil
	}
	height, err := mined.of(tx)
	if err != nil {
		return out, nil, err
	}
	block, err := numbered(ctx, e, height, false)
	if errors.Is(err, chain.ErrNoBlock) || (err == nil && !strings.EqualFold(block.hash.String(), mined.Block)) {
		return out, chain.ErrNoTransaction, nil // the chain moved; the hint is inspected again
	}
	if err != nil {
		return out, nil, err
	}
	out = chain.Effect{Header: block.header(), Amount: new(big.Int)}
	if out.Failed = mined.Status.Sign() == 0; out.Failed {
		return out, nil, nil
	}
	acts, err := actsOf(ctx, e, out.Header)
	if err != nil {
		return out, nil, err
	}
	if err := acts.explain(ctx, e, &out, tx, of); err != nil || out.Plain || out.Ours {
		return out, nil, err
	}
	for which, sign := range map[hash]int64{block.hash: 1, block.parent: -1} {
		has, err := query[quantity](ctx, e, "eth_getBalance", of.String(), map[string]string{"blockHash": which.String()})
		if err != nil {
			no, fault = refused(err, chain.ErrNoState)
			return out, no, fault
		}
		out.Amount.Add(out.Amount, has.Mul(&has.Int, big.NewInt(sign)))
	}
	return out, nil, nil
}

// query makes one call on an endpoint and decodes its result.
func query[T any](ctx context.Context, e *rpc.Endpoint, method string, params ...any) (out T, err error) {
	result, err := e.Call(ctx, method, params...)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(result, &out); err != nil {
		return out, fmt.Errorf("%s at endpoint %s: %w", method, e.Name, err)
	}
	return out, nil
}

// actsOf reads a block with the call data of its transactions.
func actsOf(ctx context.Context, e *rpc.Endpoint, at chain.Header) (actedBlock, error) {
	b, err := query[*actedBlock](ctx, e, "eth_getBlockByHash", at.Hash, true)
	if err != nil {
		return actedBlock{}, err
	}
	if b == nil {
		return actedBlock{}, rpc.ErrMoved
	}
	if !strings.EqualFold(b.Hash, at.Hash) || !strings.EqualFold(b.Parent, at.Parent) || b.Transactions == nil {
		return actedBlock{}, fmt.Errorf("endpoint %s answers another block than %s, or leaves fields out", e.Name, at.Hash)
	}
	return *b, nil
}

// explain subtracts the block's plain transfers to the address and adds the address's own payments, and reports whether
// the rest can be attributed to one transaction.
func (b actedBlock) explain(ctx context.Context, e *rpc.Endpoint, out *chain.Effect, tx string, of account) error {
	found := false
	var near []acted // to the address, from it, or naming it
	for _, t := range *b.Transactions {
		var from, to account
		if fixed([]byte(t.From), from[:]) != nil || (t.To != nil && fixed([]byte(*t.To), to[:]) != nil) || t.Value == nil {
			return fmt.Errorf("endpoint %s answers a transaction without sender, receiver or value in block %s", e.Name, b.Hash)
		}
		t.fromIt, t.toIt, t.namesIt = from == of, t.To != nil && to == of, names(t.Input+t.Data, of)
		if strings.EqualFold(t.Hash, tx) {
			found, t.asked = true, true
			out.Ours, out.Plain, out.Senders = t.fromIt, t.toIt, senders(from)
			if t.To != nil {
				out.Senders = append(out.Senders, senders(to)...)
			}
			if out.Ours || out.Plain {
				return nil
			}
			if !t.namesIt {
				out.Doubt = "the transaction does not name the address"
			}
		}
		if t.fromIt || t.toIt || t.namesIt {
			near = append(near, t)
		}
	}
	switch {
	case !found:
		return rpc.ErrMoved
	case len(near) > effectMost:
		out.Doubt = "too many transactions of the block are about the address"
		return nil
	case b.rewards(of):
		out.Doubt = "the block itself pays the address"
	}
	return b.settle(ctx, e, out, near)
}

// settle adds up the transactions of the address.
func (b actedBlock) settle(ctx context.Context, e *rpc.Endpoint, out *chain.Effect, near []acted) error {
	receipts := make([]*answered, len(near))
	g, asking := errgroup.WithContext(ctx)
	g.SetLimit(receiptsAtOnce)
	for i, t := range near {
		g.Go(func() (err error) {
			if receipts[i], err = query[*answered](asking, e, "eth_getTransactionReceipt", t.Hash); err != nil {
				return err
			}
			if receipts[i] == nil || !strings.EqualFold(receipts[i].Block, b.Hash) {
				return rpc.ErrMoved
			}
			_, err = receipts[i].of(t.Hash)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, t := range near {
		r := receipts[i]
		took := r.Status.Sign() != 0
		if t.fromIt {
			out.Amount.Add(out.Amount, r.fee())
		}
		switch {
		case !took:
		case t.fromIt && !t.toIt:
			out.Amount.Add(out.Amount, &t.Value.Int)
		case t.toIt && !t.fromIt:
			out.Amount.Sub(out.Amount, &t.Value.Int)
		case t.namesIt && !t.asked && !t.fromIt:
			out.Doubt = "another transaction of the block names the address too"
		}
	}
	return nil
}

// rewards reports whether the block's producer or a validator's withdrawal may have paid the address.
func (b actedBlock) rewards(of account) bool {
	if strings.EqualFold(b.Miner, of.String()) {
		return true
	}
	for _, w := range b.Withdrawals {
		if strings.EqualFold(w.Address, of.String()) {
			return true
		}
	}
	return false
}

// names reports whether call data holds an address.
func names(input string, of account) bool {
	return strings.Contains(strings.ToLower(input), hex.EncodeToString(of[:]))
}

// Balance is an address's native coin after a block; ErrNoState when no endpoint keeps that. A node's refusal is no
// fault of the endpoint: it may keep fewer blocks.
func (d *Driver) Balance(ctx context.Context, of string, height int64) (*big.Int, error) {
	n, no, err := judged[quantity](ctx, d, "eth_getBalance", of, at(height))
	if err == nil && no != nil {
		err = fmt.Errorf("%w: %w", chain.ErrNoState, no)
	}
	return &n.Int, err
}
