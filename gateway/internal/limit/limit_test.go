package limit_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

func to(upstream route.Upstream) *proxy.Call {
	return &proxy.Call{Route: &route.Route{Upstream: upstream}}
}

func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := limit.NewInFlight(2, 2, 0, 2*time.Second)
		leave := func() func(int) {
			done, err := gate.Admit(t.Context(), to(route.Payments))
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		first, second := leave(), leave()
		start := time.Now()
		if _, err := gate.Admit(t.Context(), to(route.Payments)); fault.As(err).Kind != fault.Unavailable || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %s, want a 503 after two seconds", err, time.Since(start))
		}
		var wg sync.WaitGroup
		wg.Go(func() { leave()(200) })
		synctest.Wait()
		first(200)
		wg.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		third := leave()
		if _, err := gate.Admit(ctx, to(route.Payments)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the caller's own end", err)
		}
		second(200)
		third(200)
		leave()(200)
	})
}

// A service that hangs takes its share of the slots and no more: its callers wait two seconds at most, those beyond the
// queue not at all, and callers of other services are not affected.
func TestInFlight_hungUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := limit.NewInFlight(64, 48, 0, 2*time.Second)
		var mu sync.Mutex
		var inside, late, atOnce int
		start := time.Now()
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				_, err := gate.Admit(t.Context(), to(route.Payments)) // never released: the service hangs
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					inside++
				case fault.As(err).Kind != fault.Unavailable || fault.As(err).RetryAfter == 0:
					t.Error(err)
				case time.Since(start) == 0:
					atOnce++
				case time.Since(start) == 2*time.Second:
					late++
				}
			})
		}
		synctest.Wait()
		for range 100 {
			done, err := gate.Admit(t.Context(), to(route.Wallets))
			if err != nil {
				t.Fatal(err)
			}
			done(200)
		}
		if time.Since(start) != 0 {
			t.Errorf("callers of another service waited %s", time.Since(start))
		}
		wg.Wait()
		if inside != 48 || late != 256 || atOnce != 1000-48-256 {
			t.Errorf("%d served, %d refused after the wait, %d at once", inside, late, atOnce)
		}
	})
}

// of makes a call of a key in a mode.
func of(id int64, mode tenant.Mode, upstream route.Upstream) *proxy.Call {
	return &proxy.Call{Route: &route.Route{Upstream: upstream}, Caller: identity.Caller{Key: &apikey.Key{ID: id, Mode: mode}}}
}

// admit takes calls into a gate until one is refused, at most so many. The calls stay.
func admit(t *testing.T, g proxy.Gate, most int, call func(i int) *proxy.Call) (in int, leave []func(int), err error) {
	t.Helper()
	for in < most {
		done, err := g.Admit(t.Context(), call(in))
		if err != nil {
			return in, leave, err
		}
		leave = append(leave, done)
		in++
	}
	return in, leave, nil
}

// Endless test traffic takes neither the slots nor the places in the queue of live traffic, at one service and at all
// of them; live traffic may take every slot.
func TestInFlight_live(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := limit.NewInFlight(64, 56, 8, 2*time.Second)
		toOne := func(i int) *proxy.Call { return of(int64(i), tenant.Test, route.Payments) }
		ours, _, err := admit(t, gate, 1000, toOne)
		if ours != 48 || fault.As(err).Code != "overloaded" {
			t.Errorf("%d test calls at one service, want 48: %v", ours, err)
		}
		if others, _, _ := admit(t, gate, 1000, func(i int) *proxy.Call { return of(int64(i), tenant.Test, route.Wallets) }); others != 8 {
			t.Errorf("%d test calls more at another, want 8", others)
		}
		var wg sync.WaitGroup
		for i := range 1000 { // more than may wait
			wg.Go(func() { _, _ = gate.Admit(t.Context(), toOne(i)) })
		}
		synctest.Wait()
		start := time.Now()
		lives, leave, err := admit(t, gate, 8, func(i int) *proxy.Call { return of(int64(i), tenant.Live, route.Payments) })
		if lives != 8 || time.Since(start) != 0 {
			t.Errorf("%d live calls beside test traffic after %s: %v", lives, time.Since(start), err)
		}
		wg.Go(func() { // a live call waits, and gets the slot that is left
			if done, err := gate.Admit(t.Context(), of(1, tenant.Live, route.Payments)); err != nil {
				t.Error(err)
			} else {
				done(200)
			}
		})
		synctest.Wait()
		leave[0](200)
		wg.Wait()
		alone := limit.NewInFlight(64, 56, 8, time.Second)
		if n, _, _ := admit(t, alone, 1000, func(i int) *proxy.Call { return of(int64(i), tenant.Live, route.Payments) }); n != 56 {
			t.Errorf("%d live calls at one service, want 56", n)
		}
		tiny := limit.NewInFlight(2, 2, 64, time.Second)
		if n, _, _ := admit(t, tiny, 10, toOne); n != 1 {
			t.Errorf("%d test calls of 2 slots, want half", n)
		}
	})
}

// A key has a few long answers at a time and is refused more at once. Test keys leave some to live ones. When all are
// taken a caller waits, and gets the first that ends.
func TestLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := limit.NewLong(12, 4, 4, 2*time.Second)
		start := time.Now()
		mine := func(int) *proxy.Call { return of(1, tenant.Test, route.Payments) }
		n, leave, err := admit(t, gate, 100, mine)
		if f := fault.As(err); n != 4 || f.Code != "rate_limited" || f.RetryAfter == 0 || time.Since(start) != 0 {
			t.Errorf("%d of one key, want 4: %v", n, err)
		}
		leave[0](200)
		if _, err := gate.Admit(t.Context(), mine(0)); err != nil {
			t.Errorf("another of that key after one has ended: %v", err)
		}
		if n, _, err := admit(t, gate, 100, func(i int) *proxy.Call { return of(int64(10+i), tenant.Test, route.Payments) }); n != 4 ||
			fault.As(err).Code != "overloaded" || time.Since(start) != 2*time.Second {
			t.Errorf("%d more of other test keys, want 4: %v after %s", n, err, time.Since(start))
		}
		n, leave, _ = admit(t, gate, 4, func(int) *proxy.Call { return of(50, tenant.Live, route.Payments) })
		if n != 4 {
			t.Errorf("%d of a live key, want 4", n)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := gate.Admit(t.Context(), of(51, tenant.Live, route.Payments)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		leave[0](200)
		wg.Wait()
		for range 3 { // refusals for want of a slot are not counted
			if _, err := gate.Admit(t.Context(), of(99, tenant.Live, route.Payments)); fault.As(err).Code != "overloaded" {
				t.Error(err)
			}
		}
	})
}

// The gate knows callers without a key by their name or their address. All addresses of one IPv6 subscriber are one
// caller.
func TestLong_callers(t *testing.T) {
	gate := limit.NewLong(100, 2, 0, time.Second)
	at := func(operator, ip string) *proxy.Call {
		return &proxy.Call{Route: &route.Route{}, Caller: identity.Caller{Operator: operator, IP: netip.MustParseAddr(ip)}}
	}
	for i, tc := range []struct {
		operator, ip string
		in           bool
	}{
		{"ana", "203.0.113.7", true},
		{"ana", "203.0.113.8", true},
		{"ana", "203.0.113.9", false},
		{"ben", "203.0.113.7", true},
		{"", "203.0.113.7", true},
		{"", "203.0.113.7", true},
		{"", "203.0.113.7", false},
		{"", "203.0.113.8", true},
		{"", "2001:db8::1", true},
		{"", "2001:db8::2", true},
		{"", "2001:db8::3", false},
		{"", "2001:db8:0:1::3", true},
	} {
		if _, err := gate.Admit(t.Context(), at(tc.operator, tc.ip)); (err == nil) != tc.in {
			t.Errorf("%d: %s at %s: %v", i, tc.operator, tc.ip, err)
		}
	}
}

// The metrics show who holds the slots of a pool, and how many were refused.
func TestPools_metrics(t *testing.T) {
	gate := limit.NewLong(8, 2, 2, time.Second)
	for range 3 {
		_, _ = gate.Admit(t.Context(), of(1, tenant.Test, route.Payments))
	}
	_, _ = gate.Admit(t.Context(), of(2, tenant.Live, route.Payments))
	want := `
# HELP gateway_slots Slots of a pool that live, or test, traffic may take.
# TYPE gateway_slots gauge
gateway_slots{pool="long",traffic="live"} 8
gateway_slots{pool="long",traffic="test"} 6
# HELP gateway_slots_refused_total Calls that got no slot of a pool.
# TYPE gateway_slots_refused_total counter
gateway_slots_refused_total{pool="long",traffic="live"} 0
gateway_slots_refused_total{pool="long",traffic="test"} 1
# HELP gateway_slots_taken Slots of a pool that are taken by live, or test, traffic.
# TYPE gateway_slots_taken gauge
gateway_slots_taken{pool="long",traffic="live"} 1
gateway_slots_taken{pool="long",traffic="test"} 2
`
	if err := testutil.CollectAndCompare(gate, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	registry := prometheus.NewRegistry() // both pools beside each other
	registry.MustRegister(gate, limit.NewInFlight(8, 8, 0, time.Second))
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

// Offered three times what a service can do, the gate keeps it fully busy; no served call has waited longer than the
// bound, and the rest are refused: latency does not collapse.
func TestInFlight_overload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const served, takes = 16, 20 * time.Millisecond // 800 a second
		gate := limit.NewInFlight(served, served, 0, 2*time.Second)
		var mu sync.Mutex
		var good, refused int
		var worst time.Duration
		var wg sync.WaitGroup
		start := time.Now()
		for range 2400 * 10 {
			time.Sleep(time.Second / 2400)
			wg.Go(func() {
				begun := time.Now()
				done, err := gate.Admit(t.Context(), to(route.Payments))
				if err == nil {
					time.Sleep(takes)
					done(200)
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					refused++
					return
				}
				good++
				worst = max(worst, time.Since(begun))
			})
		}
		wg.Wait()
		perSecond := float64(good) / time.Since(start).Seconds()
		if perSecond < 790 || worst > 200*time.Millisecond || good+refused != 24000 {
			t.Errorf("%.0f a second served, worst %s, %d refused", perSecond, worst, refused)
		}
	})
}
