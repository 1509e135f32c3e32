package chain

import (
	"context"
	"errors"
	"math/big"
)

// Effect is a block's effect on the native coin of one address, as far as it may come from one transaction of the block
// that is not a plain transfer to the address.
type Effect struct {
	Header
	Failed  bool     // the transaction failed: it moved nothing
	Plain   bool     // the transaction is a plain transfer to the address, which the scan sees by itself
	Ours    bool     // the transaction was sent by the address itself
	Doubt   string   // why the remaining amount cannot be attributed to this transaction; "" when it can
	Amount  *big.Int // the increase that the block's plain transfers and the address's own payments do not explain
	Senders []string // sender of the transaction, and the called contract
}

// Looker is a driver that reads the effect of one transaction on the native coin of an address.
type Looker interface {
	Effect(ctx context.Context, tx string, key []byte) (Effect, error)
}

var (
	// ErrNoTransaction means that a node knows no block with that transaction.
	ErrNoTransaction = errors.New("no block has this transaction")
	// ErrNoState means that no endpoint keeps the balances of a block.
	ErrNoState = errors.New("no endpoint keeps the balances of this block")
)
