package limit

import (
	"net/netip"
	"time"

	"causeway.internal/gateway/internal/identity"
)

// Tokens bounds the operators' tokens that an address may try. A try is returned when its token is valid.
type Tokens struct {
	now          func() time.Time
	skipLoopback bool
	tries        *buckets[netip.Addr]
}

// NewTokens makes the bound; skipLoopback is as with NewRates.
func NewTokens(skipLoopback bool, now func() time.Time) *Tokens {
	return &Tokens{now: now, skipLoopback: skipLoopback, tries: newBuckets[netip.Addr](tokens, most)}
}

// Try counts a token before its look-up, and refuses it where an address has tried too many.
func (l *Tokens) Try(from netip.Addr) error {
	if l.skipLoopback && from.IsLoopback() {
		return nil
	}
	if _, wait := l.tries.take(identity.Network(from), l.now()); wait > 0 {
		return after(errGuesses, wait)
	}
	return nil
}

// Good returns the try of a valid token.
func (l *Tokens) Good(from netip.Addr) { l.tries.give(identity.Network(from)) }
