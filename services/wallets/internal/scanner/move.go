package scanner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"causeway.internal/services/wallets/internal/chain"
)

// forward fetches several blocks after the cursor at a time and applies them strictly in order.
func (s *Scanner) forward(ctx context.Context, lease Lease, head chain.Head) (bool, error) {
	s.progress(ctx, head.Height)
	blocks, fetchErr := s.fetch(ctx, s.cursor.Height+1, head.Height)
	if len(blocks) == 0 {
		if errors.Is(fetchErr, chain.ErrNoBlock) { // the head has moved back since, or the node's backends differ
			return false, nil
		}
		return false, fetchErr
	}
	// The set has every earlier allocation before any of these blocks is matched: watch before pay.
	if err := s.watch.Refresh(ctx); err != nil {
		return false, err
	}
	var run []chain.Header
	for i, b := range blocks {
		before := s.cursor.Header
		if len(run) > 0 {
			before = run[len(run)-1]
		}
		h := b.Header()
		if h.Parent != before.Hash || h.Height != before.Height+1 {
			if len(run) > 0 { // the node switched its chain during the fetch; blocks that link to the cursor are valid
				return true, s.advance(ctx, lease, head, run, nil)
			}
			return true, s.rewind(ctx, lease)
		}
		transfers, err := b.Match(ctx, s.watch)
		if err != nil {
			return false, fmt.Errorf("matching block %d: %w", h.Height, err)
		}
		run = append(run, h)
		if len(transfers) > 0 || len(run) == batchMost || i == len(blocks)-1 {
			if err := s.advance(ctx, lease, head, run, transfers); err != nil {
				return false, err
			}
			run = nil
		}
	}
	return s.cursor.Height < head.Height, nil
}

// fetch returns the blocks from..to, bounded by the prefetch. After a failure it returns the blocks before it: a later
// block is useless without the earlier one.
func (s *Scanner) fetch(ctx context.Context, from, to int64) ([]chain.Block, error) {
	count := int(min(to-from+1, int64(s.cfg.Prefetch)))
	blocks, errs := make([]chain.Block, count), make([]error, count)
	var g errgroup.Group
	for i := range count {
		g.Go(func() error {
			blocks[i], errs[i] = s.driver.Fetch(ctx, from+int64(i))
			return nil
		})
	}
	_ = g.Wait() // every error is in its slot
	for i, err := range errs {
		if err != nil {
			return blocks[:i], fmt.Errorf("fetching block %d: %w", from+int64(i), err)
		}
	}
	return blocks, nil
}

// advance commits a run of blocks, of which only the last may hold transfers.
func (s *Scanner) advance(ctx context.Context, lease Lease, head chain.Head, run []chain.Header, transfers []chain.Transfer) error {
	last := run[len(run)-1]
	s.sight.halted = false // the block follows what was scanned
	step := Step{
		Headers: run, Transfers: transfers, Finalized: s.final(head, last.Height), Announce: time.Since(s.announcedAt) >= s.cfg.Announce, Health: s.health(last),
	}
	if last.Height-s.prunedAt >= pruneEvery {
		step.KeepFrom, s.prunedAt = max(0, last.Height-s.cfg.Window), last.Height
	}
	if err := s.store.Advance(ctx, lease, s.cursor, step); err != nil {
		return fmt.Errorf("committing blocks %d to %d: %w", run[0].Height, last.Height, err)
	}
	s.cursor = Cursor{Header: last, Finalized: step.Finalized}
	if step.Announce {
		s.announced(step.Health.State)
	}
	s.metrics.scanned(s.cfg.Chain, len(run), len(transfers))
	return nil
}

// rewind finds the newest block that both the node and the store have, and reverts everything above it. Agreement at a
// height means agreement at all lower ones, because each header names its parent; so the search may halve the range.
func (s *Scanner) rewind(ctx context.Context, lease Lease) error {
	oldest, err := s.store.Oldest(ctx, s.cfg.Chain)
	if err != nil {
		return fmt.Errorf("reading the oldest header: %w", err)
	}
	agreed, ok, err := s.agree(ctx, oldest)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: nothing in common from block %d on", ErrHalted, oldest)
	}
	low, high := oldest, s.cursor.Height // agreement at low, perhaps not at high
	for low < high {
		middle := low + (high-low+1)/2
		h, ok, err := s.agree(ctx, middle)
		if err != nil {
			return err
		}
		if ok {
			low, agreed = middle, h
		} else {
			high = middle - 1
		}
	}
	if agreed.Height == s.cursor.Height {
		return errFickle
	}
	if agreed.Height < s.cursor.Finalized {
		return fmt.Errorf("%w: common ancestor %d, final block %d", ErrHalted, agreed.Height, s.cursor.Finalized)
	}
	if err := s.store.Rewind(ctx, lease, s.cursor, agreed); err != nil {
		return fmt.Errorf("going back to block %d: %w", agreed.Height, err)
	}
	s.log.WarnContext(ctx, "chain reorganised", "from", s.cursor.Height, "to", agreed.Height, "depth", s.cursor.Height-agreed.Height)
	s.metrics.reorganised(s.cfg.Chain)
	s.cursor.Header = agreed
	return nil
}

// agree reports whether the node's block at a height is the scanned one.
func (s *Scanner) agree(ctx context.Context, height int64) (chain.Header, bool, error) {
	ours, found, err := s.store.Header(ctx, s.cfg.Chain, height)
	if err != nil {
		return ours, false, fmt.Errorf("reading the header at %d: %w", height, err)
	}
	if !found {
		return ours, false, nil
	}
	theirs, err := s.driver.Header(ctx, height)
	if errors.Is(err, chain.ErrNoBlock) {
		return ours, false, nil
	}
	if err != nil {
		return ours, false, fmt.Errorf("asking for header %d: %w", height, err)
	}
	return ours, theirs.Hash == ours.Hash, nil
}
