package bitcoin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"causeway.internal/services/wallets/internal/chain/rpc"
)

// outputsMost bounds the outputs of a transaction that are looked for among the unspent ones.
const outputsMost = 16

// Locate is the height of the block that holds a transaction, by the node's index of transactions. A node without the
// index knows the block of each output that nobody has spent.
func (d *Driver) Locate(ctx context.Context, txID string) (height int64, found bool, err error) {
	type indexed struct {
		Block string `json:"blockhash"`
	}
	tx, err := answered[indexed](ctx, d, "getrawtransaction", txID, 1)
	switch {
	case err == nil && tx.Block == "": // in the mempool
		return 0, false, nil
	case err == nil:
		height, err = d.heightOf(ctx, tx.Block)
		return height, err == nil, err
	case !errors.Is(err, errRefused):
		return 0, false, err
	}
	type unspent struct {
		Best          string `json:"bestblock"`
		Confirmations int64  `json:"confirmations"`
	}
	for output := range outputsMost {
		o, err := answered[*unspent](ctx, d, "gettxout", txID, output, false)
		if err != nil && !errors.Is(err, errRefused) {
			return 0, false, err
		}
		if err != nil || o == nil || o.Confirmations < 1 {
			continue
		}
		best, err := d.heightOf(ctx, o.Best)
		return best - o.Confirmations + 1, err == nil, err
	}
	return 0, false, nil
}

// heightOf is the height of a block of the node's chain.
func (d *Driver) heightOf(ctx context.Context, block string) (height int64, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		result, err := e.Call(ctx, "getblockheader", block, true)
		if unknown(err) {
			return rpc.ErrMoved
		}
		if err != nil {
			return err
		}
		var header struct {
			Height        *int64 `json:"height"`
			Confirmations int64  `json:"confirmations"`
		}
		if err := json.Unmarshal(result, &header); err != nil {
			return fmt.Errorf("the header of block %s at endpoint %s: %w", block, e.Name, err)
		}
		switch {
		case header.Height == nil:
			return fmt.Errorf("the header of block %s at endpoint %s has no height", block, e.Name)
		case header.Confirmations < 1: // it has left the chain
			return rpc.ErrMoved
		}
		height = *header.Height
		return nil
	})
	return height, err
}
