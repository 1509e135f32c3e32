//go:build integration

package withdrawals_test

import (
	"fmt"
	"strings"
	"sync"
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
	if err := byHand(w, "b1 back", "-1500", ""); err != nil {
		t.Fatalf("Book() of what came back = %v, want no error", err)
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
