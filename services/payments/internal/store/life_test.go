//go:build integration

package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/sandbox"
)

const enough = 19 // confirmations on tron

func (w *fixture) status(p payment.Payment) string {
	w.t.Helper()
	return ask[string](w, `SELECT status || CASE exception WHEN '' THEN '' ELSE ' ' || exception END FROM payments WHERE id = $1`, p.ID)
}

func (w *fixture) want(p payment.Payment, status string) {
	w.t.Helper()
	if got := w.status(p); got != status {
		w.t.Fatalf("status %q, want %q", got, status)
	}
}

// The whole life of a transfer, with a settled payout and a ledger that balances.
func TestLife_transferIsPaidAndSettled(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	p := w.made(command())
	w.see(p, coin{key: "t1", amount: "31.25", version: 1})
	w.want(p, "confirming")
	w.see(p, coin{key: "t1", amount: "31.25", version: 2, depth: enough})
	w.want(p, "confirmed")
	w.work(func() bool { return w.status(p) == "settled" })
	v := w.find(p.Reference)
	if v.Payment.SettledAt.IsZero() || v.Payment.ConfirmedAt.IsZero() || v.Payout == nil || v.Payout.Reference != strings.ToLower(p.Reference)+"-1" {
		t.Errorf("%+v", v.Payout)
	}
	want := []string{"1 payment.pending", "2 payment.confirming", "3 payment.confirmed", "4 payment.settling", "5 payment.settled"}
	if got := w.events(p); !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
	if n := ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 1 {
		t.Errorf("%d transfers at the bank", n)
	}
	if got := ask[string](w, `SELECT amount::text FROM sim_transfers`); got != "49500" {
		t.Errorf("paid %s", got)
	}
	if n := ask[int](w, `SELECT count(*) FROM ledger_accounts WHERE payment_id IS NOT NULL AND balance <> 0`); n != 0 {
		t.Errorf("%d accounts of the payment are not empty", n)
	}
	w.balanced()
	body, err := w.app.Show(t.Context(), owner, p.Reference)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"status":"settled"`, `"txHash":"t1"`, `"receivedAmount":31.25`, `"exception":null`, `"payoutAmount":49500`, `"accountNumber":"******6789"`,
		`"metadata":{"order":"<1>"}`, `"transfers":[{"txHash":"t1","amount":31.25,"confirmations":19,`, `"status":"succeeded","amount":49500`,
	} {
		if !strings.Contains(string(body), part) {
			t.Errorf("GET lacks %s:\n%s", part, body)
		}
	}
}

// Duplicates, old snapshots and repeated messages change nothing. Several transfers add up. A reorg reverses them.
func TestLife_depositsRepeatedReorderedReverted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	p := w.made(command())
	first := w.message(p, coin{key: "t1", amount: "20", version: 2})
	for range 3 { // the same message again, as after a crash between commit and ack
		if err := w.app.DepositChanged(t.Context(), "once", first); err != nil {
			t.Fatal(err)
		}
	}
	w.want(p, "pending underpaid")
	w.see(p, coin{key: "t1", amount: "20", version: 2}) // the same snapshot in another message
	w.see(p, coin{key: "t1", amount: "99", version: 1}) // an older one that comes late
	w.want(p, "pending underpaid")
	if got := ask[string](w, `SELECT received::text FROM payments`); got != "20" {
		t.Errorf("received %s", got)
	}
	w.see(p, coin{key: "t2", amount: "11.25", version: 1})
	w.want(p, "confirming")
	w.see(p, coin{key: "t2", amount: "11.25", version: 2, reverted: true})
	w.want(p, "pending reorged")
	w.see(p, coin{key: "t2", amount: "11.25", version: 3})
	w.want(p, "confirming")
	w.see(p, coin{key: "t1", amount: "20", version: 3, depth: enough})
	w.want(p, "confirming")
	w.see(p, coin{key: "t2", amount: "11.25", version: 4, depth: enough})
	w.want(p, "confirmed")
	w.balanced()
	sequences := w.events(p)
	for i, e := range sequences {
		if !strings.HasPrefix(e, string(rune('1'+i))+" ") {
			t.Fatalf("sequence has a gap: %v", sequences)
		}
	}
}

// A payment expires only after its network is scanned a minute past the end of its window. Money that was sent in time
// and is reported later is on time.
func TestLife_expiryWaitsForTheScanner(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(2)
	p, other := w.made(command()), w.made(command())
	ended := time.Now().Add(-3 * time.Minute)
	w.sql(`UPDATE payments SET expires_at = $1, due_at = $1 WHERE id = ANY($2)`, ended, []string{p.ID, other.ID})
	look := func() {
		t.Helper()
		if err := w.app.ExpireDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
	w.want(p, "pending") // the scanner has reported no progress
	w.scanned(100, ended.Add(30*time.Second))
	look()
	w.want(p, "pending") // scanned, but not by the margin
	w.scanned(110, ended.Add(61*time.Second))
	look()
	w.want(p, "expired")
	w.want(other, "expired")
	look() // nothing is left to do

	w.see(p, coin{key: "t1", amount: "31.25", version: 1, at: ended.Add(-time.Second)})
	w.want(p, "confirming")
	w.see(other, coin{key: "t2", amount: "31.25", version: 1, at: ended.Add(time.Minute)})
	w.want(other, "confirming paid_late") // the rate has not moved
	if due := ask[int](w, `SELECT count(*) FROM payments WHERE due_at <= now()`); due != 0 {
		t.Errorf("%d payments keep the timer busy", due)
	}
}

func TestSandbox_depositAndExpire(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(2)
	p := w.made(command())
	k := idempotency.Key{Scope: "s", Key: "k"}
	for range 2 { // the key makes the second a replay
		a, err := w.app.SimulateDeposit(t.Context(), owner, p.Reference, sandbox.SandboxDeposit{Confirmations: -1}, noProblems(), k)
		if err != nil || a.Status != 200 || !strings.Contains(string(a.Body), `"amount":31.25,"crypto":"USDT","network":"trc20","confirmations":19`) {
			t.Fatalf("%d %s %v", a.Status, a.Body, err)
		}
	}
	if n := ask[int](w, `SELECT count(*) FROM outbox WHERE name = $1`, string(wire.SimulateDepositV1)); n != 1 {
		t.Errorf("%d commands for one key", n)
	}
	live := tenant.Owner{MerchantID: "m1", Mode: tenant.Live}
	if _, err := w.app.SimulateDeposit(t.Context(), live, p.Reference, sandbox.SandboxDeposit{}, noProblems(), idempotency.Key{}); err == nil {
		t.Error("a live key reached the sandbox")
	}
	gone := w.made(command())
	if _, err := w.app.ExpireNow(t.Context(), owner, gone.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.want(gone, "expired")
	if _, err := w.app.ExpireNow(t.Context(), owner, gone.Reference, idempotency.Key{}); err == nil {
		t.Error("expired twice")
	}
	again := idempotency.Key{Scope: "s", Key: "again"} // a refusal by the state is stored under the key
	for _, replayed := range []bool{false, true} {
		a, err := w.app.ExpireNow(t.Context(), owner, gone.Reference, again)
		if err != nil || a.Status != 409 || a.Replayed != replayed || string(a.Body) != "not_expirable" {
			t.Errorf("%+v %v", a, err)
		}
	}
}

// The worker dies at each step of a payout. The next worker continues, and the bank makes one transfer.
func TestPayout_crashAtEachStep(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"claimed", "sent", "queried"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.fill(1)
			p := w.made(command())
			w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
			crashes := 0
			w.crashAt(func(step string) bool {
				if step == at && crashes == 0 {
					crashes++
					return true
				}
				return false
			})
			w.work(func() bool {
				w.hurry()
				return w.status(p) == "settled"
			})
			if crashes != 1 {
				t.Errorf("crashed %d times", crashes)
			}
			if n := ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 1 {
				t.Errorf("%d transfers at the bank", n)
			}
			w.balanced()
		})
	}
}

// hurry ends leases and waits of payouts now.
func (w *fixture) hurry() {
	w.sql(`UPDATE payouts SET taken_until = NULL, next_at = now() - interval '1 second', lease_until = CASE WHEN lease_until IS NULL THEN NULL ELSE now() - interval '1 second' END,
		sent_at = sent_at - interval '1 hour', first_miss_at = first_miss_at - interval '1 hour' WHERE next_at IS NOT NULL`)
}

// A row in state sending with an expired lease is queried and never sent.
func TestPayout_deadLeaseIsAskedAbout(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	p := w.made(command())
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.crashAt(func(step string) bool { return step == "sent" })
	due, err := w.store.DuePayouts(t.Context(), 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d due, %v", len(due), err)
	}
	if err := w.worker.Step(t.Context(), due[0]); err == nil {
		t.Fatal("did not crash")
	}
	if got := ask[string](w, `SELECT state FROM payouts`); got != "sending" {
		t.Fatalf("state %s", got)
	}
	w.want(p, "settling")
	w.crashAt(func(string) bool { return false })
	w.work(func() bool {
		w.hurry()
		return w.status(p) == "settled"
	})
	if n := ask[int](w, `SELECT sends FROM payouts`); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// A deposit that is reorged away before its held payout leaves withdraws the payout.
func TestPayout_revertedBeforeItLeft(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	p := w.made(command())
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "confirmed")
	w.see(p, coin{key: "t1", amount: "31.25", version: 2, reverted: true})
	w.want(p, "pending reorged")
	if got := ask[string](w, `SELECT state FROM payouts`); got != "withdrawn" {
		t.Errorf("payout is %s", got)
	}
	if due, err := w.store.DuePayouts(t.Context(), 1); err != nil || len(due) != 0 {
		t.Errorf("%d due, %v", len(due), err)
	}
	w.see(p, coin{key: "t1", amount: "31.25", version: 3, depth: enough}) // mined again
	w.work(func() bool { return w.status(p) == "settled" })
	if n := ask[int](w, `SELECT count(*) FROM payouts`); n != 1 {
		t.Errorf("%d payouts", n)
	}
	w.balanced()
}

// magic pays a payment of a type whose receiver has a magic account. A gift is not claimed while names are unavailable.
func (w *fixture) magic(kind payment.Type, account, tx string) (p payment.Payment, ok bool) {
	w.t.Helper()
	c := command()
	c.Receiver.AccountNumber = account
	switch kind {
	case payment.Request:
		r := requestCommand()
		r.Receiver = c.Receiver
		p = w.made(r)
		if _, err := w.fulfil(p.Reference, idempotency.Key{}); err != nil {
			w.t.Fatal(err)
		}
		p = w.find(p.Reference).Payment
	case payment.Gift:
		p = w.made(giftCommand())
	case payment.Transfer, payment.MerchantPayment, payment.BankConfirmation:
		c.Type = string(kind)
		p = w.made(c)
	}
	w.see(p, coin{key: tx, amount: p.Quote.CryptoAmount.String(), version: 1, depth: enough})
	if kind != payment.Gift {
		return p, true
	}
	_, err := w.claim(p.Reference, account, idempotency.Key{})
	if account == sim.AccountNameDown {
		if fault.As(err).Kind != fault.Unavailable || w.status(p) != "confirmed" {
			w.t.Errorf("a claim while names cannot be had: %v, %s", err, w.status(p))
		}
		return p, false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return p, true
}

// The magic accounts of docs/api-contract.md#sandbox, for every type that pays a receiver.
func TestPayout_magicAccounts(t *testing.T) {
	t.Parallel()
	for account, want := range map[string]string{
		sim.AccountNameDown: "settled", sim.AccountFails: "needs_review payout_failed", sim.AccountReturns: "needs_review payout_returned",
		sim.AccountTimesOut: "settled", sim.AccountNeverArrive: "settled",
	} {
		t.Run(account, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			var all []payment.Payment
			for i, kind := range []payment.Type{payment.Transfer, payment.Request, payment.MerchantPayment, payment.Gift} {
				w.fill(1)
				if p, ok := w.magic(kind, account, fmt.Sprint("t", i)); ok {
					all = append(all, p)
				}
			}
			w.work(func() bool {
				return !slices.ContainsFunc(all, func(p payment.Payment) bool { return w.status(p) != want })
			})
			if n := ask[int](w, `SELECT count(*) FROM payouts`); n != len(all) {
				t.Errorf("%d payouts of %d payments", n, len(all))
			}
			w.balanced()
		})
	}
	w := newFixture(t)
	c := command()
	c.Receiver.AccountNumber = sim.AccountNotFound
	if _, err := w.create(c, idempotency.Key{}); err == nil || !strings.Contains(err.Error(), "receiver.accountNumber") {
		t.Errorf("account not found: %v", err)
	}
}

// Two workers pay each of many payments once.
func TestPayout_twoWorkers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const payments = 20
	w.fill(payments)
	for i := range payments {
		p := w.made(command())
		w.see(p, coin{key: "t" + string(rune('a'+i)), amount: "31.25", version: 1, depth: enough})
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for range cap(done) {
		go func() { done <- w.worker.Run(ctx) }()
	}
	limit := time.Now().Add(time.Minute)
	for ask[int](w, `SELECT count(*) FROM payments WHERE status = 'settled'`) < payments && time.Now().Before(limit) {
	}
	cancel()
	if err := errors.Join(<-done, <-done); err != nil {
		t.Error(err)
	}
	if n := ask[int](w, `SELECT count(*) FROM payments WHERE status = 'settled'`); n != payments {
		t.Errorf("%d settled: %s", n, w.dump())
	}
	if n := ask[int](w, `SELECT count(*) FROM sim_transfers`); n != payments {
		t.Errorf("%d transfers at the bank", n)
	}
	if n := ask[int](w, `SELECT max(sends) FROM payouts`); n != 1 {
		t.Errorf("one was sent %d times", n)
	}
	w.balanced()
}
