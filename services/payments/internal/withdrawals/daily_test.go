//go:build integration

package withdrawals_test

import (
	"sync"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/withdrawals"
)

// daily chooses daily settlements of NGN to an account.
func daily(w *fixture.Payments, accountID, minimum string) error {
	return dailyOf(w, fixture.Owner, accountID, minimum)
}

func dailyOf(w *fixture.Payments, o tenant.Owner, accountID, minimum string) error {
	least := decimal.RequireFromString(minimum)
	_, err := w.Withdrawals.ChangeSettings(w.T.Context(), o, withdrawals.Wish{
		DailySent: true, Daily: []withdrawals.Daily{{Currency: "NGN", AccountID: accountID, Minimum: &least}},
	}, &fault.Problems{})
	return err
}

// TestSettleDue withdraws all that is available once a day, however many leaders try, and leaves out a day with too
// little.
func TestSettleDue(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := rich(t, w, 2, number)
	if err := daily(w, account, "99000.01"); err != nil {
		t.Fatalf("ChangeSettings(daily) = %v, want no error", err)
	}
	settle := func() {
		t.Helper()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := w.Withdrawals.SettleDue(t.Context()); err != nil {
					t.Errorf("SettleDue() = %v, want no error", err)
				}
			})
		}
		all.Wait()
	}
	tomorrow := func() { w.SQL(`UPDATE settlement_days SET day = day - 1`) }
	made := func() int { return fixture.Ask[int](w, `SELECT count(*) FROM withdrawals`) }
	settle()
	if got, days := made(), fixture.Ask[int](w, `SELECT count(*) FROM settlement_days WHERE withdrawal_id = ''`); got != 0 || days != 1 {
		t.Errorf("a day below the minimum = %d withdrawals and %d days, want none and one", got, days)
	}
	tomorrow()
	if err := daily(w, account, "99000"); err != nil {
		t.Fatalf("ChangeSettings(daily) = %v, want no error", err)
	}
	settle()
	settle()
	if made() != 1 {
		t.Errorf("withdrawals of one day = %d, want 1", made())
	}
	wantBalance(w, "a daily settlement", "0 0")
	until(w, fixture.Ask[string](w, `SELECT withdrawal_id FROM settlement_days WHERE withdrawal_id <> ''`), "paid")
	tomorrow()
	settle()
	if made() != 1 {
		t.Errorf("withdrawals after a day with nothing = %d, want 1", made())
	}
	compared(w)
}

func TestChangeSettings_daily(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := settled(w, fixture.Owner, number)
	refusedWith(t, "ChangeSettings() with an unknown account", daily(w, "sac_x", "1"), "settlement_account_not_found")
	refusedWith(t, "ChangeSettings() with a minimum below zero", daily(w, account, "-1"), "validation_failed")
	if err := daily(w, account, "10.5"); err != nil {
		t.Fatalf("ChangeSettings(daily) = %v, want no error", err)
	}
	choose(w, "balance") // leaves the daily settlements as they are
	body, err := w.Withdrawals.Settings(t.Context(), fixture.Owner)
	want := `{"success":true,"settings":{"merchantPayments":"balance","daily":[{"currency":"NGN","settlementAccountId":"` + account + `","minimum":10.5}]}}`
	if err != nil || string(body) != want {
		t.Errorf("Settings() = %s, %v, want %s", body, err, want)
	}
	if _, err := w.Withdrawals.ChangeSettings(t.Context(), fixture.Owner, withdrawals.Wish{DailySent: true}, &fault.Problems{}); err != nil {
		t.Fatalf("ChangeSettings() without daily settlements = %v, want no error", err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM settlement_schedules`); n != 0 {
		t.Errorf("schedules after the empty list = %d, want none", n)
	}
}
