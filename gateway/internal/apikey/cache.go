package apikey

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/keyring"
)

// Source finds keys where they are kept. A nil key without an error means there is none.
type Source interface {
	// BySecret finds the key that any of the digests belongs to.
	BySecret(ctx context.Context, digests []Digest) (*Key, error)
	// ByPublic finds the key of a public id, with its sealed signing key.
	ByPublic(ctx context.Context, publicKey string) (k *Key, sealed []byte, err error)
}

// Lookups bounds the look-ups of keys that nobody has found yet: those that one address may cause, and those under way.
type Lookups interface {
	// Begin is asked before the source is, and may wait; its error is the answer to the caller.
	Begin(ctx context.Context, from netip.Addr) error
	// Ended takes the source's answer, once for each Begin without an error. A nil key with a nil error means that there is no
	// such key.
	Ended(from netip.Addr, key *Key, err error)
}

// loadMax bounds one look-up in the source.
const loadMax = 3 * time.Second

// unknownTTL is how long a key that does not exist is refused without a look-up.
const unknownTTL = 2 * time.Second

// How long a key is remembered while nobody tells of changes, and how long a proof lasts that somebody does. Both are
// counted from before the look-up, or the proof, began; a revoked key passes nowhere after the longer of the two.
const (
	blindTTL = 500 * time.Millisecond
	toldMax  = 700 * time.Millisecond
)

// Cache answers "whose key is this" from memory. It holds at most size keys and, apart from them, at most size unknown
// ones, so that a flood of made-up keys evicts no real one. Changes reach it through Drop, Heard, Told and Missed. It
// remembers a key for the time to live while such news arrives, else for half a second. A key that was found once stays
// in the table when it is no longer believed: its next look-up is not counted against the address that sends it.
type Cache struct {
	source  Source
	lookups Lookups
	peppers *Peppers
	ring    *keyring.Ring
	ttl     time.Duration
	size    int
	now     func() time.Time
	flight  singleflight.Group
	told    atomic.Pointer[time.Time]

	mu         sync.RWMutex
	known      map[Digest]entry
	unknown    map[Digest]time.Time
	used       map[int64]time.Time
	generation uint64 // counts Drop and Flush, so that a look-up begun before one is not kept after it
}

type entry struct {
	key   *Key
	since time.Time // when its look-up began; zero: it is not believed, and known to be real
}

// NewCache makes a cache over a source. The ring opens signing keys.
func NewCache(
	source Source, lookups Lookups, peppers *Peppers, ring *keyring.Ring, ttl time.Duration, size int, now func() time.Time,
) *Cache {
	return &Cache{
		source: source, lookups: lookups, peppers: peppers, ring: ring, ttl: ttl, size: size, now: now,
		known: map[Digest]entry{}, unknown: map[Digest]time.Time{}, used: map[int64]time.Time{},
	}
}

// errStore is what a caller is told while keys cannot be looked up. Letting requests in on old knowledge would let
// revoked keys in.
var errStore = fault.New(fault.Unavailable, "keys_unavailable", "The API key cannot be checked right now. Try again shortly.").After(2 * time.Second)

// Find returns the key of a well-formed secret that an address sent, ErrInvalid when there is none, an Unavailable
// fault, or the refusal of Lookups.
func (c *Cache) Find(ctx context.Context, secret string, from netip.Addr) (*Key, error) {
	d := c.peppers.Digest(secret)
	if key, err, known := c.recall(d); known {
		return key, err
	}
	return c.load(ctx, d, from, func(ctx context.Context) (*Key, error) {
		return c.source.BySecret(ctx, c.peppers.All(secret))
	})
}

// FindPublic is Find for a well-formed public id; its key is ready to check signatures.
func (c *Cache) FindPublic(ctx context.Context, publicKey string, from netip.Addr) (*Key, error) {
	d := Digest(sha256.Sum256([]byte(publicKey)))
	if key, err, known := c.recall(d); known {
		return key, err
	}
	return c.load(ctx, d, from, func(ctx context.Context) (*Key, error) {
		key, sealed, err := c.source.ByPublic(ctx, publicKey)
		if err != nil || key == nil {
			return nil, err
		}
		if key.Signing, err = c.ring.Open(sealed, SigningPlace(publicKey)); err != nil {
			return nil, fmt.Errorf("open the signing key of API key %d: %w", key.ID, err)
		}
		return key, nil
	})
}

// recall answers from memory, if that knows.
func (c *Cache) recall(d Digest) (key *Key, err error, known bool) { //nolint:revive // the error is half of what is known
	now := c.now()
	c.mu.RLock()
	e, hit := c.known[d]
	until, miss := c.unknown[d]
	c.mu.RUnlock()
	switch {
	case hit && c.holds(e.since, now):
		return e.key, nil, true
	case miss && now.Before(until):
		return nil, ErrInvalid, true
	}
	return nil, nil, false
}

// holds reports whether what was looked up then may be believed now.
func (c *Cache) holds(since, now time.Time) bool {
	age := now.Sub(since)
	return age < blindTTL || (age < c.ttl && c.current(now))
}

// current reports whether changes are being told.
func (c *Cache) current(now time.Time) bool {
	at := c.told.Load()
	return at != nil && now.Sub(*at) < toldMax
}

type found struct {
	key     *Key
	since   time.Time
	refused error // by Lookups; nobody asked the source
}

// loadTries bounds how often a look-up that took too long to be believed is begun again.
const loadTries = 3

// load looks a key up once for all who wait for it. The look-up outlives the request that began it. Whoever comes after
// a change joins no look-up from before it, and an answer that took so long that it may be out of date is asked again.
// Callers of a key that nobody has found yet wait only for look-ups of their own address, and so share no other's refusal.
func (c *Cache) load(
	ctx context.Context, d Digest, from netip.Addr, look func(context.Context) (*Key, error),
) (*Key, error) {
	for range loadTries {
		c.mu.RLock()
		generation := c.generation
		_, real := c.known[d]
		c.mu.RUnlock()
		flight := binary.BigEndian.AppendUint64(d[:], generation)
		if !real {
			flight = append(flight, from.AsSlice()...)
		}
		done := c.flight.DoChan(string(flight), func() (any, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadMax)
			defer cancel()
			if !real {
				if err := c.lookups.Begin(ctx, from); err != nil {
					return found{refused: err}, nil
				}
			}
			since := c.now()
			key, err := look(ctx)
			if !real {
				c.lookups.Ended(from, key, err)
			}
			if err != nil {
				return nil, fmt.Errorf("look up an API key: %w", err)
			}
			c.keep(d, key, since, generation)
			return found{key: key, since: since}, nil
		})
		var r singleflight.Result
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case r = <-done:
		}
		if r.Err != nil {
			return nil, errStore.Because(r.Err)
		}
		f, ok := r.Val.(found)
		switch {
		case !ok:
			return nil, errStore.Because(errors.New("the look-up returned no key"))
		case f.refused != nil:
			return nil, f.refused
		case f.key == nil:
			return nil, ErrInvalid
		case c.holds(f.since, c.now()):
			return f.key, nil
		}
	}
	return nil, errStore.Because(errors.New("look-ups take too long to be believed"))
}

func (c *Cache) keep(d Digest, key *Key, since time.Time, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation {
		return
	}
	if key == nil {
		delete(c.known, d)
		shrink(c.unknown, c.size, func(until time.Time) bool { return !since.Before(until) })
		c.unknown[d] = since.Add(unknownTTL)
		return
	}
	delete(c.unknown, d)
	if _, there := c.known[d]; !there {
		shrink(c.known, c.size, func(e entry) bool { return !since.Before(e.since.Add(c.ttl)) })
	}
	c.known[d] = entry{key: key, since: since}
	if len(c.used) < c.size && key.RevokedAt.IsZero() {
		c.used[key.ID] = since
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

// Drop believes one key no longer, so that the next request looks it up again.
func (c *Cache) Drop(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for d, e := range c.known {
		if e.key.ID == id {
			c.known[d] = entry{key: e.key}
		}
	}
}

// Flush believes nothing any longer.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for d, e := range c.known {
		c.known[d] = entry{key: e.key}
	}
	clear(c.unknown)
}

// Heard drops the key that a notification names; with any other payload it flushes. It implements
// postgres.Ear with Told and Missed.
func (c *Cache) Heard(payload string) {
	id, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		c.Flush()
		return
	}
	c.Drop(id)
}

// Told says that every change committed before at has been dropped.
func (c *Cache) Told(at time.Time) { c.told.Store(&at) }

// Missed says that changes may not have been told: nothing is believed, and nothing remembered for long until Told.
func (c *Cache) Missed() {
	c.told.Store(nil)
	c.Flush()
}

// Current reports whether changes are being told, for a gauge.
func (c *Cache) Current() bool { return c.current(c.now()) }

// Used hands over when which key was last looked up, exact to the time to live, and starts over.
func (c *Cache) Used() map[int64]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.used
	c.used = map[int64]time.Time{}
	return out
}
