//go:build integration

package withdrawals_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/ledger"
)

// byHand books what a person pays to m1.
func byHand(w *fixture.Payments, ref, amount string) error {
	return w.Store.Book(w.T.Context(), "cli:ada", paid(ref, amount))
}

func paid(ref, amount string) ledger.Journal {
	return ledger.MerchantPaid(ref, "m1", "sim", "NGN", decimal.RequireFromString(amount))
}

// asks is the request of an operator for a booking that takes two.
func asks(operator, reason string) approval.Request {
	return approval.Request{Action: "book", Operator: "cli:" + operator, Digest: []byte("typed alike"), Reason: reason}
}

// TestBook_merchant: a payment by hand takes no more than is available, unless two operators say why, and what did not
// arrive is put back once, by two operators.
func TestBook_merchant(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	opened(w, "1000000", "5000")
	if err := byHand(w, "b1", "5000.01"); err == nil || !strings.Contains(err.Error(), "5000 NGN") {
		t.Errorf("Book() of more than is available = %v, want a refusal that names the 5000 NGN", err)
	}
	if err := byHand(w, "b1", "1500"); err != nil {
		t.Fatalf("Book() = %v, want no error", err)
	}
	if waits, err := w.Store.TakeBack(t.Context(), asks("ada", "typed"), "b1"); err != nil || !waits {
		t.Errorf("TakeBack() of one operator = %t, %v, want it to wait", waits, err)
	}
	if _, err := w.Store.TakeBack(t.Context(), asks("Ada", "typed"), "b1"); fault.As(err).Code != "second_operator_required" {
		t.Errorf("TakeBack() of the same operator again = %v, want second_operator_required", err)
	}
	if got := balance(w, live); got != "3500 0" {
		t.Errorf("balance after one operator wants to put 1500 back = %s, want 3500 0", got)
	}
	var all sync.WaitGroup
	var back atomic.Int32
	for range 4 { // one of them alone hears that it was booked
		all.Go(func() {
			switch waits, err := w.Store.TakeBack(t.Context(), asks("bo", "typed"), "b1"); {
			case err == nil && !waits:
				back.Add(1)
			case err == nil || !strings.Contains(err.Error(), "booked already"):
				t.Errorf("TakeBack() of the second operator = %t, %v, want it booked once and refused then", waits, err)
			}
		})
	}
	all.Wait()
	if got := balance(w, live); got != "5000 0" || back.Load() != 1 {
		t.Errorf("balance after 4 attempts to put 1500 back = %s with %d of them booked, want 5000 0 and 1", got, back.Load())
	}
	if _, err := w.Store.TakeBack(t.Context(), asks("ada", "typed"), "b9"); err == nil {
		t.Error("TakeBack() of what nobody booked = no error, want a refusal")
	}
	const reason = "paid before the release, ticket 4"
	for n, operator := range []string{"ada", "bo"} {
		waits, err := w.Store.BookTogether(t.Context(), asks(operator, reason), paid("b2", "5001"))
		if err != nil || waits != (n == 0) {
			t.Fatalf("BookTogether() of operator %d = %t, %v, want it to wait for the second one", n+1, waits, err)
		}
	}
	if got := balance(w, live); got != "-1 0" {
		t.Errorf("balance = %s, want -1 0", got)
	}
	if got := fixture.Ask[string](w, `SELECT min(detail->>'reason') FROM audit WHERE detail->>'key' = 'paid:b2'`); got != reason {
		t.Errorf("the audit says %q, want the reason", got)
	}
	if err := w.Store.Book(t.Context(), "cli:ada", ledger.MerchantPaid("b3", "unknown", "sim", "NGN", decimal.NewFromInt(1))); err == nil {
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
			if byHand(w, "b1", "100") == nil {
				told.Add(1)
			}
		})
	}
	all.Wait()
	if got := balance(w, live); told.Load() != 1 || got != "4900 0" {
		t.Errorf("8 bookings of one reference: %d were answered that they booked it, and the balance is %s, want 1 and 4900 0", told.Load(), got)
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
			if err := byHand(w, fmt.Sprint(n), "700"); err != nil && !strings.Contains(err.Error(), "available") {
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
