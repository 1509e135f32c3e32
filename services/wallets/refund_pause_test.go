//go:build integration

package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"causeway.internal/libs/id"
	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
)

// post publishes a message of payments.
func (d *approver) post(t *testing.T, name wire.Name, payload any) {
	t.Helper()
	body, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.link.Publisher().Publish(string(name), message.NewMessage(id.New(id.Message, time.Now()), body)); err != nil {
		t.Fatal(err)
	}
}

// pause publishes a list of pauses with one network, "" for none.
func (d *approver) pause(t *testing.T, version int64, network string) {
	t.Helper()
	list := wire.RefundsPaused{Version: version, Pauses: []wire.RefundPause{}}
	if network != "" {
		list.Pauses = append(list.Pauses, wire.RefundPause{Network: network})
	}
	d.post(t, wire.RefundsPausedV1, list)
}

// No refund is signed while refunds are paused, and one that was cancelled never is: after it was taken, before its
// order came, and while wallets was down. The others are paid when the pause ends.
func TestRefund_pausedAndCancelled(t *testing.T) {
	t.Parallel()
	d := newApprover(t, ether, nil)
	d.Do("/block-time", map[string]string{"every": "100ms"})
	knows := func(version int64) {
		t.Helper()
		d.await(t, "wallets knows the pauses", func() bool {
			return d.count(t, `SELECT count(*) FROM refund_pauses_known WHERE version = $1`, version) == 1
		})
	}
	withdraw := func(o order.Order) {
		t.Helper()
		d.post(t, wire.RefundWithdrawnV1, wire.RefundWithdrawn{Order: o, WithdrawnAt: time.Now()})
	}
	cancelled := func(o order.Order, states ...string) {
		t.Helper()
		d.await(t, "refund "+o.ID+" is cancelled", func() bool { return d.state(o) == string(wire.RefundFailed) })
		if got, last := d.progress(o); last.Reason != wire.RefundCancelled || states != nil && !slices.Equal(got, states) {
			t.Errorf("cancel refund %s: got the states %v, reason %q, want %v, cancelled", o.ID, got, last.Reason, states)
		}
	}
	taken, early, down, paid := d.order("USDT", "5000001"), d.order("USDT", "5000002"), d.order("USDT", "5000003"), d.order("USDT", "5000004")
	d.pause(t, 7, "ethereum")
	d.pause(t, 6, "") // overtaken
	d.pause(t, 8, "ethereum")
	knows(8)
	d.approve(t, taken)
	d.approve(t, paid)
	d.await(t, "wallets has two refunds", func() bool { return d.state(taken) == "signing" && d.state(paid) == "signing" })
	withdraw(taken)
	withdraw(taken)
	cancelled(taken, "signing", "failed")
	withdraw(early)
	cancelled(early, "failed")
	d.approve(t, early)
	d.wallets.kill(t)
	d.approve(t, down)
	withdraw(down)
	d.startWallets(t)
	cancelled(down)
	if n := d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund IS NOT NULL`); n != 0 {
		t.Errorf("count the transactions while refunds are paused: got %d, want none", n)
	}
	d.pause(t, 9, "")
	d.paid(t, paid)
	withdraw(paid)
	last := d.order("USDT", "5000005")
	d.approve(t, last)
	d.paid(t, last)
	for _, o := range []order.Order{taken, early, down} {
		if got := d.moved(t, d.station, o.To); len(got) != 0 {
			t.Errorf("read the chain's transfers for the cancelled refund %s: got %v, want none", o.ID, got)
		}
	}
	d.paid(t, paid)
}
