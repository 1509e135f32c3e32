package evm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// matchable is a fetched block. It is matched with the node that it came from.
type matchable struct {
	driver    *Driver
	endpoint  *rpc.Endpoint
	block     *block
	events    []event
	internals []internal
}

// Header implements chain.Block.
func (m *matchable) Header() chain.Header { return m.block.header() }

// Match implements chain.Block. Only hits cost a call: their receipts show whether a native transfer succeeded, and the
// place of a log inside its transaction, which unlike its place in the block survives a re-inclusion.
func (m *matchable) Match(ctx context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	var payments []payment
	for _, p := range m.block.payments {
		if watched.Has(p.to[:]) {
			payments = append(payments, p)
		}
	}
	var events []event
	for _, e := range m.events {
		if watched.Has(e.to[:]) {
			events = append(events, e)
		}
	}
	out := m.sent(watched)
	if len(payments)+len(events) == 0 {
		return out, nil
	}
	receipts, err := m.receipts(ctx, payments, events)
	if err != nil {
		if errors.Is(err, rpc.ErrMoved) || ctx.Err() != nil {
			return nil, err
		}
		m.driver.pool.Failed(ctx, m.endpoint, err)
		return nil, err
	}
	for _, p := range payments {
		if r := receipts[p.tx]; r.status == 1 { // a failed transaction shows its value too
			out = append(out, chain.Transfer{
				TxHash: p.tx.String(), To: p.to[:], Asset: m.driver.symbol, Amount: p.value, Senders: senders(p.from),
			})
		}
	}
	for _, e := range events {
		t := m.driver.tokens[e.token]
		at, ok := receipts[e.tx].holds(e)
		if !ok {
			return nil, fmt.Errorf("log %d of block %d is not in the receipt of its transaction at endpoint %s", e.index, m.block.number, m.endpoint.Name)
		}
		out = append(out, chain.Transfer{
			// 0 is the transaction's own value, so logs count from 1.
			TxHash: e.tx.String(), Ordinal: at + 1, To: e.to[:], Asset: t.Symbol, Contract: t.Contract, Amount: e.amount, Senders: senders(e.from),
		})
	}
	return out, nil
}

// sent returns the payments of contracts to watched addresses. A trace itself shows which took effect.
func (m *matchable) sent(watched chain.Watched) (out []chain.Transfer) {
	for _, i := range m.internals {
		if watched.Has(i.to[:]) {
			out = append(out, chain.Transfer{
				TxHash: i.tx.String(), Ordinal: i.ordinal, To: i.to[:], Asset: m.driver.symbol, Amount: i.value, Senders: senders(i.from),
			})
		}
	}
	return out
}

// holds returns the ordinal of a log in its transaction, if the receipt has that very log.
func (r *receipt) holds(e event) (ordinal int, ok bool) {
	at := slices.Index(r.logs, e.index)
	same := slices.ContainsFunc(r.events, func(o event) bool {
		return o.index == e.index && o.token == e.token && o.from == e.from && o.to == e.to && o.amount.Cmp(e.amount) == 0
	})
	return at, same && at >= 0 && r.status == 1
}

func (m *matchable) receipts(ctx context.Context, payments []payment, events []event) (map[hash]*receipt, error) {
	var txs []hash
	for _, p := range payments {
		txs = append(txs, p.tx)
	}
	for _, e := range events {
		txs = append(txs, e.tx)
	}
	slices.SortFunc(txs, func(a, b hash) int { return slices.Compare(a[:], b[:]) })
	txs = slices.Compact(txs)
	list, err := receiptsOf(ctx, m.endpoint, txs)
	if err != nil {
		return nil, err
	}
	out := make(map[hash]*receipt, len(list))
	for i, r := range list {
		if r.tx != txs[i] || r.block != m.block.hash {
			return nil, rpc.ErrMoved
		}
		out[r.tx] = r
	}
	return out, nil
}

// senders writes the payer's address, for screening.
func senders(a account) []string {
	text, err := address.Encode(money.EVM, address.Mainnet, a[:])
	if err != nil {
		return nil
	}
	return []string{text}
}
