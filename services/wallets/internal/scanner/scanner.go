// Package scanner follows one blockchain block by block and turns transfers to watched addresses into deposits. It is
// one algorithm for every kind of chain (docs/decisions/0004-one-scanner.md): strict order, one transaction per step,
// reorganisations by the common ancestor, and no step past a missing or doubtful answer. It reads the chain through a
// driver and writes the database through Store; it knows neither SQL nor messages.
package scanner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/tick"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/wallet"
)

// Chain names one blockchain of one mode.
type Chain struct {
	Mode    tenant.Mode
	Network string
}

func (c Chain) String() string { return string(c.Mode) + ":" + c.Network }

// Lease is the right to scan a chain. Its epoch grows with every change of owner. The store refuses writes under an
// older one, so a scanner that was paused while another took over cannot write anything.
type Lease struct {
	Chain
	Epoch int64
}

// Cursor is how far a chain has been scanned.
type Cursor struct {
	chain.Header
	Finalized int64
}

func (c Cursor) same(other Cursor) bool {
	return c.Height == other.Height && c.Hash == other.Hash && c.Finalized == other.Finalized
}

// Step is one forward move: blocks that follow the cursor without a gap. Every block but the last is empty.
type Step struct {
	Headers   []chain.Header
	Transfers []chain.Transfer // of the last block
	Finalized int64
	Announce  bool   // announce scanned_through
	Health    Health // announced with it
	KeepFrom  int64  // lower headers may be deleted; 0 for not now
}

// Last is the last block of the step.
func (s Step) Last() chain.Header { return s.Headers[len(s.Headers)-1] }

// Store keeps cursor, headers, deposits and outgoing messages. Each method is one transaction that happens as a whole
// or not at all. Each write returns ErrFenced unless the cursor is the caller's and its epoch is the caller's.
type Store interface {
	// Adopt takes the cursor over for the lease's epoch; found is false when the chain was never scanned.
	Adopt(ctx context.Context, lease Lease) (at Cursor, found bool, err error)
	// Begin makes the first cursor; the block itself counts as scanned. It fails when there is a cursor already.
	Begin(ctx context.Context, lease Lease, at Cursor) error
	// Header returns a kept header; found is false when it is absent or pruned.
	Header(ctx context.Context, c Chain, height int64) (h chain.Header, found bool, err error)
	// Oldest returns the lowest kept header's height.
	Oldest(ctx context.Context, c Chain) (int64, error)
	// Advance moves the cursor over the step: headers, transfers, deposits that change, messages.
	Advance(ctx context.Context, lease Lease, from Cursor, step Step) error
	// Rewind moves the cursor back to the ancestor and reverts every deposit above it.
	Rewind(ctx context.Context, lease Lease, from Cursor, ancestor chain.Header) error
	// Announce announces scanned_through for the present cursor, with the health of the scan.
	Announce(ctx context.Context, lease Lease, at Cursor, health Health) error
}

// ErrFenced means that another scanner owns the chain now.
var ErrFenced = errors.New("another scanner owns this chain")

// ErrHalted means that the chain reorganised deeper than allowed: below a final block or below every kept header. The
// scanner guesses nothing then: the scan halts until the node agrees with the scanned blocks, or an operator decides.
var ErrHalted = errors.New("reorganisation deeper than the kept window or below a final block")

// errBehind means that the node's head is lower than the cursor and otherwise agrees: the node lags or was rolled back.
var errBehind = errors.New("the node's head is below the scanned block")

// errFickle means that the node's answers contradict each other, as those of several backends behind one address do.
// The scan waits until they agree.
var errFickle = errors.New("the node's answers contradict each other")

// Config is the settings of one chain's scan.
type Config struct {
	Chain
	Family     money.Family
	Poll       time.Duration // time between two readings of the head
	Prefetch   int           // blocks fetched at the same time
	Announce   time.Duration // least time between two scanned_through
	Grace      time.Duration // how long a node may be behind the cursor before that counts as a rollback
	FinalDepth int64         // depth that counts as final when the node does not report finality
	Window     int64         // headers kept
	Behind     time.Duration // how long the scan may trail the head before it counts as behind
	Stall      time.Duration // age above which a head is older than any pause of the chain
	Start      int64         // first block to scan on a chain that was never scanned; 0 for a little below the head
}

// Bounds of one scan.
const (
	retryFirst = 250 * time.Millisecond
	stillMost  = 3 // periods between two announcements of a scan that follows its chain and has not moved
	retryMost  = 5 * time.Second
	haltRetry  = 10 * time.Second
	beginBelow = 128 // blocks below the head at which a new chain's scan begins
	batchMost  = 64  // empty blocks in one step
	pruneEvery = 256 // blocks between two prunings of old headers
	slowAfter  = 32  // blocks of lag from which progress is logged
	slowEvery  = 5 * time.Second
)

// Scanner scans one chain. Make one per lease.
type Scanner struct {
	cfg     Config
	driver  chain.Driver
	store   Store
	watch   *Watch
	log     *slog.Logger
	metrics *Metrics

	cursor      Cursor
	adopted     bool // the cursor was read
	sight       sight
	told        wallet.ScanState // last announced
	toldOf      Cursor           // and the cursor that it was announced with
	announcedAt time.Time
	behindSince time.Time
	loggedAt    time.Time
	loggedFrom  int64
	prunedAt    int64
}

// New makes a scanner.
func New(cfg Config, driver chain.Driver, store Store, watch *Watch, log *slog.Logger, metrics *Metrics) *Scanner {
	return &Scanner{
		cfg: cfg, driver: driver, store: store, watch: watch, metrics: metrics, log: log.With("chain", cfg.Chain.String()),
	}
}

// Run scans until ctx ends or the lease is lost, which is ErrFenced. It logs and counts every other error and tries
// again from the stored cursor.
func (s *Scanner) Run(ctx context.Context, epoch int64) error {
	lease := Lease{Chain: s.cfg.Chain, Epoch: epoch}
	wait := retryFirst
	for ctx.Err() == nil {
		began := time.Now()
		err := s.follow(ctx, lease)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrFenced):
			return err
		case errors.Is(err, ErrHalted):
			s.metrics.halt(s.cfg.Chain, err)
			s.log.ErrorContext(ctx, "scan halted", "err", err, "height", s.cursor.Height, "hash", s.cursor.Hash)
			s.sight.halted = true
			wait = haltRetry
		default:
			s.metrics.fail(s.cfg.Chain)
			s.log.WarnContext(ctx, "scan interrupted", "err", err, "height", s.cursor.Height, "retry_in", wait)
			if time.Since(began) > retryMost {
				wait = retryFirst
			}
		}
		if s.adopted { // payments must know that the scan does not follow
			// After a commit of unknown outcome the cursor may differ from this copy: the next try reads it again.
			if err := s.announce(ctx, lease); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "scan health not announced", "err", err)
			}
		}
		if !pause(ctx, wait, nil) {
			return nil
		}
		wait = min(2*wait, retryMost)
	}
	return nil
}

// pause waits and reports whether ctx is still active. A wake-up ends it early.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-t.C:
	}
	return ctx.Err() == nil
}

// follow takes the cursor over and follows the chain until an error.
func (s *Scanner) follow(ctx context.Context, lease Lease) error {
	if err := s.adopt(ctx, lease); err != nil {
		return err
	}
	var wake <-chan struct{}
	if w, ok := s.driver.(chain.Waker); ok {
		wake = w.Wake()
	}
	for ctx.Err() == nil { // also while catching up, which may take hours
		head, err := s.driver.Head(ctx)
		if err != nil {
			return fmt.Errorf("asking for the head: %w", err)
		}
		s.sight.head, s.sight.askedAt = head.Header, time.Now()
		moved, err := s.step(ctx, lease, head)
		switch {
		case errors.Is(err, errBehind):
			// mayBeLag has logged it once; the next poll may find the node at the cursor again
		case err != nil:
			return err
		default:
			s.metrics.at(s.cfg.Chain, head.Header, s.cursor.Height, s.watch.Len())
			s.sight.halted = false
			if s.cursor.Height >= head.Height {
				s.sight.caughtUp = s.sight.askedAt
			}
		}
		if moved {
			continue
		}
		if err := s.announce(ctx, lease); err != nil {
			return err
		}
		pause(ctx, tick.Until(s.cfg.Poll), wake)
	}
	return ctx.Err()
}

// adopt reads the cursor, or makes the first one.
func (s *Scanner) adopt(ctx context.Context, lease Lease) error {
	at, found, err := s.store.Adopt(ctx, lease)
	if err != nil {
		return fmt.Errorf("taking over the cursor: %w", err)
	}
	if !found {
		if at, err = s.first(ctx); err != nil {
			return err
		}
		if err := s.store.Begin(ctx, lease, at); err != nil {
			return fmt.Errorf("making the first cursor: %w", err)
		}
		s.log.InfoContext(ctx, "scan started", "height", at.Height, "hash", at.Hash)
	}
	s.cursor, s.adopted = at, true
	return nil
}

// first finds where a chain that was never scanned begins: before the configured block, or far enough below the node's
// head that a usual reorganisation still has a common ancestor.
func (s *Scanner) first(ctx context.Context) (Cursor, error) {
	head, err := s.driver.Head(ctx)
	if err != nil {
		return Cursor{}, fmt.Errorf("asking for the head: %w", err)
	}
	height := max(0, head.Height-min(s.cfg.FinalDepth, beginBelow))
	if s.cfg.Start > 0 {
		height = s.cfg.Start - 1
	}
	at, err := s.driver.Header(ctx, height)
	if err != nil {
		return Cursor{}, fmt.Errorf("asking for block %d: %w", height, err)
	}
	return Cursor{Header: at}, nil
}

// step makes one move towards the head, forward or back, and reports whether more may follow at once.
func (s *Scanner) step(ctx context.Context, lease Lease, head chain.Head) (bool, error) {
	switch {
	case head.Height > s.cursor.Height:
		s.behindSince = time.Time{}
		return s.forward(ctx, lease, head)
	case head.Height == s.cursor.Height && head.Hash == s.cursor.Hash:
		s.behindSince = time.Time{}
		return false, nil
	case head.Height < s.cursor.Height:
		if err := s.mayBeLag(ctx, head); err != nil {
			return false, err
		}
	}
	s.behindSince = time.Time{}
	return true, s.rewind(ctx, lease)
}

// mayBeLag returns errBehind while a lower head may mean that the node lags: it is on the scanned chain, and not for
// long. Nothing is credited meanwhile, since no deposit deepens. After the grace it counts as a rollback.
func (s *Scanner) mayBeLag(ctx context.Context, head chain.Head) error {
	ours, found, err := s.store.Header(ctx, s.cfg.Chain, head.Height)
	if err != nil {
		return fmt.Errorf("reading the header at %d: %w", head.Height, err)
	}
	if !found || ours.Hash != head.Hash {
		return nil
	}
	if s.behindSince.IsZero() {
		s.behindSince = time.Now()
		s.log.WarnContext(ctx, "node behind", "head", head.Height, "scanned", s.cursor.Height)
	}
	if time.Since(s.behindSince) < s.cfg.Grace {
		return errBehind
	}
	return nil
}

// announce announces scanned_through at once when the health has changed, and else at intervals. Where nothing has
// changed since the last time, the intervals are longer: payments only needs to know that the scan is alive, which it
// doubts after a long silence. Scans without a change announce at the same moments, so their messages travel together.
func (s *Scanner) announce(ctx context.Context, lease Lease) error {
	health := s.health(s.cursor.Header)
	since := time.Since(s.announcedAt)
	due := since >= s.cfg.Announce
	if health.State == wallet.ScanFollowing && s.cursor.same(s.toldOf) {
		due = since >= (stillMost-1)*s.cfg.Announce && s.announcedAt.Before(tick.Last(stillMost*s.cfg.Announce))
	}
	if health.State == s.told && !due {
		return nil
	}
	if err := s.store.Announce(ctx, lease, s.cursor, health); err != nil {
		return fmt.Errorf("announcing the progress of the scan: %w", err)
	}
	s.announced(health.State)
	return nil
}

// announced notes what payments knows from now on.
func (s *Scanner) announced(state wallet.ScanState) {
	s.told, s.toldOf, s.announcedAt = state, s.cursor, time.Now()
}

// final is the newest final height for a head: the one that the node reports, or the one that is deep enough. It never
// goes back and never passes the cursor.
func (s *Scanner) final(head chain.Head, scanned int64) int64 {
	return min(scanned, max(s.cursor.Finalized, head.Finalized, head.Height-s.cfg.FinalDepth+1))
}

// progress logs while the scan is far behind.
func (s *Scanner) progress(ctx context.Context, head int64) {
	now, lag := time.Now(), head-s.cursor.Height
	switch spent := now.Sub(s.loggedAt); {
	case lag < slowAfter:
		s.loggedAt = time.Time{}
		return
	case s.loggedAt.IsZero():
	case spent < slowEvery:
		return
	default:
		s.log.InfoContext(ctx, "catching up", "height", s.cursor.Height, "head", head, "behind", lag,
			"blocks_per_second", (s.cursor.Height-s.loggedFrom)*int64(time.Second)/int64(spent))
	}
	s.loggedAt, s.loggedFrom = now, s.cursor.Height
}
