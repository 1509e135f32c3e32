//go:build integration

package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/migrations"
)

// simBank is the simulated bank over a statement in PostgreSQL.
func simBank(t *testing.T, now func() time.Time) *sim.Rail {
	t.Helper()
	cfg := pg.Config(t, migrations.FS)
	statement, err := store.OpenSimStatement(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(statement.Close)
	return sim.New(statement, now)
}

func simOrder(ref string) rail.Order {
	return rail.Order{Ref: ref, Amount: decimal.NewFromInt(159000), Currency: money.NGN, BankCode: "058", AccountNumber: "0123456789"}
}

// ticking is a clock that each reading advances by more than the bank needs for a transfer.
func ticking() func() time.Time {
	var looks atomic.Int64
	start := time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)
	return func() time.Time { return start.Add(time.Duration(looks.Add(1)) * time.Minute) }
}

// TestSimOutcome_orderedWhileSent checks that the bank applies an outcome that is ordered while it accepts the
// transfer.
func TestSimOutcome_orderedWhileSent(t *testing.T) {
	t.Parallel()
	const transfers = 200
	ctx, bank := t.Context(), simBank(t, ticking())
	var all sync.WaitGroup
	for i := range transfers {
		all.Go(func() {
			ref := fmt.Sprintf("cw-sent-%d", i)
			if err := bank.SetOutcome(ctx, ref, sim.Timeout); err != nil {
				t.Error(err)
			}
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := bank.Send(ctx, simOrder(ref)); err != nil && !errors.Is(err, sim.ErrTimeout) {
					t.Error(err)
				}
			})
			both.Go(func() {
				if err := bank.SetOutcome(ctx, ref, sim.Succeed); err != nil {
					t.Error(err)
				}
			})
			both.Wait()
			if s, err := bank.Query(ctx, money.NGN, ref); err != nil || s.State != rail.Succeeded {
				t.Errorf("%s was ordered to succeed: %s, %v", ref, s.State, err)
			}
		})
	}
	all.Wait()
}

// TestSimOutcome_toldOnce checks that one of two parallel, opposite orders counts, and that a reported outcome stays.
func TestSimOutcome_toldOnce(t *testing.T) {
	t.Parallel()
	const transfers, orders = 40, 6
	ctx, bank := t.Context(), simBank(t, ticking())
	var all sync.WaitGroup
	for i := range transfers {
		all.Go(func() { toldOnce(ctx, t, bank, fmt.Sprintf("cw-told-%d", i), orders) })
	}
	all.Wait()
}

// toldOnce lets a transfer hang and orders it to succeed and to fail many times at once.
func toldOnce(ctx context.Context, t *testing.T, bank *sim.Rail, ref string, orders int) {
	if err := bank.SetOutcome(ctx, ref, sim.Timeout); err != nil {
		t.Error(err)
	}
	if _, err := bank.Send(ctx, simOrder(ref)); !errors.Is(err, sim.ErrTimeout) {
		t.Errorf("%s was ordered to time out: %v", ref, err)
	}
	said := make([]rail.State, orders)
	var wait sync.WaitGroup
	for i := range orders {
		wait.Go(func() {
			outcome := []sim.Outcome{sim.Succeed, sim.Fail}[i%2]
			if err := bank.SetOutcome(ctx, ref, outcome); err != nil && !fault.Is(err, "payout_concluded") {
				t.Error(err)
			}
			s, err := bank.Query(ctx, money.NGN, ref)
			if err != nil {
				t.Error(err)
			}
			said[i] = s.State
		})
	}
	wait.Wait()
	for _, state := range said {
		if state != said[0] {
			t.Errorf("the bank said of %s: %v", ref, said)
		}
	}
}
