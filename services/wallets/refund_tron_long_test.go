//go:build integration && long

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
)

// A node that hides a refund, which is in a block, gets no second form signed, however late it is.
func TestRefundTron_hidden(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, trx, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "4s" // a form that expired before a node took it would have a successor
		return policy
	})
	d.chain.station = d.station // whose transactions the liar hides
	liar := d.chain.liar(t)
	d.wallets.kill(t)
	d.environ["TRON_RPC_URLS"] = liar + "," + d.environ["TRON_RPC_URLS"]
	d.startWallets(t)
	d.chain.hides.Store(true)
	o := d.order("USDT", "4000001")
	d.approve(t, o)
	d.await(t, "the refund is in a block that has long been final, and wallets has not seen it", func() bool {
		return d.count(t, `SELECT count(*) FROM outgoing_tx o JOIN outgoing_attempts a ON a.outgoing = o.id
WHERE o.refund = $1 AND o.state = 'broadcast' AND a.signed_at < now() - interval '8 seconds'`, o.ID) == 1
	})
	d.got(t, o, o.Amount)
	if n := d.count(t, `SELECT count(*) FROM outgoing_attempts`); n != 1 {
		t.Errorf("count the forms of a hidden refund: got %d, want 1", n)
	}
	d.chain.hides.Store(false)
	d.paid(t, o)
	d.formed(t, o, 1)
	d.booked(t, 1_000_000_000)
}

// A refund whose forms have all expired is blocked: payments hears of no end until an operator gives it up, and then
// nothing of it can land.
func TestRefundTron_forms(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, trx, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "6s" // the test gives up in vain before it ends
		return strings.Replace(policy, `"formsPerOrder":10`, `"formsPerOrder":2`, 1)
	})
	d.Do("/set", map[string]any{"hold": true})
	o := d.order("USDT", "2000001")
	d.approve(t, o)
	d.await(t, "the first form is with the node", func() bool { return d.state(o) == string(wire.RefundSent) })
	command := func(flag string) (string, error) {
		cmd := exec.Command(filepath.Join(d.bin, "wallets"), "refunds", flag, o.ID)
		cmd.Env = d.wallets.Env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := command("--give-up"); err == nil {
		t.Errorf("give up a refund that may land: got %s, want an error", out)
	}
	d.await(t, "its forms have expired, and it is blocked", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds r JOIN outgoing_tx o ON o.refund = r.id WHERE r.blocked AND o.state = 'replaced'`) == 1
	})
	d.formed(t, o, 2)
	if got := d.state(o); got != string(wire.RefundSent) {
		t.Errorf("read the state of a blocked refund: got %s, want %s", got, wire.RefundSent)
	}
	if out, err := command("--release"); err == nil {
		t.Errorf("release a refund that has no form left: got %s, want an error", out)
	}
	if out, err := command("--give-up"); err != nil {
		t.Fatalf("give the expired refund up: %v: %s", err, out)
	}
	d.await(t, "payments hears that it has failed", func() bool { return d.state(o) == string(wire.RefundFailed) })
	d.Do("/set", map[string]any{"hold": false})
	next := d.order("USDT", "2000002")
	d.approve(t, next)
	d.paid(t, next)
	d.got(t, o)
}

// TestRefundTron_rewound rewinds the scan below the final block of a refund, which has left the chain: the refund
// counts as sent again, the payer gets the money once, and nothing is planned while the scan is halted.
func TestRefundTron_rewound(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, trx, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "100s" // the form has to be valid on the other chain, too
		return policy
	})
	o := d.order("USDT", "6000001")
	d.approve(t, o)
	d.paid(t, o)
	d.Do("/set", map[string]any{"every": "0", "hold": true}) // by hand from here
	height := d.count(t, `SELECT height FROM outgoing_tx WHERE refund = $1 AND state = 'final'`, o.ID)
	head := d.count(t, `SELECT height FROM cursors WHERE mode = 'live' AND network = 'tron'`)
	d.Do("/reorg", map[string]any{"depth": head - height + 4, "blocks": head - height + 8})
	metrics := func() string { return get(t, "http://"+d.environ["OPS_ADDR"]+"/metrics") }
	d.await(t, "the scan halts", func() bool {
		return strings.Contains(metrics(), `wallets_scan_halted{mode="live",network="tron"} 1`)
	})
	later := d.order("USDT", "6000002")
	d.approve(t, later)
	d.await(t, "another refund is taken", func() bool { return d.state(later) == string(wire.RefundSigning) })
	if n := d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1`, later.ID); n != 0 {
		t.Errorf("count the transactions of a refund on a halted network: got %d, want none", n)
	}
	cmd := exec.Command(filepath.Join(d.bin, "wallets"), "rewind", "--network", "tron", "--reason", "the chain reorganised")
	cmd.Env = d.wallets.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("rewind the scan: got %v, %s, want no error", err, out)
	}
	d.Do("/set", map[string]any{"every": "100ms", "hold": false})
	d.await(t, "the refund is confirmed again", func() bool {
		states, _ := d.progress(o)
		return strings.Join(slices.Compact(states), " ") == "signing sent confirmed sent confirmed"
	})
	d.got(t, o, o.Amount)
	d.paid(t, later)
	d.booked(t, 1_000_000_000)
}

// The station is short at first: the refund waits, is not failed, and the gauge shows it.
func TestRefundTron_short(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, "", nil)
	d.await(t, "payments learns that the station is an own address", func() bool {
		return d.count(t, `SELECT count(*) FROM own_accounts WHERE mode = 'live' AND address = $1 AND told`, d.station) == 1
	})
	coin, token := d.order("TRX", "2500000"), d.order("USDT", "2500001")
	d.approve(t, coin)
	d.approve(t, token)
	d.await(t, "the refunds wait for the station, and the gauge shows them", func() bool {
		metrics := get(t, "http://"+d.environ["OPS_ADDR"]+"/metrics")
		return strings.Contains(metrics, `wallets_refunds{asset="TRX",network="tron",state="short"} 1`) &&
			strings.Contains(metrics, `wallets_refunds{asset="USDT",network="tron",state="short"} 1`)
	})
	if n := d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund IS NOT NULL`); n != 0 || d.state(coin) != string(wire.RefundSigning) {
		t.Errorf("read the refunds of an empty station: got %d transactions and state %s, want none, and signing", n, d.state(coin))
	}
	d.fill(t, trx)
	if _, err := d.pool.Exec(t.Context(), `UPDATE refunds SET due_at = now()`); err != nil { // a minute has passed
		t.Fatal(err)
	}
	d.paid(t, coin)
	d.paid(t, token)
}

// A transfer that lands without its effect is no payment: it runs out of energy, because the price of energy has risen.
// Its fee is booked, and payments hears that the refund has failed.
func TestRefundTron_failedOnChain(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, trx, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "60s"
		return policy
	})
	door := d.door("send", intent.Sweep, false)(t)
	o := d.order("USDT", "8000001")
	d.approve(t, o)
	door.wait(t)
	d.Do("/set", map[string]any{"energyFee": 1_000})
	door.gone(t)
	d.await(t, "the refund has failed", func() bool { return d.state(o) == string(wire.RefundFailed) })
	if _, last := d.progress(o); last.Reason != wire.RefundReverted || last.Fee == "0" {
		t.Errorf("read the end of a refund without effect: got %+v, want reverted, with its fee", last)
	}
	d.got(t, o)
	d.booked(t, 1_000_000_000)
	d.Do("/set", map[string]any{"energyFee": 100})
	next := d.order("USDT", "8000002")
	d.approve(t, next)
	d.paid(t, next)
}

// No node takes TRX for a contract: such a refund fails before anything is signed. A refund of a token to it is paid.
func TestRefundTron_toAContract(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, trx, nil)
	coin, token := d.order("TRX", "2600000"), d.order("USDT", "2600001")
	coin.To, token.To = d.Tokens["FAKE"], d.Tokens["FAKE"]
	d.approve(t, coin)
	d.approve(t, token)
	d.await(t, "the refund of TRX has failed", func() bool { return d.state(coin) == string(wire.RefundFailed) })
	if _, last := d.progress(coin); last.Reason != wire.RefundDestinationRefused {
		t.Errorf("read the end of a refund to a contract: got %+v, want destination_refused", last)
	}
	if n := d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1`, coin.ID); n != 0 {
		t.Errorf("count the transactions of the refund: got %d, want none", n)
	}
	d.confirmed(t, token)
}

// The block of a refund leaves the chain before it is final: the same form is sent again, and the payer is paid once.
func TestRefundTron_reorganised(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, trx, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "100s" // the test stops the chain's blocks for a while
		return policy
	})
	in := func(o order.Order, state string) func() bool {
		return func() bool {
			return d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1 AND state = $2`, o.ID, state) == 1
		}
	}
	door := d.door("send", intent.Sweep, false)(t)
	o := d.order("USDT", "6000001")
	d.approve(t, o)
	door.wait(t)
	d.Do("/set", map[string]any{"every": "0", "hold": true}) // by hand from here
	door.gone(t)
	d.await(t, "the refund is with the node", in(o, "broadcast"))
	d.Do("/finality", map[string]int{"depth": 20})
	d.Do("/set", map[string]any{"hold": false})
	d.Mine(1)
	d.await(t, "the refund is mined", in(o, "mined"))
	d.Do("/set", map[string]any{"hold": true})
	d.Do("/reorg", map[string]any{"depth": 1, "blocks": 2})
	d.await(t, "the refund is in no block", in(o, "broadcast"))
	d.Do("/set", map[string]any{"hold": false})
	d.await(t, "the refund is mined again", func() bool {
		d.Mine(1)
		return in(o, "mined")()
	})
	d.Do("/finality", map[string]int{"depth": 3})
	d.Do("/set", map[string]any{"every": blockTime})
	d.paid(t, o)
	d.formed(t, o, 1)
	d.booked(t, 1_000_000_000)
}

// A hostile wallets gets no signature for anything but the order. A policy that forbids a refund blocks it until an
// operator releases it.
func TestRefundTron_refused(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, trx, func(policy string, _ map[string]string) string {
		return strings.Replace(policy, `"maxFeeLimit":"40000000"`, `"maxFeeLimit":"1"`, 1)
	})
	o := d.order("USDT", "7000001")
	d.approve(t, o)
	d.await(t, "blocked", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds WHERE blocked AND reason LIKE '%(fee)%'`) == 1
	})
	stolen := d.order("TRX", "7000002")
	const thief, nobody = "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"
	toNobody := stolen
	toNobody.To = nobody
	for name, c := range map[string]struct {
		order  order.Order
		change func(r *intent.Request)
		want   string
	}{
		"another destination":        {stolen, func(r *intent.Request) { r.To = thief }, intent.Destination},
		"the address of zeros":       {toNobody, func(*intent.Request) {}, intent.Destination},
		"a changed order":            {stolen, func(r *intent.Request) { r.Order.To, r.To = thief, thief }, intent.Order},
		"a form in place of no form": {stolen, func(r *intent.Request) { r.Tron.Follows = strings.Repeat("ab", 32) }, intent.OrderSpent},
	} {
		r := intent.Request{
			ID: "theft " + name, Kind: intent.Refund, Network: "tron", Asset: "TRX", Amount: c.order.Amount, To: c.order.To,
			Order: new(c.order.Approve(automaticKey, time.Now())),
			Tron:  &intent.Tron{Block: strings.Repeat("0", 64), Expiration: time.Now().Add(time.Minute).UnixMilli()},
		}
		c.change(&r)
		_, err := d.asked(t, r)
		if no, ok := errors.AsType[*intent.Refusal](err); !ok || no.Code != c.want {
			t.Errorf("sign a refund with %s: got %v, want the refusal %s", name, err, c.want)
		}
	}
	d.changePolicy(t, `"maxFeeLimit":"1"`, `"maxFeeLimit":"40000000"`)
	cmd := exec.Command(filepath.Join(d.bin, "wallets"), "refunds", "--release", o.ID)
	cmd.Env = d.wallets.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("release the blocked refund: %v: %s", err, out)
	}
	d.paid(t, o)
}

// formed checks that a refund has at least so many forms, each in place of the one before and none of which could land
// beside another.
func (d *tronApprover) formed(t *testing.T, o order.Order, least int) {
	t.Helper()
	_, requests := d.forms(t, intent.Refund)
	before, ends := "", int64(0)
	hashes, err := d.pool.Query(t.Context(), `SELECT a.tx_hash FROM outgoing_attempts a JOIN outgoing_tx o ON o.id = a.outgoing
WHERE o.refund = $1 ORDER BY a.number`, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer hashes.Close()
	for _, r := range requests {
		if r.Order.ID != o.ID {
			continue
		}
		if r.Tron.Follows != before || r.Tron.Timestamp < ends {
			t.Errorf("read the forms of %s: got one at %d in place of %q, want it after %d in place of %q",
				o.ID, r.Tron.Timestamp, r.Tron.Follows, ends, before)
		}
		if !hashes.Next() {
			t.Fatalf("read the forms of %s: got no hash, want one for each", o.ID)
		}
		if err := hashes.Scan(&before); err != nil {
			t.Fatal(err)
		}
		ends, least = r.Tron.Expiration, least-1
	}
	if least > 0 {
		t.Errorf("count the forms of %s: got %d too few", o.ID, least)
	}
}

// A form that no block takes is followed by another once it has expired on the chain's own final blocks; one of them
// lands, although wallets dies before and after the next form is signed.
func TestRefundTron_expired(t *testing.T) {
	t.Parallel()
	d := newTronApprover(t, trx, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "6s" // a slow machine must scan, sign and send within it
		return policy
	})
	d.installSteps(t)
	d.Do("/set", map[string]any{"hold": true})
	for i, step := range []string{"refund planned", "refund signed"} {
		o := d.order("USDT", fmt.Sprint(2_000_001+i))
		d.approve(t, o)
		d.await(t, "the first form is with the node", func() bool { return d.state(o) == string(wire.RefundSent) })
		d.killAt(t, d.row(step)(t), "wallets") // of the next form
		d.await(t, "another form is with the node", func() bool {
			return d.count(t, `SELECT count(*) FROM outgoing_attempts a JOIN outgoing_tx o ON o.id = a.outgoing
WHERE o.refund = $1 AND a.number > 1 AND a.sent_at IS NOT NULL`, o.ID) > 0
		})
		d.Do("/set", map[string]any{"hold": false})
		d.paid(t, o)
		d.formed(t, o, 2)
		d.Do("/set", map[string]any{"hold": true})
	}
	d.Do("/set", map[string]any{"hold": false})
	d.booked(t, 1_000_000_000)
}
