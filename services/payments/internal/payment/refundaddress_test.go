package payment_test

import (
	"slices"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	. "causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refund"
)

const (
	payers   = "0x1111111111111111111111111111111111111111"
	another  = "0x2222222222222222222222222222222222222222"
	intruder = "0x3333333333333333333333333333333333333333"
)

// refundEvents lists the events about the refund address, with the addresses that they show.
func refundEvents(w *fixture) (out []string) {
	for _, e := range w.events {
		if e.Type == EventRefundAddressChanged || e.Type == EventRefundAddressProposed {
			out = append(out, e.Type+" "+e.Payment.RefundAddress+" "+e.Payment.RefundAddressProposed)
		}
	}
	return out
}

func live(p *Payment) { p.Mode = tenant.Live }

// cancelledAndPaid is a payment that waits for a decision about money that came after its cancellation.
func cancelledAndPaid(t *testing.T, change ...func(*Payment)) *fixture {
	t.Helper()
	w := newFixture(t, Transfer, change...)
	w.must(Cancel{})
	w.deposit("a", "100", deep)
	w.is(StatusNeedsReview, ExceptionPaidLate)
	return w
}

// Each change of the address, by the merchant or by a confirmation, starts the hold again and is an event. The same
// address again changes nothing.
func TestRefundAddress_hold(t *testing.T) {
	w := cancelledAndPaid(t, live)
	w.policy.RefundHold = time.Hour
	w.must(SetRefundAddress{Address: payers})
	first := w.now.Add(time.Hour)
	if !w.p.RefundAddressFrom.Equal(first) {
		t.Fatalf("set an address: held until %s, want %s", w.p.RefundAddressFrom, first)
	}
	w.now = w.now.Add(50 * time.Minute)
	w.must(SetRefundAddress{Address: payers})
	if !w.p.RefundAddressFrom.Equal(first) {
		t.Errorf("set the same address again: held until %s, want %s as before", w.p.RefundAddressFrom, first)
	}
	w.must(ProposeRefundAddress{Address: another, Rows: w.rows})
	if !w.p.RefundAddressFrom.Equal(first) || w.p.RefundAddress != payers {
		t.Errorf("propose an address: %s held until %s, want %s held until %s", w.p.RefundAddress, w.p.RefundAddressFrom, payers, first)
	}
	w.must(ConfirmRefundAddress{Address: another})
	if second := w.now.Add(time.Hour); !w.p.RefundAddressFrom.Equal(second) || w.p.RefundAddress != another {
		t.Errorf("confirm an address: %s held until %s, want %s held until %s", w.p.RefundAddress, w.p.RefundAddressFrom, another, second)
	}
	want := []string{
		EventRefundAddressChanged + " " + payers + " ",
		EventRefundAddressProposed + " " + payers + " " + another,
		EventRefundAddressChanged + " " + another + " ",
	}
	if got := refundEvents(w); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}

	w = cancelledAndPaid(t)
	w.must(SetRefundAddress{Address: payers})
	if !w.p.RefundAddressFrom.IsZero() {
		t.Errorf("set an address in test mode: held until %s, want no hold", w.p.RefundAddressFrom)
	}
}

// A proposal takes effect by the confirmation of this very address alone.
func TestRefundAddress_proposal(t *testing.T) {
	w := cancelledAndPaid(t, live)
	refused(t, w.apply(ConfirmRefundAddress{Address: payers}), fault.Conflict, "refund_address_not_proposed", "")
	w.must(ProposeRefundAddress{Address: payers, Rows: w.rows})
	if w.p.RefundAddress != "" || !w.p.RefundAddressFrom.IsZero() {
		t.Fatalf("propose an address: %q is in effect, want none", w.p.RefundAddress)
	}
	w.must(ProposeRefundAddress{Address: intruder, Rows: w.rows})
	refused(t, w.apply(ConfirmRefundAddress{Address: payers}), fault.Conflict, "refund_address_not_proposed", "")
	w.must(ProposeRefundAddress{Address: payers, Rows: w.rows})
	w.must(ConfirmRefundAddress{Address: payers})
	if w.p.RefundAddress != payers || w.p.RefundAddressProposed != "" {
		t.Errorf("confirm: %q in effect and %q proposed, want %q and none", w.p.RefundAddress, w.p.RefundAddressProposed, payers)
	}
	from, events := w.p.RefundAddressFrom, len(w.events)
	w.now = w.now.Add(time.Minute)
	w.must(ConfirmRefundAddress{Address: payers})
	w.must(ProposeRefundAddress{Address: payers, Rows: w.rows})
	if !w.p.RefundAddressFrom.Equal(from) || len(w.events) != events || w.p.RefundAddressProposed != "" {
		t.Errorf("repeat what is in effect: held until %s with %d events, want %s with %d", w.p.RefundAddressFrom, len(w.events), from, events)
	}

	w.must(ProposeRefundAddress{Address: intruder, Rows: w.rows})
	w.must(SetRefundAddress{Address: another})
	refused(t, w.apply(ConfirmRefundAddress{Address: intruder}), fault.Conflict, "refund_address_not_proposed", "")
}

// A payment takes five proposals, refused ones included. The open one again is none.
func TestRefundAddress_proposals(t *testing.T) {
	w := cancelledAndPaid(t)
	for i, to := range []string{payers, another, intruder} {
		for range 2 {
			w.must(ProposeRefundAddress{Address: to, Rows: w.rows})
		}
		if w.p.RefundProposals != i+1 {
			t.Fatalf("propose %d addresses: %d are counted", i+1, w.p.RefundProposals)
		}
	}
	for range 2 {
		w.must(ProposeRefundAddress{Address: "0xlisted", Refused: true, Rows: w.rows})
	}
	if w.p.RefundAddressProposed != intruder || len(refundEvents(w)) != 3 {
		t.Errorf("propose a refused address: %q is open after %q, want %q and three events", w.p.RefundAddressProposed, refundEvents(w), intruder)
	}
	refused(t, w.apply(ProposeRefundAddress{Address: payers, Rows: w.rows}), fault.Conflict, "too_many_proposals", "")
	w.must(SetRefundAddress{Address: payers}) // the merchant may still choose
}

// No refund of a live payment leaves while its address is new, whether it is requested or approved then.
func TestRefundAddress_holdsRefunds(t *testing.T) {
	w := cancelledAndPaid(t, live)
	w.must(SetRefundAddress{Address: payers})
	ask := RequestRefund{Refund: refund.Refund{ID: "rfd_1", Network: "ethereum", Asset: "USDT", Amount: dec("40")}, Rows: w.rows}
	w.now = w.p.RefundAddressFrom.Add(-time.Millisecond)
	refused(t, w.apply(ask), fault.Conflict, "refund_address_held", "")
	w.now = w.p.RefundAddressFrom
	w.must(ask)

	asked := slices.Clone(w.refunds)
	w.must(SetRefundAddress{Address: intruder})
	if r := w.refunds[0]; r.State != refund.Failed || r.Failure != "refund_address_changed" {
		t.Errorf("the refund to the old address is %s %q, want failed", r.State, r.Failure)
	}
	approve := ChangeRefund{Refund: asked[0], Refunds: asked, Rows: w.rows, Trigger: refund.Trigger{Name: refund.OnApprove, Approval: refund.Automatic}}
	refused(t, w.apply(approve), fault.Conflict, "refund_address_held", "")
	w.now = w.p.RefundAddressFrom
	refused(t, w.apply(approve), fault.Conflict, "refund_address_changed", "")
}

// A payer may propose an address while some money may go back, and at no other time.
func TestTakesRefundAddress(t *testing.T) {
	for name, c := range map[string]struct {
		kind  Type
		shape func(w *fixture)
		takes bool
	}{
		"nothing sent":                  {Transfer, func(*fixture) {}, false},
		"paid in full":                  {Transfer, func(w *fixture) { w.deposit("a", "100", deep) }, false},
		"on its way":                    {Transfer, func(w *fixture) { w.deposit("a", "100", shallow) }, false},
		"short, window open":            {MerchantPayment, func(w *fixture) { w.deposit("a", "60", deep) }, false},
		"short, window closed":          {MerchantPayment, func(w *fixture) { w.deposit("a", "60", deep); w.close() }, true},
		"over, all is paid out":         {Transfer, func(w *fixture) { w.deposit("a", "150", deep) }, false},
		"over, the quote is to be paid": {MerchantPayment, func(w *fixture) { w.deposit("a", "150", deep) }, false},
		"over, the quote is paid out": {MerchantPayment, func(w *fixture) {
			w.deposit("a", "150", deep)
			w.send()
			w.succeed()
		}, true},
		"within the tolerance": {MerchantPayment, func(w *fixture) { w.deposit("a", "100.5", deep) }, false},
		"a second transfer, not paid out": {Transfer, func(w *fixture) {
			w.deposit("a", "100", deep)
			w.deposit("b", "100", deep)
		}, false},
		"settled, then another": {Transfer, func(w *fixture) {
			w.deposit("a", "100", deep)
			w.send()
			w.succeed()
			w.deposit("b", "100", deep)
		}, true},
		"settled": {Transfer, func(w *fixture) {
			w.deposit("a", "100", deep)
			w.send()
			w.succeed()
		}, false},
		"late":           {Transfer, func(w *fixture) { w.must(Cancel{}); w.deposit("a", "100", deep) }, true},
		"another asset":  {Transfer, func(w *fixture) { w.deposit("a", "100", other("polygon", "USDT"), final); w.close() }, true},
		"dust alone":     {Transfer, func(w *fixture) { w.deposit("a", "0.05", deep); w.close() }, true},
		"expired, empty": {Transfer, func(w *fixture) { w.close() }, false},
		"cancelled":      {Transfer, func(w *fixture) { w.must(Cancel{}) }, false},
		"refunded": {Transfer, func(w *fixture) {
			w.deposit("a", "100", other("polygon", "USDT"), final)
			w.close()
			w.must(SetRefundAddress{Address: payers})
			w.must(MarkRefunded{Tx: "0x1", Rows: w.rows})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, c.kind)
			c.shape(w)
			if got := w.policy.TakesRefundAddress(w.p, w.rows); got != c.takes {
				t.Errorf("a %s payment takes a proposal: %t, want %t", w.p.State(), got, c.takes)
			}
			err := w.apply(ProposeRefundAddress{Address: intruder, Rows: w.rows})
			if c.takes && err != nil {
				t.Errorf("propose an address: %v", err)
			}
			if !c.takes {
				refused(t, err, fault.Conflict, "refund_address_not_needed", "")
			}
		})
	}
}
