//go:build integration && long

package main

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
)

// A refund that no block takes is signed again with a higher fee, of the same inputs, out of the change; one of its
// forms is mined.
func TestRefundBitcoin_stuck(t *testing.T) {
	t.Parallel()
	d := newBTCApprover(t, []int{1_000_000}, func(policy string, environ map[string]string) string {
		environ["BITCOIN_SWEEP_STUCK"] = "1s"
		return policy
	})
	o := d.order(t, 300_001)
	d.approve(t, o)
	d.await(t, "three forms are with the node", func() bool {
		return d.count(t, `SELECT count(*) FROM outgoing_attempts WHERE sent_at IS NOT NULL`) >= 3
	})
	raws, requests := d.forms(t, intent.Refund)
	last := int64(0)
	for i, r := range requests {
		tx, err := r.Collection()
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && tx.Fee() < last+tx.Size() || tx.Slot() != mustSlot(t, requests[0]) || r.Amount != o.Amount || r.Bitcoin.Station != d.station {
			t.Errorf("read form %d: got a fee of %d after %d and %+v, want a higher one of the same inputs, paid by the change", i+1, tx.Fee(), last, r.Bitcoin)
		}
		last = tx.Fee()
	}
	d.Do("/take", map[string]string{"raw": hex.EncodeToString(raws[0])}) // a miner takes the first form
	d.btc.mines()
	d.refunded(t, o)
}

// The station has too little, and the refund waits, visible in the gauge. It is paid once operators fill the station.
func TestRefundBitcoin_emptyStation(t *testing.T) {
	t.Parallel()
	d := newBTCApprover(t, []int{200_000}, nil)
	d.btc.mines()
	o := d.order(t, 200_000)
	d.approve(t, o)
	d.await(t, "the gauge shows the refund that waits", func() bool {
		return metric("http://"+d.environ["OPS_ADDR"], `wallets_refunds{asset="BTC",network="bitcoin",state="short"} 1`)
	})
	if got := d.state(o); got != string(wire.RefundSigning) {
		t.Errorf("read the state of a refund that waits: got %s, want signing", got)
	}
	d.btc.pay(d.station, 150_000)
	d.await(t, "the new output is found", func() bool {
		return d.count(t, `SELECT count(*) FROM station_outputs WHERE amount = 150000`) == 1
	})
	if _, err := d.pool.Exec(t.Context(), `UPDATE refunds SET due_at = now()`); err != nil { // a minute has passed
		t.Fatal(err)
	}
	d.refunded(t, o)
	if n := d.count(t, `SELECT count(*) FROM outgoing_inputs`); n != 2 {
		t.Errorf("count the inputs of the refund: got %d, want both outputs", n)
	}
}

// The block of a refund leaves the chain: the same form is sent again, and the payer gets the money once.
func TestRefundBitcoin_reorganised(t *testing.T) {
	t.Parallel()
	d := newBTCApprover(t, []int{1_000_000}, nil)
	o := d.order(t, 300_002)
	d.approve(t, o)
	in := func(state string) func() bool {
		return func() bool {
			return d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1 AND state = $2`, o.ID, state) == 1
		}
	}
	d.await(t, "the refund is with the node", in("broadcast"))
	d.Mine(1)
	d.await(t, "the refund is mined", in("mined"))
	d.Do("/reorg", map[string]any{"depth": 1, "blocks": 2})
	d.Do("/drop", map[string]any{})
	d.await(t, "the refund is in no block", in("broadcast"))
	raws, _ := d.forms(t, intent.Refund)
	if len(raws) != 1 {
		t.Errorf("count the forms after the reorganisation: got %d, want the first alone", len(raws))
	}
	d.Do("/take", map[string]string{"raw": hex.EncodeToString(raws[0])})
	d.btc.mines()
	d.refunded(t, o)
}

// A hostile wallets gets no signature for anything but the order, and none for other inputs of an order that is signed.
func TestRefundBitcoin_refused(t *testing.T) {
	t.Parallel()
	d := newBTCApprover(t, []int{1_000_000, 900_000}, nil)
	d.btc.mines()
	o := d.order(t, 300_003)
	d.approve(t, o)
	d.refunded(t, o)
	_, requests := d.forms(t, intent.Refund)
	deposit := d.wallet(t, "BTC")
	d.btc.pay(deposit.Address, 10_000)
	thief := vaultOf(t, 0xde)
	d.await(t, "the other outputs are found", func() bool {
		return d.count(t, `SELECT count(*) FROM station_outputs`) == 2 && d.count(t, `SELECT count(*) FROM deposits`) == 1
	})
	other := d.spend(t, `SELECT tx_hash, ordinal, amount::bigint FROM station_outputs ORDER BY amount LIMIT 1`)
	foreign := d.spend(t, `SELECT tx_hash, ordinal, amount::bigint FROM deposits`)
	second := d.order(t, 100_000)
	sign := func(name string, of order.Order, change func(r *intent.Request), want string) {
		r := requests[0]
		r.ID, r.To, r.Amount = "theft "+name, of.To, of.Amount
		r.Order = new(of.Approve(automaticKey, time.Now()))
		amount, err := intent.Units(of.Amount)
		if err != nil {
			t.Fatal(err)
		}
		r.Bitcoin = &intent.Bitcoin{Inputs: []intent.Output{other}, Station: d.station, Change: other.Value - amount.Int64() - 1_000}
		if change != nil {
			change(&r)
		}
		d.prove(t, &r)
		_, err = d.client.Sign(t.Context(), r)
		no, refused := errors.AsType[*intent.Refusal](err)
		if refused != (want != "") || refused && no.Code != want || !refused && err != nil {
			t.Errorf("sign a refund %s: got %v, want the refusal %q", name, err, want)
		}
	}
	for name, c := range map[string]struct {
		of     order.Order
		change func(r *intent.Request)
		want   string
	}{
		"to a thief":              {second, func(r *intent.Request) { r.To = thief }, intent.Destination},
		"to a thief by its order": {second, func(r *intent.Request) { r.Order.To, r.To = thief, thief }, intent.Order},
		"of another amount":       {second, func(r *intent.Request) { r.Amount = "100001" }, intent.Order},
		"with change to a thief":  {second, func(r *intent.Request) { r.Bitcoin.Station = thief }, intent.Destination},
		"with a foreign input":    {second, func(r *intent.Request) { r.Bitcoin.Inputs = append(r.Bitcoin.Inputs, foreign) }, intent.Address},
		"with a huge fee":         {second, func(r *intent.Request) { r.Bitcoin.Change -= 100_000 }, intent.Fee},
		"of dust":                 {d.order(t, 200), nil, intent.Dust},
		"a second time":           {o, nil, intent.OrderSpent},
	} {
		sign(name, c.of, c.change, c.want)
	}
	sign("as ordered", second, nil, "") // last, because its order is spent afterwards
	if got := d.received(t, thief); len(got) != 0 {
		t.Errorf("read the thief's outputs: got %v, want none", got)
	}
}
