//go:build integration

package withdrawals_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
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

// TestSettleDue_suspended: a suspension leaves the balance where it is, also one that comes between the list of due
// settlements and the settlement. After the resumption the day is settled, unless the account is deleted meanwhile.
func TestSettleDue_suspended(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		t.Run(fmt.Sprintf("deleted %t", deleted), func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			account := rich(t, w, 1, number)
			if err := daily(w, account, "1"); err != nil {
				t.Fatalf("ChangeSettings(daily) = %v, want no error", err)
			}
			version := int64(1)
			keep := func(suspended bool) {
				t.Helper()
				version++
				if err := w.Store.KeepTerms(t.Context(), admission.Term{MerchantID: fixture.Owner.MerchantID, Version: version, Suspended: suspended}); err != nil {
					t.Fatalf("KeepTerms() = %v, want no error", err)
				}
			}
			made := func(when string, want int) {
				t.Helper()
				if err := w.Withdrawals.SettleDue(t.Context()); err != nil {
					t.Fatalf("SettleDue() %s = %v, want no error", when, err)
				}
				if got := fixture.Ask[int](w, `SELECT count(*) FROM withdrawals`); got != want {
					t.Errorf("withdrawals %s = %d, want %d", when, got, want)
				}
			}
			first := w.Withdrawals.Store
			w.Withdrawals.Store = suspends{first, func() { keep(true) }}
			made("of a merchant that is suspended just then", 0)
			w.Withdrawals.Store = first
			made("of a suspended merchant", 0)
			_, err := withdraw(w, fixture.Owner, "1000", account)
			refusedWith(t, "Withdraw() of a suspended merchant", err, "merchant_suspended")
			if n := fixture.Ask[int](w, `SELECT count(*) FROM settlement_days`); n != 0 {
				t.Errorf("days of a suspended merchant = %d, want none", n)
			}
			wantBalance(w, "a suspension", "49500 0")
			want := 1
			if deleted {
				want = 0
				if _, err := w.Withdrawals.DeleteAccount(t.Context(), fixture.Owner, account); err != nil {
					t.Fatalf("RemoveAccount() = %v, want no error", err)
				}
			}
			keep(false)
			made("after the resumption", want)
		})
	}
}

// suspends does something once the due settlements are listed.
type suspends struct {
	withdrawals.Store
	do func()
}

func (s suspends) DueSettlements(ctx context.Context, modes []tenant.Mode, after withdrawals.Due, most int) ([]withdrawals.Due, error) {
	due, err := s.Store.DueSettlements(ctx, modes, after, most)
	s.do()
	return due, err
}

// TestSettleDue_everyDay: the settlement of the day before does not count towards the bound of two operators, although
// it is less than 24 hours old. Everything else does.
func TestSettleDue_everyDay(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	opened(w, "500", "400")
	account := settled(w, live, number)
	if err := dailyOf(w, live, account, "0"); err != nil {
		t.Fatalf("ChangeSettings(daily) = %v, want no error", err)
	}
	settle := func() {
		t.Helper()
		w.NextMillisecond()
		if err := w.Withdrawals.SettleDue(t.Context()); err != nil {
			t.Fatalf("SettleDue() = %v, want no error", err)
		}
	}
	states := func() string {
		return fixture.Ask[string](w, `SELECT string_agg(state || ' ' || amount, ', ' ORDER BY id) FROM withdrawals`)
	}
	passed := 0
	nextDay := func() { // the newest day goes behind those that have passed
		passed++
		w.SQL(`UPDATE settlement_days SET day = day - $1::int WHERE day = (SELECT max(day) FROM settlement_days)`, passed)
		gains(w, "400")
	}
	settle()
	nextDay()
	settle()
	if got, want := states(), "approved 400, approved 400"; got != want {
		t.Errorf("settlements of 400 on two days with a bound of 500 = %s, want %s", got, want)
	}
	nextDay()
	if _, err := withdraw(w, live, "150", account); err != nil {
		t.Fatalf("Withdraw() = %v, want no error", err)
	}
	settle()
	if got, want := states(), "approved 400, approved 400, requested 150, approved 250"; got != want {
		t.Errorf("a withdrawal beside the settlement of the day = %s, want %s", got, want)
	}
	nextDay()
	settle()
	if got, want := states(), "approved 400, approved 400, requested 150, approved 250, requested 400"; got != want {
		t.Errorf("a settlement of 400 after a withdrawal of 150 = %s, want %s", got, want)
	}
}

// gains is money that m1 has earned in live mode.
func gains(w *fixture.Payments, amount string) {
	w.T.Helper()
	w.SQL(`WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('gain' || random(), 'settled_by_caller') RETURNING id)
		INSERT INTO ledger_entries (journal_id, line, account, asset, side, amount)
		SELECT id, 1, 'fx:NGN', 'NGN', 'debit', $1::text::numeric FROM j UNION ALL SELECT id, 2, 'merchant:m1:NGN', 'NGN', 'credit', $1::text::numeric FROM j`, amount)
}

// TestSettleDue_behindOthers: neither settlements of a closed mode nor those that fail, however many, hold up the
// others. One that fails is tried again later.
func TestSettleDue_behindOthers(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := rich(t, w, 1, number)
	if err := daily(w, account, "1"); err != nil {
		t.Fatalf("ChangeSettings(daily) = %v, want no error", err)
	}
	w.SQL(`WITH n AS (SELECT to_char(n, 'FM000') AS n FROM generate_series(1, 130) n), a AS (
		INSERT INTO settlement_accounts (id, merchant_id, mode, currency, receiver, created_at, created_by)
		SELECT 'sac_' || mode || n, 'a' || mode || n, mode, 'NGN', 'not sealed', now(), 1 FROM n, unnest('{live,test}'::text[]) mode RETURNING id, merchant_id, mode)
		INSERT INTO settlement_schedules (merchant_id, mode, currency, account_id, minimum, key_id)
		SELECT merchant_id, mode, 'NGN', id, 0, 1 FROM a`)
	if err := w.Withdrawals.SettleDue(t.Context()); err == nil {
		t.Error("SettleDue() with accounts that cannot be read = no error, want one")
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM withdrawals`); n != 1 {
		t.Errorf("withdrawals behind 130 of a closed mode and 130 that fail = %d, want 1", n)
	}
	if err := w.Withdrawals.SettleDue(t.Context()); err != nil {
		t.Errorf("SettleDue() soon after failures = %v, want them left for later", err)
	}
	w.SQL(`UPDATE settlement_schedules SET retry_at = now() - interval '1 second' WHERE merchant_id = 'atest130'`)
	w.SQL(`UPDATE settlement_schedules SET retry_at = now() - interval '2 days' WHERE merchant_id = 'atest129'`)
	if err := w.Withdrawals.SettleDue(t.Context()); err == nil {
		t.Error("SettleDue() when a failed settlement is due again = no error, want one")
	}
	got := fixture.Ask[string](w, `SELECT string_agg(failures::text, ' ' ORDER BY merchant_id) FROM settlement_schedules WHERE merchant_id IN ('atest128', 'atest129', 'atest130')`)
	if got != "1 1 2" {
		t.Errorf("failures of one that waits, one that was well for a day and one that failed twice = %s, want 1 1 2", got)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM settlement_schedules WHERE mode = 'live' AND failures > 0`); n != 0 {
		t.Errorf("settlements of a closed mode that failed = %d, want none tried", n)
	}
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

// TestRetain_settlementDays: days of daily settlements are forgotten after thirty days, unless their withdrawal still
// counts towards the bound of two operators.
func TestRetain_settlementDays(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := settled(w, fixture.Owner, number)
	w.SQL(`INSERT INTO withdrawals (id, merchant_id, mode, key_id, currency, amount, account_id, rail, state, attempt, holds, takes, version, sequence, created_at, approved_at, ended_at)
		SELECT id, 'm2', 'live', 1, 'NGN', 5, $1, 'sim', state, 1, 0, 0, 1, 1, now() - interval '40 days', approved, ended
		FROM (VALUES ('wdr_waits', 'requested', NULL::timestamptz, NULL::timestamptz), ('wdr_today', 'approved', now() - interval '23 hours', NULL),
			('wdr_old', 'paid', now() - interval '40 days', now())) AS v (id, state, approved, ended)`, account)
	w.SQL(`INSERT INTO settlement_days (merchant_id, mode, currency, day, withdrawal_id)
		SELECT 'm2', 'live', 'NGN', (now() AT TIME ZONE 'UTC')::date - d, id FROM (VALUES (40, 'wdr_waits'), (41, 'wdr_today'), (42, 'wdr_old')) AS v (d, id)`)
	w.SQL(`INSERT INTO settlement_days (merchant_id, mode, currency, day)
		SELECT 'm1', 'live', 'NGN', (now() AT TIME ZONE 'UTC')::date - d FROM unnest(ARRAY[0, 29, 32, 400]) d`)
	if err := w.Store.Retain(t.Context()); err != nil {
		t.Fatalf("Retain() = %v, want no error", err)
	}
	if got, want := fixture.Ask[string](w, `SELECT coalesce(string_agg(withdrawal_id, ' ' ORDER BY withdrawal_id), 'none') FROM settlement_days WHERE merchant_id = 'm2'`), "wdr_today wdr_waits"; got != want {
		t.Errorf("days after Retain() of withdrawals made 40 days ago = %s, want %s: one waits, and one was approved within 24 hours", got, want)
	}
	if got := fixture.Ask[int](w, `SELECT count(*) FROM settlement_days WHERE merchant_id = 'm1'`); got != 2 {
		t.Errorf("days after Retain() = %d, want 2: those of today and of 29 days ago", got)
	}
}
