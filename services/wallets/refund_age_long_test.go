//go:build integration && long

package main

import (
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
)

// An order from before the signer's log may have been carried out by a signer whose log is lost. It is not carried out
// and does not end its refund, which an operator can cancel. So it is with an order of a payments of the release
// before, which has no time, until payments sends it with its time.
func TestRefund_olderThanTheLog(t *testing.T) {
	t.Parallel()
	d := newApprover(t, ether, nil)
	d.Do("/block-time", map[string]string{"every": blockTime})
	old, untimed := d.order("ETH", "7000001"), d.order("ETH", "7000002")
	approvedAt := time.Now()
	d.send(t, wire.RefundApproved{Approved: old.Approve(automaticKey, approvedAt.Add(-time.Hour))})
	d.send(t, wire.RefundApproved{Approved: order.Approved{Order: untimed, Signature: untimed.Sign(automaticKey), ApprovedAt: approvedAt}})
	d.await(t, "both are blocked", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds WHERE blocked AND reason LIKE '%(order_age)%'`) == 2
	})
	d.send(t, wire.RefundApproved{Approved: untimed.Approve(automaticKey, approvedAt)})
	d.post(t, wire.RefundWithdrawnV1, wire.RefundWithdrawn{Order: old, WithdrawnAt: time.Now()})
	d.await(t, "the old one is cancelled", func() bool { return d.state(old) == string(wire.RefundFailed) })
	if _, last := d.progress(old); last.Reason != wire.RefundCancelled || last.TxHash != "" {
		t.Errorf("cancel a refund whose order is older than the log: got %+v, want %s and no transaction", last, wire.RefundCancelled)
	}
	d.paid(t, untimed)
	if got := d.coins(t, old.To).String(); got != "0" {
		t.Errorf("read the balance of the old order's payer: got %s, want 0", got)
	}
}
