//go:build integration

package deposits_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

// The whole life of a transfer, with a settled payout and a ledger that balances.
func TestLife_transferIsPaidAndSettled(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Command())
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1})
	w.Want(p, "confirming")
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 2, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	w.Work(func() bool { return w.Status(p) == "settled" })
	v := w.Find(p.Reference)
	if v.Payment.SettledAt.IsZero() || v.Payment.ConfirmedAt.IsZero() || v.Payout == nil || v.Payout.Reference != strings.ToLower(p.Reference)+"-1" {
		t.Errorf("payout of a settled transfer = %+v, want one with the reference %s-1 and the times of the payment set", v.Payout, strings.ToLower(p.Reference))
	}
	want := []string{"1 payment.pending", "2 payment.confirming", "3 payment.confirmed", "4 payment.settling", "5 payment.settled"}
	if got := w.Events(p); !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 1 {
		t.Errorf("%d transfers at the bank", n)
	}
	if got := fixture.Ask[string](w, `SELECT amount::text FROM sim_transfers`); got != "49500" {
		t.Errorf("paid %s", got)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM ledger_accounts WHERE payment_id IS NOT NULL AND balance <> 0`); n != 0 {
		t.Errorf("%d accounts of the payment are not empty", n)
	}
	w.Balanced()
	body, err := w.Reader.Show(t.Context(), fixture.Owner, p.Reference)
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
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Command())
	first := w.Message(p, fixture.Coin{Key: "t1", Amount: "20", Version: 2})
	for range 3 { // the same message again, as after a crash between commit and ack
		if err := w.Deposits.DepositChanged(t.Context(), "once", first); err != nil {
			t.Fatal(err)
		}
	}
	w.Want(p, "pending underpaid")
	w.See(p, fixture.Coin{Key: "t1", Amount: "20", Version: 2}) // the same snapshot in another message
	w.See(p, fixture.Coin{Key: "t1", Amount: "99", Version: 1}) // an older one that comes late
	w.Want(p, "pending underpaid")
	if got := fixture.Ask[string](w, `SELECT received::text FROM payments`); got != "20" {
		t.Errorf("received %s", got)
	}
	w.See(p, fixture.Coin{Key: "t2", Amount: "11.25", Version: 1})
	w.Want(p, "confirming")
	w.See(p, fixture.Coin{Key: "t2", Amount: "11.25", Version: 2, Reverted: true})
	w.Want(p, "pending reorged")
	w.See(p, fixture.Coin{Key: "t2", Amount: "11.25", Version: 3})
	w.Want(p, "confirming")
	w.See(p, fixture.Coin{Key: "t1", Amount: "20", Version: 3, Depth: fixture.Enough})
	w.Want(p, "confirming")
	w.See(p, fixture.Coin{Key: "t2", Amount: "11.25", Version: 4, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	w.See(p, fixture.Coin{Key: "t2", Amount: "11.25", Version: 6, Depth: 1, Block: "another"})
	w.Want(p, "confirming")
	w.See(p, fixture.Coin{Key: "t2", Amount: "11.25", Version: 5, Reverted: true}) // the reversal, overtaken
	w.Want(p, "confirming")
	w.See(p, fixture.Coin{Key: "t2", Amount: "11.25", Version: 7, Depth: fixture.Enough, Block: "another"})
	w.Want(p, "confirmed")
	w.Balanced()
	sequences := w.Events(p)
	for i, e := range sequences {
		if !strings.HasPrefix(e, strconv.Itoa(i+1)+" ") {
			t.Fatalf("sequence has a gap: %v", sequences)
		}
	}
}

// The finality of a transfer that a payment has converted is stored and changes nothing about the payment. If the
// transfer is in another block, or has another amount, the payment is computed again.
func TestLife_finalAfterItWasConverted(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(3)
	confirmed := func(key string) payment.Payment {
		p := w.Make(fixture.Command())
		w.See(p, fixture.Coin{Key: key, Amount: "31.25", Version: 1, Depth: fixture.Enough})
		w.Want(p, "confirmed")
		return p
	}
	state := func(p payment.Payment) string {
		return fixture.Ask[string](w, `SELECT p.version || ' ' || d.version || ' ' || d.depth || ' ' || d.finalized
			FROM payments p JOIN deposits d ON d.payment_id = p.id WHERE p.id = $1`, p.ID)
	}
	p := confirmed("t1")
	at := fixture.Ask[time.Time](w, `SELECT block_time FROM deposits`)
	before := fixture.Ask[int](w, `SELECT version FROM payments`)
	final := w.Message(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 3, Depth: 64, Final: true, At: at})
	final.Number = 7
	for _, id := range []string{"final", "final", "published again"} {
		if err := w.Deposits.DepositChanged(t.Context(), id, final); err != nil {
			t.Fatal(err)
		}
		if got, want := state(p), fmt.Sprint(before, " 3 64 true"); got != want {
			t.Errorf("after a final snapshot the versions of payment and transfer, depth and finality are %s, want %s", got, want)
		}
	}
	if got := fixture.Ask[int](w, `SELECT number FROM scan_taken`); got != 7 {
		t.Errorf("number %d is noted as taken, want 7", got)
	}
	moved, less := confirmed("t2"), confirmed("t3")
	w.See(moved, fixture.Coin{Key: "t2", Amount: "31.25", Version: 2, Depth: 64, Final: true, Block: "another"})
	w.Want(moved, "confirmed")
	if got := fixture.Ask[string](w, `SELECT booked_block FROM deposits WHERE payment_id = $1`, moved.ID); got != "another" {
		t.Errorf("the transfer is booked in block %s, want another", got)
	}
	w.See(less, fixture.Coin{Key: "t3", Amount: "20", Version: 2, Depth: 64, Final: true})
	w.Want(less, "pending reorged")
	w.Balanced()
}

// A final snapshot of a converted transfer is decided on where it brings anything else that is new.
func TestLife_finalWithSomethingNew(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	for i, c := range []struct {
		name   string
		before func()
		edit   func(*wire.DepositChanged)
		status string
		row    string
	}{
		{"nothing", func() {}, func(*wire.DepositChanged) {}, "confirmed", "{" + fixture.CleanSender + "} clear pending true"},
		{"a witness", func() {}, func(m *wire.DepositChanged) {
			m.Witness = wire.WitnessConfirmed
		}, "confirmed", "{" + fixture.CleanSender + "} clear confirmed true"},
		{"other senders", func() {}, func(m *wire.DepositChanged) {
			m.Senders = []string{"another"}
		}, "confirmed", "{another} clear pending true"},
		{"no block", func() { w.SQL(`UPDATE deposits SET block_hash = '', booked_block = '' WHERE key = 'tron:t3:0'`) }, func(m *wire.DepositChanged) {
			m.BlockHeight, m.BlockHash, m.BlockTime = 0, "", time.Time{}
		}, "confirming", "{" + fixture.CleanSender + "} clear pending true"},
		{
			"another verdict", func() { s.Set(false, fixture.CleanSender) }, func(*wire.DepositChanged) {},
			"needs_review screening_hold", "{" + fixture.CleanSender + "} hit pending true",
		},
	} {
		p := w.Make(fixture.Command())
		m := w.Message(p, fixture.Coin{Key: fmt.Sprint("t", i), Amount: "31.25", Version: 1, Depth: fixture.Enough})
		m.Senders, m.Witness = []string{fixture.CleanSender}, wire.WitnessPending
		w.Deliver(m)
		w.Want(p, "confirmed")
		m.Version, m.Depth, m.Finalized = 2, 64, true
		c.before()
		c.edit(&m)
		w.Deliver(m)
		w.Want(p, c.status)
		if got := fixture.Ask[string](w, `SELECT concat_ws(' ', senders, screening, witness, finalized::text) FROM deposits WHERE payment_id = $1`, p.ID); got != c.row {
			t.Errorf("senders, verdict, witness and finality after a final snapshot with %s new = %s, want %s", c.name, got, c.row)
		}
	}
	w.Balanced()
}

// One statement makes new shared accounts in the order of their codes, so that two of them cannot wait for each other.
func TestLife_sharedAccountsInOrder(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Pay(w.ConfirmedWith("0123456789"))
	made := fixture.Ask[string](w, `SELECT coalesce(string_agg(codes, '; '), '') FROM (
		SELECT string_agg(code, ' ' ORDER BY ctid) AS codes FROM ledger_accounts WHERE payment_id IS NULL GROUP BY xmin::text, cmin::text
		HAVING array_agg(code ORDER BY ctid) <> array_agg(code ORDER BY code)) AS wrong`)
	if made != "" {
		t.Errorf("statements made shared accounts in the order %s, want that of their codes", made)
	}
	w.Balanced()
}

// A payment expires only after its network is scanned a minute past the end of its window. Money that was sent in time
// and is reported later is on time.
func TestLife_expiryWaitsForTheScanner(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	p, other := w.Make(fixture.Command()), w.Make(fixture.Command())
	ended := time.Now().Add(-3 * time.Minute)
	w.SQL(`UPDATE payments SET expires_at = $1, due_at = $1 WHERE id = ANY($2)`, ended, []string{p.ID, other.ID})
	look := func() {
		t.Helper()
		if err := w.Deposits.ExpireDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
	w.Want(p, "pending") // the scanner has reported no progress
	w.Scanned(100, ended.Add(30*time.Second))
	look()
	w.Want(p, "pending") // scanned, but not by the margin
	w.Scanned(110, ended.Add(61*time.Second))
	look()
	w.Want(p, "expired")
	w.Want(other, "expired")
	look() // nothing is left to do

	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, At: ended.Add(-time.Second)})
	w.Want(p, "confirming")
	w.See(other, fixture.Coin{Key: "t2", Amount: "31.25", Version: 1, At: ended.Add(time.Minute)})
	w.Want(other, "confirming paid_late") // the rate has not moved
	if due := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE due_at <= now()`); due != 0 {
		t.Errorf("%d payments keep the timer busy", due)
	}
}

// More payments than one batch are closed by one call, though one of them fails each time and is the first that is due.
func TestLife_expiryOfMany(t *testing.T) {
	t.Parallel()
	const many = 202
	w := fixture.New(t)
	w.Fill(many)
	bad := w.Make(fixture.Command())
	for range many - 1 {
		w.Make(fixture.Command())
	}
	ended := time.Now().Add(-3 * time.Minute)
	w.SQL(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	w.SQL(`UPDATE payments SET due_at = due_at - interval '1 minute', receiver = '\x00' WHERE id = $1`, bad.ID)
	w.Scanned(110, ended.Add(61*time.Second))
	if err := w.Deposits.ExpireDue(t.Context()); err == nil || !strings.Contains(err.Error(), bad.ID) {
		t.Errorf("close payments of which one cannot be read: got %v, want an error with its id", err)
	}
	if left := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE status <> 'expired'`); left != 1 {
		t.Errorf("close %d payments that are due, one of which fails: %d are left open, want that one", many, left)
	}
}

// A gift that nobody claims and a payment that its caller does not settle go to review.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	for i, c := range []payment.Command{fixture.Gift(), fixture.OwnSettled()} {
		p := w.Make(c)
		w.See(p, fixture.Coin{Key: fmt.Sprint("t", i), Amount: "31.25", Version: 1, Depth: fixture.Enough})
		w.Want(p, "confirmed")
		days := fixture.Ask[int](w, `SELECT round(extract(epoch FROM deadline_at - now()) / 86400)::int FROM payments WHERE id = $1`, p.ID)
		if want := []int{30, 7}[i]; days != want {
			t.Errorf("%s has %d days, want %d", c.Type, days, want)
		}
		w.SQL(`UPDATE payments SET deadline_at = now() - interval '1 second', due_at = now() - interval '1 second' WHERE id = $1`, p.ID)
		if err := w.Deposits.ExpireDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Want(p, "needs_review unclaimed")
	}
}
