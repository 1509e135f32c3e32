package stock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/stock"
)

// leaser has a number of addresses and records the returned ones.
type leaser struct {
	mu       sync.Mutex
	left     int
	next     int
	leases   int
	released []string
}

func (l *leaser) Lease(_ context.Context, _ tenant.Mode, family money.Family, n int, _ string, _ time.Duration) ([]stock.Address, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leases++
	var out []stock.Address
	for range min(n, l.left) {
		l.next, l.left = l.next+1, l.left-1
		out = append(out, stock.Address{WalletID: "w", Address: fmt.Sprint(family, l.next)})
	}
	return out, nil
}

func (l *leaser) Release(_ context.Context, _ tenant.Mode, _ money.Family, _ string, addresses []string) error {
	l.released = append(l.released, addresses...)
	return nil
}

func TestStock_manyTakersShareBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leaser{left: 1000}
		s := stock.New(l, "me", 64, slog.New(slog.DiscardHandler))
		var mu sync.Mutex
		seen := map[string]bool{}
		var all sync.WaitGroup
		for range 300 {
			all.Go(func() {
				a, err := s.Take(t.Context(), tenant.Test, money.EVM)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[a.Address] = true
			})
		}
		all.Wait()
		s.Close(t.Context())
		if len(seen) != 300 || l.leases > 12 {
			t.Errorf("%d addresses by %d leases", len(seen), l.leases)
		}
		if len(l.released)+300 != l.next {
			t.Errorf("%d leased, %d came back", l.next, len(l.released))
		}
	})
}

func TestStock_dryWaitsThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stock.New(&leaser{}, "me", 64, slog.New(slog.DiscardHandler))
		start := time.Now()
		if _, err := s.Take(t.Context(), tenant.Test, money.EVM); !errors.Is(err, stock.ErrNoAddress) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		s.Close(t.Context())
	})
}

// An address near the end of its lease is not given out: another replica may lease it soon.
func TestStock_leasesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leaser{left: 100}
		s := stock.New(l, "me", 10, slog.New(slog.DiscardHandler))
		take := func() string {
			a, err := s.Take(t.Context(), tenant.Test, money.EVM)
			if err != nil {
				t.Fatal(err)
			}
			return a.Address
		}
		if a := take(); a != "evm1" {
			t.Errorf("first %s", a)
		}
		<-time.After(7 * time.Minute) // in the bubble's time
		if a := take(); a != "evm2" {
			t.Errorf("within the lease: %s", a)
		}
		<-time.After(2 * time.Minute) // in the bubble's time
		if a := take(); a != "evm11" {
			t.Errorf("after the lease: %s", a)
		}
		s.Close(t.Context())
	})
}
