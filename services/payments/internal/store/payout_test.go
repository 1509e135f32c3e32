//go:build integration

package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/sandbox"
)

// rigged is the simulated bank, some of whose answers the test sets.
type rigged struct {
	rail.Provider
	resolve func() (rail.Account, error)
	send    func(rail.Order) (rail.Status, error)
	query   func(ref string) (rail.Status, error)
}

func (r rigged) Resolve(ctx context.Context, cur money.Currency, bank, account string) (rail.Account, error) {
	if r.resolve == nil {
		return r.Provider.Resolve(ctx, cur, bank, account)
	}
	return r.resolve()
}

func (r rigged) Send(ctx context.Context, o rail.Order) (rail.Status, error) {
	if r.send == nil {
		return r.Provider.Send(ctx, o)
	}
	return r.send(o)
}

func (r rigged) Query(ctx context.Context, cur money.Currency, ref string) (rail.Status, error) {
	if r.query == nil {
		return r.Provider.Query(ctx, cur, ref)
	}
	return r.query(ref)
}

// rig replaces the fixture's bank by a rigged one.
func (w *fixture) rig(r rigged) {
	r.Provider = w.bank
	test := w.app.Worlds[tenant.Test]
	test.Rail = r
	w.app.Worlds[tenant.Test] = test
}

// step processes the one due payout.
func (w *fixture) step() error {
	w.t.Helper()
	due, err := w.store.DuePayouts(w.t.Context(), 2)
	if err != nil || len(due) != 1 {
		w.t.Fatalf("%d payouts are due, %v: %s", len(due), err, w.dump())
	}
	return w.worker.Step(w.t.Context(), due[0])
}

// confirmedWith returns a confirmed payment to an account.
func (w *fixture) confirmedWith(account string) payment.Payment {
	w.t.Helper()
	w.fill(1)
	c := command()
	c.Receiver.AccountNumber = account
	p := w.made(c)
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "confirmed")
	return p
}

// A sent payout is not found, and its deposit is reorged away before it may be sent again. It is not sent again, and is
// queried until the bank knows its outcome.
func TestPayout_unknownWithoutDepositIsStillAskedAbout(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.confirmedWith(sim.AccountNeverArrive)
	asked := 0
	w.rig(rigged{query: func(ref string) (rail.Status, error) {
		asked++
		return w.bank.Query(t.Context(), money.NGN, ref)
	}})
	for ask[int](w, `SELECT misses FROM payouts`) < 3 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		w.hurry()
	}
	w.see(p, coin{key: "t1", amount: "31.25", version: 2, reverted: true})
	w.want(p, "settling reorged")
	asked = 0
	for range 3 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		w.hurry()
	}
	if sends := ask[int](w, `SELECT sends FROM payouts`); asked != 3 || sends != 1 {
		t.Fatalf("asked %d times, sent %d times", asked, sends)
	}
	o := w.find(p.Reference).Payout
	if _, err := w.bank.Send(t.Context(), rail.Order{ // the lost order arrives after all
		Ref: o.Reference, Amount: o.Amount, Currency: o.Currency, BankCode: o.BankCode, AccountNumber: o.AccountNumber, Resend: true,
	}); err != nil {
		t.Fatal(err)
	}
	w.work(func() bool {
		w.hurry()
		return strings.HasPrefix(w.status(p), "settled")
	})
	w.balanced()
}

// A payout whose second send is refused is queried at growing intervals.
func TestPayout_askedAboutWithPauses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.confirmedWith(sim.AccountNeverArrive)
	for ask[int](w, `SELECT misses FROM payouts`) < 3 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		w.hurry()
	}
	w.see(p, coin{key: "t1", amount: "31.25", version: 2, reverted: true})
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if !ask[bool](w, `SELECT next_at > now() FROM payouts`) {
		t.Error("asked again at once")
	}
}

// A payout that is revived keeps its id in every event.
func TestPayout_revivedKeepsItsID(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.confirmedWith("0123456789")
	w.see(p, coin{key: "t1", amount: "31.25", version: 2, reverted: true})
	w.see(p, coin{key: "t1", amount: "31.25", version: 3, depth: enough})
	w.want(p, "confirmed")
	kept := ask[string](w, `SELECT id FROM payouts`)
	rows, err := w.pool.Query(t.Context(), `SELECT body FROM outbox WHERE name = $1 ORDER BY id`, string(wire.PaymentStatusChangedV1))
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
	w := newFixture(t)
	w.rig(rigged{resolve: func() (rail.Account, error) { return rail.Account{}, rail.ErrUnavailable }})
	p := w.confirmedWith("0123456789")
	w.rig(rigged{
		resolve: func() (rail.Account, error) { return rail.Account{}, rail.ErrNotFound },
		send:    func(rail.Order) (rail.Status, error) { t.Error("sent"); return rail.Status{}, sim.ErrTimeout },
	})
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.want(p, "needs_review payout_failed")
	if reason := ask[string](w, `SELECT reason FROM payouts`); reason == "" {
		t.Error("no reason")
	}
	w.balanced()
}

// A name that becomes known before the payout is stored with it, so that every send contains it.
func TestPayout_nameIsOnEverySend(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.rig(rigged{resolve: func() (rail.Account, error) { return rail.Account{}, rail.ErrUnavailable }})
	p := w.confirmedWith(sim.AccountNeverArrive)
	var names []string
	w.rig(rigged{
		resolve: func() (rail.Account, error) {
			return rail.Account{BankName: "GTB", Name: "ADA EZE", Verified: true}, nil
		},
		send: func(o rail.Order) (rail.Status, error) {
			names = append(names, o.AccountName)
			return w.bank.Send(t.Context(), o)
		},
	})
	w.work(func() bool {
		w.hurry()
		return w.status(p) == "settled"
	})
	if len(names) != 2 || names[0] != "ADA EZE" || names[1] != "ADA EZE" {
		t.Errorf("sent with the names %q", names)
	}
	if v := w.find(p.Reference); v.Payment.Receiver.AccountName != "ADA EZE" || !v.Payment.Receiver.NameVerified || v.Payout.BankName != "GTB" {
		t.Errorf("%+v %+v", v.Payment.Receiver, v.Payout)
	}
}

// An answer to a query from before another worker's second send says nothing about that send.
func TestPayout_answerFromBeforeTheLastSendIsNoMiss(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"no such reference": rail.ErrNoSuchRef, "no answer": sim.ErrTimeout} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.confirmedWith(sim.AccountNeverArrive)
			if err := w.step(); err != nil {
				t.Fatal(err)
			}
			w.hurry()
			w.rig(rigged{query: func(string) (rail.Status, error) {
				w.sql(`UPDATE payouts SET state = 'sending', sends = 2, lease_until = now() + interval '1 minute', next_at = now() + interval '1 minute', misses = 0`)
				return rail.Status{}, answer
			}})
			if err := w.step(); err != nil {
				t.Fatal(err)
			}
			if got := ask[string](w, `SELECT state || ' ' || misses FROM payouts`); got != "sending 0" {
				t.Errorf("payout is %s", got)
			}
		})
	}
}

// A gift has its rail from the create on, and is paid out after its claim.
func TestGift_hasARail(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	c := command()
	c.Type, c.Receiver = "gift", nil
	if p := w.made(c); p.Rail != sim.Name {
		t.Errorf("rail %q", p.Rail)
	}
}

// A snapshot of a known transfer with another address does not change the transfer's payment.
func TestDeposit_ofAnotherAddressIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(2)
	p, other := w.made(command()), w.made(command())
	w.see(p, coin{key: "t1", amount: "31.25", version: 1})
	w.want(p, "confirming")
	before := w.alerts.Load()
	w.see(other, coin{key: "t1", amount: "1", version: 2, reverted: true})
	w.see(p, coin{key: "t2", amount: "1", version: 1}) // works the payment out anew
	w.want(p, "confirming overpaid")
	w.want(other, "pending")
	if got := w.alerts.Load() - before; got != 1 {
		t.Errorf("%d alerts", got)
	}
	if got := ask[string](w, `SELECT address || ' ' || version FROM deposits WHERE key = 'tron:t1:0'`); got != p.Address+" 1" {
		t.Errorf("deposit %s", got)
	}
	w.see(p, coin{key: "t1", amount: "31.25", version: 1}) // merely old
	if got := w.alerts.Load() - before; got != 1 {
		t.Errorf("%d alerts", got)
	}
}

// Money on an address without a payment is booked again when it is mined again with another amount.
func TestDeposit_strayIsBookedAnew(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	nobody := payment.Payment{Address: "Tnobody"}
	booked := func() string {
		return ask[string](w, `SELECT coalesce(sum(CASE side WHEN 'credit' THEN amount ELSE -amount END), 0)::text FROM ledger_entries WHERE account LIKE '%suspense%'`)
	}
	for i, c := range []struct {
		coin coin
		want string
	}{
		{coin{amount: "20", depth: enough}, "20"},
		{coin{amount: "7", depth: enough}, "7"},
		{coin{amount: "9", depth: 1}, "0"},
		{coin{amount: "9", depth: enough}, "9"},
		{coin{amount: "9", reverted: true}, "0"},
	} {
		c.coin.key, c.coin.version = "t1", int64(i+1)
		w.see(nobody, c.coin)
		if got := booked(); got != c.want {
			t.Errorf("after snapshot %d %s is booked, want %s", i+1, got, c.want)
		}
	}
	w.balanced()
}

// The sandbox's "enough" confirmations suffice for the whole payment, not only for the simulated transfer.
func TestSandbox_enoughForTheWholePayment(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	depths, err := payment.ParseDepths("tron=<20:19,77")
	if err != nil {
		t.Fatal(err)
	}
	w.with(func(d *app.Deps) { d.Policy.Depths = depths })
	w.fill(1)
	p := w.made(command()) // worth 31 dollars
	a, err := w.app.SimulateDeposit(t.Context(), owner, p.Reference, sandbox.SandboxDeposit{Given: true, Amount: *number("5"), Confirmations: -1}, noProblems(), idempotency.Key{})
	if err != nil || !strings.Contains(string(a.Body), `"confirmations":77`) {
		t.Errorf("%s %v", a.Body, err)
	}
}

// Live mode refuses an unknown bank and one of another country. The sandbox accepts both
// (docs/api-contract.md#receivers).
func TestCreate_banksOfLiveMode(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.app.Worlds[tenant.Live] = w.app.Worlds[tenant.Test]
	live := tenant.Owner{MerchantID: "m1", Mode: tenant.Live}
	for _, c := range []struct{ bank, currency string }{{"zz99", "NGN"}, {"058", "ZAR"}} {
		ask := command()
		ask.Receiver.BankCode, ask.FiatCurrency, ask.FiatAmount = c.bank, c.currency, number("1000")
		_, err := w.app.Create(t.Context(), live, ask, noProblems(), idempotency.Key{})
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Field != "receiver.bankCode" {
			t.Errorf("%s in %s: %v", c.bank, c.currency, err)
		}
		w.fill(1)
		if _, err := w.create(ask, idempotency.Key{}); err != nil {
			t.Errorf("%s in %s in the sandbox: %v", c.bank, c.currency, err)
		}
	}
}
