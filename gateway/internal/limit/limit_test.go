package limit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
)

func to(upstream route.Upstream) *proxy.Call {
	return &proxy.Call{Route: &route.Route{Upstream: upstream}}
}

func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := limit.NewInFlight(2, 2, 2*time.Second)
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
// queue not at all, and the callers of other services notice nothing.
func TestInFlight_hungUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := limit.NewInFlight(64, 48, 2*time.Second)
		var mu sync.Mutex
		var inside, late, atOnce int
		start := time.Now()
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				_, err := gate.Admit(t.Context(), to(route.Payments)) // never left: the service hangs
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

// Offered three times what a service can do, the gate keeps it busy to the full, nobody who is served has waited longer than
// the bound, and the rest are refused: latency does not collapse.
func TestInFlight_overload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const served, takes = 16, 20 * time.Millisecond // 800 a second
		gate := limit.NewInFlight(served, served, 2*time.Second)
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
