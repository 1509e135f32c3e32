//go:build integration

package payouts_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/stock"
)

// reborn replaces the processes of the fixture by new ones, in recovery.
func reborn(w *fixture.Payments) {
	w.T.Helper()
	if err := w.Store.Recover(w.T.Context(), 24*time.Hour); err != nil {
		w.T.Fatal(err)
	}
	log := telemetrytest.ForTest(w.T).Log
	w.With(func(d *fixture.Deps) { d.Stock = stock.New(w.Store, id.New("replica_", time.Now()), 64, log) })
	w.Worker = w.NewWorker(true)
}

// stepOnly has the worker look at one payment's payout and at no other.
func stepOnly(w *fixture.Payments, p payment.Payment) {
	w.T.Helper()
	w.SQL(`UPDATE payouts SET taken_until = NULL, next_at = now() + CASE WHEN payment_id = $1 THEN interval '-1 second' ELSE interval '1 hour' END
		WHERE next_at IS NOT NULL`, p.ID)
	if err := w.Step(); err != nil {
		w.T.Fatal(err)
	}
}

// full is a transfer that pays the usual command and is deep enough.
func full(key string) fixture.Coin {
	return fixture.Coin{Key: key, Amount: "31.25", Version: 1, Depth: fixture.Enough}
}

// neverArriving is a payment whose first order gets lost on its way to the bank.
func neverArriving(w *fixture.Payments) payment.Payment {
	w.T.Helper()
	c := fixture.Command()
	c.Receiver.AccountNumber = sim.AccountNeverArrive
	return w.Make(c)
}

// The database loses a minute, and bank, payers and wallets do not. Nothing is paid twice, no address is shown twice,
// and no deposit is lost.
func TestRecovery_databaseSetBack(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	sent, unknown, waiting, later := w.Make(fixture.Command()), neverArriving(w), w.Make(fixture.Command()), w.Make(fixture.Command())
	shown := []string{sent.Address, unknown.Address, waiting.Address, later.Address}

	w.See(unknown, full("unknown"))
	for w.PayoutRow(unknown) != "unknown 1" || fixture.Ask[int](w, `SELECT misses FROM payouts`) < 3 {
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
		w.Hurry()
	}
	w.See(sent, full("sent"))
	w.See(waiting, full("waiting"))
	w.SQL(`INSERT INTO address_requests (mode, family, request_id, count) VALUES ('test', 'tron', 'open', 1)`)
	pg.Backup(t, w.Config.URL.Reveal())

	// The minute that is lost.
	w.Worker = w.NewWorker(false)
	stepOnly(w, sent)
	w.See(later, full("later")) // its payout row will be lost
	stepOnly(w, later)
	stepOnly(w, unknown) // the second send, which arrives
	if a, b, c := w.PayoutRow(sent), w.PayoutRow(later), w.PayoutRow(unknown); fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`) != 3 {
		t.Fatalf("the bank has not got three orders: %s, %s, %s", a, b, c)
	}
	answer := wire.AddressesAllocated{RequestID: "open", Mode: tenant.Test, Family: money.Tron, Part: 1, Parts: 1, Addresses: []wire.Address{{WalletID: "wal_x", Address: "Tshown"}}}
	if err := stock.Allocated(w.Store.Fill)(t.Context(), "answer", answer); err != nil {
		t.Fatal(err)
	}
	lost := w.Make(fixture.Command()) // the payment itself will be lost
	shown = append(shown, lost.Address, "Tshown")
	w.See(lost, full("lost"))

	pg.Restore(t, w.Config.URL.Reveal(), "sim_transfers", "sim_outcomes")
	reborn(w)
	if _, err := w.Create(fixture.Command(), idempotency.Key{}); !errors.Is(err, stock.ErrNoAddress) {
		t.Errorf("a create before new addresses came: %v", err)
	}
	if err := stock.Allocated(w.Store.Fill)(t.Context(), "answer", answer); err != nil { // wallets tells it again
		t.Fatal(err)
	}
	var orders []string
	w.Rig(fixture.Rigged{OnSend: func(o rail.Order) (rail.Status, error) {
		orders = append(orders, o.Ref)
		return w.Bank.Send(t.Context(), o)
	}})
	for p, key := range map[string]string{"sent": sent.Address, "unknown": unknown.Address, "waiting": waiting.Address, "later": later.Address, "lost": lost.Address} {
		w.See(payment.Payment{Address: key}, full(p))
	}
	for _, p := range []payment.Payment{sent, unknown, waiting, later} {
		w.Pay(p)
	}
	if want := []string{w.Find(waiting.Reference).Payout.Reference}; !slices.Equal(orders, want) {
		t.Errorf("orders after the restore %v, want %v", orders, want)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 4 {
		t.Errorf("%d transfers at the bank", n)
	}
	if got := fixture.Ask[string](w, `SELECT booked FROM deposits WHERE address = $1 AND payment_id IS NULL`, lost.Address); got != "suspense" {
		t.Errorf("the deposit of the lost payment is booked to %q", got)
	}
	w.Fill(4)
	for range 4 {
		if p := w.Make(fixture.Command()); slices.Contains(shown, p.Address) {
			t.Errorf("address %s is shown twice", p.Address)
		}
	}
	w.Balanced()
}

// While the rail does not answer, a worker in recovery sends nothing, and the row waits.
func TestRecovery_nothingIsSentUnasked(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := w.ConfirmedWith("0123456789")
	reborn(w)
	asked := 0
	w.Rig(fixture.Rigged{
		OnQuery: func(string) (rail.Status, error) { asked++; return rail.Status{}, rail.ErrUnavailable },
		OnSend:  func(rail.Order) (rail.Status, error) { t.Error("sent"); return rail.Status{}, sim.ErrTimeout },
	})
	for range 3 {
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
		w.Hurry()
	}
	if asked != 3 || w.PayoutRow(p) != "created 0" {
		t.Errorf("asked %d times, payout is %s", asked, w.PayoutRow(p))
	}
	w.Want(p, "confirmed")
}

// A payout that the bank knows with another amount is frozen and neither sent nor settled.
func TestRecovery_otherAmountAtTheBank(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := w.ConfirmedWith("0123456789")
	reborn(w)
	w.Rig(fixture.Rigged{
		OnQuery: func(ref string) (rail.Status, error) {
			return rail.Status{Ref: ref, State: rail.Succeeded, Currency: money.NGN, Amount: *fixture.Number("1")}, nil
		},
		OnSend: func(rail.Order) (rail.Status, error) { t.Error("sent"); return rail.Status{}, sim.ErrTimeout },
	})
	before := w.Alerts.Load()
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	if !fixture.Ask[bool](w, `SELECT frozen FROM payouts`) || w.Alerts.Load() != before+1 {
		t.Error(fmt.Sprint("not frozen: ", w.PayoutRow(p)))
	}
	w.Want(p, "confirmed")
}

// Numbers of deposits that were processed in the lost time do not arrive again, so the next progress is accepted.
func TestRecovery_progressGoesOn(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Progressed(time.Now(), 5)
	reborn(w)
	w.Progressed(time.Now(), 9)
	if got := fixture.Ask[int](w, `SELECT settled::int FROM scan_progress`); got != 9 {
		t.Errorf("settled %d", got)
	}
	w.Progressed(time.Now(), 10)
	if got := fixture.Ask[int](w, `SELECT settled::int FROM scan_progress`); got != 9 {
		t.Errorf("settled %d without the tenth deposit", got)
	}
}
