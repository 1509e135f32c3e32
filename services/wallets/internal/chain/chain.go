// Package chain describes a blockchain to the scanner: headers that link to each other, blocks that are fetched first
// and matched later, and transfers to watched addresses. Each driver below it reads one kind of node. The package holds
// no state and does no I/O itself.
package chain

import (
	"context"
	"encoding/hex"
	"errors"
	"math/big"
	"time"
)

// Header is a block's place in the chain.
type Header struct {
	Height int64
	Hash   string
	Parent string
	Time   time.Time
}

// Head is the newest block that a node knows, and the height of its newest final one; 0 when it does not report
// finality.
type Head struct {
	Header
	Finalized int64
}

// Account is an asset at an address.
type Account struct {
	Address  string
	Contract string // "" for the network's own coin
}

// Transfer is one movement of a listed asset to an address. Ordinal is its place inside the transaction, which stays
// the same when the transaction moves to another block.
type Transfer struct {
	TxHash   string
	Ordinal  int
	To       []byte // the address key: 20 bytes, or 32 on solana
	Asset    string // symbol
	Contract string // token contract, "" for the network's own coin
	Amount   *big.Int
	Senders  []string
}

// Watched reports whether an address key is watched. It may err on the side of yes, never of no.
type Watched interface {
	Has(key []byte) bool
}

// Block is a fetched block that has not been matched yet. Fetching and matching are separate because the set must have
// every address that was allocated before the fetch when the block is matched.
type Block interface {
	Header() Header
	// Match returns the transfers to watched addresses that took effect. It may ask the node for receipts.
	Match(ctx context.Context, watched Watched) ([]Transfer, error)
}

// Driver reads one blockchain. Every method may be called from several goroutines. An error means "not known": the
// scanner retries and never moves on without an answer.
type Driver interface {
	Head(ctx context.Context) (Head, error)
	// Header returns ErrNoBlock when the chain does not reach that height.
	Header(ctx context.Context, height int64) (Header, error)
	// Fetch returns ErrNoBlock when the chain does not reach that height.
	Fetch(ctx context.Context, height int64) (Block, error)
}

// Mempool is a driver that lists the transactions that wait for a block. The list is one node's claim: nothing is
// credited by it.
type Mempool interface {
	Driver
	// Waiting lists the ids in the node's mempool.
	Waiting(ctx context.Context) ([]TxID, error)
	// Unmined reads one of them; ErrNoTx means that the node does not have it, or no longer.
	Unmined(ctx context.Context, id TxID) (Unmined, error)
	// Spent reports whether some transaction of the node's chain or mempool spends one of the outputs.
	Spent(ctx context.Context, outputs []string) (bool, error)
}

// TxID is a transaction's id in written order.
type TxID [32]byte

func (id TxID) String() string { return hex.EncodeToString(id[:]) }

// Unmined is a transaction that was read and is not matched yet.
type Unmined interface {
	Inputs() []string // the outputs that it spends
	Match(ctx context.Context, watched Watched) ([]Transfer, error)
}

// Waker is a driver that signals new blocks, so that the scanner need not wait for its next poll.
type Waker interface {
	Wake() <-chan struct{}
}

// ErrNoBlock means that the chain has no block at a height, not yet or no longer.
var ErrNoBlock = errors.New("no block at this height")

// ErrNoToken means that the account at a token's address is no such contract.
var ErrNoToken = errors.New("no token's contract is at the address")

// ErrNoTx means that a node does not have a transaction.
var ErrNoTx = errors.New("no such transaction")
