package scanner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
)

// Second is the store of a second look at scanned blocks. It never moves the cursor.
type Second interface {
	// Again stores the transfers of a block that was scanned before; known transfers change nothing.
	Again(ctx context.Context, c Chain, at chain.Header, transfers []chain.Transfer) (found int, err error)
	// Retell publishes every deposit of a range of blocks again, as a new version, and the sweeps' transactions that
	// became final there.
	Retell(ctx context.Context, c Chain, from, to int64) (told int, err error)
	// KeptNear returns the kept header whose time is nearest to a moment.
	KeptNear(ctx context.Context, c Chain, at time.Time) (h chain.Header, found bool, err error)
	PendingRescans(ctx context.Context) ([]Rescan, error)
	RescanDone(ctx context.Context, c Chain) error
}

// Rescan is a chain that must be scanned again after a restore: its cursor was at height `To`, whose block was made at
// `Stood`.
type Rescan struct {
	Chain
	To    int64
	Stood time.Time
}

// Looked is the result of a second look.
type Looked struct {
	Blocks, Found, Told int
}

// ErrRange means an invalid range of blocks.
var ErrRange = errors.New("the range must be 0 <= from <= to")

// Reader reads the blocks of one chain.
type Reader struct {
	Chain
	Driver   chain.Driver
	Watch    *Watch
	Prefetch int // blocks fetched at the same time
}

// Again scans the blocks from..to a second time and publishes every deposit in them again. It finds missed deposits and
// repeats known ones, and it does not disturb the scan itself.
func (r Reader) Again(ctx context.Context, store Second, from, to int64, log *slog.Logger) (Looked, error) {
	var out Looked
	if from < 0 || to < from {
		return out, ErrRange
	}
	if err := r.Watch.Refresh(ctx); err != nil {
		return out, err
	}
	logged := time.Now()
	for at := from; at <= to; at += int64(r.Prefetch) {
		blocks := make([]chain.Block, min(int64(r.Prefetch), to-at+1))
		g, fetching := errgroup.WithContext(ctx)
		for i := range blocks {
			g.Go(func() (err error) {
				blocks[i], err = r.Driver.Fetch(fetching, at+int64(i))
				if err != nil {
					err = fmt.Errorf("fetching block %d: %w", at+int64(i), err)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return out, err
		}
		for _, b := range blocks {
			transfers, err := b.Match(ctx, r.Watch)
			if err != nil {
				return out, fmt.Errorf("matching block %d: %w", b.Header().Height, err)
			}
			if out.Blocks++; len(transfers) == 0 {
				continue
			}
			found, err := store.Again(ctx, r.Chain, b.Header(), transfers)
			if err != nil {
				return out, fmt.Errorf("taking in block %d: %w", b.Header().Height, err)
			}
			out.Found += found
		}
		if time.Since(logged) > slowEvery {
			logged = time.Now()
			log.InfoContext(ctx, "rescan in progress", "chain", r.Chain.String(), "height", at, "to", to, "found", out.Found)
		}
	}
	told, err := store.Retell(ctx, r.Chain, from, to)
	out.Told = told
	return out, err
}

// HeightAt finds a block made at or before a moment, by halving, so that no block after the moment is below it. top is
// the height of an existing block.
func HeightAt(ctx context.Context, driver chain.Driver, at time.Time, top int64) (int64, error) {
	low, high := int64(0), top // the result is in low..high
	for low < high {
		middle := low + (high-low+1)/2
		h, err := driver.Header(ctx, middle)
		if err != nil {
			return 0, fmt.Errorf("asking for block %d: %w", middle, err)
		}
		if h.Time.After(at) {
			high = middle - 1
		} else {
			low = middle
		}
	}
	return low, nil
}

// AgainFrom is how long before a backup the blocks are scanned again (docs/architecture.md#recovery).
const AgainFrom = 24 * time.Hour

// AfterRestore scans a chain again from 24 hours before its restored cursor. The restored database itself holds a
// simulated chain: its deposits are only published again.
func (r Reader) AfterRestore(ctx context.Context, store Second, due Rescan, log *slog.Logger) (Looked, error) {
	since := due.Stood.Add(-AgainFrom)
	var out Looked
	var err error
	if r.Mode == tenant.Test {
		var from chain.Header
		var found bool
		if from, found, err = store.KeptNear(ctx, r.Chain, since); err == nil && found {
			out.Told, err = store.Retell(ctx, r.Chain, min(from.Height, due.To), due.To)
		}
	} else {
		var from int64
		if from, err = HeightAt(ctx, r.Driver, since, due.To); err == nil {
			out, err = r.Again(ctx, store, from, due.To, log)
		}
	}
	if err != nil {
		return out, fmt.Errorf("scanning %s again: %w", r.Chain, err)
	}
	return out, store.RescanDone(ctx, r.Chain)
}
