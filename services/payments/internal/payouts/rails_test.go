//go:build integration

package payouts_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/testkit/bank"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/paystack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// paid is a payment whose money came in a transfer of that name.
func paid(w *fixture.Payments, transfer string) payment.Payment {
	w.T.Helper()
	w.Fill(1)
	p := w.Make(fixture.Command())
	w.See(p, fixture.Coin{Key: transfer, Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	return p
}

// TestR1_oneTransaction: the payout's row with its final reference, the hold in the ledger and the payment's state are
// written together.
func TestR1_oneTransaction(t *testing.T) {
	t.Parallel()
	w, _ := fixture.Railed(t)
	p := w.ConfirmedWith("0123456789")
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments p JOIN payouts o ON o.payment_id = p.id AND o.xmin = p.xmin
		JOIN ledger_journals j ON j.key = 'test:hold:' || o.reference || '#1' AND j.xmin = p.xmin
		WHERE o.reference = lower(p.reference) || '-1' AND o.rail = 'paystack' AND o.state = 'created'`); n != 1 {
		t.Fatalf("%d payouts were written with their payment and hold: %s", n, w.Dump())
	}
	w.WorkUntil(p, "settled")
	w.Balanced()
}

// ref is the reference of an attempt of a payment.
func ref(p payment.Payment, attempt string) string {
	return strings.ToLower(p.Reference) + "-" + attempt
}

// TestR2R3R5_unknownIsAskedAboutAndSentAgainUnderItsName: an order whose answer is lost, and which was never made, goes
// again to the same rail under the same reference, and never over another one.
func TestR2R3R5_unknownIsAskedAboutAndSentAgainUnderItsName(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	b.Next(bank.Paystack, bank.Broken)
	p := w.ConfirmedWith("0123456789")
	w.Work(func() bool {
		return w.Status(p) == "settling" && fixture.Ask[string](w, `SELECT state FROM payouts`) == "unknown"
	})
	queries := b.Queries()
	w.Hurry()
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	if q, o := b.Queries()-queries, b.Orders(bank.Paystack, ref(p, "1")); q != 1 || o != 1 {
		t.Fatalf("after one look at an unknown payout: %d queries and %d orders, want 1 and 1", q, o)
	}
	w.WorkUntil(p, "settled")
	if b.Orders(bank.Paystack, ref(p, "1")) != 2 || b.Made(bank.Paystack, ref(p, "1")) != 1 || len(b.All(bank.Flutterwave)) != 0 {
		t.Errorf("%d orders, %d made, %v elsewhere", b.Orders(bank.Paystack, ref(p, "1")), b.Made(bank.Paystack, ref(p, "1")), b.All(bank.Flutterwave))
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payouts WHERE sends = 2`); n != 1 {
		t.Errorf("%d payouts were sent twice", n)
	}
	w.Balanced()
}

// TestR3_lostAnswersAreFound: whatever the rail's gateway answers in place of the rail, the transfer that was made is
// found and not made again.
func TestR3_lostAnswersAreFound(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	for _, f := range []bank.Fault{bank.BrokenMade, bank.PageMade, bank.Cut} {
		b.Next(bank.Paystack, f)
		p := paid(w, string(f))
		w.WorkUntil(p, "settled")
		if b.Made(bank.Paystack, ref(p, "1")) != 1 || b.Orders(bank.Paystack, ref(p, "1")) != 1 {
			t.Errorf("%s: %d orders, %d made", f, b.Orders(bank.Paystack, ref(p, "1")), b.Made(bank.Paystack, ref(p, "1")))
		}
	}
	w.Balanced()
}

// TestR4R9_aDefiniteNoGoesOverTheNextRail checks that a refused payout goes over the next rail under its own reference,
// after a query to the first rail found nothing.
func TestR4R9_aDefiniteNoGoesOverTheNextRail(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	b.Next(bank.Paystack, bank.Refused)
	p := w.ConfirmedWith("0123456789")
	w.WorkUntil(p, "settled")
	if b.Made(bank.Paystack, ref(p, "1")) != 0 || b.Made(bank.Flutterwave, ref(p, "2")) != 1 || b.Made(bank.Paystack, ref(p, "2")) != 0 {
		t.Errorf("paystack %v, flutterwave %v", b.All(bank.Paystack), b.All(bank.Flutterwave))
	}
	if got := fixture.Ask[string](w, `SELECT string_agg(rail || ' ' || state, ', ' ORDER BY attempt) FROM payouts`); got != "paystack failed, flutterwave succeeded" {
		t.Errorf("payouts %s", got)
	}
	w.Balanced()
}

// TestR9_failedForCertain checks that a payout whose query reports a failure goes over the next rail, and that an
// operator decides when that fails too.
func TestR9_failedForCertain(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	b.Decide(bank.Paystack, bank.Failed)
	b.Decide(bank.Flutterwave, bank.Failed)
	p := w.ConfirmedWith("0123456789")
	w.WorkUntil(p, "needs_review payout_failed")
	if b.Made(bank.Paystack, ref(p, "1")) != 1 || b.Made(bank.Flutterwave, ref(p, "2")) != 1 || fixture.Ask[int](w, `SELECT count(*) FROM payouts`) != 2 {
		t.Errorf("paystack %v, flutterwave %v", b.All(bank.Paystack), b.All(bank.Flutterwave))
	}
	w.Balanced()
}

// TestR6_hintsOnlyAsk checks that a verified webhook causes a query at once, that a forged one does nothing, and that
// neither sets an outcome.
func TestR6_hintsOnlyAsk(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	b.Decide(bank.Paystack, bank.Pending)
	p := w.ConfirmedWith("0123456789")
	w.Work(func() bool { return fixture.Ask[string](w, `SELECT state FROM payouts`) == "pending" })
	w.SQL(`UPDATE payouts SET next_at = now() + interval '1 hour', taken_until = NULL`)
	due := func() bool { return fixture.Ask[bool](w, `SELECT next_at <= clock_timestamp() FROM payouts`) }

	header, body := b.Webhook(bank.Paystack, ref(p, "1"))
	lie := []byte(strings.Replace(string(body), `"pending"`, `"success"`, 1))
	for _, bad := range []struct {
		rail string
		body []byte
		want string
	}{{bank.Paystack, lie, "signature_invalid"}, {bank.Flutterwave, body, "signature_invalid"}, {"sim", body, "rail_not_found"}, {"nobody", body, "rail_not_found"}} {
		_, err := w.Hints.RailHint(t.Context(), bad.rail, header, bad.body)
		if f := fault.As(err); f.Code != bad.want || due() {
			t.Fatalf("%s: %v, due %v", bad.rail, err, due())
		}
	}
	if _, err := w.Hints.RailHint(t.Context(), bank.Paystack, header, body); err != nil || !due() {
		t.Fatalf("%v, due %v", err, due())
	}
	// A signed webhook of a success that the rail's query does not confirm changes nothing.
	b.Conclude(bank.Paystack, ref(p, "1"), bank.Success)
	header, body = b.Webhook(bank.Paystack, ref(p, "1"))
	b.Conclude(bank.Paystack, ref(p, "1"), bank.Pending)
	if _, err := w.Hints.RailHint(t.Context(), bank.Paystack, header, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "settling")
	b.Conclude(bank.Paystack, ref(p, "1"), bank.Success)
	w.SQL(`UPDATE payouts SET next_at = now() + interval '1 hour', taken_until = NULL`)
	if _, err := w.Hints.RailHint(t.Context(), bank.Paystack, header, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "settled")
	if _, err := w.Hints.RailHint(t.Context(), bank.Paystack, header, []byte(`{}`)); fault.As(err).Code != "signature_invalid" {
		t.Error(err)
	}
	w.Balanced()
}

// TestR7_anotherAmountFreezes checks that a success with another amount settles nothing before an operator concludes
// it.
func TestR7_anotherAmountFreezes(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	b.Next(bank.Paystack, bank.OtherAmount)
	p := w.ConfirmedWith("0123456789")
	w.Work(func() bool { return fixture.Ask[bool](w, `SELECT frozen FROM payouts`) })
	header, body := b.Webhook(bank.Paystack, ref(p, "1"))
	if _, err := w.Hints.RailHint(t.Context(), bank.Paystack, header, body); err != nil {
		t.Fatal(err)
	}
	if due, err := w.Due(2); err != nil || len(due) != 0 {
		t.Fatalf("%d due, %v", len(due), err)
	}
	w.Want(p, "settling")
	if w.Alerts.Load() == 0 {
		t.Error("no alert")
	}
}

// TestR8_lateWords checks that a failure after the success changes nothing, and that a later return does.
func TestR8_lateWords(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	p := w.ConfirmedWith("0123456789")
	w.WorkUntil(p, "settled")
	hint := func(outcome string) {
		t.Helper()
		b.Conclude(bank.Paystack, ref(p, "1"), outcome)
		w.SQL(`UPDATE payouts SET next_at = now() + interval '1 hour', taken_until = NULL`)
		header, body := b.Webhook(bank.Paystack, ref(p, "1"))
		if _, err := w.Hints.RailHint(t.Context(), bank.Paystack, header, body); err != nil {
			t.Fatal(err)
		}
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
	}
	told := w.Alerts.Load()
	hint(bank.Failed)
	w.Want(p, "settled")
	if w.Alerts.Load() == told {
		t.Error("no alert")
	}
	hint(bank.Reversed)
	w.Want(p, "needs_review payout_returned")
	if len(b.All(bank.Flutterwave)) != 0 {
		t.Error("money that came back left again by itself")
	}
	w.Balanced()
}

// TestR10_floatAndBreaker checks that no payout is sent that the float does not cover, and none while the breaker is
// open. A delayed payout leaves later, under its first reference.
func TestR10_floatAndBreaker(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	b.Balance(bank.Paystack, "NGN", "10")
	p := w.ConfirmedWith("0123456789")
	for range 3 {
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
		w.Hurry()
	}
	if b.Orders(bank.Paystack, ref(p, "1")) != 0 || len(b.All(bank.Flutterwave)) != 0 {
		t.Fatal("sent without a float")
	}
	w.Want(p, "confirmed")
	if w.Alerts.Load() != 1 {
		t.Errorf("%d alerts about one float", w.Alerts.Load())
	}
	b.Balance(bank.Paystack, "NGN", "1000000")
	w.Worker = w.NewWorker(false) // another replica, which has not read the balance yet
	w.WorkUntil(p, "settled")
	if b.Made(bank.Paystack, ref(p, "1")) != 1 {
		t.Error("not paid under its reference")
	}

	w.SQL(`UPDATE payouts SET next_at = NULL`) // the first one is not looked after any more
	b.Down(bank.Paystack, true)
	w.Worker = w.NewWorker(false)
	p = paid(w, "t2")
	for range 8 {
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
		w.Hurry()
	}
	b.Down(bank.Paystack, false)
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	if b.Orders(bank.Paystack, ref(p, "1")) != 0 {
		t.Error("sent while the breaker is open")
	}
	w.Want(p, "confirmed")
	w.Balanced()
}

// The receiver gets whole shillings, because the rail pays no smaller units, and the rest is booked as rounding. A rail
// without names gets a label instead.
func TestPayout_wholeShillingsWithoutAName(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	w.Fill(1)
	c := fixture.Command()
	c.FiatCurrency, c.FiatAmount, c.ChargeFrom = "KES", fixture.Number("5000.75"), "crypto"
	c.Receiver = &payment.ReceiverInput{BankCode: "MPESA", AccountNumber: "0712345678"}
	p := w.Make(c)
	if p.Receiver.AccountName != "" || p.Receiver.NameVerified || p.Receiver.BankName != "M-PESA" || p.Rail != paystack.Name {
		t.Errorf("receiver %+v over %s", p.Receiver, p.Rail)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: p.Quote.CryptoAmount.String(), Version: 1, Depth: fixture.Enough})
	w.WorkUntil(p, "settled")
	line, _ := b.Find(bank.Paystack, ref(p, "1"))
	if line.Amount != "5000.00" || line.Name != "Account ending 5678" {
		t.Errorf("paid %+v", line)
	}
	if got := fixture.Ask[string](w, `SELECT sum(amount)::text FROM ledger_entries WHERE account = 'test:rounding:KES'`); got != "0.75" {
		t.Errorf("rounding %s", got)
	}
	w.Balanced()
}

// TestRails_payAtMostOnce checks that, for any answers of the two rails and any crash of a worker, at most one transfer
// of a payment succeeds, and exactly one of a settled payment.
func TestRails_payAtMostOnce(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	faults := append(bank.Faults(), bank.Fine, bank.Fine)
	outcomes := []string{bank.Success, bank.Success, bank.Failed, bank.Pending}
	for n := range fixture.RailScripts {
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
		w.Worker = w.NewWorker(false) // one whose breaker is closed
		p := paid(w, fmt.Sprint("many", n))
		var script []string
		for range 30 {
			crash := rand.IntN(4) == 0
			w.CrashAt(func(string) bool { return crash })
			due, err := w.Due(4)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range due {
				if err := w.Worker.Step(t.Context(), o); err != nil {
					script = append(script, err.Error())
				}
			}
			w.Hurry()
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
		w.CrashAt(func(string) bool { return false })
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
		if status := w.Status(p); paid > 1 || (status == "settled" && paid != 1) {
			t.Fatalf("payment %d was paid %d times and is %s: %v %s", n, paid, status, script, w.Dump())
		}
		w.SQL(`UPDATE payouts SET next_at = NULL`)
	}
	over := fixture.Ask[string](w, `SELECT string_agg(DISTINCT rail, ' ' ORDER BY rail) FROM payouts WHERE state = 'succeeded'`)
	if over != "flutterwave paystack" {
		t.Errorf("%d payments with random faults were paid over %q only", fixture.RailScripts, over)
	}
	w.Balanced()
}
