package chain

import (
	"context"
	"errors"
	"math/big"
)

// Effect is what a block did to the native coin of one address, as far as it may be the work of one transaction of it
// that is no plain transfer to the address.
type Effect struct {
	Header
	Failed  bool     // the transaction failed: it moved nothing
	Plain   bool     // the transaction is a plain transfer to the address, which the scan sees by itself
	Ours    bool     // the transaction was sent by the address itself
	Doubt   string   // why what is left over cannot be told to be the work of this transaction; "" when it can
	Amount  *big.Int // what the address has more of than the block's plain transfers and its own payments explain
	Senders []string // who sent the transaction, and the contract that was called
}

// Looker is a driver that can tell what one transaction did to the native coin of an address.
type Looker interface {
	Effect(ctx context.Context, tx string, key []byte) (Effect, error)
}

// FirstHinted is where the ordinals of such effects begin: the address's index is added. What contracts sent as traces
// tell it is numbered far below, so neither can be taken for the other.
const FirstHinted = 1_000_000_000

var (
	// ErrNoTransaction says that a node knows no block with that transaction.
	ErrNoTransaction = errors.New("no block has this transaction")
	// ErrNoState says that no endpoint keeps the balances of a block.
	ErrNoState = errors.New("no endpoint keeps the balances of this block")
)
