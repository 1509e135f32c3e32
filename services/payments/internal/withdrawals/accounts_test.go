//go:build integration

package withdrawals_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/withdrawal"
	"causeway.internal/services/payments/internal/withdrawals"
)

const number = "0123456789"

func proposal(number string) withdrawals.Proposal {
	return withdrawals.Proposal{Currency: "NGN", Receiver: &payment.ReceiverInput{BankCode: "058", AccountNumber: number}}
}

func add(w *fixture.Payments, o tenant.Owner, number string) (string, error) {
	a, err := w.Withdrawals.AddAccount(w.T.Context(), o, proposal(number), &fault.Problems{}, idempotency.Key{})
	var got struct{ SettlementAccount struct{ ID string } }
	if err == nil && json.Unmarshal(a.Body, &got) != nil {
		w.T.Fatalf("AddAccount(%s) = %s, want an account", number, a.Body)
	}
	return got.SettlementAccount.ID, err
}

func confirm(w *fixture.Payments, o tenant.Owner, accountID, number string) error {
	_, err := w.Withdrawals.ConfirmAccount(w.T.Context(), o, accountID, number, &fault.Problems{}, idempotency.Key{})
	return err
}

func refusedWith(t *testing.T, doing string, err error, want string) {
	t.Helper()
	if got := ""; err == nil || fault.As(err).Code != want {
		if err != nil {
			got = fault.As(err).Code
		}
		t.Errorf("%s = %q (%v), want %s", doing, got, err, want)
	}
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	own := fixture.Owner
	id, err := add(w, own, number)
	if err != nil || !strings.HasPrefix(id, "sac_") {
		t.Fatalf("AddAccount() = %s, %v, want an account", id, err)
	}
	if kept := fixture.Ask[[]byte](w, `SELECT receiver FROM settlement_accounts`); strings.Contains(string(kept), number) {
		t.Error("the table holds the account number in the clear, want it sealed")
	}
	refusedWith(t, "ConfirmAccount() with another number", confirm(w, own, id, "0123456780"), "settlement_account_differs")
	for name, o := range map[string]tenant.Owner{
		"another merchant": {MerchantID: "m2", Mode: tenant.Test}, "the other mode": {MerchantID: own.MerchantID, Mode: tenant.Live},
	} {
		refusedWith(t, "ConfirmAccount() by "+name, confirm(w, o, id, number), "settlement_account_not_found")
		_, err := w.Withdrawals.DeleteAccount(t.Context(), o, id)
		refusedWith(t, "DeleteAccount() by "+name, err, "settlement_account_not_found")
		_, err = w.Withdrawals.ShowAccount(t.Context(), o, id)
		refusedWith(t, "ShowAccount() by "+name, err, "settlement_account_not_found")
	}
	if err := confirm(w, own, id, number); err != nil {
		t.Fatalf("ConfirmAccount() = %v, want no error", err)
	}
	shown, err := w.Withdrawals.ShowAccount(t.Context(), own, id)
	if err != nil || !strings.Contains(string(shown), `"status":"active","heldUntil":null`) || strings.Contains(string(shown), number) ||
		!strings.Contains(string(shown), `"accountNumber":"******6789"`) || strings.Contains(string(shown), `"accountName":""`) {
		t.Errorf("ShowAccount() = %s, %v, want it active, without a hold in test mode, with a name and a covered number", shown, err)
	}
	if _, err := w.Withdrawals.DeleteAccount(t.Context(), own, id); err != nil {
		t.Errorf("DeleteAccount() = %v, want no error", err)
	}
	if got, want := eventsOf(w, id), "1 settlement_account.added, 2 settlement_account.confirmed, 3 settlement_account.deleted"; got != want {
		t.Errorf("events of the account = %s, want %s", got, want)
	}
	list, err := w.Withdrawals.AccountList(t.Context(), own)
	if err != nil || string(list) != `{"success":true,"settlementAccounts":[]}` {
		t.Errorf("AccountList() after the deletion = %s, %v, want none", list, err)
	}
	_, err = add(w, own, sim.AccountNotFound)
	refusedWith(t, "AddAccount() of an unknown account", err, "validation_failed")
	_, err = add(w, own, sim.AccountNameDown)
	refusedWith(t, "AddAccount() without names", err, "name_service_unavailable")
}

// TestAccounts_most lets as many accounts be made as are allowed, however many requests come at once.
func TestAccounts_most(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	var all sync.WaitGroup
	for n := range 2 * withdrawal.AccountsMost {
		all.Go(func() {
			if _, err := add(w, fixture.Owner, fmt.Sprintf("01234567%02d", n+10)); err != nil && fault.As(err).Code != "too_many_settlement_accounts" {
				t.Errorf("AddAccount(%d) = %v, want an account or a refusal of too many", n, err)
			}
		})
	}
	all.Wait()
	if got := fixture.Ask[int](w, `SELECT count(*) FROM settlement_accounts`); got != withdrawal.AccountsMost {
		t.Errorf("accounts after twice as many requests = %d, want %d", got, withdrawal.AccountsMost)
	}
}

// TestAccounts_hold keeps live money from leaving for a day after the confirmation.
func TestAccounts_hold(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.With(func(d *fixture.Deps) {
		d.Providers[tenant.Live], d.AccountHold = d.Providers[tenant.Test], 24*time.Hour
	})
	live := tenant.Owner{MerchantID: "m1", KeyID: 7, Mode: tenant.Live}
	id, err := add(w, live, number)
	if err != nil {
		t.Fatalf("AddAccount() = %v, want no error", err)
	}
	if err := confirm(w, live, id, number); err != nil {
		t.Fatalf("ConfirmAccount() = %v, want no error", err)
	}
	if !fixture.Ask[bool](w, `SELECT held_until = confirmed_at + interval '24 hours' FROM settlement_accounts`) {
		t.Error("the account is not held for a day after its confirmation")
	}
	w.SQL(`UPDATE settlement_accounts SET held_until = now() - interval '1 month'`)
	for range 2 { // every process that starts holds it
		if err := w.Store.Recover(t.Context(), 24*time.Hour); err != nil {
			t.Fatalf("Recover() = %v, want no error", err)
		}
	}
	if !fixture.Ask[bool](w, `SELECT held_until BETWEEN now() + interval '23 hours' AND now() + interval '24 hours' FROM settlement_accounts`) {
		t.Error("the account of a restored database is not held for a day, in which its merchant can delete it again")
	}
}
