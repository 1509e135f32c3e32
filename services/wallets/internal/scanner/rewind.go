package scanner

import (
	"context"
	"errors"
	"fmt"

	"causeway.internal/services/wallets/internal/chain"
)

// Past is what taking a scan back needs of the store.
type Past interface {
	// At returns the cursor as it is; found is false when the chain was never scanned.
	At(ctx context.Context, c Chain) (at Cursor, found bool, err error)
	// Known returns the highest scanned block at or below a height that the store still knows: a kept header, or where those
	// were pruned the block of a deposit that is not reverted.
	Known(ctx context.Context, c Chain, height int64) (h chain.Header, found bool, err error)
	// TakeBack does what a plan says in one transaction, if the cursor is where the plan was made for; else ErrMoved.
	TakeBack(ctx context.Context, c Chain, plan Plan, note Note) (TakenBack, error)
}

// Plan says how a scan is taken back.
type Plan struct {
	From Cursor       // where the scan is
	Fork int64        // highest scanned block that is on the node's chain
	To   chain.Header // where the scan goes on, not above Fork
}

// Note is what the audit says about an operator's act.
type Note struct{ Operator, Reason string }

// TakenBack is the result of taking a scan back.
type TakenBack struct {
	Reverted int      // deposits whose block left the chain
	Outgoing []string // our own final transactions whose block left the chain, the first hundred
}

// Errors of taking a scan back.
var (
	// ErrMoved says that the scan moved while the fork was looked for.
	ErrMoved = errors.New("the scan moved in the meantime; look again")
	// ErrOnChain says that there is nothing to take back.
	ErrOnChain = errors.New("the last scanned block is on the node's chain")
	// ErrShort says that the node's chain ends before the scan and shows no other block.
	ErrShort = errors.New("the node's chain is shorter than the scan and otherwise agrees: wait for the node, or give a height")
	// ErrNothingKnown says that no block is left by which the fork could be found.
	ErrNothingKnown = errors.New("no scanned block that is still known is on the node's chain: give a height below the fork")
)

// PlanRewind finds the fork between what was scanned and the chain of the driver. The scan goes on from the fork, or from the
// given height, which must not be above the fork; below zero stands for none.
func PlanRewind(ctx context.Context, c Chain, driver chain.Driver, past Past, to int64) (Plan, error) {
	at, found, err := past.At(ctx, c)
	if err != nil {
		return Plan{}, fmt.Errorf("reading the cursor: %w", err)
	}
	if !found {
		return Plan{}, fmt.Errorf("%s was never scanned", c)
	}
	plan := Plan{From: at}
	f := forkSearch{chain: c, driver: driver, past: past}
	// That a height agrees means that all heights below agree, because each header names its parent: the range is halved.
	low, high := int64(-1), at.Height
	for low < high {
		middle := low + (high-low+1)/2
		agreed, err := f.agree(ctx, middle)
		if err != nil {
			return Plan{}, err
		}
		if agreed {
			low = middle
		} else {
			high = middle - 1
		}
	}
	plan.Fork = low
	switch {
	case to > low:
		return Plan{}, fmt.Errorf("the scanned block %d is not on the node's chain: the height must be at most %d", low+1, low)
	case to >= 0:
		if plan.To, err = driver.Header(ctx, to); err != nil {
			return Plan{}, fmt.Errorf("asking for block %d: %w", to, err)
		}
	case low == at.Height:
		return Plan{}, ErrOnChain
	case !f.contradicted:
		return Plan{}, ErrShort
	default:
		var known bool
		if plan.To, known, err = past.Known(ctx, c, low); err != nil {
			return Plan{}, fmt.Errorf("reading the block at the fork: %w", err)
		}
		if !known {
			return Plan{}, ErrNothingKnown
		}
	}
	return plan, nil
}

// forkSearch compares what was scanned with the node's chain.
type forkSearch struct {
	chain        Chain
	driver       chain.Driver
	past         Past
	contradicted bool // the node has another block where one was scanned
}

// agree reports whether the node has the highest known block at or below a height. Where nothing is known nothing disagrees.
func (f *forkSearch) agree(ctx context.Context, height int64) (bool, error) {
	ours, found, err := f.past.Known(ctx, f.chain, height)
	if err != nil {
		return false, fmt.Errorf("reading the block at %d: %w", height, err)
	}
	if !found {
		return true, nil
	}
	theirs, err := f.driver.Header(ctx, ours.Height)
	if errors.Is(err, chain.ErrNoBlock) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for block %d: %w", ours.Height, err)
	}
	f.contradicted = f.contradicted || theirs.Hash != ours.Hash
	return theirs.Hash == ours.Hash, nil
}
