package apikey_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

// Without notifications a key is cached for half a second, whatever its time to live; with them, for its time to live;
// when they cease, for less than a second.
func TestCache_blind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peppers(t, "a")
		s := &source{keys: map[apikey.Digest]*apikey.Key{p.Digest("k"): {ID: 7}}}
		c := apikey.NewCache(s, free{}, p, ring(t, "k1"), apikey.CacheBounds{TTL: time.Hour, Size: 10}, time.Now)
		find := func(lookups int64) {
			t.Helper()
			if _, err := c.Find(t.Context(), "k", somewhere); err != nil || s.lookups.Load() != lookups {
				t.Fatalf("%v after %d look-ups, want %d", err, s.lookups.Load(), lookups)
			}
		}
		find(1)
		time.Sleep(499 * time.Millisecond)
		find(1)
		time.Sleep(time.Millisecond)
		find(2)
		for range 20 {
			c.CaughtUp(time.Now())
			time.Sleep(200 * time.Millisecond)
			find(2)
		}
		time.Sleep(499 * time.Millisecond) // 699 ms since the last notification
		find(2)
		time.Sleep(time.Millisecond)
		find(3)
		if c.Current() {
			t.Error("a silent teller is still believed")
		}
		c.CaughtUp(time.Now())
		c.Heard("8")
		find(3)
		c.Heard("7")
		find(4)
		c.Heard("what?")
		find(5)
		c.Missed()
		find(6)
		time.Sleep(500 * time.Millisecond)
		find(7)
	})
}

// The gauge stays up when somebody asks for a key after nobody has for long: the listener, whose proofs are rare then,
// needs a second to notice. It falls if no proof comes then.
func TestCache_currentAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peppers(t, "a")
		s := &source{keys: map[apikey.Digest]*apikey.Key{p.Digest("k"): {ID: 7}}}
		c := apikey.NewCache(s, free{}, p, ring(t, "k1"), apikey.CacheBounds{TTL: time.Hour, Size: 10}, time.Now)
		c.CaughtUp(time.Now())
		time.Sleep(12 * time.Second) // synthetic
		if _, err := c.Find(t.Context(), "k", somewhere); err != nil {
			t.Fatal(err)
		}
		if !c.Current() {
			t.Error("the gauge fell with the first question, before the listener could notice")
		}
		time.Sleep(2 * time.Second) // synthetic
		if c.Current() {
			t.Error("the gauge stays up without a proof two seconds after the first question")
		}
	})
}

// A look-up that began before a change answers no caller that came after it, and one that took too long to be valid is
// repeated.
func TestCache_slowLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peppers(t, "a")
		gate := make(chan struct{})
		s := &source{keys: map[apikey.Digest]*apikey.Key{p.Digest("k"): {ID: 7}}, gate: gate}
		c := apikey.NewCache(s, free{}, p, ring(t, "k1"), apikey.CacheBounds{TTL: time.Hour, Size: 10}, time.Now)
		early := make(chan error, 1)
		go func() {
			_, err := c.Find(t.Context(), "k", somewhere) // reads the key, and hangs
			early <- err
		}()
		synctest.Wait()
		revoked := &apikey.Key{ID: 7, RevokedAt: time.Now()}
		s.mu.Lock()
		s.keys[p.Digest("k")], s.gate = revoked, nil
		s.mu.Unlock()
		c.Heard("7")
		if k, err := c.Find(t.Context(), "k", somewhere); err != nil || k != revoked {
			t.Errorf("%v %v: joined a look-up from before the change", k, err)
		}
		c.Missed()
		time.Sleep(time.Second)
		close(gate)
		if err := <-early; err != nil {
			t.Error(err)
		}
		if n := s.lookups.Load(); n != 3 {
			t.Errorf("%d look-ups, want the slow one begun again", n)
		}
	})
}

func TestCache_public(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		public, secret := credential.Generate(credential.Public, tenant.Test), credential.Generate(credential.Secret, tenant.Test)
		old := ring(t, "old")
		s := &source{
			public: map[string]*apikey.Key{public: {ID: 7}}, sealed: old.Seal(apikey.SigningKey(secret), apikey.SigningPlace(public)),
		}
		c := apikey.NewCache(s, free{}, peppers(t, "a"), ring(t, "new", "old"), apikey.CacheBounds{TTL: time.Hour, Size: 10}, time.Now)
		for range 3 {
			k, err := c.FindPublic(t.Context(), public, somewhere)
			if err != nil || k.ID != 7 || string(k.Signing) != string(apikey.SigningKey(secret)) || s.lookups.Load() != 1 {
				t.Fatalf("%v %v after %d look-ups", k, err, s.lookups.Load())
			}
			if _, err := c.FindPublic(t.Context(), "pk_other", somewhere); !errors.Is(err, apikey.ErrInvalid) {
				t.Error(err)
			}
			s.lookups.Store(1)
		}
		c = apikey.NewCache(s, free{}, peppers(t, "a"), ring(t, "new"), apikey.CacheBounds{TTL: time.Hour, Size: 10}, time.Now)
		if _, err := c.FindPublic(t.Context(), public, somewhere); fault.As(err).Kind != fault.Unavailable {
			t.Errorf("%v: a signing key that does not open is our trouble, not the caller's", err)
		}
	})
}
