package scanner

import (
	"context"
	"errors"
	"fmt"

	"causeway.internal/services/wallets/internal/chain"
)

// Past is the store of an operator's rewind.
type Past interface {
	// At returns the present cursor; found is false when the chain was never scanned.
	At(ctx context.Context, c Chain) (at Cursor, found bool, err error)
	// Known returns the highest scanned block at or below a height that the store still knows: a kept header, or, where
	// headers were pruned, the block of a deposit that is not reverted.
	Known(ctx context.Context, c Chain, height int64) (h chain.Header, found bool, err error)
	// TakeBack carries out a plan in one transaction if the cursor is the plan's; else it returns ErrMoved.
	TakeBack(ctx context.Context, c Chain, plan Plan, note Note) (TakenBack, error)
}

// Plan says how a scan is rewound.
type Plan struct {
	From Cursor       // where the scan is
	Fork int64        // highest scanned block that is on the node's chain
	To   chain.Header // where the scan continues, not above Fork
}

// Note is the audit's record of an operator's act.
type Note struct{ Operator, Reason string }

// TakenBack is the result of a rewind.
type TakenBack struct {
	Reverted int      // deposits whose block left the chain
	Outgoing []string // the product's final transactions whose block left the chain, the first hundred
}

// Errors of a rewind.
var (
	// ErrMoved means that the scan moved during the search for the fork.
	ErrMoved = errors.New("the scan moved in the meantime: try again")
	// ErrOnChain means that there is nothing to rewind.
	ErrOnChain = errors.New("the last scanned block is on the node's chain")
	// ErrShort means that the node's chain ends before the scan and shows no other block.
	ErrShort = errors.New("the node's chain is shorter than the scan and otherwise agrees: wait for the node, or give a height")
	// ErrNothingKnown means that no known block is left to find the fork by.
	ErrNothingKnown = errors.New("no scanned block that is still known is on the node's chain: give a height below the fork")
)

// PlanRewind finds the fork between the scanned blocks and the driver's chain. The scan continues from the fork, or
// from the given height, which must not be above the fork; a negative height means none.
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
	// Agreement at a height means agreement at all lower heights, because each header names its parent: the search
	// halves the range.
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

// forkSearch compares the scanned blocks with the node's chain.
type forkSearch struct {
	chain        Chain
	driver       chain.Driver
	past         Past
	contradicted bool // the node has another block at a scanned height
}

// agree reports whether the node has the highest known block at or below a height. It reports true where no block is
// known.
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
