// Package simulated is the blockchain of test mode: a chain for each network that grows by itself, takes deposits on
// request, confirms them fast and can fork. Its data is in the database behind Ledger, so it survives restarts, serves
// any number of replicas and can be audited. It has the same driver interface as a real chain, so the scanner does not
// know the difference.
package simulated

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tick"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/wallet"
)

// Pace of the simulated chains (docs/api-contract.md#sandbox): a block every 100 ms while a deposit waits for
// confirmations, else one at the intervals of a setting so that time passes on the chain too.
const (
	busyEvery  = 100 * time.Millisecond
	retryAfter = time.Second
	// PollEvery is how often the scanner looks for blocks that another replica made or replaced; those that its own
	// process made are signalled.
	PollEvery = 5 * time.Second
)

// State is the state of a simulated chain.
type State struct {
	Height    int64
	MineUntil int64         // blocks are made fast up to this height
	Age       time.Duration // of the newest block, by the ledger's clock
	Waiting   bool          // a deposit waits for a block
}

// Ledger keeps the simulated chains. Each method is one transaction.
type Ledger interface {
	SimState(ctx context.Context, network string) (State, error)
	// SimMine adds the next block, with every waiting deposit in it. The first block has height 0.
	SimMine(ctx context.Context, network, hash string) (State, error)
	// SimHead is the newest block. A chain without blocks gets its first one.
	SimHead(ctx context.Context, network string) (chain.Header, error)
	SimHeader(ctx context.Context, network string, height int64) (chain.Header, bool, error)
	SimTransfers(ctx context.Context, network string, height int64) ([]chain.Transfer, error)
	// SimFork replaces every block above a height by one more block than there were, with hashes from the function.
	// Their deposits are in the last block of the branch, or dropped.
	SimFork(ctx context.Context, network string, above int64, drop bool, hash func() string) error
}

// Chain is one simulated blockchain.
type Chain struct {
	network money.Network
	ledger  Ledger
	every   time.Duration // between two blocks while nobody waits for one
	turns   tick.Turns    // of the chains of a process, whose scanners ask for the heads at the same moments
	log     *slog.Logger

	taken chan struct{} // a deposit was stored
	mined chan struct{} // a block was made
}

var (
	_ chain.Driver = (*Chain)(nil)
	_ chain.Waker  = (*Chain)(nil)
)

// New makes the chain of a network, with a block every so often while nobody waits for one.
func New(network money.Network, ledger Ledger, every time.Duration, turns tick.Turns, log *slog.Logger) *Chain {
	return &Chain{
		network: network, ledger: ledger, every: every, turns: turns, log: log.With("chain", "simulated "+network.Name),
		taken: make(chan struct{}, 1), mined: make(chan struct{}, 1),
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Taken signals that a deposit waits for a block. It never blocks.
func (c *Chain) Taken() { signal(c.taken) }

// Wake implements chain.Waker.
func (c *Chain) Wake() <-chan struct{} { return c.mined }

// Mine makes blocks until ctx ends. One process per network does so; two would only make time pass faster.
func (c *Chain) Mine(ctx context.Context) error {
	for ctx.Err() == nil {
		state, err := c.ledger.SimState(ctx, c.network.Name)
		if err == nil {
			err = c.mine(ctx, state)
		}
		if err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "block not made", "err", err)
			c.wait(ctx, retryAfter)
		}
	}
	return nil
}

// mine makes blocks at their pace until something fails.
func (c *Chain) mine(ctx context.Context, state State) error {
	last := time.Now().Add(-state.Age)
	for ctx.Err() == nil {
		busy, every := state.Waiting || state.Height < state.MineUntil, c.every
		if busy {
			every = busyEvery
		}
		var err error
		if left := every - time.Since(last); left > 0 {
			c.wait(ctx, left)
			if !busy && ctx.Err() == nil { // a deposit may have been stored
				state, err = c.ledger.SimState(ctx, c.network.Name)
			}
		} else if state, err = c.ledger.SimMine(ctx, c.network.Name, c.hash()); err == nil {
			last = time.Now()
			signal(c.mined)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Chain) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-c.taken:
	case <-t.C:
	}
}

// Fork replaces every block above a height by a longer branch: a reorganisation. Deposits of the replaced blocks are
// mined again in a later block, or dropped for good. Tests use it.
func (c *Chain) Fork(ctx context.Context, above int64, drop bool) error {
	if err := c.ledger.SimFork(ctx, c.network.Name, above, drop, c.hash); err != nil {
		return fmt.Errorf("forking %s: %w", c.network.Name, err)
	}
	signal(c.mined)
	return nil
}

// hash makes a random block hash, so a branch of a fork never has a hash of the replaced blocks.
func (c *Chain) hash() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return address.BlockHash(c.network.Family, b)
}

// Head implements chain.Driver.
func (c *Chain) Head(ctx context.Context) (chain.Head, error) {
	defer c.turns.Take()()
	h, err := c.ledger.SimHead(ctx, c.network.Name)
	return chain.Head{Header: h, Finalized: max(0, h.Height-wallet.SimulatedLag(c.network.Name))}, err
}

// Header implements chain.Driver.
func (c *Chain) Header(ctx context.Context, height int64) (chain.Header, error) {
	h, found, err := c.ledger.SimHeader(ctx, c.network.Name, height)
	if err == nil && !found {
		err = chain.ErrNoBlock
	}
	return h, err
}

// Fetch implements chain.Driver.
func (c *Chain) Fetch(ctx context.Context, height int64) (chain.Block, error) {
	h, err := c.Header(ctx, height)
	if err != nil {
		return nil, err
	}
	transfers, err := c.ledger.SimTransfers(ctx, c.network.Name, height)
	if err != nil {
		return nil, err
	}
	again, err := c.Header(ctx, height)
	if err != nil {
		return nil, err
	}
	if again.Hash != h.Hash {
		return nil, errors.New("the chain forked while its block was read")
	}
	return block{h, transfers}, nil
}

type block struct {
	header    chain.Header
	transfers []chain.Transfer
}

// Header implements chain.Block.
func (b block) Header() chain.Header { return b.header }

// Match implements chain.Block.
func (b block) Match(_ context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	var out []chain.Transfer
	for _, t := range b.transfers {
		if watched.Has(t.To) {
			out = append(out, t)
		}
	}
	return out, nil
}
