package apikey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"causeway.internal/libs/fault"
)

// Source finds keys where they are kept.
type Source interface {
	// BySecret finds the key that any of the digests belongs to. A nil key without an error means there is none.
	BySecret(ctx context.Context, digests []Digest) (*Key, error)
}

// loadMax bounds one look-up in the source.
const loadMax = 3 * time.Second

// unknownTTL is how long a key that does not exist is refused without a look-up.
const unknownTTL = 2 * time.Second

// Cache answers "whose secret is this" from memory. It holds at most size keys and, apart from them, at most size
// unknown digests, so that a flood of made-up keys evicts no real one. A revocation by this process is felt at once
// (Drop); one by another process within the time to live, or at once when its notification calls Drop or Flush.
type Cache struct {
	source  Source
	peppers *Peppers
	ttl     time.Duration
	size    int
	now     func() time.Time
	flight  singleflight.Group

	mu         sync.RWMutex
	known      map[Digest]entry
	unknown    map[Digest]time.Time
	used       map[int64]time.Time
	generation uint64 // counts Drop and Flush, so that a look-up begun before one is not kept after it
}

type entry struct {
	key   *Key
	until time.Time
}

// NewCache makes a cache over a source.
func NewCache(source Source, peppers *Peppers, ttl time.Duration, size int, now func() time.Time) *Cache {
	return &Cache{
		source: source, peppers: peppers, ttl: ttl, size: size, now: now,
		known: map[Digest]entry{}, unknown: map[Digest]time.Time{}, used: map[int64]time.Time{},
	}
}

// errStore is what a caller is told while keys cannot be looked up. Letting requests in on old knowledge would let
// revoked keys in.
var errStore = fault.New(fault.Unavailable, "keys_unavailable", "The API key cannot be checked right now. Try again shortly.").After(2 * time.Second)

// Find returns the key of a well-formed secret, ErrInvalid when there is none, or an Unavailable fault.
func (c *Cache) Find(ctx context.Context, secret string) (*Key, error) {
	d, now := c.peppers.Digest(secret), c.now()
	c.mu.RLock()
	e, hit := c.known[d]
	until, miss := c.unknown[d]
	c.mu.RUnlock()
	if hit && now.Before(e.until) {
		return e.key, nil
	}
	if miss && now.Before(until) {
		return nil, ErrInvalid
	}
	return c.load(ctx, d, secret)
}

// load looks a key up once for all who wait for it. The look-up outlives the request that began it.
func (c *Cache) load(ctx context.Context, d Digest, secret string) (*Key, error) {
	done := c.flight.DoChan(string(d[:]), func() (any, error) {
		c.mu.RLock()
		generation := c.generation
		c.mu.RUnlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadMax)
		defer cancel()
		key, err := c.source.BySecret(ctx, c.peppers.All(secret))
		if err != nil {
			return nil, fmt.Errorf("look up an API key: %w", err)
		}
		c.keep(d, key, generation)
		return key, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if r.Err != nil {
			return nil, errStore.Because(r.Err)
		}
		key, ok := r.Val.(*Key)
		if !ok {
			return nil, errStore.Because(errors.New("the look-up returned no key"))
		}
		if key == nil {
			return nil, ErrInvalid
		}
		return key, nil
	}
}

func (c *Cache) keep(d Digest, key *Key, generation uint64) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation {
		return
	}
	if key == nil {
		shrink(c.unknown, c.size, func(until time.Time) bool { return !now.Before(until) })
		c.unknown[d] = now.Add(unknownTTL)
		return
	}
	delete(c.unknown, d)
	if _, there := c.known[d]; !there {
		shrink(c.known, c.size, func(e entry) bool { return !now.Before(e.until) })
	}
	c.known[d] = entry{key: key, until: now.Add(c.ttl)}
	if len(c.used) < c.size && key.RevokedAt.IsZero() {
		c.used[key.ID] = now
	}
}

// shrink makes room for one more entry: what has lapsed among a few goes first, else any (map order is random).
func shrink[V any](m map[Digest]V, size int, lapsed func(V) bool) {
	const look = 16
	seen := 0
	for d, v := range m {
		if len(m) < size || seen == look {
			break
		}
		if seen++; lapsed(v) {
			delete(m, d)
		}
	}
	for d := range m {
		if len(m) < size {
			return
		}
		delete(m, d)
	}
}

// Drop forgets one key, so that the next request looks it up again.
func (c *Cache) Drop(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for d, e := range c.known {
		if e.key.ID == id {
			delete(c.known, d)
		}
	}
}

// Flush forgets everything.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	clear(c.known)
	clear(c.unknown)
}

// Used hands over when which key was last looked up, exact to the time to live, and starts over.
func (c *Cache) Used() map[int64]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.used
	c.used = map[int64]time.Time{}
	return out
}
