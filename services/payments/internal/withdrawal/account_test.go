package withdrawal_test

import (
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/withdrawal"
)

var start = time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)

func proposed(mode tenant.Mode) withdrawal.Account {
	return withdrawal.Account{ID: "sac_1", Owner: tenant.Owner{MerchantID: "m1", KeyID: 7, Mode: mode}, Receiver: payment.Receiver{AccountNumber: "0123456789"}}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return fault.As(err).Code
}

func TestAccount_confirm(t *testing.T) {
	const hold = 24 * time.Hour
	for _, mode := range tenant.Modes() {
		a := proposed(mode)
		if got := code(a.MayPay(start)); got != "settlement_account_unconfirmed" {
			t.Errorf("%s: MayPay() before the confirmation = %q, want settlement_account_unconfirmed", mode, got)
		}
		if _, err := a.Confirm("0123456780", 8, hold, start); code(err) != "settlement_account_differs" {
			t.Errorf("%s: Confirm() of another number = %v, want settlement_account_differs", mode, err)
		}
		a, err := a.Confirm("0123456789", 8, hold, start)
		if err != nil || a.ConfirmedBy != 8 || !a.ConfirmedAt.Equal(start) {
			t.Fatalf("%s: Confirm() = %+v, %v, want it confirmed by key 8", mode, a, err)
		}
		if _, err := a.Confirm("0123456789", 8, hold, start); code(err) != "settlement_account_confirmed" {
			t.Errorf("%s: Confirm() again = %v, want settlement_account_confirmed", mode, err)
		}
		want := ""
		if mode == tenant.Live {
			want = "settlement_account_held"
		}
		if got := code(a.MayPay(start.Add(hold - time.Second))); got != want {
			t.Errorf("%s: MayPay() within the hold = %q, want %q", mode, got, want)
		}
		if err := a.MayPay(start.Add(hold)); err != nil {
			t.Errorf("%s: MayPay() after the hold = %v, want no error", mode, err)
		}
		a.DeletedAt = start
		if got := code(a.MayPay(start.Add(hold))); got != "settlement_account_not_found" {
			t.Errorf("%s: MayPay() of a deleted account = %q, want settlement_account_not_found", mode, got)
		}
	}
}

func TestMayAdd(t *testing.T) {
	if err := withdrawal.MayAdd(make([]withdrawal.Account, withdrawal.AccountsMost-1)); err != nil {
		t.Errorf("MayAdd() of the last one = %v, want no error", err)
	}
	if got := code(withdrawal.MayAdd(make([]withdrawal.Account, withdrawal.AccountsMost))); got != "too_many_settlement_accounts" {
		t.Errorf("MayAdd() of one too many = %q, want too_many_settlement_accounts", got)
	}
}
