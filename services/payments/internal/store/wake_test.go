//go:build integration

package store_test

import (
	"testing"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/store"
)

// A payout that becomes due, and a block of addresses that is leased, wake the leader that sleeps.
func TestWork(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	tables := w.Store.Work(func() {}, func() {})
	w.Fill(1)
	pg.Wakes(t, w.Pool, tables[1].Due, func() {
		if _, err := w.Store.Lease(t.Context(), tenant.Test, money.Tron, 1, "replica", time.Minute); err != nil {
			t.Errorf("lease an address: %v, want no error", err)
		}
	})
	pg.Wakes(t, w.Pool, store.Statements()["nextPayout"], func() { w.ConfirmedWith("0123456789") })
}
