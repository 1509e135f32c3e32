//go:build integration

package withdrawals_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/withdrawals"
)

// unowned is a payment of type merchant without a receiver, of which 49 500 NGN are owed.
func unowned() payment.Command {
	c := fixture.Command()
	c.Type, c.Receiver = "merchant", nil
	return c
}

// choose sets how the owner's payments without a receiver are settled.
func choose(w *fixture.Payments, how string) {
	w.T.Helper()
	if _, err := w.Withdrawals.ChangeSettings(w.T.Context(), fixture.Owner, withdrawals.Wish{MerchantPayments: how}, &fault.Problems{}); err != nil {
		w.T.Fatalf("ChangeSettings(%s) = %v, want no error", how, err)
	}
}

// arrives delivers the whole money of a payment, final or deep enough only.
func arrives(w *fixture.Payments, p payment.Payment, final bool) {
	w.T.Helper()
	version := int64(1)
	if final {
		version = 2
	}
	m := w.Message(p, fixture.Coin{Key: p.ID, Amount: p.Quote.CryptoAmount.String(), Version: version, Depth: fixture.Enough})
	m.Finalized = final
	w.Deliver(m)
}

// balance is available and pending NGN of an owner.
func balance(w *fixture.Payments, o tenant.Owner) string {
	w.T.Helper()
	body, err := w.Withdrawals.Balances(w.T.Context(), o)
	if err != nil {
		w.T.Fatalf("Balances() = %v, want no error", err)
	}
	var got struct {
		Fiat []struct {
			Currency           string
			Available, Pending json.Number
		}
	}
	if err := json.Unmarshal(body, &got); err != nil || len(got.Fiat) != 4 || got.Fiat[0].Currency != "NGN" {
		w.T.Fatalf("Balances() = %s, %v, want one entry for each of four currencies", body, err)
	}
	return fmt.Sprintf("%s %s", got.Fiat[0].Available, got.Fiat[0].Pending)
}

func wantBalance(w *fixture.Payments, after, want string) {
	w.T.Helper()
	if got := balance(w, fixture.Owner); got != want {
		w.T.Errorf("available and pending after %s = %s, want %s", after, got, want)
	}
}

func TestBalances(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	wantBalance(w, "nothing", "0 0")

	own := w.Make(unowned()) // before the choice: settled as ever
	choose(w, "balance")
	p := w.Make(unowned())
	if own.ToBalance || !p.ToBalance {
		t.Errorf("credited: %v before the choice and %v after it, want false and true", own.ToBalance, p.ToBalance)
	}
	arrives(w, p, false)
	w.Want(p, "confirmed")
	wantBalance(w, "a confirmed payment", "0 49500")
	gone := w.Message(p, fixture.Coin{Key: p.ID, Amount: p.Quote.CryptoAmount.String(), Version: 2, Reverted: true})
	w.Deliver(gone)
	w.Want(p, "pending reorged")
	wantBalance(w, "a reorganisation", "0 0")
	back := w.Message(p, fixture.Coin{Key: p.ID, Amount: p.Quote.CryptoAmount.String(), Version: 3, Depth: fixture.Enough})
	w.Deliver(back)
	back.Version, back.Finalized = 4, true
	w.Deliver(back)
	w.Want(p, "settled")
	wantBalance(w, "the final block", "49500 0")
	w.Deliver(back)
	wantBalance(w, "the same message again", "49500 0")

	arrives(w, own, true)
	w.Want(own, "confirmed")
	wantBalance(w, "money that waits for the caller", "49500 49500")
	if err := w.Settle(own.Reference, w.Token()); err != nil {
		t.Fatalf("Settle() = %v, want no error", err)
	}
	wantBalance(w, "the caller's settlement", "99000 0")

	transfer := w.Make(fixture.Command()) // owed to its receiver
	arrives(w, transfer, true)
	wantBalance(w, "a transfer", "99000 0")
	for _, o := range []tenant.Owner{{MerchantID: "other", Mode: tenant.Test}, {MerchantID: fixture.Owner.MerchantID, Mode: tenant.Live}} {
		if got := balance(w, o); got != "0 0" {
			t.Errorf("balance of %+v = %s, want 0 0", o, got)
		}
	}
	choose(w, "self")
	if later := w.Make(unowned()); later.ToBalance {
		t.Error("a payment after the choice of self is credited, want it settled by its caller")
	}
	w.Balanced()
}

// TestBalances_parallel credits one balance from many payments at once.
func TestBalances_parallel(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	const many = 24
	w.Fill(many)
	choose(w, "balance")
	var all sync.WaitGroup
	for range many {
		p := w.Make(unowned())
		all.Go(func() { arrives(w, p, true) })
	}
	all.Wait()
	wantBalance(w, "24 payments at once", fmt.Sprint(many*49500, " 0"))
	w.Balanced()
}

func TestChangeSettings_refused(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.With(func(d *fixture.Deps) { d.NoCredit = true })
	_, err := w.Withdrawals.ChangeSettings(t.Context(), fixture.Owner, withdrawals.Wish{MerchantPayments: "balance"}, &fault.Problems{})
	refusedWith(t, "ChangeSettings(balance) beside an earlier release", err, "balance_unavailable")
	choose(w, "self")
	if _, err := w.Withdrawals.ChangeSettings(t.Context(), fixture.Owner, withdrawals.Wish{MerchantPayments: "mine"}, &fault.Problems{}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("ChangeSettings(mine) = %v, want a refusal of the field", err)
	}
	body, err := w.Withdrawals.Settings(t.Context(), fixture.Owner)
	if want := `{"success":true,"settings":{"merchantPayments":"self","daily":[]}}`; err != nil || string(body) != want {
		t.Errorf("Settings() = %s, %v, want %s", body, err, want)
	}
}
