//go:build integration

package store_test

import (
	"io/fs"
	"strings"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/migrations"
)

// An earlier release knows no time of a change of the refund address. The table sets one for its changes in live mode.
func TestMigrations_holdRefundAddressesOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	p := w.Make(fixture.Command())
	for _, c := range []struct {
		set  string
		want bool
	}{
		{`mode = 'test', refund_address = 'T1'`, false},
		{`mode = 'live', refund_address = 'T1'`, false}, // the same address
		{`refund_address = 'T2', hold = ''`, true},
		{`refund_address = 'T3', refund_address_from = now() + interval '3 seconds'`, false},
		{`refund_address = ''`, false},
	} {
		w.SQL(`UPDATE payments SET refund_address_from = NULL WHERE id = $1`, p.ID)
		w.SQL(`UPDATE payments SET `+c.set+` WHERE id = $1`, p.ID)
		got := fixture.Ask[bool](w, `SELECT coalesce(refund_address_from > now() + interval '23 hours', false) FROM payments WHERE id = $1`, p.ID)
		if got != c.want {
			t.Errorf("after SET %s the address is held for a day: %t, want %t", c.set, got, c.want)
		}
	}
}

// refundedElsewhere makes a payment whose 31.25 USDT an operator marked as refunded, and which got 2 USDT after that.
func refundedElsewhere(w *fixture.Payments, key string) payment.Payment {
	w.T.Helper()
	p := w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(w.T.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		w.T.Fatalf("cancel payment %s: %v", p.Reference, err)
	}
	w.See(p, fixture.Coin{Key: key, Amount: "31.25", Version: 1, Depth: fixture.Enough})
	_, err := w.Merchants.RefundAddress(w.T.Context(), fixture.Owner, p.Reference, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", &fault.Problems{}, idempotency.Key{})
	if err != nil {
		w.T.Fatalf("set the refund address of payment %s: %v", p.Reference, err)
	}
	if _, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRefunded, TxHash: fixture.Hash("refund " + key)}); err != nil {
		w.T.Fatalf("mark payment %s as refunded: %v", p.Reference, err)
	}
	w.See(p, fixture.Coin{Key: key + " late", Amount: "2", Version: 1, Depth: fixture.Enough})
	return p
}

// owes is what a payment owes, as its policy counts it.
func owes(w *fixture.Payments, p payment.Payment) string {
	v := w.Find(p.Reference)
	sum := ""
	for _, o := range payment.Defaults().Owed(v.Payment, v.Rows, v.Refunds) {
		sum += o.Amount.String() + " " + o.Asset
	}
	return sum
}

// Money that came after an operator had marked a payment as refunded is owed, also where migration 72 took it for
// returned.
func TestMigrations_lateMoneyOfRefundedPayments(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	p := refundedElsewhere(w, "t1")
	w.SQL(`UPDATE deposits SET refunded = booked_amount WHERE payment_id = $1`, p.ID) // as migration 72 does
	text, err := fs.ReadFile(migrations.FS, "00080_late_refunded.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, up, _ := strings.Cut(string(text), "-- +goose Up")
	update, _, _ := strings.Cut(up, "-- +goose StatementBegin")
	w.SQL(update)
	if got := owes(w, p); got != "2 USDT" {
		t.Errorf("the payment owes %q after the migration, want the 2 USDT that came late", got)
	}

	w.SQL(`UPDATE deposits SET refunded = booked_amount WHERE payment_id = $1`, p.ID)
	w.SQL(`INSERT INTO refunds (id, payment_id, mode, network, asset, contract, amount, address, parts, reason, requested_by, state, version, created_at)
		SELECT 'rfd_1', payment_id, mode, network, asset, contract, amount, 'T1', json_build_array(json_build_object('deposit', key, 'from', 'suspense', 'amount', '2')),
		'', '', 'requested', 1, now() FROM deposits WHERE payment_id = $1 AND amount = 2`, p.ID)
	w.SQL(update)
	if got := owes(w, p); got != "" {
		t.Errorf("the payment owes %q after the migration, want nothing, because a refund holds the late money", got)
	}
}

// An earlier release marks a payment as refunded in the books and marks no deposit. Its money is returned all the same,
// and money that comes later is owed.
func TestMigrations_refundMarkedByAnEarlierRelease(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	p := w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatalf("cancel payment %s: %v", p.Reference, err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.SQL(`WITH j AS (INSERT INTO ledger_journals (key, event, payment_id) VALUES ('ref:' || $1 || '#1', 'refunded', $1) RETURNING id),
		p AS (UPDATE payments SET ended = 'refunded', status = 'refunded', refund_tx = '0x1' WHERE id = $1)
		INSERT INTO ledger_entries SELECT id, n, a, 'USDT', s, 31.25 FROM j, (VALUES (1, 'suspense:USDT', 'debit'), (2, 'crypto:hot:tron:USDT', 'credit')) v(n, a, s)`, p.ID)
	if got := owes(w, p); got != "" {
		t.Errorf("the payment owes %q after the earlier release marked it as refunded, want nothing", got)
	}
	w.See(p, fixture.Coin{Key: "t2", Amount: "2", Version: 1, Depth: fixture.Enough})
	if got := owes(w, p); got != "2 USDT" {
		t.Errorf("the payment owes %q after late money, want 2 USDT", got)
	}
}
