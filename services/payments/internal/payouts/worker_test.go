//go:build integration

package payouts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/sim"
)

// The worker dies at each step of a payout. The next worker continues, and the bank makes one transfer.
func TestPayout_crashAtEachStep(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"claimed", "sent", "queried"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			w.Fill(1)
			p := w.Make(fixture.Command())
			w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
			crashes := 0
			w.CrashAt(func(step string) bool {
				if step == at && crashes == 0 {
					crashes++
					return true
				}
				return false
			})
			w.Work(func() bool {
				w.Hurry()
				return w.Status(p) == "settled"
			})
			if crashes != 1 {
				t.Errorf("crashed %d times", crashes)
			}
			if n := fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 1 {
				t.Errorf("%d transfers at the bank", n)
			}
			w.Balanced()
		})
	}
}

// A row in state sending with an expired lease is queried and never sent.
func TestPayout_deadLeaseIsAskedAbout(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Command())
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.CrashAt(func(step string) bool { return step == "sent" })
	due, err := w.Due(1)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d due, %v", len(due), err)
	}
	if err := w.Worker.Step(t.Context(), due[0]); err == nil {
		t.Fatal("did not crash")
	}
	if got := fixture.Ask[string](w, `SELECT state FROM payouts`); got != "sending" {
		t.Fatalf("state %s", got)
	}
	w.Want(p, "settling")
	w.CrashAt(func(string) bool { return false })
	w.Work(func() bool {
		w.Hurry()
		return w.Status(p) == "settled"
	})
	if n := fixture.Ask[int](w, `SELECT sends FROM payouts`); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// A deposit that is reorged away before its held payout leaves withdraws the payout.
func TestPayout_revertedBeforeItLeft(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Command())
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 2, Reverted: true})
	w.Want(p, "pending reorged")
	if got := fixture.Ask[string](w, `SELECT state FROM payouts`); got != "withdrawn" {
		t.Errorf("payout is %s", got)
	}
	if due, err := w.Due(1); err != nil || len(due) != 0 {
		t.Errorf("%d due, %v", len(due), err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 3, Depth: fixture.Enough}) // mined again
	w.Work(func() bool { return w.Status(p) == "settled" })
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payouts`); n != 1 {
		t.Errorf("%d payouts", n)
	}
	w.Balanced()
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
			w := fixture.New(t)
			var all []payment.Payment
			for i, kind := range []payment.Type{payment.Transfer, payment.Request, payment.MerchantPayment, payment.Gift} {
				w.Fill(1)
				if p, ok := w.Magic(kind, account, fmt.Sprint("t", i)); ok {
					all = append(all, p)
				}
			}
			w.Work(func() bool {
				return !slices.ContainsFunc(all, func(p payment.Payment) bool { return w.Status(p) != want })
			})
			if n := fixture.Ask[int](w, `SELECT count(*) FROM payouts`); n != len(all) {
				t.Errorf("%d payouts of %d payments", n, len(all))
			}
			w.Balanced()
		})
	}
	w := fixture.New(t)
	c := fixture.Command()
	c.Receiver.AccountNumber = sim.AccountNotFound
	if _, err := w.Create(c, idempotency.Key{}); err == nil || !strings.Contains(err.Error(), "receiver.accountNumber") {
		t.Errorf("account not found: %v", err)
	}
}

// Two workers pay each of many payments once.
func TestPayout_twoWorkers(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	const payments = 20
	w.Fill(payments)
	for i := range payments {
		p := w.Make(fixture.Command())
		w.See(p, fixture.Coin{Key: "t" + string(rune('a'+i)), Amount: "31.25", Version: 1, Depth: fixture.Enough})
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for range cap(done) {
		go func() { done <- w.Worker.Run(ctx) }()
	}
	limit := time.Now().Add(time.Minute)
	for fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE status = 'settled'`) < payments && time.Now().Before(limit) {
	}
	cancel()
	if err := errors.Join(<-done, <-done); err != nil {
		t.Error(err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE status = 'settled'`); n != payments {
		t.Errorf("%d settled: %s", n, w.Dump())
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`); n != payments {
		t.Errorf("%d transfers at the bank", n)
	}
	if n := fixture.Ask[int](w, `SELECT max(sends) FROM payouts`); n != 1 {
		t.Errorf("one was sent %d times", n)
	}
	w.Balanced()
}

// A sent payout is not found, and its deposit is reorged away before it may be sent again. It is not sent again, and is
// queried until the bank knows its outcome.
func TestPayout_unknownWithoutDepositIsStillAskedAbout(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := w.ConfirmedWith(sim.AccountNeverArrive)
	asked := 0
	w.Rig(fixture.Rigged{OnQuery: func(ref string) (rail.Status, error) {
		asked++
		return w.Bank.Query(t.Context(), money.NGN, ref)
	}})
	for fixture.Ask[int](w, `SELECT misses FROM payouts`) < 3 {
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
		w.Hurry()
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 2, Reverted: true})
	w.Want(p, "settling reorged")
	asked = 0
	for range 3 {
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
		w.Hurry()
	}
	if sends := fixture.Ask[int](w, `SELECT sends FROM payouts`); asked != 3 || sends != 1 {
		t.Fatalf("asked %d times, sent %d times", asked, sends)
	}
	o := w.Find(p.Reference).Payout
	if _, err := w.Bank.Send(t.Context(), rail.Order{ // the lost order arrives after all
		Ref: o.Reference, Amount: o.Amount, Currency: o.Currency, BankCode: o.BankCode, AccountNumber: o.AccountNumber, Resend: true,
	}); err != nil {
		t.Fatal(err)
	}
	w.Work(func() bool {
		w.Hurry()
		return strings.HasPrefix(w.Status(p), "settled")
	})
	w.Balanced()
}

// A payout whose second send is refused is queried at growing intervals.
func TestPayout_askedAboutWithPauses(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := w.ConfirmedWith(sim.AccountNeverArrive)
	for fixture.Ask[int](w, `SELECT misses FROM payouts`) < 3 {
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
		w.Hurry()
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 2, Reverted: true})
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	if !fixture.Ask[bool](w, `SELECT next_at > now() FROM payouts`) {
		t.Error("asked again at once")
	}
}

// lock holds the row of a payment, as another change of it does.
func lock(w *fixture.Payments, p payment.Payment) (release func()) {
	w.T.Helper()
	held, err := w.Pool.Begin(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	if _, err := held.Exec(w.T.Context(), `SELECT FROM payments WHERE id = $1 FOR UPDATE`, p.ID); err != nil {
		w.T.Fatal(err)
	}
	return func() { _ = held.Rollback(context.WithoutCancel(w.T.Context())) }
}

// A payout that has left, and whose rail has no outcome, changes its own row alone: neither the question nor the answer
// waits for the payment.
func TestPayout_askedAboutBesideALockedPayment(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := w.ConfirmedWith("0123456789")
	release := func() {}
	defer func() { release() }()
	accepted := func(reference string) (rail.Status, error) {
		return rail.Status{Ref: reference, State: rail.Pending, Amount: p.Quote.PayoutAmount, Currency: p.Currency}, nil
	}
	w.Rig(fixture.Rigged{
		OnSend: func(o rail.Order) (rail.Status, error) {
			release = lock(w, p) // the claim is committed
			return accepted(o.Ref)
		},
		OnQuery: accepted,
	})
	for _, want := range []string{"pending 1", "pending 2"} {
		if err := w.Step(); err != nil {
			t.Fatalf("work beside a locked payment: %v, want the payout %s", err, want)
		}
		if got := fixture.Ask[string](w, `SELECT state || ' ' || polls FROM payouts WHERE next_at > answer_at AND taken_until IS NULL`); got != want {
			t.Errorf("the payout is %s, want %s", got, want)
		}
		w.SQL(`UPDATE payouts SET next_at = now()`)
	}
	release()
	w.Rig(fixture.Rigged{OnQuery: func(reference string) (rail.Status, error) {
		s, err := accepted(reference)
		s.State = rail.Succeeded
		return s, err
	}})
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "settled")
	w.Balanced()
}

// An answer takes back nothing that was written to the row while the rail was asked.
func TestPayout_answerBesideAnotherWrite(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := w.ConfirmedWith("0123456789")
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	w.Hurry()
	w.Rig(fixture.Rigged{OnQuery: func(reference string) (rail.Status, error) {
		w.SQL(`UPDATE payouts SET stopped = true`)
		return rail.Status{Ref: reference, State: rail.Pending, Amount: p.Quote.PayoutAmount, Currency: p.Currency}, nil
	}})
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	if got := fixture.Ask[string](w, `SELECT state || ' ' || polls || ' ' || stopped FROM payouts`); got != "pending 2 true" {
		t.Errorf("the payout after an answer beside an operator's stop is %s, want pending 2 true", got)
	}
}

// The database's clock says when a payout is due, so it also times an answer: a worker whose own clock is wrong asks
// neither late nor without a pause.
func TestPayout_answerTimedByTheDatabase(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			p := w.ConfirmedWith("0123456789")
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
			w.Hurry()
			w.With(func(d *fixture.Deps) { d.Now = func() time.Time { return time.Now().Add(skew) } })
			w.Rig(fixture.Rigged{OnQuery: func(reference string) (rail.Status, error) {
				return rail.Status{Ref: reference, State: rail.Pending, Amount: p.Quote.PayoutAmount, Currency: p.Currency}, nil
			}})
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
			if got := fixture.Ask[string](w, `SELECT concat_ws(' ', state, polls, abs(extract(epoch FROM clock_timestamp() - answer_at)) < 60, next_at > answer_at)
				FROM payouts`); got != "pending 2 t t" {
				t.Errorf("after an answer to a worker whose clock is an hour %s: state, polls, answered within a minute of now, next query after it = %s, want pending 2 t t",
					name, got)
			}
		})
	}
}

// Somebody who hints at a payout while its rail is asked may know more than the answer says, so it is asked again.
func TestPayout_hintBesideAnAnswer(t *testing.T) {
	t.Parallel()
	for name, hint := range map[string]func(w *fixture.Payments, reference string) error{
		"of the rail": func(w *fixture.Payments, reference string) error {
			return w.Store.Hint(t.Context(), sim.Name, reference)
		},
		"of an operator": func(w *fixture.Payments, _ string) error {
			d := operators.PayoutOrder{Operator: "ada", Reason: "the customer calls"}
			_, err := w.Operators.AskPayout(t.Context(), fixture.Ask[string](w, `SELECT id FROM payouts`), d, &fault.Problems{}, idempotency.Key{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			p := w.ConfirmedWith("0123456789")
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
			w.Hurry()
			answer := func(state rail.State, hinted bool) func(string) (rail.Status, error) {
				return func(reference string) (rail.Status, error) {
					s := rail.Status{Ref: reference, State: state, Amount: p.Quote.PayoutAmount, Currency: p.Currency}
					if hinted {
						return s, hint(w, reference)
					}
					return s, nil
				}
			}
			w.Rig(fixture.Rigged{OnQuery: answer(rail.Pending, true)})
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
			const due = `SELECT concat_ws(' ', state, polls, next_at <= answer_at) FROM payouts`
			if got := fixture.Ask[string](w, due); got != "pending 2 t" {
				t.Errorf("after a hint %s beside the rail's answer: state, polls, due = %s, want pending 2 t", name, got)
			}
			w.SQL(`UPDATE payouts SET taken_until = NULL`) // the worker keeps it for a few seconds
			w.Rig(fixture.Rigged{OnQuery: answer(rail.Pending, false)})
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
			if got := fixture.Ask[string](w, due); got != "pending 3 f" {
				t.Errorf("after the query that the hint %s asked for: state, polls, due = %s, want pending 3 f", name, got)
			}
			w.Hurry() // a success that the rail has changed by the time it is written
			w.Rig(fixture.Rigged{OnQuery: answer(rail.Succeeded, true)})
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
			if got := fixture.Ask[string](w, due); got != "succeeded 0 t" {
				t.Errorf("after a hint %s beside a success: state, polls, due = %s, want succeeded 0 t", name, got)
			}
		})
	}
}

// A payout that is revived keeps its id in every event.
func TestPayout_revivedKeepsItsID(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := w.ConfirmedWith("0123456789")
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 2, Reverted: true})
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 3, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	kept := fixture.Ask[string](w, `SELECT id FROM payouts`)
	rows, err := w.Pool.Query(t.Context(), `SELECT body FROM outbox WHERE name = $1 ORDER BY id`, string(wire.PaymentStatusChangedV1))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	confirmed := 0
	for rows.Next() {
		var body []byte
		var m wire.StatusChanged
		var e struct {
			Data struct {
				Payment struct{ Payout *struct{ ID string } }
			}
		}
		if err := errors.Join(rows.Scan(&body), json.Unmarshal(body, &m), json.Unmarshal(m.Body, &e)); err != nil {
			t.Fatal(err)
		}
		if m.Type != "payment.confirmed" {
			continue
		}
		confirmed++
		if e.Data.Payment.Payout == nil || e.Data.Payment.Payout.ID != kept {
			t.Errorf("event %d shows payout %+v, the row is %s", m.Sequence, e.Data.Payment.Payout, kept)
		}
	}
	if confirmed != 2 {
		t.Errorf("%d events payment.confirmed", confirmed)
	}
}

// An account that does not exist is not paid (docs/api-contract.md#receivers).
func TestPayout_noSuchAccountIsNotPaid(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Rig(fixture.Rigged{OnResolve: func() (rail.Account, error) { return rail.Account{}, rail.ErrUnavailable }})
	p := w.ConfirmedWith("0123456789")
	w.Rig(fixture.Rigged{
		OnResolve: func() (rail.Account, error) { return rail.Account{}, rail.ErrNotFound },
		OnSend:    func(rail.Order) (rail.Status, error) { t.Error("sent"); return rail.Status{}, sim.ErrTimeout },
	})
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "needs_review payout_failed")
	if reason := fixture.Ask[string](w, `SELECT reason FROM payouts`); reason == "" {
		t.Error("no reason")
	}
	w.Balanced()
}

// The account that the bank did not know for one worker was known to another, which has sent the order meanwhile.
func TestPayout_noSuchAccountAfterAnotherWorkersSend(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"sending", "pending", "unknown", "succeeded"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			w.Rig(fixture.Rigged{OnResolve: func() (rail.Account, error) { return rail.Account{}, rail.ErrUnavailable }})
			p := w.ConfirmedWith("0123456789")
			w.Rig(fixture.Rigged{OnResolve: func() (rail.Account, error) {
				w.SQL(`UPDATE payouts SET state = '` + state + `', sends = 1, sent_at = now(), lease_until = now() + interval '1 minute', next_at = now() + interval '1 minute'`)
				return rail.Account{}, rail.ErrNotFound
			}})
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
			if got := fixture.Ask[string](w, `SELECT state FROM payouts`); got != state {
				t.Errorf("the payout is %s, another worker made it %s", got, state)
			}
			if got := fixture.Ask[bool](w, `SELECT next_at > now() + interval '10 seconds' FROM payouts`); !got {
				t.Error("the time of the other worker's next query is gone")
			}
			if got := w.Status(p); strings.Contains(got, "needs_review") {
				t.Errorf("the payment is %s", got)
			}
			w.Balanced()
		})
	}
}

// A payout whose receiver's name cannot be looked up goes behind those that are due, so it keeps no slot from them.
func TestPayout_waitsForANameBehindOthers(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	test := w.Deps.Providers[tenant.Test]
	test.NameWait = 0 // without end, as in live mode
	w.Deps.Providers[tenant.Test] = test
	w.Rig(fixture.Rigged{
		OnResolve: func() (rail.Account, error) { return rail.Account{}, rail.ErrUnavailable },
		OnSend:    func(rail.Order) (rail.Status, error) { t.Error("sent"); return rail.Status{}, sim.ErrTimeout },
	})
	w.ConfirmedWith("0123456789")
	for range 3 {
		w.Hurry()
		before := fixture.Ask[time.Time](w, `SELECT now()`)
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
		if next := fixture.Ask[time.Time](w, `SELECT next_at FROM payouts`); !next.After(before) {
			t.Fatalf("the payout is due at %s, before its look at %s", next, before)
		}
	}
	if got := fixture.Ask[string](w, `SELECT state FROM payouts`); got != "created" {
		t.Errorf("the payout is %s", got)
	}
}

// A name that becomes known before the payout is stored with it, so that every send contains it.
func TestPayout_nameIsOnEverySend(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Rig(fixture.Rigged{OnResolve: func() (rail.Account, error) { return rail.Account{}, rail.ErrUnavailable }})
	p := w.ConfirmedWith(sim.AccountNeverArrive)
	var names []string
	w.Rig(fixture.Rigged{
		OnResolve: func() (rail.Account, error) {
			return rail.Account{BankName: "GTB", Name: "ADA EZE", Verified: true}, nil
		},
		OnSend: func(o rail.Order) (rail.Status, error) {
			names = append(names, o.AccountName)
			return w.Bank.Send(t.Context(), o)
		},
	})
	w.Work(func() bool {
		w.Hurry()
		return w.Status(p) == "settled"
	})
	if len(names) != 2 || names[0] != "ADA EZE" || names[1] != "ADA EZE" {
		t.Errorf("sent with the names %q", names)
	}
	if v := w.Find(p.Reference); v.Payment.Receiver.AccountName != "ADA EZE" || !v.Payment.Receiver.NameVerified || v.Payout.BankName != "GTB" {
		t.Errorf("receiver = %+v of the payout %+v, want the rail's verified name ADA EZE at GTB", v.Payment.Receiver, v.Payout)
	}
}

// An answer to a query from before another worker's second send says nothing about that send.
func TestPayout_answerFromBeforeTheLastSendIsNoMiss(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"no such reference": rail.ErrNoSuchRef, "no answer": sim.ErrTimeout} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			w.ConfirmedWith(sim.AccountNeverArrive)
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
			w.Hurry()
			w.Rig(fixture.Rigged{OnQuery: func(string) (rail.Status, error) {
				w.SQL(`UPDATE payouts SET state = 'sending', sends = 2, lease_until = now() + interval '1 minute', next_at = now() + interval '1 minute', misses = 0`)
				return rail.Status{}, answer
			}})
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
			if got := fixture.Ask[string](w, `SELECT state || ' ' || misses FROM payouts`); got != "sending 0" {
				t.Errorf("payout is %s", got)
			}
		})
	}
}
