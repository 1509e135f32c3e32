package bitcoin

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/sweep"
)

// Rival shows that another transaction, in a block up to a final one, has spent an input of an own one. The block
// proves that, and every endpoint has it. Every form of the own one spends the same inputs, so the chain holds none of
// them.
func (d *Driver) Rival(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (r sweep.Rival, err error) {
	height, err := d.spenderOf(ctx, o, hash, final.Height)
	if err != nil {
		return r, err
	}
	fetched, err := d.Fetch(ctx, height)
	if err != nil {
		return r, err
	}
	held := fetched.(*matchable).block
	if r, err = d.rivalIn(held, o, hash); err != nil {
		return r, err
	}
	r.Receipt = sweep.Receipt{TxHash: hash, Height: height, Block: held.hash.String(), OK: true, Fee: new(big.Int)}
	return r, d.pool.All(ctx, func(e *rpc.Endpoint) error {
		for at, want := range map[int64]string{height: r.Block, final.Height: final.Hash} {
			h, err := d.headerAt(ctx, e, at)
			if err != nil {
				return err
			}
			if h.Hash != want {
				return fmt.Errorf("%w: block %d at endpoint %s is %s, and not %s", sweep.ErrDiffer, at, e.Name, h.Hash, want)
			}
		}
		return nil
	})
}

// Lost shows that another transaction, in a block up to a final one, has spent outputs of a sweep.
func (d *Driver) Lost(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (sweep.Rival, error) {
	return d.Rival(ctx, o, hash, final)
}

// spenderOf is the height of a transaction. A node without an index does not know the block of one whose outputs are
// spent, so the blocks since the plan of the own one are read then.
func (d *Driver) spenderOf(ctx context.Context, o sweep.Outgoing, hash string, final int64) (height int64, err error) {
	height, found, err := d.Locate(ctx, hash)
	if err != nil {
		return 0, err
	}
	if found && height > final {
		return 0, fmt.Errorf("%w: it is %d, and the newest final one is %d", sweep.ErrNotFinal, height, final)
	}
	if found {
		return height, nil
	}
	points := make([]string, len(o.Inputs))
	for i, in := range o.Inputs {
		points[i] = pointOf(in)
	}
	for height = o.From + 1; height <= final; height++ {
		b, ok, err := d.Spending(ctx, height, points)
		if err != nil {
			return 0, err
		}
		switch {
		case !ok:
			return 0, sweep.ErrUnmined
		case len(b.TxHashes) > 0 && b.TxHashes[0] != hash:
			return 0, fmt.Errorf("%w: %s in block %d has spent its input", sweep.ErrBeside, b.TxHashes[0], height)
		case len(b.TxHashes) > 0:
			return height, nil
		}
	}
	return 0, sweep.ErrUnmined
}

func pointOf(in sweep.Input) string { return in.TxHash + ":" + strconv.Itoa(in.Output) }

// rivalIn looks at a transaction of a block.
func (d *Driver) rivalIn(held *block, o sweep.Outgoing, hash string) (r sweep.Rival, err error) {
	payee, err := btctx.Payee(d.net, o.Sweep.Treasury)
	if err != nil {
		return r, fmt.Errorf("the destination: %w", err)
	}
	for _, tx := range held.txs {
		if !strings.EqualFold(tx.id.String(), hash) {
			continue
		}
		for _, out := range tx.outputs {
			if bytes.Equal(out.script, payee) {
				return r, fmt.Errorf("%w: it pays %s", sweep.ErrOwn, o.Sweep.Treasury)
			}
		}
		for _, from := range tx.inputs {
			for _, in := range o.Inputs {
				if from.String() == pointOf(in) {
					r.Spent = append(r.Spent, in)
				}
			}
		}
		if len(r.Spent) == 0 {
			return r, fmt.Errorf("%w: it spends none of its inputs", sweep.ErrBeside)
		}
		return r, nil
	}
	return r, sweep.ErrUnmined
}
