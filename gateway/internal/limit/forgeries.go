package limit

import (
	"net/netip"
	"time"

	"causeway.internal/gateway/internal/identity"
	"causeway.internal/libs/fault"
)

// Forgeries bounds bad signatures. A public id is no secret, and a signature is checked only when the whole body has
// arrived, so without a bound any caller could have bodies read and hashed. Each address has a bucket for each key: it
// neither uses up the limits of the key elsewhere nor stops other keys behind the same address.
type Forgeries struct {
	now          func() time.Time
	skipLoopback bool
	forged       *buckets[forger]
}

type forger struct {
	key int64
	ip  netip.Addr
}

// NewForgeries makes the bound; skipLoopback is as with NewRates.
func NewForgeries(skipLoopback bool, now func() time.Time) *Forgeries {
	return &Forgeries{now: now, skipLoopback: skipLoopback, forged: newBuckets[forger](forged, most)}
}

var errForged = fault.New(fault.RateLimited, "rate_limited",
	"Too many bad signatures of this API key came from this address. Try again shortly.")

// Allow implements identity.Forgeries. It takes no token, so that good signatures cost nothing.
func (l *Forgeries) Allow(key int64, from netip.Addr) error {
	if l.skipLoopback && from.IsLoopback() {
		return nil
	}
	if _, wait := l.forged.left(forger{key, identity.Network(from)}, l.now()); wait > 0 {
		return after(errForged, wait)
	}
	return nil
}

// Forged implements identity.Forgeries.
func (l *Forgeries) Forged(key int64, from netip.Addr) {
	l.forged.charge(forger{key, identity.Network(from)}, l.now())
}
