//go:build integration

package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// tellAll sends the remaining addresses, as a process does.
func tellAll(ctx context.Context, s *store.Store) error {
	for {
		if more, err := s.TellOwned(ctx); err != nil || !more {
			return err
		}
	}
}

// Payments receives every address of a standalone wallet, treasury and gas station once, from any process, and none
// that it issues itself: wallets from before, wallets between its own addresses, and new ones. After TellAll all are
// sent again.
func TestTellOwned(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	var want []string
	create := func(id string) {
		t.Helper()
		made := makeWallet(t, s, draft(id, time.Now()), idempotency.Key{})
		_, address, _ := strings.Cut(string(made.Body), " ")
		want = append(want, "test evm "+address)
	}
	const treasury, station = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	told := func() (all []string) {
		t.Helper()
		for _, m := range drain[wire.AddressesOwned](t, pool, wire.AddressesOwnedV1) {
			if len(m.Addresses) == 0 || len(m.Addresses) > wire.AddressesMax {
				t.Errorf("%d addresses in one message", len(m.Addresses))
			}
			for _, a := range m.Addresses {
				all = append(all, fmt.Sprint(a.Mode, " ", a.Family, " ", a.Address))
			}
		}
		slices.Sort(all)
		return all
	}
	check := func(what string) {
		t.Helper()
		g, ctx := errgroup.WithContext(ctx)
		for range 3 {
			g.Go(func() error { return tellAll(ctx, s) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := tellAll(t.Context(), s); err != nil { // what one process left to another
			t.Fatal(err)
		}
		slices.Sort(want)
		if got := told(); !slices.Equal(got, want) {
			t.Errorf("%s: announced %v, want %v", what, got, want)
		}
	}

	create("wal_a")
	stock := wallet.Request{ID: "r1", Mode: tenant.Test, Family: money.EVM, Count: 6000} // more than a page
	if err := s.Allocate(ctx, "m1", stock, source(t, money.EVM)); err != nil {
		t.Fatal(err)
	}
	create("wal_b")
	check("wallets from before")

	all := want
	want = nil
	check("nothing new")
	create("wal_c")
	for range 2 {
		if err := s.KeepAccounts(ctx, []wire.OwnedAddress{{Mode: tenant.Live, Family: money.EVM, Address: treasury}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Sweeps().KeepStation(ctx, money.EVM, station); err != nil {
			t.Fatal(err)
		}
	}
	want = append(want, "live evm "+treasury, "live evm "+station)
	check("a new wallet, a treasury and a gas station")

	want = append(want, all...)
	if err := s.TellAll(ctx); err != nil {
		t.Fatal(err)
	}
	check("all again")
	if err := s.KeepAccounts(ctx, nil); err != nil {
		t.Fatal(err)
	}
	want = nil
	check("no treasury")
}
