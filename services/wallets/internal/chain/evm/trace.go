package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"

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

// firstInternal is where the ordinals of internal transfers begin: 0 is the transaction's own value, and its logs count
// from 1. The ordinal is the position of a call among all calls of its transaction.
const firstInternal = 1_000_000

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
	paid     bool // there is a receiver
	value    *big.Int
	failed   bool
	calls    []frame
}

// moves reports whether a call of this kind moves its value.
func moves(kind string) bool {
	switch kind {
	case "CALL", "CREATE", "CREATE2", "SELFDESTRUCT":
		return true
	}
	return false
}

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
			f.paid = true
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
		count := 0
		out = collect(out, b.txs[at], f, &count, true)
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

// collect walks the calls below the first one, whose value is the transaction's own. A failed call reverts all calls
// below it.
func collect(out []internal, tx hash, f frame, count *int, first bool) []internal {
	ordinal := firstInternal + *count
	*count++
	if !first && !f.failed && moves(f.kind) && f.paid && f.value != nil {
		out = append(out, internal{tx: tx, ordinal: ordinal, from: f.from, to: f.to, value: f.value})
	}
	for _, c := range f.calls {
		if c.failed = c.failed || f.failed; c.failed {
			skipCalls(c, count)
			continue
		}
		out = collect(out, tx, c, count, false)
	}
	return out
}

// skipCalls counts calls that had no effect, so that the numbers of the others do not depend on it.
func skipCalls(f frame, count *int) {
	*count++
	for _, c := range f.calls {
		skipCalls(c, count)
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
	var undone trace // the failed call whose descendants are skipped
	count := map[hash]int{}
	err = r.Array(func() error {
		t, err := readTrace(r)
		if err != nil || t.kind == "reward" {
			return err
		}
		if t.block != b.hash {
			return rpc.ErrMoved
		}
		ordinal := firstInternal + count[t.tx]
		count[t.tx]++
		below := undone.failed && undone.tx == t.tx && len(t.path) >= len(undone.path) && equal(t.path[:len(undone.path)], undone.path)
		if t.failed && !below {
			undone = t
		}
		if t.failed || below || len(t.path) == 0 || t.value == nil || (t.kind != "suicide" && (t.kind != "call" || t.callKind != "call")) {
			return nil
		}
		out = append(out, internal{tx: t.tx, ordinal: ordinal, from: t.from, to: t.to, value: t.value})
		return nil
	})
	if err == nil {
		err = r.End()
	}
	if err == nil && len(count) != len(b.txs) {
		err = fmt.Errorf("traces of %d of %d transactions", len(count), len(b.txs))
	}
	return out, err
}

func equal(a, b []int64) bool {
	for i := range b {
		if a[i] != b[i] {
			return false
		}
	}
	return true
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
