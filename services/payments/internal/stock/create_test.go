//go:build integration

package stock_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/stock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCreate_manyAtOnceHaveAddressesOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(400)
	const creates = 300
	addresses := make(chan string, creates)
	var all sync.WaitGroup
	for range creates {
		all.Go(func() {
			a, err := w.Create(fixture.Command(), idempotency.Key{})
			if err != nil {
				t.Error(err)
				return
			}
			var got struct {
				Payment struct{ DepositAddress string }
			}
			if err := json.Unmarshal(a.Body, &got); err != nil {
				t.Error(err)
			}
			addresses <- got.Payment.DepositAddress
		})
	}
	all.Wait()
	close(addresses)
	seen := map[string]bool{}
	for a := range addresses {
		seen[a] = true
	}
	if len(seen) != creates {
		t.Errorf("%d different addresses of %d", len(seen), creates)
	}
	if err := w.Store.CleanStock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM address_stock s JOIN payments p USING (mode, family, address)`); n != 0 {
		t.Errorf("%d used addresses are still in the stock", n)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM address_stock`); n != 100 {
		t.Errorf("%d addresses left, want 100", n)
	}
}

func TestCreate_dryStock(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	start := time.Now()
	_, err := w.Create(fixture.Command(), idempotency.Key{})
	if !errors.Is(err, stock.ErrNoAddress) {
		t.Fatalf("no stock: %v", err)
	}
	if waited := time.Since(start); waited < 2*time.Second || waited > 5*time.Second {
		t.Errorf("waited %v, want about 3 s", waited)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 0 {
		t.Error("a payment was written")
	}
	done := make(chan error, 1)
	go func() {
		_, err := w.Create(fixture.Command(), idempotency.Key{})
		done <- err
	}()
	w.Fill(1) // the waiting create finds it
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An address that received money before a payment had it is given to no payment.
func TestCreate_passesOverASpoiltAddress(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(3)
	first := w.Make(fixture.Command()) // leases all three
	stray := first
	stray.Address = fixture.Ask[string](w, `SELECT address FROM address_stock WHERE address <> $1 ORDER BY id LIMIT 1`, first.Address)
	w.See(stray, fixture.Coin{Key: "t1", Amount: "5", Version: 1, Depth: 30})
	next := w.Make(fixture.Command())
	if next.Address == stray.Address {
		t.Error("a spoilt address was handed out")
	}
	if got := fixture.Ask[string](w, `SELECT string_agg(account || ' ' || side || ' ' || amount, ', ' ORDER BY line) FROM ledger_entries`); got !=
		"test:crypto:deposit:tron:USDT debit 5, test:suspense:USDT credit 5" {
		t.Errorf("booked %s", got)
	}
	w.See(stray, fixture.Coin{Key: "t1", Amount: "5", Version: 2, Depth: 0, Reverted: true})
	if n := fixture.Ask[int](w, `SELECT count(*) FROM ledger_journals`); n != 2 {
		t.Errorf("%d journals after the reorg, want the booking and its reversal", n)
	}
	w.Balanced()
	if w.Alerts.Load() == 0 {
		t.Error("no alert")
	}
}
