//go:build integration

package withdrawals_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/ledger"
)

// byHand books what a person pays to m1.
func byHand(w *fixture.Payments, ref, amount, overdraw string) error {
	return w.Store.Book(w.T.Context(), "cli:ada", ledger.MerchantPaid(ref, "m1", "sim", "NGN", decimal.RequireFromString(amount)), overdraw)
}

// TestBook_merchant: a payment by hand takes no more than is available, unless the operator says why, and what did not
// arrive is put back.
func TestBook_merchant(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	opened(w, "1000000", "5000")
	if err := byHand(w, "b1", "5000.01", ""); err == nil || !strings.Contains(err.Error(), "5000 NGN") {
		t.Errorf("Book() of more than is available = %v, want a refusal that names the 5000 NGN", err)
	}
	if err := byHand(w, "b1", "1500", ""); err != nil {
		t.Fatalf("Book() = %v, want no error", err)
	}
	var all sync.WaitGroup
	var back atomic.Int32
	for range 4 { // one operator alone hears that it was booked
		all.Go(func() {
			switch err := w.Store.TakeBack(t.Context(), "cli:ada", "b1"); {
			case err == nil:
				back.Add(1)
			case !strings.Contains(err.Error(), "booked already"):
				t.Errorf("TakeBack() = %v, want it booked once and refused then", err)
			}
		})
	}
	all.Wait()
	if got := balance(w, live); got != "5000 0" || back.Load() != 1 {
		t.Errorf("balance after 4 attempts to put 1500 back = %s with %d of them booked, want 5000 0 and 1", got, back.Load())
	}
	if err := w.Store.TakeBack(t.Context(), "cli:ada", "b9"); err == nil {
		t.Error("TakeBack() of what nobody booked = no error, want a refusal")
	}
	if err := byHand(w, "b2", "5001", "paid before the release, ticket 4"); err != nil {
		t.Fatalf("Book() with a reason = %v, want no error", err)
	}
	if got := balance(w, live); got != "-1 0" {
		t.Errorf("balance = %s, want -1 0", got)
	}
	if got := fixture.Ask[string](w, `SELECT detail->>'overdraw' FROM audit WHERE detail->>'key' = 'paid:b2'`); got != "paid before the release, ticket 4" {
		t.Errorf("the audit says %q, want the reason", got)
	}
	if err := w.Store.Book(t.Context(), "cli:ada", ledger.MerchantPaid("b3", "unknown", "sim", "NGN", decimal.NewFromInt(1)), ""); err == nil {
		t.Error("Book() for a merchant without a balance = no error, want a refusal")
	}
	w.Balanced()
}

// TestBook_oneReference: of operators who book one reference at the same time, one alone hears that it is booked.
func TestBook_oneReference(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	opened(w, "1000000", "5000")
	var all sync.WaitGroup
	var told atomic.Int32
	for range 8 {
		all.Go(func() {
			if byHand(w, "b1", "100", "") == nil {
				told.Add(1)
			}
		})
	}
	all.Wait()
	if got := balance(w, live); told.Load() != 1 || got != "4900 0" {
		t.Errorf("8 bookings of one reference: %d were told that they booked it, and the balance is %s, want 1 and 4900 0", told.Load(), got)
	}
}

// TestBook_whileWithdrawn: payments by hand and withdrawals at the same time never take more than there is.
func TestBook_whileWithdrawn(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	opened(w, "1000000", "5000")
	account := settled(w, live, number)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			if err := byHand(w, fmt.Sprint(n), "700", ""); err != nil && !strings.Contains(err.Error(), "available") {
				t.Errorf("Book() = %v, want a booking or a refusal", err)
			}
		})
		all.Go(func() {
			if _, err := withdraw(w, live, "700", account); err != nil && fault.As(err).Code != "insufficient_balance" {
				t.Errorf("Withdraw() = %v, want a withdrawal or insufficient_balance", err)
			}
		})
	}
	all.Wait()
	if got := balance(w, live); got != "100 0" {
		t.Errorf("balance after 16 attempts to take 700 of 5000 = %s, want 100 0", got)
	}
	w.Balanced()
}
