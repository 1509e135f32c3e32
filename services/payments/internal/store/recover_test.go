//go:build integration

package store_test

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
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/stock"
)

// reborn replaces the processes of the fixture by new ones, in recovery.
func (w *fixture) reborn() {
	w.t.Helper()
	if err := w.store.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	log := telemetrytest.ForTest(w.t).Log
	w.with(func(d *app.Deps) { d.Stock = stock.New(w.store, id.New("replica_", time.Now()), 64, log) })
	w.worker = w.newWorker(true)
}

// row is the last payout's state and count of sends.
func (w *fixture) row(p payment.Payment) string {
	w.t.Helper()
	return ask[string](w, `SELECT coalesce((SELECT state || ' ' || sends FROM payouts WHERE payment_id = $1 ORDER BY attempt DESC LIMIT 1), 'none')`, p.ID)
}

// pay works one payment's payout until it has settled.
func (w *fixture) pay(p payment.Payment) {
	w.t.Helper()
	w.work(func() bool {
		w.hurry()
		return w.status(p) == "settled"
	})
}

// stepOnly has the worker look at one payment's payout and at no other.
func (w *fixture) stepOnly(p payment.Payment) {
	w.t.Helper()
	w.sql(`UPDATE payouts SET taken_until = NULL, next_at = now() + CASE WHEN payment_id = $1 THEN interval '-1 second' ELSE interval '1 hour' END
		WHERE next_at IS NOT NULL`, p.ID)
	if err := w.step(); err != nil {
		w.t.Fatal(err)
	}
}

// The database loses a minute, and bank, payers and wallets do not. Nothing is paid twice, no address is shown twice,
// and no deposit is lost.
func TestRecovery_databaseSetBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(8)
	sent, unknown, waiting, later := w.made(command()), w.neverArriving(), w.made(command()), w.made(command())
	shown := []string{sent.Address, unknown.Address, waiting.Address, later.Address}

	w.see(unknown, full("unknown"))
	for w.row(unknown) != "unknown 1" || ask[int](w, `SELECT misses FROM payouts`) < 3 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		w.hurry()
	}
	w.see(sent, full("sent"))
	w.see(waiting, full("waiting"))
	w.sql(`INSERT INTO address_requests (mode, family, request_id, count) VALUES ('test', 'tron', 'open', 1)`)
	pg.Backup(t, w.cfg.URL.Reveal())

	// The minute that is lost.
	w.worker = w.newWorker(false)
	w.stepOnly(sent)
	w.see(later, full("later")) // its payout row will be lost
	w.stepOnly(later)
	w.stepOnly(unknown) // the second send, which arrives
	if a, b, c := w.row(sent), w.row(later), w.row(unknown); ask[int](w, `SELECT count(*) FROM sim_transfers`) != 3 {
		t.Fatalf("the bank has not got three orders: %s, %s, %s", a, b, c)
	}
	answer := wire.AddressesAllocated{RequestID: "open", Mode: tenant.Test, Family: money.Tron, Part: 1, Parts: 1, Addresses: []wire.Address{{WalletID: "wal_x", Address: "Tshown"}}}
	if err := stock.Allocated(w.store.Fill)(t.Context(), "answer", answer); err != nil {
		t.Fatal(err)
	}
	lost := w.made(command()) // the payment itself will be lost
	shown = append(shown, lost.Address, "Tshown")
	w.see(lost, full("lost"))

	pg.Restore(t, w.cfg.URL.Reveal(), "sim_transfers", "sim_outcomes")
	w.reborn()
	if _, err := w.create(command(), idempotency.Key{}); !errors.Is(err, stock.ErrNoAddress) {
		t.Errorf("a create before new addresses came: %v", err)
	}
	if err := stock.Allocated(w.store.Fill)(t.Context(), "answer", answer); err != nil { // wallets tells it again
		t.Fatal(err)
	}
	var orders []string
	w.rig(rigged{send: func(o rail.Order) (rail.Status, error) {
		orders = append(orders, o.Ref)
		return w.bank.Send(t.Context(), o)
	}})
	for p, key := range map[string]string{"sent": sent.Address, "unknown": unknown.Address, "waiting": waiting.Address, "later": later.Address, "lost": lost.Address} {
		w.see(payment.Payment{Address: key}, full(p))
	}
	for _, p := range []payment.Payment{sent, unknown, waiting, later} {
		w.pay(p)
	}
	if want := []string{w.find(waiting.Reference).Payout.Reference}; !slices.Equal(orders, want) {
		t.Errorf("orders after the restore %v, want %v", orders, want)
	}
	if n := ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 4 {
		t.Errorf("%d transfers at the bank", n)
	}
	if got := ask[string](w, `SELECT booked FROM deposits WHERE address = $1 AND payment_id IS NULL`, lost.Address); got != "suspense" {
		t.Errorf("the deposit of the lost payment is booked to %q", got)
	}
	w.fill(4)
	for range 4 {
		if p := w.made(command()); slices.Contains(shown, p.Address) {
			t.Errorf("address %s is shown twice", p.Address)
		}
	}
	w.balanced()
}

// full is a transfer that pays the usual command and is deep enough.
func full(key string) coin {
	return coin{key: key, amount: "31.25", version: 1, depth: enough}
}

// neverArriving is a payment whose first order gets lost on its way to the bank.
func (w *fixture) neverArriving() payment.Payment {
	w.t.Helper()
	c := command()
	c.Receiver.AccountNumber = sim.AccountNeverArrive
	return w.made(c)
}

// While the rail does not answer, a worker in recovery sends nothing, and the row waits.
func TestRecovery_nothingIsSentUnasked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.confirmedWith("0123456789")
	w.reborn()
	asked := 0
	w.rig(rigged{
		query: func(string) (rail.Status, error) { asked++; return rail.Status{}, rail.ErrUnavailable },
		send:  func(rail.Order) (rail.Status, error) { t.Error("sent"); return rail.Status{}, sim.ErrTimeout },
	})
	for range 3 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		w.hurry()
	}
	if asked != 3 || w.row(p) != "created 0" {
		t.Errorf("asked %d times, payout is %s", asked, w.row(p))
	}
	w.want(p, "confirmed")
}

// A payout that the bank knows with another amount is frozen and neither sent nor settled.
func TestRecovery_otherAmountAtTheBank(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.confirmedWith("0123456789")
	w.reborn()
	w.rig(rigged{
		query: func(ref string) (rail.Status, error) {
			return rail.Status{Ref: ref, State: rail.Succeeded, Currency: money.NGN, Amount: *number("1")}, nil
		},
		send: func(rail.Order) (rail.Status, error) { t.Error("sent"); return rail.Status{}, sim.ErrTimeout },
	})
	before := w.alerts.Load()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if !ask[bool](w, `SELECT frozen FROM payouts`) || w.alerts.Load() != before+1 {
		t.Error(fmt.Sprint("not frozen: ", w.row(p)))
	}
	w.want(p, "confirmed")
}

// Numbers of deposits that were processed in the lost time do not arrive again, so the next progress is accepted.
func TestRecovery_progressGoesOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.progressed(time.Now(), 5)
	w.reborn()
	w.progressed(time.Now(), 9)
	if got := ask[int](w, `SELECT settled::int FROM scan_progress`); got != 9 {
		t.Errorf("settled %d", got)
	}
	w.progressed(time.Now(), 10)
	if got := ask[int](w, `SELECT settled::int FROM scan_progress`); got != 9 {
		t.Errorf("settled %d without the tenth deposit", got)
	}
}
