package apikey_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCompile(t *testing.T) {
	all := []apikey.Permission{
		apikey.PaymentCreate, apikey.PaymentRead, apikey.WalletCreate, apikey.WalletRead, apikey.ReportCreate, apikey.ReportManage, apikey.WebhookManage,
		apikey.RefundCreate, apikey.SettlementManage, apikey.WithdrawalCreate, apikey.WalletDraw,
	}
	for name, tc := range map[string]struct {
		grants []string
		want   []apikey.Permission
	}{
		"none":      {nil, nil},
		"one":       {[]string{"payment:read"}, []apikey.Permission{apikey.PaymentRead}},
		"refunds":   {[]string{"refund:create"}, []apikey.Permission{apikey.RefundCreate}},
		"area":      {[]string{"payment:*"}, []apikey.Permission{apikey.PaymentCreate, apikey.PaymentRead}},
		"two":       {[]string{"report:manage", "wallet:*"}, []apikey.Permission{apikey.WalletCreate, apikey.WalletRead, apikey.WalletDraw, apikey.ReportManage}},
		"all":       {[]string{"*"}, all},
		"unknown":   {[]string{"payment", "payment:", "*:read", "pay:*", "payment:delete", ""}, nil},
		"all areas": {[]string{"payment:*", "wallet:*", "report:*", "webhook:*", "refund:*", "settlement:*", "withdrawal:*"}, all},
	} {
		set := apikey.Compile(tc.grants)
		allowed := map[apikey.Permission]bool{}
		for _, p := range tc.want {
			allowed[p] = true
		}
		for _, p := range all {
			if set.Allows(p) != allowed[p] {
				t.Errorf("%s: %s is %v", name, p, set.Allows(p))
			}
		}
		if len(set.List()) != len(tc.want) || set.Allows("payment:delete") || set.Allows("") {
			t.Errorf("compile %s: got the permissions %v, want %v", name, set.List(), tc.want)
		}
	}
}

func TestKey_usable(t *testing.T) {
	now := time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)
	office := netip.MustParseAddr("203.0.113.7")
	for name, tc := range map[string]struct {
		key  apikey.Key
		from netip.Addr
		want error
	}{
		"plain":               {apikey.Key{}, office, nil},
		"not yet expired":     {apikey.Key{ExpiresAt: now.Add(time.Millisecond)}, office, nil},
		"expired":             {apikey.Key{ExpiresAt: now}, office, apikey.ErrExpired},
		"rotated away":        {apikey.Key{SecretUntil: now}, office, apikey.ErrExpired},
		"in the overlap":      {apikey.Key{SecretUntil: now.Add(time.Second)}, office, nil},
		"revoked":             {apikey.Key{RevokedAt: now}, office, apikey.ErrRevoked},
		"revoked and expired": {apikey.Key{RevokedAt: now, ExpiresAt: now}, office, apikey.ErrRevoked},
		"from its network":    {apikey.Key{AllowedCIDRs: prefixes("203.0.113.0/24")}, office, nil},
		"from elsewhere":      {apikey.Key{AllowedCIDRs: prefixes("203.0.112.0/24", "2001:db8::/32")}, office, apikey.ErrAddress},
		"from nowhere":        {apikey.Key{AllowedCIDRs: prefixes("0.0.0.0/0")}, netip.Addr{}, apikey.ErrAddress},
	} {
		if err := tc.key.Usable(now, tc.from); !errors.Is(err, tc.want) && err != tc.want { //nolint:errorlint // nil too
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func peppers(t testing.TB, letters string) *apikey.Peppers {
	t.Helper()
	var parts []string
	for _, c := range letters {
		parts = append(parts, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(c), 32))))
	}
	p, err := apikey.ParsePeppers(strings.Join(parts, ","))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPeppers(t *testing.T) {
	old, both := peppers(t, "a"), peppers(t, "ba")
	if d := both.All("x"); len(d) != 2 || d[0] == d[1] || d[1] != old.Digest("x") || d[0] != both.Digest("x") || old.ID() == both.ID() {
		t.Error("the second pepper must find what was kept under it, the first must be new")
	}
	for _, bad := range []string{"", "short", "AAAA", base64.StdEncoding.EncodeToString(make([]byte, 31)), strings.Repeat(base64.StdEncoding.EncodeToString(make([]byte, 32))+",", 3)} {
		if _, err := apikey.ParsePeppers(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// newCache makes a cache for which notifications arrive as long as the test lasts.
func newCache(t testing.TB, s apikey.Source, p *apikey.Peppers, ttl time.Duration, size int, now func() time.Time) *apikey.Cache {
	t.Helper()
	c := apikey.NewCache(s, free{}, p, ring(t, "k1"), apikey.CacheBounds{TTL: ttl, Size: size}, now)
	c.CaughtUp(now().Add(1000 * time.Hour))
	return c
}

func ring(t testing.TB, ids ...string) *keyring.Ring {
	t.Helper()
	var parts []string
	for _, id := range ids {
		key := sha256.Sum256([]byte(id))
		parts = append(parts, id+":"+base64.StdEncoding.EncodeToString(key[:]))
	}
	r, err := keyring.Parse(strings.Join(parts, ","))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var somewhere = netip.MustParseAddr("203.0.113.7")

// free bounds no look-ups.
type free struct{}

func (free) Begin(context.Context, netip.Addr) error { return nil }
func (free) Ended(netip.Addr, *apikey.Key, error)    {}

// source is a table of keys that counts look-ups.
type source struct {
	mu      sync.Mutex
	keys    map[apikey.Digest]*apikey.Key
	public  map[string]*apikey.Key
	sealed  []byte
	err     error
	lookups atomic.Int64
	gate    chan struct{} // when set, a look-up waits for it after it has read
}

func (s *source) BySecret(_ context.Context, digests []apikey.Digest) (*apikey.Key, error) {
	s.lookups.Add(1)
	s.mu.Lock()
	var found *apikey.Key
	for _, d := range digests {
		if k := s.keys[d]; k != nil {
			found = k
		}
	}
	err, gate := s.err, s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return found, err
}

func (s *source) ByPublic(_ context.Context, publicKey string) (*apikey.Key, []byte, error) {
	s.lookups.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.public[publicKey]
	if k == nil {
		return nil, nil, s.err
	}
	fresh := *k
	return &fresh, s.sealed, s.err
}

func TestCache_remembersAndForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peppers(t, "a")
		s := &source{keys: map[apikey.Digest]*apikey.Key{p.Digest("known"): {ID: 7}}}
		c := newCache(t, s, p, time.Second, 10, time.Now)
		find := func(secret string, want error, lookups int64) {
			t.Helper()
			k, err := c.Find(t.Context(), secret, somewhere)
			if !errors.Is(err, want) || (want == nil && k.ID != 7) || s.lookups.Load() != lookups {
				t.Fatalf("%v %v after %d look-ups, want %v after %d", k, err, s.lookups.Load(), want, lookups)
			}
		}
		find("known", nil, 1)
		find("known", nil, 1)
		find("unknown", apikey.ErrInvalid, 2)
		find("unknown", apikey.ErrInvalid, 2)
		time.Sleep(time.Second) // fake time: the key's time to live has passed, the unknown one's has not
		find("known", nil, 3)
		find("unknown", apikey.ErrInvalid, 3)
		time.Sleep(time.Second)
		find("unknown", apikey.ErrInvalid, 4)
		find("known", nil, 5)
		c.Drop(8)
		find("known", nil, 5)
		c.Drop(7)
		find("known", nil, 6)
		c.Flush()
		find("known", nil, 7)
		find("unknown", apikey.ErrInvalid, 8)
		if used := c.Used(); len(used) != 1 || used[7].IsZero() || len(c.Used()) != 0 {
			t.Errorf("used %v", used)
		}
		s.mu.Lock()
		s.err = errors.New("connection refused")
		s.mu.Unlock()
		c.Flush()
		if _, err := c.Find(t.Context(), "known", somewhere); fault.As(err).Kind != fault.Unavailable {
			t.Errorf("%v: a broken store must answer neither yes nor no", err)
		}
	})
}

// A look-up that began before a revocation must not be kept after it.
func TestCache_dropDuringLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peppers(t, "a")
		s := &source{keys: map[apikey.Digest]*apikey.Key{p.Digest("k"): {ID: 7}}, gate: make(chan struct{})}
		c := newCache(t, s, p, time.Hour, 10, time.Now)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := c.Find(t.Context(), "k", somewhere); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := s.lookups.Load(); n != 1 {
			t.Errorf("%d look-ups for 50 callers at once", n)
		}
		c.Drop(7)
		close(s.gate)
		wg.Wait()
		s.mu.Lock()
		s.keys = nil
		s.mu.Unlock()
		if _, err := c.Find(t.Context(), "k", somewhere); !errors.Is(err, apikey.ErrInvalid) {
			t.Errorf("%v: the stale look-up was kept", err)
		}
	})
}

// gate refuses every look-up of a key that is not known yet, and records the results of the others.
type gate struct {
	shut  bool
	ended []string
}

var errShut = errors.New("shut")

func (g *gate) Begin(context.Context, netip.Addr) error {
	if g.shut {
		return errShut
	}
	return nil
}

func (g *gate) Ended(_ netip.Addr, k *apikey.Key, err error) {
	g.ended = append(g.ended, fmt.Sprint(k != nil, err))
}

// A key that was found once is looked up again without the gate, whatever invalidated it, until it is not found. Every
// other look-up passes the gate first.
func TestCache_gate(t *testing.T) {
	p := peppers(t, "a")
	now := time.Unix(1_775_000_000, 0)
	s := &source{keys: map[apikey.Digest]*apikey.Key{p.Digest("known"): {ID: 7}, p.Digest("later"): {ID: 8}}}
	g := &gate{}
	c := apikey.NewCache(s, g, p, ring(t, "k1"), apikey.CacheBounds{TTL: time.Minute, Size: 10}, func() time.Time { return now })
	find := func(secret string, want error, lookups int64) {
		t.Helper()
		if _, err := c.Find(t.Context(), secret, somewhere); !errors.Is(err, want) || s.lookups.Swap(0) != lookups {
			t.Errorf("%s: %v, want %v after %d look-ups", secret, err, want, lookups)
		}
	}
	find("known", nil, 1)
	find("unknown", apikey.ErrInvalid, 1)
	g.shut = true
	for _, doubt := range []func(){func() { now = now.Add(time.Hour) }, func() { c.Drop(7) }, c.Flush, c.Missed} {
		doubt()
		find("known", nil, 1)
		find("known", nil, 0)
		find("later", errShut, 0)
	}
	delete(s.keys, p.Digest("known"))
	c.Drop(7)
	find("known", apikey.ErrInvalid, 1)
	now = now.Add(time.Hour)
	find("known", errShut, 0)
	g.shut = false
	s.err = errors.New("connection refused")
	if _, err := c.Find(t.Context(), "later", somewhere); fault.As(err).Kind != fault.Unavailable {
		t.Error(err)
	}
	if got := strings.Join(g.ended, ", "); got != "true <nil>, false <nil>, true connection refused" {
		t.Errorf("results at the gate: %s", got)
	}
}

// A key whose first look-up overlaps the change of another key is known to be real: its next look-up passes no gate.
func TestCache_realDespiteAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peppers(t, "a")
		s := &source{keys: map[apikey.Digest]*apikey.Key{p.Digest("k"): {ID: 7}}, gate: make(chan struct{})}
		g := &gate{}
		c := apikey.NewCache(s, g, p, ring(t, "k1"), apikey.CacheBounds{TTL: time.Minute, Size: 10}, time.Now)
		first := make(chan error)
		go func() {
			_, err := c.Find(t.Context(), "k", somewhere)
			first <- err
		}()
		synctest.Wait()
		c.Drop(8)
		close(s.gate)
		if err := <-first; err != nil {
			t.Fatalf("find a key while another one changes: got %v, want the key", err)
		}
		g.shut = true
		if _, err := c.Find(t.Context(), "k", somewhere); err != nil || s.lookups.Load() != 2 {
			t.Errorf("find it again behind a shut gate: got %v after %d look-ups, want the key after 2", err, s.lookups.Load())
		}
		if len(c.Used()) != 1 {
			t.Error("the second look-up did not use the key")
		}
	})
}

// A caller who hangs up stops waiting; the look-up goes on for the others.
func TestCache_callerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peppers(t, "a")
		s := &source{keys: map[apikey.Digest]*apikey.Key{p.Digest("k"): {ID: 7}}, gate: make(chan struct{})}
		c := newCache(t, s, p, time.Hour, 10, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Find(ctx, "k", somewhere); !errors.Is(err, context.Canceled) {
			t.Errorf("find a key for a caller who left: got %v, want context.Canceled", err)
		}
		close(s.gate)
		synctest.Wait()
		if _, err := c.Find(t.Context(), "k", somewhere); err != nil || s.lookups.Load() != 1 {
			t.Errorf("%v after %d look-ups", err, s.lookups.Load())
		}
	})
}

// A million made-up secrets evict no real key, and neither table grows past its size.
func TestCache_bounded(t *testing.T) {
	p := peppers(t, "a")
	s := &source{keys: map[apikey.Digest]*apikey.Key{}}
	const size = 50
	for i := range 3 * size {
		s.keys[p.Digest(fmt.Sprint("real", i))] = &apikey.Key{ID: int64(i + 1)}
	}
	c := newCache(t, s, p, time.Hour, size, time.Now)
	find := func(secret string) { _, _ = c.Find(t.Context(), secret, somewhere) }
	find("real0")
	for i := range 20 * size {
		find(fmt.Sprint("made up", i))
	}
	before := s.lookups.Load()
	if find("real0"); s.lookups.Load() != before {
		t.Error("made-up secrets evicted a real key")
	}
	for i := range 3 * size {
		find(fmt.Sprint("real", i))
	}
	if known, unknown := apikey.Sizes(c); known > size || unknown > size || known < size/2 {
		t.Errorf("%d known, %d unknown, at most %d each", known, unknown, size)
	}
	if len(c.Used()) > size {
		t.Error("the times of last use are not bounded")
	}
}

func BenchmarkCache_warm(b *testing.B) {
	p := peppers(b, "ab")
	secret := credential.Generate(credential.Secret, tenant.Test)
	c := newCache(b, &source{keys: map[apikey.Digest]*apikey.Key{p.Digest(secret): {ID: 1}}}, p, time.Hour, 10, time.Now)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Find(b.Context(), secret, somewhere); err != nil {
			b.Fatal(err)
		}
	}
}
