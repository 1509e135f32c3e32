package bitcoin

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/sweep"
)

// Moves are the outputs of the block at a height that pay certain addresses, and all outputs that it spends. It is
// false above the head.
func (d *Driver) Moves(ctx context.Context, height int64, of []string) (m sweep.Moves, ok bool, err error) {
	owners := map[string]string{}
	for _, text := range of {
		script, err := address.Script(text)
		if err != nil {
			return m, false, fmt.Errorf("the address %s: %w", text, err)
		}
		owners[string(script)] = text
	}
	fetched, err := d.Fetch(ctx, height)
	if errors.Is(err, chain.ErrNoBlock) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	held := fetched.(*matchable).block
	m.Block = held.hash.String()
	for _, tx := range held.txs[1:] { // a miner's reward is no deposit, and cannot be spent for a hundred blocks
		for _, from := range tx.inputs {
			m.Spent = append(m.Spent, sweep.Point{TxHash: from.tx.String(), Output: int64(from.vout)})
		}
		for vout, o := range tx.outputs {
			if owner, followed := owners[string(o.script)]; followed && o.value > 0 {
				m.Paid = append(m.Paid, sweep.Payment{
					Point: sweep.Point{TxHash: tx.id.String(), Output: int64(vout)}, To: owner, Amount: big.NewInt(o.value),
				})
			}
		}
	}
	return m, true, nil
}
