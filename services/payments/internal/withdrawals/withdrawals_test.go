//go:build integration

package withdrawals_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/bank"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/withdrawal"
	"causeway.internal/services/payments/internal/withdrawals"
)

// rich makes payments whose owner has 49 500 NGN for each payment, and a confirmed account.
func rich(t *testing.T, w *fixture.Payments, many int, account string) (accountID string) {
	t.Helper()
	w.Fill(many)
	choose(w, "balance")
	for range many {
		arrives(w, w.Make(unowned()), true)
	}
	return settled(w, fixture.Owner, account)
}

// settled is a confirmed account of an owner.
func settled(w *fixture.Payments, o tenant.Owner, account string) string {
	w.T.Helper()
	id, err := add(w, o, account)
	if err == nil {
		err = confirm(w, o, id, account)
	}
	if err != nil {
		w.T.Fatalf("add and confirm an account = %v, want no error", err)
	}
	return id
}

func order(amount, accountID string) withdrawals.Order {
	d := decimal.RequireFromString(amount)
	return withdrawals.Order{Currency: "NGN", Amount: &d, AccountID: accountID}
}

func withdraw(w *fixture.Payments, o tenant.Owner, amount, accountID string) (string, error) {
	a, err := w.Withdrawals.Withdraw(w.T.Context(), o, order(amount, accountID), &fault.Problems{}, idempotency.Key{})
	var got struct{ Withdrawal struct{ ID string } }
	if err == nil && json.Unmarshal(a.Body, &got) != nil {
		w.T.Fatalf("Withdraw(%s) = %s, want a withdrawal", amount, a.Body)
	}
	return got.Withdrawal.ID, err
}

func state(w *fixture.Payments, id string) string {
	w.T.Helper()
	return fixture.Ask[string](w, `SELECT state || CASE failure WHEN '' THEN '' ELSE ' ' || failure END FROM withdrawals WHERE id = $1`, id)
}

// until works on payouts until a withdrawal has a state.
func until(w *fixture.Payments, id, want string) {
	w.T.Helper()
	w.Work(func() bool { w.Hurry(); return state(w, id) == want })
}

// heard are the states in the events of a withdrawal, in order.
func heard(w *fixture.Payments, id string) string {
	return strings.ReplaceAll(eventsOf(w, id), "withdrawal.", "")
}

// eventsOf are the types of the events of an object, in order.
func eventsOf(w *fixture.Payments, id string) string {
	w.T.Helper()
	rows, err := w.Pool.Query(w.T.Context(), `SELECT body FROM outbox WHERE name = $1 ORDER BY id`, string(wire.PaymentStatusChangedV1))
	if err != nil {
		w.T.Fatalf("read the outbox = %v, want no error", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var body []byte
		var m wire.StatusChanged
		if err := rows.Scan(&body); err != nil {
			w.T.Fatalf("read the outbox = %v, want no error", err)
		}
		if err := json.Unmarshal(body, &m); err != nil {
			w.T.Fatalf("read a message = %v, want no error", err)
		}
		if m.ObjectID != id {
			continue
		}
		if strings.Contains(string(m.Body), number) || m.CallbackURL != "" || !wire.PaymentStatusChangedV1.MayTell(m.Type, id) || !wire.IsEventType(m.Type) {
			w.T.Errorf("event %s = %s, want a known one without the whole account number and without a callback", m.Type, m.Body)
		}
		out = append(out, fmt.Sprint(m.Sequence, " ", m.Type))
	}
	return strings.Join(out, ", ")
}

func compared(w *fixture.Payments) {
	w.T.Helper()
	w.Balanced()
	found, err := w.Store.Compare(w.T.Context())
	if err != nil || len(found) > 0 {
		w.T.Errorf("the daily comparison = %+v, %v, want no difference", found, err)
	}
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := rich(t, w, 2, number)
	id, err := withdraw(w, fixture.Owner, "60000.50", account)
	if err != nil {
		t.Fatalf("Withdraw() = %v, want no error", err)
	}
	wantBalance(w, "a withdrawal that is under way", "38999.5 0")
	until(w, id, "paid")
	wantBalance(w, "a withdrawal that was paid", "38999.5 0")
	if got, want := heard(w, id), "1 requested, 2 approved, 3 sending, 4 paid"; got != want {
		t.Errorf("events = %s, want %s", got, want)
	}
	got := fixture.Ask[string](w, `SELECT account_number || ' ' || amount || ' ' || ref FROM sim_transfers`)
	if want := number + " 60000.5 " + strings.ReplaceAll(id, "_", "-") + "-1"; got != want {
		t.Errorf("the bank's transfers = %s, want %s", got, want)
	}
	compared(w)

	for name, c := range map[string]struct {
		o       tenant.Owner
		amount  string
		account string
		want    string
	}{
		"more than the balance":   {fixture.Owner, "38999.51", account, "insufficient_balance"},
		"an unknown account":      {fixture.Owner, "1", "sac_x", "settlement_account_not_found"},
		"another merchant":        {tenant.Owner{MerchantID: "m2", Mode: tenant.Test}, "1", account, "settlement_account_not_found"},
		"live mode, closed":       {tenant.Owner{MerchantID: "m1", Mode: tenant.Live}, "1", account, "live_disabled"},
		"nothing":                 {fixture.Owner, "0", account, "validation_failed"},
		"three decimal places":    {fixture.Owner, "1.001", account, "validation_failed"},
		"less than the rail pays": {fixture.Owner, "0.01", account, "amount_out_of_range"},
		"more than the rail pays": {fixture.Owner, "50000000.01", account, "amount_out_of_range"},
		"an unconfirmed account":  {fixture.Owner, "1", first(add(w, fixture.Owner, "0123456788")), "settlement_account_unconfirmed"},
	} {
		_, err := withdraw(w, c.o, c.amount, c.account)
		refusedWith(t, "Withdraw() of "+name, err, c.want)
	}
	if _, err := w.Withdrawals.Show(t.Context(), tenant.Owner{MerchantID: "m2", Mode: tenant.Test}, id); fault.As(err).Kind != fault.NotFound {
		t.Errorf("Show() to another merchant = %v, want not found", err)
	}
	for range 2 {
		if _, err := withdraw(w, fixture.Owner, "1", account); err != nil {
			t.Fatalf("Withdraw(1) = %v, want no error", err)
		}
		w.NextMillisecond()
	}
	if n := len(fixture.Pages(t, "withdrawals", func(before string) ([]byte, error) { return w.Withdrawals.List(t.Context(), fixture.Owner, before, 2) })); n != 3 {
		t.Errorf("withdrawals on all pages = %d, want 3", n)
	}
}

func first[T any](v T, _ error) T { return v }

// TestWithdraw_oneKey pays once however often a request is repeated.
func TestWithdraw_oneKey(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := rich(t, w, 1, number)
	key := idempotency.Key{Scope: "withdrawals", Key: "k"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			a, err := w.Withdrawals.Withdraw(t.Context(), fixture.Owner, order("30000", account), &fault.Problems{}, key)
			if err != nil && fault.As(err).Code != "idempotency_in_progress" || err == nil && a.Status != 201 {
				t.Errorf("Withdraw() of most of the balance with one key = %d %s, %v, want the one answer", a.Status, a.Body, err)
			}
		})
	}
	all.Wait()
	if n := fixture.Ask[int](w, `SELECT count(*) FROM withdrawals`); n != 1 {
		t.Errorf("withdrawals of one key = %d, want 1", n)
	}
	wantBalance(w, "one withdrawal", "19500 0")
	again, err := w.Withdrawals.Withdraw(t.Context(), fixture.Owner, order("30000", account), &fault.Problems{}, key)
	if err != nil || !strings.Contains(string(again.Body), `"accountName":"`) {
		t.Errorf("Withdraw() once more = %s, %v, want the first answer", again.Body, err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM idempotency WHERE encode(body, 'escape') LIKE '%accountName%'`); n != 0 {
		t.Errorf("answers that keep the name of an account in the clear = %d, want none", n)
	}
}

// TestWithdraw_ends: each end of a payout at the simulated bank, with the money where it belongs.
func TestWithdraw_ends(t *testing.T) {
	t.Parallel()
	for account, c := range map[string]struct{ end, left string }{
		sim.AccountFails:       {"failed payout_failed", "49500 0"},
		sim.AccountReturns:     {"returned", "49500 0"},
		sim.AccountTimesOut:    {"paid", "48500 0"},
		sim.AccountNeverArrive: {"paid", "48500 0"},
	} {
		t.Run(account, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			id, err := withdraw(w, fixture.Owner, "1000", rich(t, w, 1, account))
			if err != nil {
				t.Fatalf("Withdraw() = %v, want no error", err)
			}
			if account == sim.AccountReturns { // the bank sends it back in its own time
				w.Work(func() bool { return state(w, id) == c.end })
			} else {
				until(w, id, c.end)
			}
			wantBalance(w, c.end, c.left)
			compared(w)
		})
	}
}

// TestWithdraw_parallel: 64 withdrawals at once, beside workers that die at any step, never take more than there is,
// and the bank pays each at most once.
func TestWithdraw_parallel(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := rich(t, w, 2, number) // 99 000 NGN
	var made, refused atomic.Int32
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			_, err := withdraw(w, fixture.Owner, "3000", account)
			for err != nil && fault.As(err).Code == "busy" { // it waited for the others too long, and took nothing
				_, err = withdraw(w, fixture.Owner, "3000", account)
			}
			switch {
			case err == nil:
				made.Add(1)
			case fault.As(err).Code == "insufficient_balance":
				refused.Add(1)
			default:
				t.Errorf("Withdraw() = %v, want a withdrawal or insufficient_balance", err)
			}
		})
	}
	all.Wait()
	if made.Load() != 33 || refused.Load() != 31 {
		t.Errorf("withdrawals of 3 000 out of 99 000 = %d made and %d refused, want 33 and 31", made.Load(), refused.Load())
	}
	wantBalance(w, "64 withdrawals", "0 0")
	w.CrashAt(func(string) bool { return rand.IntN(3) == 0 })
	limit := time.Now().Add(time.Minute)
	for fixture.Ask[int](w, `SELECT count(*) FROM withdrawals WHERE state <> 'paid'`) > 0 {
		w.Hurry()
		due, err := w.Due(64)
		if err != nil {
			t.Fatalf("Due() = %v, want no error", err)
		}
		var busy sync.WaitGroup
		for _, o := range due {
			for range 2 { // two replicas have taken the same row
				busy.Go(func() { _ = w.Worker.Step(t.Context(), o) })
			}
		}
		busy.Wait()
		if time.Now().After(limit) {
			t.Fatalf("withdrawals after a minute are %s, want all paid", fixture.Ask[string](w, `SELECT string_agg(DISTINCT state, ' ') FROM withdrawals`))
		}
	}
	if got := fixture.Ask[string](w, `SELECT count(*) || ' ' || sum(amount) FROM sim_transfers`); got != "33 99000" && got != "33 99000.00" {
		t.Errorf("the bank made %s, want 33 transfers of 99 000", got)
	}
	compared(w)
}

// TestWithdraw_killed stops the worker at each step of the payout. Another one ends it, and the bank pays once.
func TestWithdraw_killed(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"claimed", "sent", "queried"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			id, err := withdraw(w, fixture.Owner, "1000", rich(t, w, 1, number))
			if err != nil {
				t.Fatalf("Withdraw() = %v, want no error", err)
			}
			died := false
			w.CrashAt(func(at string) bool {
				dies := at == step && !died
				died = died || dies
				return dies
			})
			until(w, id, "paid")
			if n := fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 1 {
				t.Errorf("transfers after a kill at %s = %d, want 1", step, n)
			}
			compared(w)
		})
	}
}

// TestWithdraw_anotherRail goes over the next rail after a failure that the first confirms (R9), and never pays twice.
func TestWithdraw_anotherRail(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	b.Decide(bank.Paystack, bank.Failed)
	id, err := withdraw(w, fixture.Owner, "1000", rich(t, w, 1, number))
	if err != nil {
		t.Fatalf("Withdraw() = %v, want no error", err)
	}
	until(w, id, "paid")
	base := strings.ReplaceAll(id, "_", "-")
	if b.Made(bank.Paystack, base+"-1") != 1 || b.Made(bank.Flutterwave, base+"-2") != 1 {
		t.Errorf("paystack %v, flutterwave %v, want one order at each under its own reference", b.All(bank.Paystack), b.All(bank.Flutterwave))
	}
	wantBalance(w, "a payout over the second rail", "48500 0")
	compared(w)
}

// TestWithdraw_anotherRailBeforeRestore: a restored database has forgotten that a payout went over the next rail. The
// failure at the first rail leads there again, and finds it paid.
func TestWithdraw_anotherRailBeforeRestore(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	b.Decide(bank.Paystack, bank.Failed)
	id, err := withdraw(w, fixture.Owner, "1000", rich(t, w, 1, number))
	if err != nil {
		t.Fatalf("Withdraw() = %v, want no error", err)
	}
	pg.Backup(t, w.Config.URL.Reveal())
	until(w, id, "paid")
	pg.Restore(t, w.Config.URL.Reveal())
	if err := w.Store.Recover(t.Context(), 24*time.Hour); err != nil {
		t.Fatalf("Recover() = %v, want no error", err)
	}
	w.Worker = w.NewWorker(true)
	w.Work(func() bool { w.Hurry(); return fixture.Ask[bool](w, `SELECT ended_at IS NOT NULL FROM withdrawals`) })
	if got := state(w, id); got != "paid" {
		t.Errorf("a withdrawal that the second rail paid before the restore is %s, want paid", got)
	}
	base := strings.ReplaceAll(id, "_", "-")
	if b.Orders(bank.Paystack, base+"-1") != 1 || b.Orders(bank.Flutterwave, base+"-2") != 1 {
		t.Errorf("orders: paystack %v, flutterwave %v, want one at each", b.All(bank.Paystack), b.All(bank.Flutterwave))
	}
	wantBalance(w, "a restore after a payout over the second rail", "48500 0")
	compared(w)
}

// TestWithdraw_paused: nothing leaves while payouts are paused.
func TestWithdraw_paused(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := rich(t, w, 1, number)
	pause := admission.Pause{What: admission.PausePayouts, Currency: money.NGN, Operator: "ada"}
	w.Pause(pause)
	id, err := withdraw(w, fixture.Owner, "1000", account)
	if err != nil {
		t.Fatalf("Withdraw() = %v, want no error", err)
	}
	for range 3 {
		if err := w.Step(); err != nil {
			t.Fatalf("Step() = %v, want no error", err)
		}
		w.Hurry()
	}
	if got := state(w, id); got != "approved" || fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`) != 0 {
		t.Errorf("a withdrawal while payouts are paused is %s, want approved and nothing at the bank", got)
	}
	w.Resume(pause)
	until(w, id, "paid")
}

var live = tenant.Owner{MerchantID: "m1", KeyID: 7, Mode: tenant.Live}

// opened opens live mode, where more than above waits for two operators and m1 has money.
func opened(w *fixture.Payments, above, amount string) {
	w.T.Helper()
	w.With(func(d *fixture.Deps) {
		d.Providers[tenant.Live] = d.Providers[tenant.Test]
		d.SecondAbove = map[money.Currency]decimal.Decimal{"NGN": decimal.RequireFromString(above)}
	})
	w.SQL(`WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('seed', 'settled_by_caller') RETURNING id), a AS (
		INSERT INTO ledger_accounts (code, asset, normal) VALUES ('merchant:m1:NGN', 'NGN', 'credit'), ('fx:NGN', 'NGN', 'credit'))
		INSERT INTO ledger_entries (journal_id, line, account, asset, side, amount)
		SELECT id, 1, 'fx:NGN', 'NGN', 'debit', $1::text::numeric FROM j UNION ALL SELECT id, 2, 'merchant:m1:NGN', 'NGN', 'credit', $1::text::numeric FROM j`, amount)
}

// TestWithdraw_split: the bound of two operators holds for what a merchant withdraws in a day, so that it cannot be
// split, not even by requests at the same time.
func TestWithdraw_split(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	opened(w, "500", "50000")
	account := settled(w, live, number)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := withdraw(w, live, "200", account); err != nil {
				t.Errorf("Withdraw() = %v, want no error", err)
			}
		})
	}
	all.Wait()
	sums := func() string {
		return fixture.Ask[string](w, `SELECT concat_ws(' ', sum(amount) FILTER (WHERE state = 'approved'), sum(amount) FILTER (WHERE state = 'requested')) FROM withdrawals`)
	}
	if got, want := sums(), "400 1200"; got != want {
		t.Errorf("8 withdrawals of 200 with a bound of 500: approved and waiting = %s, want %s", got, want)
	}
	for id := range strings.FieldsSeq(fixture.Ask[string](w, `SELECT string_agg(id, ' ') FROM withdrawals WHERE state = 'requested'`)) {
		if _, err := w.Withdrawals.Refuse(t.Context(), id, withdrawals.Decision{Operator: "ada", Reason: "no"}, &fault.Problems{}, idempotency.Key{}); err != nil {
			t.Fatalf("Refuse() = %v, want no error", err)
		}
	}
	if id, err := withdraw(w, live, "100", account); err != nil || state(w, id) != "approved" {
		t.Errorf("Withdraw() of what the bound leaves beside refused ones = %v, want it approved", err)
	}
	if id, err := withdraw(w, live, "1", account); err != nil || state(w, id) != "requested" {
		t.Errorf("Withdraw() of 1 after 500 of 500 = %v, want it to wait", err)
	}
	if err := dailyOf(w, live, account, "0"); err != nil {
		t.Fatalf("ChangeSettings(daily) = %v, want no error", err)
	}
	if err := w.Withdrawals.SettleDue(t.Context()); err != nil {
		t.Fatalf("SettleDue() = %v, want no error", err)
	}
	if got := fixture.Ask[string](w, `SELECT state FROM withdrawals ORDER BY id DESC LIMIT 1`); got != "requested" {
		t.Errorf("the daily settlement of the rest is %s, want requested", got)
	}
	open, err := w.Store.OpenRefunds(t.Context()) // the alert about what waits for operators reads it
	if err != nil || len(open) != 1 || open[0].Mode != tenant.Live || open[0].State != "requested" || open[0].Refunds != 2 {
		t.Errorf("OpenRefunds() = %+v, %v, want the two withdrawals that wait", open, err)
	}
}

// TestWithdraw_goneAccount: no operator lets money leave to an account that its merchant has deleted.
func TestWithdraw_goneAccount(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	opened(w, "500", "5000")
	account := settled(w, live, number)
	id, err := withdraw(w, live, "501", account)
	if err != nil {
		t.Fatalf("Withdraw() = %v, want no error", err)
	}
	approve := func(name string) error {
		_, err := w.Withdrawals.Approve(t.Context(), id, withdrawals.Decision{Operator: name, Reason: "asked"}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	if err := approve("ada"); err != nil {
		t.Fatalf("Approve() by the first operator = %v, want no error", err)
	}
	if _, err := w.Withdrawals.DeleteAccount(t.Context(), live, account); err != nil {
		t.Fatalf("DeleteAccount() = %v, want no error", err)
	}
	for _, name := range []string{"ada", "bob"} {
		refusedWith(t, "Approve() of a withdrawal to a deleted account by "+name, approve(name), "settlement_account_removed")
	}
	if state(w, id) != "requested" || fixture.Ask[int](w, `SELECT count(*) FROM payouts`) != 0 {
		t.Errorf("a withdrawal to a deleted account is %s, want requested and without a payout", state(w, id))
	}
	if _, err := w.Withdrawals.Refuse(t.Context(), id, withdrawals.Decision{Operator: "ada", Reason: "the account is gone"}, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Errorf("Refuse() = %v, want no error", err)
	}
	if got := balance(w, live); got != "5000 0" {
		t.Errorf("balance after the refusal = %s, want 5000 0", got)
	}
}

// TestWithdraw_operators: above the bound nothing leaves before two operators have approved it, and a refusal gives the
// money back.
func TestWithdraw_operators(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	opened(w, "500", "5000")
	account := settled(w, live, number)
	small, err := withdraw(w, live, "500", account)
	if err != nil || state(w, small) != "approved" {
		t.Fatalf("Withdraw() of the bound = %v, want it approved", err)
	}
	w.SQL(`UPDATE withdrawals SET created_at = created_at - interval '1 day', approved_at = approved_at - interval '1 day'`)
	decide := func(f func(string) error, name string) string {
		t.Helper()
		if err := f(name); err != nil {
			return fault.As(err).Code
		}
		return ""
	}
	large, err := withdraw(w, live, "501", account)
	if err != nil || state(w, large) != "requested" || fixture.Ask[int](w, `SELECT count(*) FROM payouts WHERE payment_id = $1`, large) != 0 {
		t.Fatalf("Withdraw() above the bound = %v, want it to wait without a payout", err)
	}
	approve := func(name string) error {
		_, err := w.Withdrawals.Approve(t.Context(), large, withdrawals.Decision{Operator: name, Reason: "asked"}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	for _, c := range [][3]string{{"ada", "", "requested"}, {"ADA", "second_operator_required", "requested"}, {"bob", "", "approved"}, {"eve", "withdrawal_decided", "approved"}} {
		if got := decide(approve, c[0]); got != c[1] || state(w, large) != c[2] {
			t.Errorf("Approve() by %s = %q and %s, want %q and %s", c[0], got, state(w, large), c[1], c[2])
		}
	}
	other, err := withdraw(w, live, "1000", account)
	if err != nil {
		t.Fatalf("Withdraw() = %v, want no error", err)
	}
	waiting, err := w.Withdrawals.Waiting(t.Context(), false, "", 10)
	if err != nil || !strings.Contains(string(waiting), other) || strings.Contains(string(waiting), large) {
		t.Errorf("Waiting() = %s, %v, want %s alone", waiting, err, other)
	}
	approved, err := w.Withdrawals.Waiting(t.Context(), true, "", 10)
	if err != nil || strings.Contains(string(approved), other) || !strings.Contains(string(approved), large) {
		t.Errorf("Waiting() of approved ones = %s, %v, want %s and not %s", approved, err, large, other)
	}
	refuse := func(name string) error {
		_, err := w.Withdrawals.Refuse(t.Context(), other, withdrawals.Decision{Operator: name, Reason: "no"}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	if got := decide(refuse, "ada"); got != "" || state(w, other) != "failed refused" {
		t.Errorf("Refuse() = %q and %s, want it failed", got, state(w, other))
	}
	if got := balance(w, live); got != "3999 0" {
		t.Errorf("balance after a refusal = %s, want 3999 0", got)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM audit WHERE action IN ('approve_withdrawal', 'refuse_withdrawal')`); n != 2 {
		t.Errorf("decisions in the audit = %d, want 2", n)
	}
	kept, err := withdraw(w, live, "600", account)
	if err != nil || state(w, kept) != "requested" {
		t.Fatalf("Withdraw() before a restore = %v, want it to wait", err)
	}
	w.With(func(d *fixture.Deps) { d.Recovery = true })
	_, err = withdraw(w, live, "1", account)
	refusedWith(t, "Withdraw() after a restore", err, "withdrawals_paused")
	_, err = w.Withdrawals.Refuse(t.Context(), kept, withdrawals.Decision{Operator: "ada", Reason: "asked"}, &fault.Problems{}, idempotency.Key{})
	if refusedWith(t, "Refuse() after a restore", err, "withdrawals_paused"); state(w, kept) != "requested" {
		t.Errorf("state after Refuse() in a recovery = %s, want requested", state(w, kept))
	}
}

// TestWithdraw_refusedBeforeItLeaves: an operator stops an approved withdrawal whose payout has not left. Of the
// refusal and a worker's claim one alone wins.
func TestWithdraw_refusedBeforeItLeaves(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := rich(t, w, 1, number)
	refuse := func(id string) error {
		_, err := w.Withdrawals.Refuse(t.Context(), id, withdrawals.Decision{Operator: "ada", Reason: "stolen key"}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	keep := func(version int64, suspended bool) {
		t.Helper()
		if err := w.Store.KeepTerms(t.Context(), admission.Term{MerchantID: fixture.Owner.MerchantID, Version: version, Suspended: suspended}); err != nil {
			t.Fatalf("KeepTerms() = %v, want no error", err)
		}
	}
	stopped, err := withdraw(w, fixture.Owner, "1000", account)
	if err != nil {
		t.Fatalf("Withdraw() = %v, want no error", err)
	}
	keep(2, true)
	if err := w.Step(); err != nil {
		t.Fatalf("Step() = %v, want no error", err)
	}
	if err := refuse(stopped); err != nil || state(w, stopped) != "failed refused" {
		t.Errorf("Refuse() of one that a suspension keeps = %v and %s, want it failed", err, state(w, stopped))
	}
	wantBalance(w, "a refusal", "49500 0")
	refusedWith(t, "Refuse() once more", refuse(stopped), "withdrawal_decided")
	keep(3, false)
	for range 10 {
		id, err := withdraw(w, fixture.Owner, "1000", account)
		if err != nil {
			t.Fatalf("Withdraw() = %v, want no error", err)
		}
		due, err := w.Due(10)
		if err != nil || len(due) != 1 {
			t.Fatalf("Due() = %+v, %v, want that of the withdrawal", due, err)
		}
		var all sync.WaitGroup
		all.Go(func() { err = refuse(id) })
		all.Go(func() {
			if err := w.Worker.Step(t.Context(), due[0]); err != nil {
				t.Errorf("Step() = %v, want no error", err)
			}
		})
		if all.Wait(); err != nil {
			refusedWith(t, "Refuse() of one that has left", err, "withdrawal_decided")
			until(w, id, "paid")
			w.SQL(`UPDATE payouts SET next_at = NULL WHERE state = 'succeeded'`)
			continue
		}
		if got := state(w, id); got != "failed refused" {
			t.Errorf("a withdrawal after its refusal is %s, want it failed", got)
		}
	}
	got := fixture.Ask[string](w, `SELECT string_agg(DISTINCT concat_ws(' ', w.state, o.state, o.sends), ', ') FROM withdrawals w JOIN payouts o ON o.payment_id = w.id
		WHERE w.state = 'failed' OR o.sends = 0`)
	if got != "failed withdrawn 0" {
		t.Errorf("payouts of refused withdrawals, and those that were not sent = %s, want failed withdrawn 0", got)
	}
	compared(w)
}

// TestWithdraw_refusedAfterTheFirstRail: the first rail fails, and a suspension keeps the payout from the second one.
// An operator finds the withdrawal and refuses it, and nothing leaves when the suspension ends.
func TestWithdraw_refusedAfterTheFirstRail(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	b.Decide(bank.Paystack, bank.Pending)
	id, err := withdraw(w, fixture.Owner, "1000", rich(t, w, 1, number))
	if err != nil {
		t.Fatalf("Withdraw() = %v, want no error", err)
	}
	refuse := func() error {
		_, err := w.Withdrawals.Refuse(t.Context(), id, withdrawals.Decision{Operator: "ada", Reason: "stolen key"}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	suspend := func(version int64, suspended bool) {
		t.Helper()
		if err := w.Store.KeepTerms(t.Context(), admission.Term{MerchantID: fixture.Owner.MerchantID, Version: version, Suspended: suspended}); err != nil {
			t.Fatalf("KeepTerms() = %v, want no error", err)
		}
	}
	listed := func(when string, want bool) {
		t.Helper()
		page, err := w.Withdrawals.Waiting(t.Context(), true, "", 10)
		if err != nil || strings.Contains(string(page), id) != want {
			t.Errorf("Waiting() of approved ones %s = %s, %v, want the withdrawal in it: %v", when, page, err, want)
		}
	}
	payouts := func() string {
		return fixture.Ask[string](w, `SELECT string_agg(concat_ws(' ', attempt, state, sends), ', ' ORDER BY attempt) FROM payouts`)
	}
	listed("before the payout leaves", true)
	w.Work(func() bool { return payouts() == "1 pending 1" })
	listed("while the first rail has it", false)
	refusedWith(t, "Refuse() while the first rail has it", refuse(), "withdrawal_decided")
	suspend(2, true)
	base := strings.ReplaceAll(id, "_", "-")
	b.Conclude(bank.Paystack, base+"-1", bank.Failed)
	w.Work(func() bool { w.Hurry(); return payouts() == "1 failed 1, 2 created 0" })
	if err := w.Step(); err != nil {
		t.Fatalf("Step() = %v, want no error", err)
	}
	if got := state(w, id) + ", " + payouts(); got != "sending, 1 failed 1, 2 created 0" {
		t.Errorf("a withdrawal that a suspension keeps from the second rail = %s, want it unsent", got)
	}
	listed("between the rails", true)
	w.SQL(`UPDATE payouts SET frozen = true WHERE attempt = 2`)
	listed("while the payout is frozen", false)
	refusedWith(t, "Refuse() of one whose payout is frozen", refuse(), "withdrawal_decided")
	w.SQL(`UPDATE payouts SET frozen = false`)
	if err := refuse(); err != nil || state(w, id) != "failed refused" {
		t.Errorf("Refuse() between the rails = %v and %s, want it failed", err, state(w, id))
	}
	wantBalance(w, "a refusal between the rails", "49500 0")
	listed("after the refusal", false)
	suspend(3, false)
	w.Hurry()
	if due, err := w.Due(10); err != nil || len(due) != 0 || payouts() != "1 failed 1, 2 withdrawn 0" {
		t.Errorf("after the suspension %d payouts are due (%v) of %s, want none", len(due), err, payouts())
	}
	if len(b.All(bank.Flutterwave)) != 0 {
		t.Errorf("transfers at the second rail = %v, want none", b.All(bank.Flutterwave))
	}
	if got, want := heard(w, id), "1 requested, 2 approved, 3 sending, 4 failed"; got != want {
		t.Errorf("events = %s, want %s", got, want)
	}
	compared(w)
}

// TestWithdraw_refusedBeforeRestore: a restored database has forgotten that an operator refused a withdrawal. Its
// payout does not leave in the recovery, in which nobody can refuse it. One that the rail has is taken over.
func TestWithdraw_refusedBeforeRestore(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	opened(w, "5000", "5000")
	account := settled(w, live, number)
	made := func(amount string) string {
		t.Helper()
		id, err := withdraw(w, live, amount, account)
		if err != nil {
			t.Fatalf("Withdraw() = %v, want no error", err)
		}
		return id
	}
	stolen, kept, paid := made("1000"), made("500"), made("300")
	refuse := func(id string) error {
		_, err := w.Withdrawals.Refuse(t.Context(), id, withdrawals.Decision{Operator: "ada", Reason: "stolen key"}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	pg.Backup(t, w.Config.URL.Reveal())
	for _, id := range []string{stolen, kept} {
		if err := refuse(id); err != nil {
			t.Fatalf("Refuse() before the restore = %v, want no error", err)
		}
	}
	until(w, paid, "paid")
	pg.Restore(t, w.Config.URL.Reveal(), "sim_transfers", "sim_outcomes")
	if err := w.Store.Recover(t.Context(), 24*time.Hour); err != nil {
		t.Fatalf("Recover() = %v, want no error", err)
	}
	w.Worker = w.NewWorker(true)
	until(w, paid, "paid")
	for range 3 {
		w.Hurry()
		due, err := w.Due(10)
		if err != nil {
			t.Fatalf("Due() = %v, want no error", err)
		}
		for _, o := range due {
			if err := w.Worker.Step(t.Context(), o); err != nil {
				t.Fatalf("Step() = %v, want no error", err)
			}
		}
	}
	got := fixture.Ask[string](w, `SELECT string_agg(concat_ws(' ', w.amount, w.state, o.state, o.sends), ', ' ORDER BY w.id)
		FROM withdrawals w JOIN payouts o ON o.payment_id = w.id`)
	if want := "1000 approved created 0, 500 approved created 0, 300 paid succeeded 0"; got != want {
		t.Errorf("withdrawals in a recovery = %s, want %s", got, want)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 1 {
		t.Errorf("transfers in a recovery = %d, want that of the lost time alone", n)
	}
	w.Worker = w.NewWorker(false) // the recovery ends
	if err := refuse(stolen); err != nil || state(w, stolen) != "failed refused" {
		t.Errorf("Refuse() after the recovery = %v and %s, want it failed", err, state(w, stolen))
	}
	until(w, kept, "paid")
	if n := fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 2 {
		t.Errorf("transfers after the recovery = %d, want 2", n)
	}
	if got := balance(w, live); got != "4200 0" {
		t.Errorf("balance after the recovery = %s, want 4200 0", got)
	}
	compared(w)
}

// TestWithdraw_concluded: an operator ends a payout without an answer, on evidence.
func TestWithdraw_concluded(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string][2]string{"paid": {"paid", "48500 0"}, "failed": {"failed payout_failed", "49500 0"}} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			w, b := fixture.Railed(t)
			b.Decide(bank.Paystack, bank.Pending)
			id, err := withdraw(w, fixture.Owner, "1000", rich(t, w, 1, number))
			if err != nil {
				t.Fatalf("Withdraw() = %v, want no error", err)
			}
			w.Work(func() bool { return fixture.Ask[string](w, `SELECT state FROM payouts`) == "pending" })
			w.Hurry()
			o := operators.PayoutOrder{Operator: "ada", Outcome: outcome, Evidence: "mail", Reason: "the bank says so", Sends: -1}
			if _, err := w.Operators.ConcludePayout(t.Context(), fixture.Ask[string](w, `SELECT id FROM payouts`), o, &fault.Problems{}, idempotency.Key{}); err != nil {
				t.Fatalf("ConcludePayout() = %v, want no error", err)
			}
			if got := state(w, id); got != want[0] {
				t.Errorf("a withdrawal that was concluded as %s is %s, want %s", outcome, got, want[0])
			}
			wantBalance(w, "a conclusion as "+outcome, want[1])
			compared(w)
		})
	}
}

// TestWithdraw_tooMany: at most a hundred withdrawals of a mode have not ended, also where many are asked for at
// once, and a daily settlement leaves the day out.
func TestWithdraw_tooMany(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	account := rich(t, w, 3, number) // 148 500 NGN
	for range withdrawal.OpenMost - 4 {
		if _, err := withdraw(w, fixture.Owner, "1000", account); err != nil {
			t.Fatalf("Withdraw() of one of %d = %v, want no error", withdrawal.OpenMost-4, err)
		}
	}
	var made atomic.Int32
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			_, err := withdraw(w, fixture.Owner, "1000", account)
			for err != nil && fault.As(err).Code == "busy" {
				_, err = withdraw(w, fixture.Owner, "1000", account)
			}
			switch {
			case err == nil:
				made.Add(1)
			case fault.As(err).Code != "too_many_withdrawals":
				t.Errorf("Withdraw() beyond the bound = %v, want too_many_withdrawals", err)
			}
		})
	}
	all.Wait()
	if made.Load() != 4 {
		t.Errorf("withdrawals at once beside %d that have not ended = %d made, want 4", withdrawal.OpenMost-4, made.Load())
	}
	wantBalance(w, "a hundred withdrawals", "48500 0")
	if err := daily(w, account, "1000"); err != nil {
		t.Fatalf("ChangeSettings(daily) = %v, want no error", err)
	}
	if err := w.Withdrawals.SettleDue(t.Context()); err != nil {
		t.Errorf("SettleDue() beside a hundred withdrawals = %v, want no error", err)
	}
	if got := fixture.Ask[int](w, `SELECT count(*) FROM settlement_days WHERE withdrawal_id = ''`); got != 1 {
		t.Errorf("days that are left out beside a hundred withdrawals = %d, want 1", got)
	}
	w.SQL(`UPDATE withdrawals SET state = 'paid' WHERE id = (SELECT min(id) FROM withdrawals)`)
	if _, err := withdraw(w, fixture.Owner, "1000", account); err != nil {
		t.Errorf("Withdraw() after one has ended = %v, want no error", err)
	}
	if _, err := withdraw(w, fixture.Owner, "1000", account); err == nil || fault.As(err).Code != "too_many_withdrawals" {
		t.Errorf("Withdraw() after that = %v, want too_many_withdrawals", err)
	}
}
