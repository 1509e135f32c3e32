package evm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// Ways to see coin that contracts send, which no transaction and no log shows. They cost the node much more than other
// calls, and few providers offer them.
const (
	TraceNone  = ""
	TraceDebug = "debug" // debug_traceBlockByHash with callTracer: geth and similar nodes
	TraceBlock = "trace" // trace_block: erigon, reth, nethermind
)

// internal is coin that a contract sent in a transaction.
type internal struct {
	tx       hash
	ordinal  int
	from, to account
	value    *big.Int
}

// moved collects the payments of contracts in one transaction, in the order in which they took place. The ordinal of a
// payment is its rank. Nodes agree on what moved and in which order, and not on which other calls they list: callTracer
// has those to precompiles, trace_block has not.
type moved struct {
	tx  hash
	all []internal
}

// add takes in a call that took effect. One to itself moves nothing. One to a reserved address counts nowhere, because
// some nodes leave out what a precompile is paid. The coin of a contract that is made counts nowhere either: no deposit
// address is a contract's.
func (m *moved) add(from, to account, value *big.Int) {
	if value == nil || from == to || to.reserved() {
		return
	}
	m.all = append(m.all, internal{tx: m.tx, ordinal: chain.FirstInternal + len(m.all), from: from, to: to, value: value})
}

// reserved reports whether an address is one of those that chains give their precompiles.
func (a account) reserved() bool { return [18]byte(a[:18]) == [18]byte{} }

// internals reads the payments of contracts in a block.
func (d *Driver) internals(ctx context.Context, e *rpc.Endpoint, b *block) (out []internal, err error) {
	switch {
	case d.trace == TraceNone || len(b.txs) == 0:
		return nil, nil
	case d.trace == TraceDebug:
		var result []byte
		if result, err = e.Call(ctx, "debug_traceBlockByHash", b.hash.String(), map[string]string{"tracer": "callTracer"}); err == nil {
			out, err = decodeCalls(result, b)
		}
	default:
		var result []byte
		if result, err = e.Call(ctx, "trace_block", fmt.Sprintf("0x%x", b.number)); err == nil {
			out, err = decodeTraces(result, b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("traces of block %d: %w", b.number, err)
	}
	return out, nil
}

// frame is one call in callTracer's form.
type frame struct {
	kind     string
	from, to account
	value    *big.Int
	failed   bool
	calls    []frame
}

// The kinds of calls that move their value, in callTracer's words.
const (
	kindCall         = "CALL"
	kindSelfdestruct = "SELFDESTRUCT"
)

// depthOfCalls bounds how deep calls may nest: the chain's own bound.
const depthOfCalls = 1025

func readFrame(r reader, depth int) (f frame, err error) {
	if depth > depthOfCalls {
		return f, errors.New("calls nest deeper than the chain allows")
	}
	typed := false
	err = r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "type":
			typed = true
			text, err := r.Text()
			f.kind = string(text)
			return err
		case "from":
			return r.fixed(f.from[:])
		case "to":
			if r.Null() {
				return nil
			}
			return r.fixed(f.to[:])
		case "value":
			if r.Null() {
				return nil
			}
			f.value, err = r.amount()
			return err
		case "error":
			f.failed = true
			return r.Skip()
		case "calls":
			return r.Array(func() error {
				c, err := readFrame(r, depth+1)
				f.calls = append(f.calls, c)
				return err
			})
		default:
			return r.Skip()
		}
	})
	if err == nil && !typed {
		err = rpc.ErrMissing
	}
	return f, err
}

// decodeCalls reads the answer of debug_traceBlockByHash: one result for each transaction, in order.
func decodeCalls(result []byte, b *block) (out []internal, err error) {
	r := newReader(result)
	at := 0
	err = r.Array(func() error {
		var f frame
		traced := false
		tx, named := hash{}, false
		err := r.Object(func(name []byte) (err error) {
			switch string(name) {
			case "txHash":
				named = true
				return r.fixed(tx[:])
			case "result":
				traced = true
				f, err = readFrame(r, 0)
				return err
			default:
				return r.Skip()
			}
		})
		switch {
		case err != nil:
			return err
		case !traced:
			return rpc.ErrMissing
		case at >= len(b.txs) || (named && tx != b.txs[at]):
			return rpc.ErrMoved
		}
		m := moved{tx: b.txs[at]}
		m.walk(f, true)
		out = append(out, m.all...)
		at++
		return nil
	})
	if err == nil {
		err = r.End()
	}
	if err == nil && at != len(b.txs) {
		err = fmt.Errorf("%d traces of %d transactions", at, len(b.txs))
	}
	return out, err
}

// walk takes in a call and those below it. A failed call reverts all of them. The value of the first one is the
// transaction's own.
func (m *moved) walk(f frame, first bool) {
	if f.failed {
		return
	}
	if !first && (f.kind == kindCall || f.kind == kindSelfdestruct) {
		m.add(f.from, f.to, f.value)
	}
	var end *frame // a selfdestruct ends its call, but reth lists it first, and some of its versions repeat it
	for i := range f.calls {
		if f.calls[i].kind == kindSelfdestruct {
			end = &f.calls[i]
			continue
		}
		m.walk(f.calls[i], false)
	}
	if end != nil {
		m.walk(*end, false)
	}
}

// trace is one element of the answer of trace_block.
type trace struct {
	kind, callKind string
	from, to       account
	value          *big.Int
	tx             hash
	block          hash
	failed         bool
	path           []int64
}

// decodeTraces reads the answer of trace_block: every call of every transaction, each with its path below the first.
func decodeTraces(result []byte, b *block) (out []internal, err error) {
	r := newReader(result)
	traces := make(map[hash][]trace, len(b.txs))
	err = r.Array(func() error {
		t, err := readTrace(r)
		if err != nil || t.kind == "reward" {
			return err
		}
		if t.block != b.hash {
			return rpc.ErrMoved
		}
		traces[t.tx] = append(traces[t.tx], t)
		return nil
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, err
	}
	for _, tx := range b.txs {
		if traces[tx] == nil {
			return nil, fmt.Errorf("no trace of transaction %s, one of %d", tx, len(b.txs))
		}
		m := moved{tx: tx}
		m.follow(traces[tx])
		out = append(out, m.all...)
	}
	return out, nil
}

// follow takes in all calls of a transaction.
func (m *moved) follow(list []trace) {
	slices.SortStableFunc(list, func(a, b trace) int { return slices.Compare(a.path, b.path) })
	var undone *trace // the failed call whose descendants are skipped
	for i := range list {
		t := &list[i]
		if undone != nil && len(t.path) >= len(undone.path) && slices.Equal(t.path[:len(undone.path)], undone.path) {
			continue
		}
		if t.failed {
			undone = t
			continue
		}
		if len(t.path) > 0 && (t.kind == "suicide" || (t.kind == "call" && t.callKind == "call")) {
			m.add(t.from, t.to, t.value)
		}
	}
}

func readTrace(r reader) (t trace, err error) {
	seen := 0
	err = r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "action":
			seen++
			return t.readAction(r)
		case "blockHash":
			seen++
			return r.fixed(t.block[:])
		case "error":
			t.failed = true
			return r.Skip()
		case "traceAddress":
			return r.Array(func() error {
				n, err := r.Int()
				t.path = append(t.path, n)
				return err
			})
		case "transactionHash":
			if r.Null() {
				return nil
			}
			return r.fixed(t.tx[:])
		case "type":
			seen++
			text, err := r.Text()
			t.kind = string(text)
			return err
		default:
			return r.Skip()
		}
	})
	if err == nil && seen != 3 {
		err = rpc.ErrMissing
	}
	if n := len(t.path); n > 0 && t.kind == "suicide" { // it ends the call that it is in
		t.path[n-1] = math.MaxInt64
	}
	return t, err
}

func (t *trace) readAction(r reader) error {
	return r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "callType":
			text, err := r.Text()
			t.callKind = string(text)
			return err
		case "from", "address":
			return r.fixed(t.from[:])
		case "to", "refundAddress":
			return r.fixed(t.to[:])
		case "value", "balance":
			t.value, err = r.amount()
			return err
		default:
			return r.Skip()
		}
	})
}
