//go:build integration

package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/config"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/bank"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/flutterwave"
	"causeway.internal/services/payments/internal/rail/paystack"
)

// railed is a fixture whose payouts go over Paystack, then over Flutterwave, at a bank that answers as both document.
func railed(t *testing.T) (*fixture, *bank.Server) {
	w, b := newFixture(t), bank.Start(t)
	keys := map[money.Currency]config.Secret{}
	whole := map[payment.RailCurrency]bool{}
	for _, cur := range money.Currencies() {
		keys[cur] = bank.PaystackKey
	}
	ps, err := paystack.New(paystack.Options{Base: b.Base(bank.Paystack), Keys: keys, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	fw, err := flutterwave.New(flutterwave.Options{Base: b.Base(bank.Flutterwave), Key: bank.FlutterwaveKey, Hash: bank.FlutterwaveHash, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	whole[payment.RailCurrency{Rail: paystack.Name, Currency: money.KES}] = true
	w.with(func(d *app.Deps) {
		test := d.Worlds[tenant.Test]
		test.Rail, test.Others = ps, []rail.Provider{fw}
		d.Worlds, d.Policy.Whole = map[tenant.Mode]provider.Set{tenant.Test: test}, whole
	})
	return w, b
}

// ref is the reference of an attempt of a payment.
func ref(p payment.Payment, attempt string) string {
	return strings.ToLower(p.Reference) + "-" + attempt
}

// paid is a payment whose money came in a transfer of that name.
func (w *fixture) paid(transfer string) payment.Payment {
	w.t.Helper()
	w.fill(1)
	p := w.made(command())
	w.see(p, coin{key: transfer, amount: "31.25", version: 1, depth: enough})
	w.want(p, "confirmed")
	return p
}

func (w *fixture) until(p payment.Payment, status string) {
	w.t.Helper()
	w.work(func() bool { w.hurry(); return w.status(p) == status })
}

// TestR1_oneTransaction: the payout's row with its final reference, the hold in the ledger and the payment's state are
// written together.
func TestR1_oneTransaction(t *testing.T) {
	t.Parallel()
	w, _ := railed(t)
	p := w.confirmedWith("0123456789")
	if n := ask[int](w, `SELECT count(*) FROM payments p JOIN payouts o ON o.payment_id = p.id AND o.xmin = p.xmin
		JOIN ledger_journals j ON j.key = 'test:hold:' || o.reference || '#1' AND j.xmin = p.xmin
		WHERE o.reference = lower(p.reference) || '-1' AND o.rail = 'paystack' AND o.state = 'created'`); n != 1 {
		t.Fatalf("%d payouts were written with their payment and hold: %s", n, w.dump())
	}
	w.until(p, "settled")
	w.balanced()
}

// TestR2R3R5_unknownIsAskedAboutAndSentAgainUnderItsName: an order whose answer is lost, and which was never made, goes
// again to the same rail under the same reference, and never over another one.
func TestR2R3R5_unknownIsAskedAboutAndSentAgainUnderItsName(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	b.Next(bank.Paystack, bank.Broken)
	p := w.confirmedWith("0123456789")
	w.work(func() bool {
		return w.status(p) == "settling" && ask[string](w, `SELECT state FROM payouts`) == "unknown"
	})
	queries := b.Queries()
	w.hurry()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if q, o := b.Queries()-queries, b.Orders(bank.Paystack, ref(p, "1")); q != 1 || o != 1 {
		t.Fatalf("after one look at an unknown payout: %d queries and %d orders, want 1 and 1", q, o)
	}
	w.until(p, "settled")
	if b.Orders(bank.Paystack, ref(p, "1")) != 2 || b.Made(bank.Paystack, ref(p, "1")) != 1 || len(b.All(bank.Flutterwave)) != 0 {
		t.Errorf("%d orders, %d made, %v elsewhere", b.Orders(bank.Paystack, ref(p, "1")), b.Made(bank.Paystack, ref(p, "1")), b.All(bank.Flutterwave))
	}
	if n := ask[int](w, `SELECT count(*) FROM payouts WHERE sends = 2`); n != 1 {
		t.Errorf("%d payouts were sent twice", n)
	}
	w.balanced()
}

// TestR3_lostAnswersAreFound: whatever the rail's gateway answers in place of the rail, the transfer that was made is
// found and not made again.
func TestR3_lostAnswersAreFound(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	for _, f := range []bank.Fault{bank.BrokenMade, bank.PageMade, bank.Cut} {
		b.Next(bank.Paystack, f)
		p := w.paid(string(f))
		w.until(p, "settled")
		if b.Made(bank.Paystack, ref(p, "1")) != 1 || b.Orders(bank.Paystack, ref(p, "1")) != 1 {
			t.Errorf("%s: %d orders, %d made", f, b.Orders(bank.Paystack, ref(p, "1")), b.Made(bank.Paystack, ref(p, "1")))
		}
	}
	w.balanced()
}

// TestR4R9_aDefiniteNoGoesOverTheNextRail checks that a refused payout goes over the next rail under its own reference,
// after a query to the first rail found nothing.
func TestR4R9_aDefiniteNoGoesOverTheNextRail(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	b.Next(bank.Paystack, bank.Refused)
	p := w.confirmedWith("0123456789")
	w.until(p, "settled")
	if b.Made(bank.Paystack, ref(p, "1")) != 0 || b.Made(bank.Flutterwave, ref(p, "2")) != 1 || b.Made(bank.Paystack, ref(p, "2")) != 0 {
		t.Errorf("paystack %v, flutterwave %v", b.All(bank.Paystack), b.All(bank.Flutterwave))
	}
	if got := ask[string](w, `SELECT string_agg(rail || ' ' || state, ', ' ORDER BY attempt) FROM payouts`); got != "paystack failed, flutterwave succeeded" {
		t.Errorf("payouts %s", got)
	}
	w.balanced()
}

// TestR9_failedForCertain checks that a payout whose query reports a failure goes over the next rail, and that an
// operator decides when that fails too.
func TestR9_failedForCertain(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	b.Decide(bank.Paystack, bank.Failed)
	b.Decide(bank.Flutterwave, bank.Failed)
	p := w.confirmedWith("0123456789")
	w.until(p, "needs_review payout_failed")
	if b.Made(bank.Paystack, ref(p, "1")) != 1 || b.Made(bank.Flutterwave, ref(p, "2")) != 1 || ask[int](w, `SELECT count(*) FROM payouts`) != 2 {
		t.Errorf("paystack %v, flutterwave %v", b.All(bank.Paystack), b.All(bank.Flutterwave))
	}
	w.balanced()
}

// TestR6_hintsOnlyAsk checks that a verified webhook causes a query at once, that a forged one does nothing, and that
// neither sets an outcome.
func TestR6_hintsOnlyAsk(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	b.Decide(bank.Paystack, bank.Pending)
	p := w.confirmedWith("0123456789")
	w.work(func() bool { return ask[string](w, `SELECT state FROM payouts`) == "pending" })
	w.sql(`UPDATE payouts SET next_at = now() + interval '1 hour', taken_until = NULL`)
	due := func() bool { return ask[bool](w, `SELECT next_at <= clock_timestamp() FROM payouts`) }

	header, body := b.Webhook(bank.Paystack, ref(p, "1"))
	lie := []byte(strings.Replace(string(body), `"pending"`, `"success"`, 1))
	for _, bad := range []struct {
		rail string
		body []byte
		want string
	}{{bank.Paystack, lie, "signature_invalid"}, {bank.Flutterwave, body, "signature_invalid"}, {"sim", body, "rail_not_found"}, {"nobody", body, "rail_not_found"}} {
		_, err := w.app.RailHint(t.Context(), bad.rail, header, bad.body)
		if f := fault.As(err); f.Code != bad.want || due() {
			t.Fatalf("%s: %v, due %v", bad.rail, err, due())
		}
	}
	if _, err := w.app.RailHint(t.Context(), bank.Paystack, header, body); err != nil || !due() {
		t.Fatalf("%v, due %v", err, due())
	}
	// A signed webhook of a success that the rail's query does not confirm changes nothing.
	b.Conclude(bank.Paystack, ref(p, "1"), bank.Success)
	header, body = b.Webhook(bank.Paystack, ref(p, "1"))
	b.Conclude(bank.Paystack, ref(p, "1"), bank.Pending)
	if _, err := w.app.RailHint(t.Context(), bank.Paystack, header, body); err != nil {
		t.Fatal(err)
	}
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.want(p, "settling")
	b.Conclude(bank.Paystack, ref(p, "1"), bank.Success)
	w.sql(`UPDATE payouts SET next_at = now() + interval '1 hour', taken_until = NULL`)
	if _, err := w.app.RailHint(t.Context(), bank.Paystack, header, body); err != nil {
		t.Fatal(err)
	}
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.want(p, "settled")
	if _, err := w.app.RailHint(t.Context(), bank.Paystack, header, []byte(`{}`)); fault.As(err).Code != "signature_invalid" {
		t.Error(err)
	}
	w.balanced()
}

// TestR7_anotherAmountFreezes checks that a success with another amount settles nothing before an operator concludes
// it.
func TestR7_anotherAmountFreezes(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	b.Next(bank.Paystack, bank.OtherAmount)
	p := w.confirmedWith("0123456789")
	w.work(func() bool { return ask[bool](w, `SELECT frozen FROM payouts`) })
	header, body := b.Webhook(bank.Paystack, ref(p, "1"))
	if _, err := w.app.RailHint(t.Context(), bank.Paystack, header, body); err != nil {
		t.Fatal(err)
	}
	if due, err := w.store.DuePayouts(t.Context(), 2); err != nil || len(due) != 0 {
		t.Fatalf("%d due, %v", len(due), err)
	}
	w.want(p, "settling")
	if w.alerts.Load() == 0 {
		t.Error("nobody was told")
	}
}

// TestR8_lateWords checks that a failure after the success changes nothing, and that a later return does.
func TestR8_lateWords(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	p := w.confirmedWith("0123456789")
	w.until(p, "settled")
	hint := func(outcome string) {
		t.Helper()
		b.Conclude(bank.Paystack, ref(p, "1"), outcome)
		w.sql(`UPDATE payouts SET next_at = now() + interval '1 hour', taken_until = NULL`)
		header, body := b.Webhook(bank.Paystack, ref(p, "1"))
		if _, err := w.app.RailHint(t.Context(), bank.Paystack, header, body); err != nil {
			t.Fatal(err)
		}
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
	}
	told := w.alerts.Load()
	hint(bank.Failed)
	w.want(p, "settled")
	if w.alerts.Load() == told {
		t.Error("nobody was told")
	}
	hint(bank.Reversed)
	w.want(p, "needs_review payout_returned")
	if len(b.All(bank.Flutterwave)) != 0 {
		t.Error("money that came back left again by itself")
	}
	w.balanced()
}

// TestR10_floatAndBreaker checks that no payout is sent that the float does not cover, and none while the breaker is
// open. A delayed payout leaves later, under its first reference.
func TestR10_floatAndBreaker(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	b.Balance(bank.Paystack, "NGN", "10")
	p := w.confirmedWith("0123456789")
	for range 3 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		w.hurry()
	}
	if b.Orders(bank.Paystack, ref(p, "1")) != 0 || len(b.All(bank.Flutterwave)) != 0 {
		t.Fatal("sent without a float")
	}
	w.want(p, "confirmed")
	if w.alerts.Load() != 1 {
		t.Errorf("%d alerts about one float", w.alerts.Load())
	}
	b.Balance(bank.Paystack, "NGN", "1000000")
	w.worker = w.newWorker(false) // another replica, which has not read the balance yet
	w.until(p, "settled")
	if b.Made(bank.Paystack, ref(p, "1")) != 1 {
		t.Error("not paid under its reference")
	}

	w.sql(`UPDATE payouts SET next_at = NULL`) // the first one is not looked after any more
	b.Down(bank.Paystack, true)
	w.worker = w.newWorker(false)
	p = w.paid("t2")
	for range 8 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		w.hurry()
	}
	b.Down(bank.Paystack, false)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if b.Orders(bank.Paystack, ref(p, "1")) != 0 {
		t.Error("sent while the breaker is open")
	}
	w.want(p, "confirmed")
	w.balanced()
}

// The receiver gets whole shillings, because the rail pays no smaller units, and the rest is booked as rounding. A rail
// without names gets a label instead.
func TestPayout_wholeShillingsWithoutAName(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	w.fill(1)
	c := command()
	c.FiatCurrency, c.FiatAmount, c.ChargeFrom = "KES", number("5000.75"), "crypto"
	c.Receiver = &payment.ReceiverInput{BankCode: "MPESA", AccountNumber: "0712345678"}
	p := w.made(c)
	if p.Receiver.AccountName != "" || p.Receiver.NameVerified || p.Receiver.BankName != "M-PESA" || p.Rail != paystack.Name {
		t.Errorf("receiver %+v over %s", p.Receiver, p.Rail)
	}
	w.see(p, coin{key: "t1", amount: p.Quote.CryptoAmount.String(), version: 1, depth: enough})
	w.until(p, "settled")
	line, _ := b.Find(bank.Paystack, ref(p, "1"))
	if line.Amount != "5000.00" || line.Name != "Account ending 5678" {
		t.Errorf("paid %+v", line)
	}
	if got := ask[string](w, `SELECT sum(amount)::text FROM ledger_entries WHERE account = 'test:rounding:KES'`); got != "0.75" {
		t.Errorf("rounding %s", got)
	}
	w.balanced()
}

// A payment to a bank that only the second rail pays goes over that rail at once. A bank that no rail pays is refused
// at create.
func TestCreate_choosesTheRail(t *testing.T) {
	t.Parallel()
	w, _ := railed(t)
	w.fill(2)
	test := w.app.Worlds[tenant.Test]
	test.Rail, test.Others = test.Others[0], []rail.Provider{test.Rail}
	w.app.Worlds[tenant.Test] = test
	c := command()
	c.FiatCurrency, c.FiatAmount, c.Receiver = "ZAR", number("500"), &payment.ReceiverInput{BankCode: "FNB", AccountNumber: "62001234567"}
	if p := w.made(c); p.Rail != paystack.Name || p.Receiver.NameVerified {
		t.Errorf("over %s, %+v", p.Rail, p.Receiver)
	}
	c.Receiver.BankCode = "XYZ"
	_, err := w.create(c, idempotency.Key{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid || f.Fields[0].Field != "receiver.bankCode" {
		t.Errorf("%v", err)
	}
}

// TestRails_payAtMostOnce checks that, for any answers of the two rails and any crash of a worker, at most one transfer
// of a payment succeeds, and exactly one of a settled payment.
func TestRails_payAtMostOnce(t *testing.T) {
	t.Parallel()
	w, b := railed(t)
	faults := append(bank.Faults(), bank.Fine, bank.Fine)
	outcomes := []string{bank.Success, bank.Success, bank.Failed, bank.Pending}
	for n := range railScripts {
		for _, name := range []string{bank.Paystack, bank.Flutterwave} {
			fault := faults[rand.IntN(len(faults))]
			for fault == bank.Hang || fault == bank.HangMade || fault == bank.OtherAmount { // slow, or frozen for a person
				fault = faults[rand.IntN(len(faults))]
			}
			b.Next(name, fault)
			b.Decide(name, outcomes[rand.IntN(len(outcomes))])
		}
		if n < 2 { // two that are known to go over either rail
			b.Next(bank.Paystack, bank.Fine)
			b.Next(bank.Flutterwave, bank.Fine)
			b.Decide(bank.Paystack, []string{bank.Failed, bank.Success}[n])
			b.Decide(bank.Flutterwave, bank.Success)
		}
		w.worker = w.newWorker(false) // one whose breaker is closed
		p := w.paid(fmt.Sprint("many", n))
		var script []string
		for range 30 {
			crash := rand.IntN(4) == 0
			w.crashAt(func(string) bool { return crash })
			due, err := w.store.DuePayouts(t.Context(), 4)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range due {
				if err := w.worker.Step(t.Context(), o); err != nil {
					script = append(script, err.Error())
				}
			}
			w.hurry()
			if rand.IntN(6) == 0 {
				for _, name := range []string{bank.Paystack, bank.Flutterwave} {
					for _, line := range b.All(name) {
						if line.Outcome == bank.Pending {
							b.Conclude(name, line.Reference, outcomes[rand.IntN(3)])
						}
					}
				}
			}
		}
		w.crashAt(func(string) bool { return false })
		paid := 0
		for _, name := range []string{bank.Paystack, bank.Flutterwave} {
			for _, line := range b.All(name) {
				if made := b.Made(name, line.Reference); made > 1 {
					t.Fatalf("%d transfers for %s", made, line.Reference)
				}
				if strings.HasPrefix(line.Reference, strings.ToLower(p.Reference)) && line.Outcome == bank.Success {
					paid++
				}
			}
		}
		if status := w.status(p); paid > 1 || (status == "settled" && paid != 1) {
			t.Fatalf("payment %d was paid %d times and is %s: %v %s", n, paid, status, script, w.dump())
		}
		w.sql(`UPDATE payouts SET next_at = NULL`)
	}
	over := ask[string](w, `SELECT string_agg(DISTINCT rail, ' ' ORDER BY rail) FROM payouts WHERE state = 'succeeded'`)
	if over != "flutterwave paystack" {
		t.Errorf("%d payments with random faults were paid over %q only", railScripts, over)
	}
	w.balanced()
}
