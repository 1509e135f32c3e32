package limit_test

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func from(ip string, rt route.Route) *proxy.Call {
	rt.Access = route.Open
	return &proxy.Call{Route: &rt, Caller: identity.Caller{IP: netip.MustParseAddr(ip)}}
}

func by(id int64, tier apikey.Tier) *proxy.Call {
	return &proxy.Call{Route: &route.Route{Access: route.Keyed}, Caller: identity.Caller{Key: &apikey.Key{ID: id, Tier: tier}}}
}

// naming is a call by key that asks a bank for a name.
func naming(c *proxy.Call) *proxy.Call {
	c.Route.Names, c.Caller.IP = true, netip.MustParseAddr("203.0.113.7")
	return c
}

// burst counts how many calls are admitted at once, and checks the refusal after them.
func burst(t *testing.T, l *limit.Rates, call func() *proxy.Call, status, most int) (n int) {
	t.Helper()
	for ; n < most; n++ {
		done, err := l.Admit(t.Context(), call())
		if err != nil {
			f := fault.As(err)
			if f.Kind != fault.RateLimited || f.RetryAfter < time.Second {
				t.Errorf("%v after %d calls, to be retried after %s", err, n, f.RetryAfter)
			}
			return n
		}
		if done != nil {
			done(status)
		}
	}
	return n
}

// The bursts and the steady rates of docs/api-contract.md#limits.
func TestRates(t *testing.T) {
	for name, tc := range map[string]struct {
		call         func() *proxy.Call
		status       int
		once, second int
	}{
		"standard key": {func() *proxy.Call { return by(1, apikey.Standard) }, 200, 500, 50},
		"no tier":      {func() *proxy.Call { return by(1, "") }, 200, 500, 50},
		"premium key":  {func() *proxy.Call { return by(1, apikey.Premium) }, 200, 2000, 200},
		"unlimited":    {func() *proxy.Call { return by(1, apikey.Unlimited) }, 200, 9999, 9999},
		"public":       {func() *proxy.Call { return from("203.0.113.7", route.Route{}) }, 404, 300, 20},
		"names":        {func() *proxy.Call { return from("203.0.113.7", route.Route{Names: true}) }, 200, 20, 2},
		"a key's":      {func() *proxy.Call { return naming(by(1, apikey.Unlimited)) }, 200, 20, 2},
		"proposals":    {func() *proxy.Call { return from("203.0.113.7", route.Route{Proposes: true}) }, 200, 20, 2},
		"hits":         {func() *proxy.Call { return from("203.0.113.7", route.Route{Guess: true}) }, 200, 300, 20},
		"guesses":      {func() *proxy.Call { return from("203.0.113.7", route.Route{Guess: true}) }, 404, 30, 0},
		"references":   {func() *proxy.Call { return from("203.0.113.7", route.Route{Guess: true}) }, 401, 30, 0},
		"IPv6":         {func() *proxy.Call { return from("2001:db8::1", route.Route{}) }, 200, 300, 20},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{time.Unix(1e9, 0)}
			l := limit.NewRates(false, c.now)
			if n := burst(t, l, tc.call, tc.status, 9999); n != tc.once {
				t.Errorf("%d at once, want %d", n, tc.once)
			}
			c.at = c.at.Add(time.Second)
			if n := burst(t, l, tc.call, tc.status, 9999); n != tc.second {
				t.Errorf("%d a second later, want %d", n, tc.second)
			}
			c.at = c.at.Add(time.Minute)
			if n := burst(t, l, tc.call, tc.status, 9999); n != tc.once {
				t.Errorf("%d after a minute, want %d again", n, tc.once)
			}
		})
	}
}

// No two callers share a bucket: neither two keys nor two addresses. The addresses of one IPv6 subscriber are one
// caller, and so are the two spellings of an IPv4 address.
func TestRates_apart(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	l := limit.NewRates(false, c.now)
	burst(t, l, func() *proxy.Call { return from("203.0.113.7", route.Route{}) }, 200, 9999)
	burst(t, l, func() *proxy.Call { return from("2001:db8::1", route.Route{}) }, 200, 9999)
	burst(t, l, func() *proxy.Call { return by(1, apikey.Standard) }, 200, 9999)
	for ip, want := range map[string]bool{
		"203.0.113.8": true, "203.0.113.7": false, "::ffff:203.0.113.7": false, "2001:db8::ffff": false, "2001:db8:0:1::1": true, "127.0.0.1": true,
	} {
		if _, err := l.Admit(t.Context(), from(ip, route.Route{})); (err == nil) != want {
			t.Errorf("admit another request of %s: got %v", ip, err)
		}
	}
	if _, err := l.Admit(t.Context(), by(2, apikey.Standard)); err != nil {
		t.Error(err)
	}
}

func TestRates_loopback(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	call := func(ip string) func() *proxy.Call {
		return func() *proxy.Call { return from(ip, route.Route{Guess: true}) }
	}
	for ip, want := range map[string]int{"127.0.0.1": 1000, "::1": 1000, "10.0.0.1": 30} {
		if n := burst(t, limit.NewRates(true, c.now), call(ip), 404, 1000); n != want {
			t.Errorf("%s: %d, want %d", ip, n, want)
		}
	}
	local := func() *proxy.Call {
		named := naming(by(1, apikey.Unlimited))
		named.Caller.IP = netip.MustParseAddr("127.0.0.1")
		return named
	}
	if n := burst(t, limit.NewRates(true, c.now), local, 200, 1000); n != 1000 {
		t.Errorf("look names up by key from loopback: got %d at once, want 1000", n)
	}
	if n := burst(t, limit.NewRates(false, c.now), call("127.0.0.1"), 404, 1000); n != 30 {
		t.Errorf("loopback is not skipped unless asked: %d", n)
	}
}

// A call counts when its answer is a 404; calls that were admitted together before that are charged afterwards.
func TestRates_guessesTogether(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	l := limit.NewRates(false, c.now)
	var open []func(int)
	for range 60 {
		done, err := l.Admit(t.Context(), from("203.0.113.7", route.Route{Guess: true}))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, done)
	}
	for _, done := range open {
		done(404)
	}
	c.at = c.at.Add(time.Minute)
	if _, err := l.Admit(t.Context(), from("203.0.113.7", route.Route{Guess: true})); err == nil {
		t.Error("60 guesses at once are forgotten within the minute")
	}
	c.at = c.at.Add(2 * time.Second)
	if _, err := l.Admit(t.Context(), from("203.0.113.7", route.Route{Guess: true})); err != nil {
		t.Error(err)
	}
}

func TestRates_quota(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	l := limit.NewRates(false, c.now)
	call := from("203.0.113.7", route.Route{Names: true})
	if _, err := l.Admit(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if want := (proxy.Quota{Limit: 20, Remaining: 19, Reset: 500 * time.Millisecond}); call.Quota != want {
		t.Errorf("%+v, want the tighter one, %+v", call.Quota, want)
	}
}

// More addresses than there are buckets take bounded memory.
func TestRates_manyAddresses(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	l := limit.NewRates(false, c.now)
	rt := route.Route{Access: route.Open, Guess: true}
	for i := range flooders {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], uint32(i)+10<<24)
		done, err := l.Admit(t.Context(), &proxy.Call{Route: &rt, Caller: identity.Caller{IP: netip.AddrFrom4(a)}})
		if err != nil {
			t.Fatal(err)
		}
		done(404)
	}
	if got, want := limit.Held(l), 2*limit.Most; got > want { // of public routes and of guesses
		t.Errorf("%d addresses called: %d buckets held, want at most %d", flooders, got, want)
	}
}
