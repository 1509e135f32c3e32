//go:build integration

package books_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func reconcile(w *fixture.Payments) (open map[string]int) {
	w.T.Helper()
	w.SQL(`DELETE FROM reconciliations`)
	if err := w.Books.Reconcile(w.T.Context(), func(found map[string]int, at time.Time) {
		if open = found; time.Since(at) > time.Minute {
			w.T.Errorf("compared at %s", at)
		}
	}); err != nil {
		w.T.Fatal(err)
	}
	return open
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	paid := w.ConfirmedWith("0123456789")
	w.Pay(paid)
	w.Fill(4)
	waits := w.Make(fixture.Command())
	w.See(waits, fixture.Coin{Key: "t9", Amount: "31.25", Version: 1, Depth: fixture.Enough}) // its payout has not left
	w.See(payment.Payment{Address: "TNobody"}, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough})
	for kind, n := range reconcile(w) {
		if n != 0 {
			t.Errorf("%d differences of kind %s in sound books: %s", n, kind, fixture.Ask[string](w, `SELECT json_agg(d)::text FROM differences d`))
		}
	}
	// Each kind of damage is found, keeps its age while it lasts, and is resolved when it is repaired.
	damage := []struct{ kind, harm, mend string }{
		{books.DiffBalance, `UPDATE ledger_accounts SET balance = balance + 1 WHERE payment_id = '` + paid.ID + `'`, `UPDATE ledger_accounts SET balance = balance - 1 WHERE payment_id = '` + paid.ID + `'`},
		{books.DiffDeposit, `UPDATE deposits SET bookings = bookings + 1 WHERE tx_hash = 't9'`, `UPDATE deposits SET bookings = bookings - 1 WHERE tx_hash = 't9'`},
		{books.DiffDeposits, `UPDATE deposits SET booked_amount = booked_amount + 2 WHERE tx_hash = 't9'`, `UPDATE deposits SET booked_amount = booked_amount - 2 WHERE tx_hash = 't9'`},
		{books.DiffPayout, `UPDATE payouts SET state = 'failed' WHERE payment_id = '` + paid.ID + `'`, `UPDATE payouts SET state = 'succeeded' WHERE payment_id = '` + paid.ID + `'`},
		{books.DiffClearing, `UPDATE payouts SET state = 'withdrawn' WHERE payment_id = '` + waits.ID + `'`, `UPDATE payouts SET state = 'created' WHERE payment_id = '` + waits.ID + `'`},
		{
			books.DiffRefunds,
			`INSERT INTO refunds (id, payment_id, mode, network, asset, contract, amount, address, parts, reason, requested_by, state, version, created_at)
				VALUES ('rfd_x', '` + waits.ID + `', 'test', 'tron', 'USDT', '', 1, 'T', '[{}]', '', '', 'requested', 1, now())`,
			`DELETE FROM refunds`,
		},
		{books.DiffStatement, `UPDATE sim_transfers SET amount = amount + 1`, `UPDATE sim_transfers SET amount = amount - 1`},
	}
	for _, d := range damage {
		w.SQL(d.harm)
		if open := reconcile(w); open[d.kind] == 0 {
			t.Errorf("%s is not found: %v", d.kind, open)
		}
		first := fixture.Ask[time.Time](w, `SELECT min(first_at) FROM differences WHERE kind = $1 AND resolved_at IS NULL`, d.kind)
		reconcile(w)
		if again := fixture.Ask[time.Time](w, `SELECT min(first_at) FROM differences WHERE kind = $1 AND resolved_at IS NULL AND owner <> ''`, d.kind); !again.Equal(first) {
			t.Errorf("%s lost its age", d.kind)
		}
		if rows := fixture.Pages(t, "differences", func(before string) ([]byte, error) { return w.Operators.Differences(t.Context(), false, before, 1) }); len(rows) == 0 {
			t.Errorf("%s is not on the operators' list", d.kind)
		}
		w.SQL(d.mend)
		if open := reconcile(w); open[d.kind] != 0 {
			t.Errorf("%s is not over: %v", d.kind, open)
		}
	}
	// the trigger that keeps every journal balanced does not stop an owner of the schema
	w.SQL(`ALTER TABLE ledger_journals DISABLE TRIGGER USER`)
	w.SQL(`UPDATE ledger_journals SET amounts[1] = amounts[1] + 1 WHERE id = (SELECT id FROM ledger_journals WHERE amounts[1] > 0 LIMIT 1)`)
	if open := reconcile(w); open[books.DiffTrial] != 1 {
		t.Errorf("an unbalanced ledger: %v", open)
	}
	// A reconciliation runs once a day, and a process that starts later reads its result.
	began := fixture.Ask[time.Time](w, `SELECT finished_at FROM reconciliations`)
	if err := w.Books.Reconcile(t.Context(), func(found map[string]int, at time.Time) {
		if found[books.DiffTrial] != 1 || !at.Equal(began) {
			t.Errorf("reported %v at %s, want one difference of the trial balance at %s", found, at, began)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if again := fixture.Ask[time.Time](w, `SELECT finished_at FROM reconciliations`); !again.Equal(began) {
		t.Error("compared a second time on one day")
	}
}

// A float is compared by its changes, because the balance before the first comparison is not in the ledger.
func TestReconcile_float(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	at := func(balance int64) (string, string) {
		expected, found, err := w.Store.Float(t.Context(), tenant.Live, "paystack", money.NGN, decimal.New(balance, 0))
		if err != nil {
			t.Fatal(err)
		}
		return expected.String(), found.String()
	}
	for _, c := range []struct {
		balance         int64
		expected, found string
	}{{1000, "1000", "1000"}, {1000, "1000", "1000"}, {900, "1000", "900"}, {900, "1000", "900"}, {1000, "1000", "1000"}} {
		if expected, found := at(c.balance); expected != c.expected || found != c.found {
			t.Errorf("balance %d: expected %s, found %s", c.balance, expected, found)
		}
	}
}
