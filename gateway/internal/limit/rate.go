package limit

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
)

// Rate is a token bucket: so many a second in the long run, so many at once.
type Rate struct {
	Every time.Duration // between two tokens
	Burst int
}

// The rates of docs/api-contract.md#limits.
var (
	standard = ofTier(apikey.Standard)
	premium  = ofTier(apikey.Premium)
	public   = Rate{time.Second / 20, 300}
	names    = Rate{time.Second / 2, 20}
	guesses  = Rate{2 * time.Second, 30}
	strange  = Rate{time.Second / 5, 100} // keys that do not exist, per address
	tokens   = Rate{6 * time.Second, 20}  // bad operators' tokens, per address
	forged   = Rate{time.Second / 5, 100} // bad signatures, per key and address
)

func ofTier(t apikey.Tier) Rate {
	perSecond, burst := t.Rate()
	return Rate{time.Second / time.Duration(perSecond), burst}
}

// full is the time that an empty bucket takes to fill.
func (r Rate) full() time.Duration { return r.Every * time.Duration(r.Burst) }

// buckets holds one bucket per key, at most size. A bucket is the time at which it will be full again (GCRA), so a full
// one need not be kept. When every place holds a bucket in use, the fullest of a few is evicted: a flood of addresses
// costs bounded memory and refills at most a part of the buckets of others.
type buckets[K comparable] struct {
	rate Rate
	size int

	mu sync.Mutex
	at map[K]time.Time
}

func newBuckets[K comparable](r Rate, size int) *buckets[K] {
	return &buckets[K]{rate: r, size: size, at: map[K]time.Time{}}
}

// take takes a token if there is one; otherwise wait is the time until there is one.
func (b *buckets[K]) take(k K, now time.Time) (q proxy.Quota, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := max(0, b.at[k].Sub(now))
	if used+b.rate.Every > b.rate.full() {
		return b.quota(used), used + b.rate.Every - b.rate.full()
	}
	b.put(k, now.Add(used+b.rate.Every), now)
	return b.quota(used + b.rate.Every), 0
}

// left reads a bucket without taking a token.
func (b *buckets[K]) left(k K, now time.Time) (q proxy.Quota, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := max(0, b.at[k].Sub(now))
	return b.quota(used), max(0, used+b.rate.Every-b.rate.full())
}

// charge takes a token even if there is none, so that calls that were admitted together are charged together. The debt
// is bounded by one more bucket.
func (b *buckets[K]) charge(k K, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := max(0, b.at[k].Sub(now))
	b.put(k, now.Add(min(used+b.rate.Every, 2*b.rate.full())), now)
}

// give returns a token that was taken.
func (b *buckets[K]) give(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, there := b.at[k]; there {
		b.at[k] = at.Add(-b.rate.Every)
	}
}

func (b *buckets[K]) put(k K, at, now time.Time) {
	if _, there := b.at[k]; !there && len(b.at) >= b.size {
		b.evict(now)
	}
	b.at[k] = at
}

// evict frees a place: it removes all full buckets among a few, else the fullest of them.
func (b *buckets[K]) evict(now time.Time) {
	const look = 16
	var soonest K
	var when time.Time
	seen, gone := 0, false
	for k, at := range b.at { // in random order
		if !at.After(now) {
			delete(b.at, k)
			gone = true
		} else if when.IsZero() || at.Before(when) {
			soonest, when = k, at
		}
		if seen++; seen == look {
			break
		}
	}
	if !gone {
		delete(b.at, soonest)
	}
}

func (b *buckets[K]) quota(used time.Duration) proxy.Quota {
	return proxy.Quota{Limit: b.rate.Burst, Remaining: max(0, int((b.rate.full()-used)/b.rate.Every)), Reset: used}
}

// Rates is the gate of docs/api-contract.md#limits: a bucket per key by its tier, and per address on public routes. It
// counts in this process alone: N replicas behind a balancer admit up to N times as much.
type Rates struct {
	now          func() time.Time
	skipLoopback bool

	standard, premium      *buckets[int64]
	people                 *buckets[string]
	public, names, guesses *buckets[netip.Addr]
}

// most bounds the buckets of a kind: about 8 MB each when full.
const most = 1 << 16

// NewRates makes the gate. skipLoopback exempts callers on this machine from limits per address, for local stacks.
func NewRates(skipLoopback bool, now func() time.Time) *Rates {
	return &Rates{
		now: now, skipLoopback: skipLoopback,
		standard: newBuckets[int64](standard, most), premium: newBuckets[int64](premium, most),
		people: newBuckets[string](standard, most),
		public: newBuckets[netip.Addr](public, most), names: newBuckets[netip.Addr](names, most), guesses: newBuckets[netip.Addr](guesses, most),
	}
}

var (
	errRate    = fault.New(fault.RateLimited, "rate_limited", "Too many requests. Slow down and try again shortly.")
	errGuesses = fault.New(fault.RateLimited, "too_many_guesses", "Too many requests for what does not exist. Try again later.")
)

// Admit implements proxy.Gate.
func (l *Rates) Admit(_ context.Context, c *proxy.Call) (func(int), error) {
	now := l.now()
	if k := c.Caller.Key; k != nil && c.Route.Access != route.Open { // a key does not raise the limits of public routes
		if err := l.tier(c, k, now); err != nil {
			return nil, err
		}
		return nil, l.pace(c, now)
	}
	if c.Route.Access != route.Open || l.skips(c) {
		return nil, nil
	}
	ip := identity.Network(c.Caller.IP)
	if err := admit(c, l.public, ip, now); err != nil {
		return nil, err
	}
	if err := l.pace(c, now); err != nil || !c.Route.Guess {
		return nil, err
	}
	if _, wait := l.guesses.left(ip, now); wait > 0 {
		return nil, after(errGuesses, wait)
	}
	return func(status int) {
		if status == http.StatusNotFound || status == http.StatusUnauthorized { // a wrong reference in the path or in the body
			l.guesses.charge(ip, l.now())
		}
	}, nil
}

func (l *Rates) skips(c *proxy.Call) bool { return l.skipLoopback && c.Caller.IP.IsLoopback() }

// tier admits a call by its person or its key.
func (l *Rates) tier(c *proxy.Call, k *apikey.Key, now time.Time) error {
	if p := c.Caller.Person; p != nil {
		return admit(c, l.people, p.User, now)
	}
	switch k.Tier {
	case apikey.Unlimited:
		return nil
	case apikey.Premium:
		return admit(c, l.premium, k.ID, now)
	case apikey.Standard:
	}
	return admit(c, l.standard, k.ID, now)
}

// pace admits a call by its address if a bank or a screener is asked for it, with or without a key.
func (l *Rates) pace(c *proxy.Call, now time.Time) error {
	if !c.Route.Names && !c.Route.Proposes || l.skips(c) {
		return nil
	}
	return admit(c, l.names, identity.Network(c.Caller.IP), now)
}

func admit[K comparable](c *proxy.Call, b *buckets[K], k K, now time.Time) error {
	q, wait := b.take(k, now)
	c.Quota.Tighten(q)
	if wait > 0 {
		return after(errRate, wait)
	}
	return nil
}

// after sets Retry-After in whole seconds, spread a little, so that callers that were refused together do not all
// return together.
func after(f *fault.Error, wait time.Duration) error {
	//nolint:gosec // it spreads retries
	return f.After(wait.Truncate(time.Second) + time.Second + time.Duration(rand.IntN(2))*time.Second)
}
