package apikey

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
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

// Lookups bounds the look-ups of keys that are not known yet: those of one address, and those under way.
type Lookups interface {
	// Begin is called before the source and may wait; its error is the answer to the caller.
	Begin(ctx context.Context, from netip.Addr) error
	// Ended takes the source's answer, once for each Begin without an error. A nil key with a nil error means that
	// there is no such key.
	Ended(from netip.Addr, key *Key, err error)
}

// loadMax bounds one look-up in the source.
const loadMax = 3 * time.Second

// unknownTTL is how long a key that does not exist is refused without a look-up.
const unknownTTL = 2 * time.Second

// The first is how long the cache keeps a key while no notifications arrive; the second is how long a proof lasts that
// they do. Both start before the look-up, or the proof, begins. A revoked key is refused everywhere after the longer of
// the two.
const (
	blindTTL   = 500 * time.Millisecond
	currentMax = 700 * time.Millisecond
)

// While no key was asked for in wantedFor, proofs are rare. A connection that has proved nothing for idleMax is lost.
const (
	wantedFor = 10 * time.Second
	idleMax   = 15 * time.Second
	// noticedFor is how long after the first question the listener's next proof may take: it looks every second.
	noticedFor = 2 * time.Second
)

// Cache finds the key of a secret in memory. It holds at most size keys and, apart from them, at most size unknown
// ones, so that a flood of invented keys evicts no real one. Changes arrive through Drop, Heard, CaughtUp and Missed.
// The cache keeps a key for the time to live while notifications arrive, else for half a second. A key that has been
// found stays in the table after it has lapsed: its next look-up is not charged to the address that sends it.
type Cache struct {
	source   Source
	lookups  Lookups
	peppers  *Peppers
	ring     *keyring.Ring
	ttl      time.Duration
	size     int
	now      func() time.Time
	flight   singleflight.Group
	caughtUp atomic.Pointer[time.Time]
	asked    atomic.Int64 // unix nanoseconds of the last question for a key
	woken    atomic.Int64 // of the first one after nobody had asked for wantedFor

	mu         sync.RWMutex
	known      map[Digest]entry
	unknown    map[Digest]time.Time
	used       map[int64]time.Time
	generation uint64 // counts Drop and Flush, so that a look-up begun before one is not kept after it
}

type entry struct {
	key   *Key
	since time.Time // the start of its look-up; zero: lapsed, but known to be real
}

// CacheBounds are for how long a cache uses a key, and how many keys it keeps.
type CacheBounds struct {
	TTL  time.Duration
	Size int
}

// NewCache makes a cache over a source. The ring opens signing keys.
func NewCache(source Source, lookups Lookups, peppers *Peppers, ring *keyring.Ring, bounds CacheBounds, now func() time.Time) *Cache {
	return &Cache{
		source: source, lookups: lookups, peppers: peppers, ring: ring, ttl: bounds.TTL, size: bounds.Size, now: now,
		known: map[Digest]entry{}, unknown: map[Digest]time.Time{}, used: map[int64]time.Time{},
	}
}

// errStore is the answer while keys cannot be looked up. Requests are not admitted on old knowledge, which would admit
// revoked keys.
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

// recall answers from memory where it can.
func (c *Cache) recall(d Digest) (key *Key, err error, known bool) { //nolint:revive // the error is half of what is known
	now := c.now()
	if before := c.asked.Swap(now.UnixNano()); now.UnixNano()-before >= int64(wantedFor) {
		c.woken.Store(now.UnixNano())
	}
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

// holds reports whether the result of a look-up at that time is still valid.
func (c *Cache) holds(since, now time.Time) bool {
	age := now.Sub(since)
	return age < blindTTL || (age < c.ttl && c.current(now))
}

// current reports whether notifications of changes arrive.
func (c *Cache) current(now time.Time) bool {
	at := c.caughtUp.Load()
	return at != nil && now.Sub(*at) < currentMax
}

type found struct {
	key     *Key
	since   time.Time
	refused error // by Lookups; the source was not called
}

// loadTries bounds how often a look-up that took too long to be valid is repeated.
const loadTries = 3

// load looks a key up once for all callers that wait for it. The look-up outlives the request that began it. A caller
// that comes after a change joins no look-up from before the change, and a result that took too long to be valid is
// looked up again. Callers of a key that is not known yet wait only for look-ups of their own address, so that they
// never share the refusal of another address.
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
	return nil, errStore.Because(errors.New("look-ups take too long to be valid"))
}

// keep notes the result of a look-up. If a key changed meanwhile, it notes only that this key is real.
func (c *Cache) keep(d Digest, key *Key, since time.Time, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation {
		if key != nil {
			c.noteReal(d, key, since)
		}
		return
	}
	if key == nil {
		delete(c.known, d)
		shrink(c.unknown, c.size, func(until time.Time) bool { return !since.Before(until) })
		c.unknown[d] = since.Add(unknownTTL)
		return
	}
	delete(c.unknown, d)
	c.noteReal(d, key, since)
	c.known[d] = entry{key: key, since: since}
	if len(c.used) < c.size && key.RevokedAt.IsZero() {
		c.used[key.ID] = since
	}
}

// noteReal adds a lapsed entry unless the key has one.
func (c *Cache) noteReal(d Digest, key *Key, now time.Time) {
	if _, there := c.known[d]; !there {
		shrink(c.known, c.size, func(e entry) bool { return !now.Before(e.since.Add(c.ttl)) })
		c.known[d] = entry{key: key}
	}
}

// shrink makes room for one more entry: it evicts lapsed ones among a few, else any (map order is random).
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

// Drop invalidates one key, so that the next request looks it up again.
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

// DropMerchant invalidates the keys of a merchant, with whom its standing is kept.
func (c *Cache) DropMerchant(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for d, e := range c.known {
		if e.key.MerchantID == id {
			c.known[d] = entry{key: e.key}
		}
	}
}

// Flush invalidates every key.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for d, e := range c.known {
		c.known[d] = entry{key: e.key}
	}
	clear(c.unknown)
}

// merchantChanged begins a notification of a merchant's change; its id follows.
const merchantChanged = "merchant:"

// Heard drops the key that a notification names, or the keys of the merchant; with any other payload it flushes. It
// implements postgres.Ear with CaughtUp and Missed.
func (c *Cache) Heard(payload string) {
	if id, ok := strings.CutPrefix(payload, merchantChanged); ok {
		c.DropMerchant(id)
		return
	}
	id, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		c.Flush()
		return
	}
	c.Drop(id)
}

// CaughtUp notes that every change committed before at has been dropped.
func (c *Cache) CaughtUp(at time.Time) { c.caughtUp.Store(&at) }

// Missed notes that notifications may have been lost: it flushes, and keys are kept only briefly until CaughtUp.
func (c *Cache) Missed() {
	c.caughtUp.Store(nil)
	c.Flush()
}

// Wanted reports whether a key was asked for lately. It is part of postgres.Ear.
func (c *Cache) Wanted() bool { return c.now().UnixNano()-c.asked.Load() < int64(wantedFor) }

// Current reports whether notifications of changes arrive, for a gauge. Proofs are rare while nobody asks for a key,
// and until the listener notices that somebody does.
func (c *Cache) Current() bool {
	now := c.now()
	if at := c.caughtUp.Load(); at != nil && (!c.Wanted() || now.UnixNano()-c.woken.Load() < int64(noticedFor)) {
		return now.Sub(*at) < idleMax
	}
	return c.current(now)
}

// Used hands over the time at which each key was last looked up, exact to the time to live, and resets it.
func (c *Cache) Used() map[int64]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.used
	c.used = map[int64]time.Time{}
	return out
}
