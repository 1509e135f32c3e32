//go:build integration && long

package main

import (
	"encoding/hex"
	"testing"

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
