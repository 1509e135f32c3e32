//go:build integration

package operators_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refunds"
)

// bookUnclaimed is the id of a booking, or the status of its approval, or the code of a refusal.
func bookUnclaimed(w *fixture.Payments, d operators.Debtor, operator string) string {
	w.T.Helper()
	o := operators.UnclaimedOrder{Debtor: d, Operator: operator, Reason: "nobody came"}
	a, err := w.Operators.BookUnclaimed(w.T.Context(), o, &fault.Problems{}, idempotency.Key{})
	if err != nil {
		return fault.As(err).Code
	}
	var answer struct {
		Unclaimed struct{ ID string }
		Approval  struct{ Status string }
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		w.T.Errorf("BookUnclaimed(%+v) = %s: %v", d, a.Body, err)
	}
	return answer.Unclaimed.ID + answer.Approval.Status
}

// returnUnclaimed is the code of a refusal, empty after a return.
func returnUnclaimed(w *fixture.Payments, id string) string {
	w.T.Helper()
	o := operators.UnclaimedOrder{Operator: "bob", Reason: "the payer came"}
	if _, err := w.Operators.ReturnUnclaimed(w.T.Context(), id, o, idempotency.Key{}); err != nil {
		return fault.As(err).Code
	}
	return ""
}

// requestRefund is the code of a refusal, empty after a request.
func requestRefund(w *fixture.Payments, p payment.Payment) string {
	w.T.Helper()
	o := refunds.Order{Reason: "the payer came", Sender: "key 7"}
	if _, err := w.Refunds.Request(w.T.Context(), fixture.Owner, p.Reference, o, &fault.Problems{}, idempotency.Key{}); err != nil {
		return fault.As(err).Code
	}
	return ""
}

// balance is what an account of test mode owes.
func balance(w *fixture.Payments, account string) string {
	w.T.Helper()
	return fixture.Ask[string](w, `SELECT coalesce(sum(CASE side WHEN 'credit' THEN amount ELSE -amount END), 0)::text
FROM ledger_entries WHERE account = $1`, "test:"+account)
}

// agreed fails the test where the books differ from payments, deposits, payouts and refunds.
func agreed(w *fixture.Payments) {
	w.T.Helper()
	w.Balanced()
	if found, err := w.Store.Compare(w.T.Context()); err != nil || len(found) != 0 {
		w.T.Errorf("Compare() = %+v, %v; want no difference", found, err)
	}
}

// owes lists what is owed now.
func owes(w *fixture.Payments) (rows []string) {
	w.T.Helper()
	if _, _, err := w.Store.MakeOwed(w.T.Context()); err != nil {
		w.T.Fatalf("MakeOwed() = %v, want no error", err)
	}
	found, _, err := w.Store.Owed(w.T.Context(), operators.OwedFilter{Before: time.Now().Add(time.Minute), Most: 100})
	if err != nil {
		w.T.Fatalf("Owed() = %v, want no error", err)
	}
	for _, r := range found {
		rows = append(rows, fmt.Sprint(r.To, " ", r.PaymentID, r.Deposit, " ", r.Amount, " ", r.Asset))
	}
	return rows
}

// Money that a payer left is booked as unclaimed and owed no more. While it is there, nobody decides about it. Once it
// is returned, it is owed as before and is refunded.
func TestUnclaimed_ofAPayer(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	p := cancelledAndPaid(w, "u1")
	d := operators.Debtor{PaymentID: p.ID, Asset: "USDT"}
	w.With(func(d *fixture.Deps) { d.UnclaimedAfter = time.Hour })
	if got := bookUnclaimed(w, d, "ada"); got != "owed_too_shortly" {
		t.Errorf("a booking on the first day = %q, want owed_too_shortly", got)
	}
	w.With(func(d *fixture.Deps) { d.UnclaimedAfter = 0 })
	if got := bookUnclaimed(w, operators.Debtor{PaymentID: p.ID, Asset: "USDC"}, "ada"); got != "nothing_owed" {
		t.Errorf("a booking of another asset = %q, want nothing_owed", got)
	}
	before := owes(w)
	if want := "payer " + p.ID + " 31.25 USDT"; len(before) != 1 || before[0] != want {
		t.Fatalf("before the booking %q are owed, want %q", before, want)
	}
	id := bookUnclaimed(w, d, "ada")
	if !strings.HasPrefix(id, "unc_") {
		t.Fatalf("BookUnclaimed() = %q, want a booking", id)
	}
	if got := owes(w); len(got) != 0 {
		t.Errorf("%q are owed after the booking, want nothing", got)
	}
	if got := balance(w, "unclaimed:USDT"); got != "31.25" {
		t.Errorf("%s USDT are unclaimed, want 31.25", got)
	}
	agreed(w)
	if got := bookUnclaimed(w, d, "ada"); got != "nothing_owed" {
		t.Errorf("a second booking = %q, want nothing_owed", got)
	}
	if got := requestRefund(w, p); got != "money_unclaimed" {
		t.Errorf("a refund of unclaimed money = %q, want money_unclaimed", got)
	}
	if got := fixture.Pages(t, "unclaimed", func(before string) ([]byte, error) { return w.UnclaimedList(t.Context(), false, before, 1) }); len(got) != 1 || got[0] != id {
		t.Errorf("the list has %q, want %s", got, id)
	}
	if got := returnUnclaimed(w, "unc_none"); got != "unclaimed_not_found" {
		t.Errorf("a return of nothing = %q, want unclaimed_not_found", got)
	}
	if got := returnUnclaimed(w, id); got != "" {
		t.Fatalf("ReturnUnclaimed() = %q, want no error", got)
	}
	if got := returnUnclaimed(w, id); got != "unclaimed_returned" {
		t.Errorf("a second return = %q, want unclaimed_returned", got)
	}
	if got := owes(w); len(got) != 1 || got[0] != before[0] {
		t.Errorf("%q are owed after the return, want %q", got, before)
	}
	if got := requestRefund(w, p); got != "" {
		t.Fatalf("a refund of returned money = %q, want a refund", got)
	}
	if got := bookUnclaimed(w, d, "ada"); got != "nothing_owed" {
		t.Errorf("a booking during a refund = %q, want nothing_owed", got)
	}
	agreed(w)
	for _, c := range []struct {
		action string
		want   int
	}{{"unclaimed.booked", 1}, {"unclaimed.returned", 1}} {
		if n := fixture.Ask[int](w, `SELECT count(*) FROM audit WHERE action = $1 AND detail ->> 'id' = $2`, c.action, id); n != c.want {
			t.Errorf("%d audit entries %s, want %d", n, c.action, c.want)
		}
	}
}

// A receiver's money is booked as unclaimed after its payout failed, and is paid after its return. A payment that runs
// owes nobody yet.
func TestUnclaimed_ofAReceiver(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	running := w.Make(fixture.Command())
	w.See(running, fixture.Coin{Key: "t0", Amount: "20", Version: 1, Depth: fixture.Enough})
	for asset, d := range map[string]operators.Debtor{
		"USDT": {PaymentID: running.ID, Asset: "USDT"}, "NGN": {PaymentID: running.ID, Asset: "NGN"},
	} {
		if got := bookUnclaimed(w, d, "ada"); got != "nothing_owed" {
			t.Errorf("a booking of %s of a payment that runs = %q, want nothing_owed", asset, got)
		}
	}
	p := failed(w)
	id := bookUnclaimed(w, operators.Debtor{PaymentID: p.ID, Asset: "NGN"}, "ada")
	if !strings.HasPrefix(id, "unc_") {
		t.Fatalf("BookUnclaimed() = %q, want a booking", id)
	}
	if got := balance(w, "unclaimed:NGN") + " " + balance(w, "payable:"+p.ID+":NGN"); got != "49500 0" {
		t.Errorf("unclaimed and payable hold %s NGN, want 49500 0", got)
	}
	agreed(w)
	retry := operators.Order{Operator: "ada", Action: operators.ActionRetry, Receiver: &payment.ReceiverInput{BankCode: p.Receiver.BankCode, AccountNumber: "0123456789"}}
	if _, err := w.Resolve(p, retry); !fault.Is(err, "money_unclaimed") {
		t.Errorf("a retry of unclaimed money = %v, want money_unclaimed", err)
	}
	if got := returnUnclaimed(w, id); got != "" {
		t.Fatalf("ReturnUnclaimed() = %q, want no error", got)
	}
	if _, err := w.Resolve(p, retry); err != nil {
		t.Fatalf("a retry of returned money = %v, want no error", err)
	}
	w.WorkUntil(p, "settled")
	agreed(w)
}

// Money on an address that no payment has is booked as unclaimed and returned; in live mode by two operators.
func TestUnclaimed_strays(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	secondAbove(w, 1)
	stray := func(key string, mode tenant.Mode) operators.Debtor {
		m := w.Message(payment.Payment{Address: "TNobody" + key}, fixture.Coin{Key: key, Amount: "7", Version: 1, Depth: fixture.Enough})
		m.Mode = mode
		w.Deliver(m)
		return operators.Debtor{Deposit: m.Key, Mode: mode}
	}
	d := stray("s1", tenant.Test)
	if got := bookUnclaimed(w, operators.Debtor{Deposit: d.Deposit, Mode: tenant.Live}, "ada"); got != "deposit_not_found" {
		t.Errorf("a booking in the other mode = %q, want deposit_not_found", got)
	}
	for range 2 { // a returned deposit is booked again
		id := bookUnclaimed(w, d, "ada")
		if got := balance(w, "suspense:USDT") + " " + balance(w, "unclaimed:USDT"); got != "0 7" || len(owes(w)) != 0 {
			t.Fatalf("after booking %q suspense and unclaimed hold %s, and %q are owed; want 0 7 and nothing", id, got, owes(w))
		}
		agreed(w)
		if got := bookUnclaimed(w, d, "ada"); got != "nothing_owed" {
			t.Errorf("a second booking = %q, want nothing_owed", got)
		}
		if got := returnUnclaimed(w, id); got != "" {
			t.Fatalf("ReturnUnclaimed(%s) = %q, want no error", id, got)
		}
		if got := owes(w); len(got) != 1 || got[0] != "payer "+d.Deposit+" 7 USDT" {
			t.Errorf("%q are owed after the return, want the deposit", got)
		}
		agreed(w)
	}

	live := stray("s2", tenant.Live)
	for _, c := range []struct{ operator, want string }{
		{"ada", "waiting_for_second_operator"}, {"Ada", "second_operator_required"}, {"bob", "unc_"}, {"bob", "nothing_owed"},
	} {
		if got := bookUnclaimed(w, live, c.operator); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s books live money: %q, want %s", c.operator, got, c.want)
		}
	}
	if got := fixture.Ask[string](w, `SELECT reason FROM unclaimed WHERE mode = 'live'`); got != "nobody came (asked for by ada: nobody came)" {
		t.Errorf("the reason of the live booking is %q, want those of both operators", got)
	}
	agreed(w)
}

// A deposit without a payment is owed once, also when a chain takes it back while it is unclaimed, and mines it again
// before or after its return.
func TestUnclaimed_strayReorganised(t *testing.T) {
	t.Parallel()
	for name, returnedFirst := range map[string]bool{"mined again after the return": true, "mined again before the return": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			secondAbove(w, 1)
			version := int64(0)
			see := func(reverted bool) (key string) {
				version++
				m := w.Message(payment.Payment{Address: "TNobody"}, fixture.Coin{Key: "s1", Amount: "7", Version: version, Depth: fixture.Enough, Reverted: reverted})
				w.Deliver(m)
				return m.Key
			}
			d := operators.Debtor{Deposit: see(false), Mode: tenant.Test}
			id := bookUnclaimed(w, d, "ada")
			see(true)
			back := func() {
				if got := returnUnclaimed(w, id); got != "" {
					t.Fatalf("ReturnUnclaimed(%s) = %q, want no error", id, got)
				}
			}
			if returnedFirst {
				back()
			}
			see(false)
			if !returnedFirst {
				back()
			}
			if got := owes(w); len(got) != 1 || got[0] != "payer "+d.Deposit+" 7 USDT" {
				t.Errorf("%q are owed after the return, want the deposit", got)
			}
			if got := bookUnclaimed(w, d, "ada"); !strings.HasPrefix(got, "unc_") {
				t.Fatalf("BookUnclaimed() = %q, want a booking", got)
			}
			if got := balance(w, "suspense:USDT") + " " + balance(w, "unclaimed:USDT"); got != "0 7" {
				t.Errorf("suspense and unclaimed hold %s USDT after another booking, want 0 7", got)
			}
			agreed(w)
		})
	}
}

// A booking that waits for the payment's lock sees the refund that was requested under it, also one that has taken no
// money yet.
func TestUnclaimed_waitsForARefund(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	p := failed(w)
	tx, err := w.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	for _, sql := range []string{
		`SELECT FROM payments WHERE id = $1 FOR UPDATE`,
		`INSERT INTO refunds (id, payment_id, mode, network, asset, contract, amount, address, parts, reason, requested_by, state, version, created_at)
VALUES ('rfd_1', $1, 'test', 'tron', 'USDT', '', 1, 'T1', '[]', '', '', 'requested', 1, now())`,
	} {
		if _, err := tx.Exec(t.Context(), sql, p.ID); err != nil {
			t.Fatal(err)
		}
	}
	booked := make(chan string, 1)
	go func() { booked <- bookUnclaimed(w, operators.Debtor{PaymentID: p.ID, Asset: "NGN"}, "ada") }()
	for waits := 0; waits == 0; {
		waits = fixture.Ask[int](w, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		select {
		case got := <-booked:
			t.Fatalf("a booking of a locked payment = %q, want it to wait", got)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-booked; got != "nothing_owed" {
		t.Errorf("a booking after a request of a refund = %q, want nothing_owed", got)
	}
}

// Bookings and refunds of the same money at the same time take turns: the money is in one place only.
func TestUnclaimed_race(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	w.With(func(d *fixture.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(1, 0)}
	})
	p := cancelledAndPaid(w, "r1")
	var all sync.WaitGroup
	var lock sync.Mutex
	taken := 0
	try := func(f func() bool) {
		all.Go(func() {
			if f() {
				lock.Lock()
				defer lock.Unlock()
				taken++
			}
		})
	}
	for range 4 {
		try(func() bool {
			return strings.HasPrefix(bookUnclaimed(w, operators.Debtor{PaymentID: p.ID, Asset: "USDT"}, "ada"), "unc_")
		})
		try(func() bool { return requestRefund(w, p) == "" })
	}
	all.Wait()
	if taken != 1 {
		t.Errorf("%d of 4 bookings and 4 refunds took the same money, want 1", taken)
	}
	agreed(w)
}

// A booking under a key is made once, and its answer is given again.
func TestUnclaimed_underAKey(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	p := cancelledAndPaid(w, "k1")
	k := idempotency.Key{Scope: "operators", Key: "u1"}
	o := operators.UnclaimedOrder{Debtor: operators.Debtor{PaymentID: p.ID, Asset: "USDT"}, Operator: "ada", Reason: "nobody came"}
	var bodies []string
	for range 2 {
		a, err := w.Operators.BookUnclaimed(t.Context(), o, &fault.Problems{}, k)
		if err != nil || a.Status != change.StatusCreated {
			t.Fatalf("BookUnclaimed() = %d %s, %v; want 201", a.Status, a.Body, err)
		}
		bodies = append(bodies, string(a.Body))
	}
	if bodies[0] != bodies[1] {
		t.Errorf("the answers are %q, want the same twice", bodies)
	}
}
