//go:build integration

package deposits_test

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A snapshot of a known transfer with another address does not change the transfer's payment.
func TestDeposit_ofAnotherAddressIsRefused(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	p, other := w.Make(fixture.Command()), w.Make(fixture.Command())
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1})
	w.Want(p, "confirming")
	before := w.Alerts.Load()
	w.See(other, fixture.Coin{Key: "t1", Amount: "1", Version: 2, Reverted: true})
	w.See(p, fixture.Coin{Key: "t2", Amount: "1", Version: 1}) // works the payment out anew
	w.Want(p, "confirming overpaid")
	w.Want(other, "pending")
	if got := w.Alerts.Load() - before; got != 1 {
		t.Errorf("%d alerts", got)
	}
	if got := fixture.Ask[string](w, `SELECT address || ' ' || version FROM deposits WHERE key = 'tron:t1:0'`); got != p.Address+" 1" {
		t.Errorf("deposit %s", got)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1}) // merely old
	if got := w.Alerts.Load() - before; got != 1 {
		t.Errorf("%d alerts", got)
	}
}

// Money on an address without a payment is booked again when it is mined again with another amount.
func TestDeposit_strayIsBookedAnew(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	nobody := payment.Payment{Address: "Tnobody"}
	booked := func() string {
		return fixture.Ask[string](w, `SELECT coalesce(sum(CASE side WHEN 'credit' THEN amount ELSE -amount END), 0)::text FROM ledger_entries WHERE account LIKE '%suspense%'`)
	}
	for i, c := range []struct {
		coin fixture.Coin
		want string
	}{
		{fixture.Coin{Amount: "20", Depth: fixture.Enough}, "20"},
		{fixture.Coin{Amount: "7", Depth: fixture.Enough}, "7"},
		{fixture.Coin{Amount: "9", Depth: 1}, "0"},
		{fixture.Coin{Amount: "9", Depth: fixture.Enough}, "9"},
		{fixture.Coin{Amount: "9", Depth: 1, Block: "another"}, "0"},
		{fixture.Coin{Amount: "9", Depth: fixture.Enough, Block: "another"}, "9"},
		{fixture.Coin{Amount: "9", Reverted: true}, "0"},
	} {
		c.coin.Key, c.coin.Version = "t1", int64(i+1)
		w.See(nobody, c.coin)
		if got := booked(); got != c.want {
			t.Errorf("after snapshot %d %s is booked, want %s", i+1, got, c.want)
		}
	}
	w.Balanced()
}

// A transfer that another host contradicts never counts, also after its conversion. If the host confirms it later, it
// counts.
func TestDeposit_contradicted(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Command())
	see := func(version, depth int64, answer wire.Witness) {
		t.Helper()
		m := w.Message(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: version, Depth: depth})
		m.Witness = answer
		if err := w.Deposits.DepositChanged(t.Context(), fmt.Sprint("witness ", version), m); err != nil {
			t.Fatal(err)
		}
	}
	see(1, 1, wire.WitnessPending)
	w.Want(p, "confirming")
	see(2, fixture.Enough, wire.WitnessContradicted)
	w.Want(p, "pending reorged")
	see(3, fixture.Enough, wire.WitnessConfirmed)
	w.Want(p, "confirmed")
	see(4, fixture.Enough, wire.WitnessContradicted)
	w.Want(p, "pending reorged")
	if got := fixture.Ask[string](w, `SELECT witness FROM deposits`); got != "contradicted" {
		t.Errorf("the row says %q", got)
	}
	w.Balanced()
}

// The end of a transfer that overtakes its sighting is taken after it, so that the payment shows what happened. A
// sighting that does not come within ten seconds is not awaited any longer, nor is one that lies in the future.
func TestDeposit_goneBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(3)
	p, unseen, ahead := w.Make(fixture.Command()), w.Make(fixture.Command()), w.Make(fixture.Command())
	now := time.Now()
	gone := w.Message(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 2, Reverted: true, At: now})
	if err := w.Deposits.DepositChanged(t.Context(), "msg_gone", gone); err == nil || fault.IsPermanent(err) {
		t.Fatalf("the end before the sighting: %v, want an error after which the message comes again", err)
	}
	w.Want(p, "pending")
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, At: now})
	w.Want(p, "confirming")
	if err := w.Deposits.DepositChanged(t.Context(), "msg_gone", gone); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "pending reorged")

	w.See(unseen, fixture.Coin{Key: "t2", Amount: "31.25", Version: 2, Reverted: true, At: now.Add(-11 * time.Second)})
	w.Want(unseen, "pending")
	w.See(unseen, fixture.Coin{Key: "t2", Amount: "31.25", Version: 1, At: now}) // it comes after all
	w.Want(unseen, "pending")

	w.See(ahead, fixture.Coin{Key: "t3", Amount: "31.25", Version: 2, Reverted: true, At: now.Add(time.Hour)})
	w.Want(ahead, "pending")
}
