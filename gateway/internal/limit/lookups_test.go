package limit_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

// source is a database of keys that counts its look-ups.
type source struct {
	keys map[apikey.Digest]*apikey.Key

	mu    sync.Mutex
	asked int
}

func (s *source) BySecret(_ context.Context, digests []apikey.Digest) (*apikey.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.keys[digests[0]], nil
}

func (s *source) ByPublic(context.Context, string) (*apikey.Key, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return nil, nil, nil
}

func (s *source) lookups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.asked
	s.asked = 0
	return n
}

// door resolves callers by the keys of a source.
type door struct {
	*identity.Resolver
	*source
	clock *clock
}

const (
	flooder = "203.0.113.7"
	other   = "203.0.113.8"
)

func newDoor(t *testing.T, real ...string) door {
	t.Helper()
	peppers, err := apikey.ParsePeppers(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("p", 32))))
	if err != nil {
		t.Fatal(err)
	}
	s := &source{keys: map[apikey.Digest]*apikey.Key{}}
	for i, secret := range real {
		s.keys[peppers.Digest(secret)] = &apikey.Key{ID: int64(i + 1), Mode: tenant.Test}
	}
	c := &clock{at: time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)}
	cache := apikey.NewCache(s, limit.NewLookups(false, c.now), peppers, nil, apikey.CacheBounds{TTL: time.Minute, Size: 20_000}, c.now)
	return door{identity.NewResolver(cache, nil, nil, c.now), s, c}
}

func (d door) call(t *testing.T, key, ip string) error {
	t.Helper()
	h := http.Header{"X-Api-Key": {key}}
	if strings.HasPrefix(key, "pk_") {
		h["X-Timestamp"] = []string{strconv.FormatInt(d.clock.at.UnixMilli(), 10)}
		h["X-Signature"] = []string{strings.Repeat("0", 64)}
	}
	_, err := d.Resolve(t.Context(), &route.Route{Access: route.Keyed}, h, netip.MustParseAddr(ip))
	return err
}

// flood sends invented keys, secrets and public ids, and counts those that are refused by the bound.
func (d door) flood(t *testing.T, ip string, calls int) (refused int) {
	t.Helper()
	for i := range calls {
		err := d.call(t, credential.Generate([]credential.Kind{credential.Secret, credential.Public}[i%2], tenant.Test), ip)
		switch f := fault.As(err); {
		case f.Kind == fault.RateLimited && f.RetryAfter >= time.Second:
			refused++
		case !errors.Is(err, apikey.ErrInvalid):
			t.Fatal(err)
		}
	}
	return refused
}

// A flood of invented keys from one address reaches the database a hundred times, and then five times a second.
func TestLookups_flood(t *testing.T) {
	d := newDoor(t)
	if refused := d.flood(t, flooder, 2000); refused != 1900 || d.lookups() != 100 {
		t.Errorf("%d of 2000 are refused, want 1900", refused)
	}
	for range 10 {
		d.clock.at = d.clock.at.Add(time.Second)
		if refused := d.flood(t, flooder, 200); refused != 195 {
			t.Errorf("%d of 200 are refused in a second, want 195", refused)
		}
	}
	if n := d.lookups(); n != 50 {
		t.Errorf("%d look-ups in ten seconds, want 50", n)
	}
	for i := range 300 { // the addresses of one IPv6 subscriber are one
		d.flood(t, "2001:db8::"+strconv.FormatInt(int64(i+1), 16), 1)
	}
	if n := d.lookups(); n != 100 {
		t.Errorf("%d look-ups for one IPv6 subscriber, want 100", n)
	}
}

// Floods stop no known key, not even at the same address: neither while it is cached nor when it must be looked up
// again. A key that is not known yet is admitted from any other address, and from the flooding one when its turn comes.
func TestLookups_realKeys(t *testing.T) {
	secret := func() string { return credential.Generate(credential.Secret, tenant.Test) }
	known, fresh, shared := secret(), secret(), secret()
	d := newDoor(t, known, fresh, shared)
	if err := d.call(t, known, flooder); err != nil {
		t.Fatal(err)
	}
	d.flood(t, flooder, 2000)
	d.lookups()
	if err := d.call(t, known, flooder); err != nil || d.lookups() != 0 {
		t.Errorf("a key in memory at the flooder's address: %v", err)
	}
	d.clock.at = d.clock.at.Add(2 * time.Minute)
	d.flood(t, flooder, 2000)
	d.lookups()
	if err := d.call(t, known, flooder); err != nil || d.lookups() != 1 {
		t.Errorf("a known key that is to be looked up again: %v", err)
	}
	if err := d.call(t, fresh, other); err != nil || d.lookups() != 1 {
		t.Errorf("a new key at another address: %v", err)
	}
	if err := d.call(t, shared, flooder); fault.As(err).Code != "too_many_guesses" || d.lookups() != 0 {
		t.Errorf("a new key at the flooder's address: %v", err)
	}
	d.clock.at = d.clock.at.Add(time.Second / 5)
	if err := d.call(t, shared, flooder); err != nil {
		t.Errorf("a new key at the flooder's address, in its turn: %v", err)
	}
}

// Real keys cost their address nothing, however many it has: all keys behind one address are admitted at once.
func TestLookups_manyRealKeys(t *testing.T) {
	var real []string
	for range 500 {
		real = append(real, credential.Generate(credential.Secret, tenant.Test))
	}
	d := newDoor(t, real...)
	for _, key := range real {
		if err := d.call(t, key, flooder); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.lookups(); n != 500 {
		t.Errorf("%d look-ups", n)
	}
	if refused := d.flood(t, flooder, 200); refused != 100 {
		t.Errorf("%d of 200 made-up keys are refused after them, want 100", refused)
	}
}

// slowSource is a database that takes its time, and counts how many look-ups it serves at once.
type slowSource struct {
	*source
	takes time.Duration

	mu           sync.Mutex
	inside, most int
}

func (s *slowSource) BySecret(ctx context.Context, digests []apikey.Digest) (*apikey.Key, error) {
	s.count(1)
	defer s.count(-1)
	time.Sleep(s.takes)
	return s.source.BySecret(ctx, digests)
}

func (s *slowSource) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside += n
	s.most = max(s.most, s.inside)
}

// Many addresses at once, each below its own bound, have two look-ups under way together and no more. A known key that
// must be looked up again waits for none of them. A caller that waits too long is refused, which costs its address
// nothing.
func TestLookups_manyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const addresses, takes = 400, 100 * time.Millisecond
		known := credential.Generate(credential.Secret, tenant.Test)
		d := newDoor(t, known)
		slow := &slowSource{source: d.source, takes: takes}
		peppers, err := apikey.ParsePeppers(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("p", 32))))
		if err != nil {
			t.Fatal(err)
		}
		lookups := limit.NewLookups(false, time.Now)
		cache := apikey.NewCache(slow, lookups, peppers, nil, apikey.CacheBounds{TTL: time.Minute, Size: 20_000}, time.Now)
		if _, err := cache.Find(t.Context(), known, netip.MustParseAddr(other)); err != nil {
			t.Fatal(err)
		}
		cache.Flush()
		d.lookups()
		prefix := netip.MustParseAddr("2001:db8::").As16()
		type answer struct {
			from netip.Addr
			err  error
		}
		answers := make(chan answer, addresses)
		for i := range addresses { // of one IPv6 /48, which are as many subscribers
			prefix[6], prefix[7] = byte(i>>8), byte(i)
			go func(from netip.Addr) {
				_, err := cache.Find(t.Context(), credential.Generate(credential.Secret, tenant.Test), from)
				answers <- answer{from, err}
			}(netip.AddrFrom16(prefix))
		}
		synctest.Wait()
		begun := time.Now()
		if _, err := cache.Find(t.Context(), known, netip.MustParseAddr(other)); err != nil || time.Since(begun) != takes {
			t.Errorf("a known key was found after %s: %v", time.Since(begun), err)
		}
		var unknown, refused int
		var late netip.Addr
		for range addresses {
			a := <-answers
			switch f := fault.As(a.err); {
			case errors.Is(f, apikey.ErrInvalid):
				unknown++
			case f.Kind == fault.Unavailable && f.Code == "overloaded" && f.RetryAfter > 0:
				refused++
				late = a.from
			default:
				t.Fatal(a.err)
			}
		}
		if slow.most != 3 { // two of invented keys, and that of the known one
			t.Errorf("%d look-ups at once", slow.most)
		}
		if waited := time.Since(begun); waited > 2*time.Second || unknown > 30 || unknown+refused != addresses {
			t.Errorf("%d are unknown and %d refused after %s", unknown, refused, waited)
		}
		for range 100 { // the refused look-up is not counted
			if err := lookups.Begin(t.Context(), late); err != nil {
				t.Fatal(err)
			}
			lookups.Ended(late, nil, nil)
		}
	})
}
