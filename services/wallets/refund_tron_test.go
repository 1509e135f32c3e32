//go:build integration

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/trontx"
)

// tronApprover is the approver on tron.
type tronApprover struct {
	*approver
	chain *tronCustody
}

// newTronApprover starts the processes. fill is the sum of TRX at the refund station.
func newTronApprover(t *testing.T, fill string, change func(policy string, environ map[string]string) string) *tronApprover {
	t.Helper()
	d := &tronApprover{approver: &approver{changes: map[string]map[int64]wire.RefundChanged{}}}
	d.chain = newTron(t, func(policy string, environ map[string]string) string {
		policy = strings.NewReplacer(
			`"indexBelow"`, orderKeys()+`,"indexBelow"`, `"expiryMargin":1`, `"expiryMargin":1,"formsPerOrder":10`,
			`{"perHour":"1000000000000"}`, `{"perHour":"1000000000000","refundPerHour":"100000000000","automaticPerHour":"100000000000"}`,
			`","perHour":"1000000000000"}}`, `","perHour":"1000000000000","refundPerHour":"100000000000","automaticPerHour":"100000000000"}}`,
		).Replace(policy)
		if change != nil {
			policy = change(policy, environ)
		}
		return policy
	})
	d.custody = d.chain.custody
	stations, err := d.client.Stations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.station = stations.Refunds[money.Tron]
	if fill != "" {
		d.fill(t, fill)
	}
	d.open(t)
	return d
}

// fill sends TRX and tokens to the refund station, and waits until a block has them: the test may stop the chain next,
// and a refund that finds the station short waits for a minute.
func (d *tronApprover) fill(t *testing.T, trx string) {
	t.Helper()
	d.Transfer(map[string]any{"to": d.station, "amount": trx, "token": false})
	last := d.Transfer(map[string]any{"to": d.station, "amount": "1000000000", "token": "USDT"})
	d.await(t, "a block has the money of the refund station", func() bool {
		var mined struct{ ID string }
		d.chain.post(t, "/wallet/gettransactioninfobyid", map[string]any{"value": last}, &mined)
		return mined.ID == last
	})
}

// order makes an order to a payer of its own.
func (d *tronApprover) order(asset, amount string) order.Order {
	o := d.approver.order(asset, amount)
	var payer trontx.Account
	payer[0], payer[18], payer[19] = 0xbe, byte(d.orders>>8), byte(d.orders)
	o.Network, o.To = "tron", payer.String()
	return o
}

// paid checks that the payer got a refund once.
func (d *tronApprover) paid(t *testing.T, o order.Order) {
	t.Helper()
	d.confirmed(t, o)
	d.got(t, o, o.Amount)
}

// got compares what a payer got, which arrived once.
func (d *tronApprover) got(t *testing.T, o order.Order, want ...string) {
	t.Helper()
	if o.Contract == "" {
		sum := fmt.Sprint(d.chain.sun(t, o.To))
		if len(want) == 0 && sum != "0" || len(want) == 1 && sum != want[0] {
			t.Errorf("read the payer's TRX for %s: got %s, want %v", o.ID, sum, want)
		}
		return
	}
	if got := d.chain.moved(t, d.station, o.To); !slices.Equal(got, want) {
		t.Errorf("read the chain's transfers for %s: got %v, want %v", o.ID, got, want)
	}
}

// booked compares the books of the refund station with the chain.
func (d *tronApprover) booked(t *testing.T, filled int64) {
	t.Helper()
	spent := d.count(t, `SELECT coalesce(sum(credit - debit), 0)::bigint FROM custody_entries WHERE account = 'refund_station' AND asset = 'TRX'`)
	if left := d.chain.sun(t, d.station); left+spent != filled {
		t.Errorf("read the books of the refund station: got %d sun spent and %d left, want %d together", spent, left, filled)
	}
}

const trx = "1000000000"

// TestRefundTron_kill9 kills wallets, or the signer, at every step of a refund, and starts it again. The payer gets the
// money once.
func TestRefundTron_kill9(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, trx, nil)
	d.installSteps(t)
	coin := d.order("TRX", "3000000")
	d.approve(t, coin)
	d.paid(t, coin)
	var kills []tronKill
	for _, answered := range refundAnswers {
		for _, side := range refundSides {
			kills = append(kills, killAtDoor("sign", answered, side))
		}
	}
	for _, state := range refundRows([]string{"planned", "signed", "broadcast", "mined", "final"}) {
		kills = append(kills, killAtRow(state))
	}
	for _, k := range kills {
		t.Run(k.name, func(t *testing.T) {
			o := d.order("USDT", fmt.Sprint(1_000_001+d.orders))
			place := k.at(d.custody, intent.Refund)(t)
			d.approve(t, o)
			d.killAt(t, place, k.side)
			d.paid(t, o)
		})
	}
	for _, answered := range refundAnswers {
		t.Run(fmt.Sprintf("sending, answered %v", answered), func(t *testing.T) {
			o := d.order("USDT", fmt.Sprint(1_000_001+d.orders))
			place := d.door("send", intent.Sweep, answered)(t) // a token's transfer
			d.approve(t, o)
			d.killAt(t, place, "wallets")
			d.paid(t, o)
		})
	}
	d.booked(t, 1_000_000_000)
	d.logHolds(t)
}
