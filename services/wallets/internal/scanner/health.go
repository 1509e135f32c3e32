package scanner

import (
	"time"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/wallet"
)

// Health is the health of a scan. Payments closes a network whose scan does not follow the chain, and opens it again
// when it does.
type Health struct {
	State wallet.ScanState
	Head  chain.Header // newest block that the node has reported; zero before the first
}

// headFresh is how long a reported head counts. It is longer than one try of every endpoint.
const headFresh = 30 * time.Second

// sight is the scan's knowledge of its chain.
type sight struct {
	head     chain.Header
	askedAt  time.Time // when the node reported that head; zero before the first
	caughtUp time.Time // when the scan last was at the reported head; zero before the first
	halted   bool
}

// judge names the state of a scan at a block. A chain whose blocks are slow or irregular follows as long as its node
// answers: the age of the head matters only far beyond the longest pause of the chain.
func (c Config) judge(s sight, scanned chain.Header, now time.Time) wallet.ScanState {
	switch {
	case s.halted:
		return wallet.ScanHalted
	case s.askedAt.IsZero() || now.Sub(s.askedAt) > headFresh:
		return wallet.ScanUnreachable
	case s.behind(scanned, now) > c.Behind:
		return wallet.ScanBehind
	case now.Sub(s.head.Time) > c.Stall:
		return wallet.ScanStalled
	}
	return wallet.ScanFollowing
}

// behind is how long the scan has trailed the head. It counts from the last time at the head, so that one block after
// an hour's pause counts from its arrival.
func (s sight) behind(scanned chain.Header, now time.Time) time.Duration {
	if scanned.Height >= s.head.Height {
		return 0
	}
	apart := s.head.Time.Sub(scanned.Time)
	if s.caughtUp.IsZero() {
		return apart
	}
	return min(apart, now.Sub(s.caughtUp))
}

// health is the health of the scan at a block.
func (s *Scanner) health(scanned chain.Header) Health {
	return Health{State: s.cfg.judge(s.sight, scanned, time.Now()), Head: s.sight.head}
}
