//go:build integration && long

package main

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/testkit/port"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/fixture"
)

// The station is short at first, and the refund waits. Then the coin and a token are refunded, each once, although
// every message comes several times, another order comes under a known id, and a second wallets plans, too.
func TestRefund_coin(t *testing.T) {
	t.Parallel()
	d := newApprover(t, "", nil)
	d.Do("/block-time", map[string]string{"every": blockTime})
	d.await(t, "payments learns that the station is an own address", func() bool {
		return d.count(t, `SELECT count(*) FROM own_accounts WHERE mode = 'live' AND address = $1 AND told`, d.station) == 1
	})
	first := d.order("ETH", "250000000000000000")
	d.approve(t, first)
	d.await(t, "the refund waits for the station", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds WHERE reason LIKE 'the refund station%'`) == 1
	})
	d.await(t, "the gauge shows it", func() bool {
		return strings.Contains(get(t, "http://"+d.environ["OPS_ADDR"]+"/metrics"), `wallets_refunds{asset="ETH",network="ethereum",state="short"} 1`)
	})
	d.Transfer(map[string]any{"to": d.station, "amount": ether, "token": false})
	d.Transfer(map[string]any{"to": d.station, "amount": "1000000000", "token": "USDT"})
	d.await(t, "the refund is planned", func() bool {
		if _, err := d.pool.Exec(t.Context(), `UPDATE refunds SET due_at = now()`); err != nil { // a minute has passed
			t.Fatal(err)
		}
		return d.count(t, `SELECT count(*) FROM outgoing_tx WHERE kind = 'refund'`) == 1
	})
	d.paid(t, first)

	second := exec.Command(filepath.Join(d.bin, "wallets"))
	environ := maps.Clone(d.environ)
	environ["HTTP_ADDR"], environ["OPS_ADDR"] = port.Free(t), port.Free(t)
	for k, v := range environ {
		second.Env = append(second.Env, k+"="+v)
	}
	second.Stdout, second.Stderr = t.Output(), t.Output()
	other := run(t, second)
	t.Cleanup(func() { other.kill(t) })

	orders := []order.Order{d.order("ETH", "100000000000000000"), d.order("USDT", "3000001"), d.order("USDT", "3000002")}
	orders[0].Approval = order.Operator
	for range 3 {
		for _, o := range orders {
			d.approve(t, o)
		}
	}
	d.await(t, "the first process has sent a refund", func() bool { return d.state(orders[0]) != "" })
	d.wallets.kill(t)
	d.startWallets(t)
	for _, o := range orders {
		d.paid(t, o)
	}
	changed := orders[1]
	changed.Amount = "900000000"
	d.approve(t, changed)
	d.await(t, "another order under the same id is refused", func() bool {
		refused := func(at string) bool {
			return strings.Contains(get(t, "http://"+at+"/metrics"), "wallets_refunds_refused_total 1")
		}
		return refused(d.environ["OPS_ADDR"]) || refused(environ["OPS_ADDR"])
	})
	if got := d.moved(t, d.station, changed.To); len(got) != 1 {
		t.Errorf("read the transfers after another order: got %v, want the first alone", got)
	}
}

// A refund that no block takes is signed again with a higher fee and the same number; one of its forms is mined.
func TestRefund_stuck(t *testing.T) {
	t.Parallel()
	d := newApprover(t, ether, func(policy string, environ map[string]string) string {
		environ["EVM_ETHEREUM_SWEEP_STUCK"] = "1s"
		return policy
	})
	o := d.order("USDT", "5000001")
	d.approve(t, o)
	d.await(t, "three signed forms, each with a higher fee", func() bool {
		return d.count(t, `SELECT count(*) FROM outgoing_attempts a JOIN outgoing_tx o ON o.id = a.outgoing
WHERE o.refund = $1 AND a.raw IS NOT NULL`, o.ID) >= 3
	})
	d.Do("/block-time", map[string]string{"every": blockTime})
	d.paid(t, o)
	var nonces, forms int
	if err := d.pool.QueryRow(t.Context(), `SELECT count(DISTINCT (a.request::jsonb)->'evm'->>'nonce'), count(*) FROM outgoing_attempts a
JOIN outgoing_tx o ON o.id = a.outgoing WHERE o.refund = $1`, o.ID).Scan(&nonces, &forms); err != nil || nonces != 1 || forms < 3 {
		t.Errorf("read the forms of a stuck refund: got %d under %d numbers, %v, want three or more under one", forms, nonces, err)
	}
}

// The block of a refund leaves the chain before it is final, and after: the refund is sent again and paid once.
func TestRefund_reorganised(t *testing.T) {
	t.Parallel()
	d := newApprover(t, ether, func(policy string, environ map[string]string) string {
		environ["EVM_ETHEREUM_SWEEP_STUCK"] = "6s"
		return policy
	})
	d.Do("/finality", map[string]int{"depth": 6})
	d.Mine(12)
	o := d.order("USDT", "6000001")
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
	d.await(t, "the refund is in the pool again", func() bool { n, err := d.statusPending(); return err == nil && n > 0 })
	d.Mine(8)
	d.paid(t, o)

	d.Do("/reorg", map[string]any{"depth": 9, "blocks": 12})
	d.Do("/drop", map[string]any{})
	metrics := func() string { return get(t, "http://"+d.environ["OPS_ADDR"]+"/metrics") }
	d.await(t, "the scan halts", func() bool {
		return strings.Contains(metrics(), `wallets_scan_halted{mode="live",network="ethereum"} 1`)
	})
	later := d.order("USDT", "6000002")
	d.approve(t, later)
	d.await(t, "another refund is taken", func() bool { return d.state(later) == string(wire.RefundSigning) })
	cmd := exec.Command(filepath.Join(d.bin, "wallets"), "rewind", "--network", "ethereum", "--reason", "the chain reorganised")
	cmd.Env = d.wallets.Env
	if n := d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1`, later.ID); n != 0 {
		t.Errorf("count the transactions of a refund on a halted network: got %d, want none", n)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("rewind the scan: got %v, %s, want no error", err, out)
	}
	d.Do("/block-time", map[string]string{"every": blockTime})
	d.await(t, "the refund is confirmed again", func() bool {
		states, _ := d.progress(o)
		states = slices.Compact(states)
		return strings.Join(states, " ") == "signing sent confirmed sent confirmed"
	})
	if got := d.moved(t, d.station, o.To); len(got) != 1 || got[0] != o.Amount {
		t.Errorf("read the chain's transfers after the reorganisation: got %v, want %s once", got, o.Amount)
	}
	d.paid(t, later)
}

// Refunds that wait at the same time leave in one round, each under the next number of the station.
func TestRefund_together(t *testing.T) {
	t.Parallel()
	const every = 3 * time.Second
	d := newApprover(t, ether, func(policy string, environ map[string]string) string {
		environ["SWEEP_EVERY"] = every.String()
		return policy
	})
	d.Mine(4) // the station's money
	d.await(t, "refunds have started", func() bool {
		return d.count(t, `SELECT count(*) FROM own_accounts WHERE mode = 'live' AND address = $1`, d.station) == 1
	})
	d.signer.kill(t)
	var orders []order.Order
	for i := range 4 {
		o := d.order("USDT", fmt.Sprint(11_000_001+i))
		orders = append(orders, o)
		d.approve(t, o)
	}
	fixture.Await(t, "wallets has the orders, and has planned the first", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds`) == 4 && d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund IS NOT NULL`) == 1
	})
	d.startSigner(t)
	d.await(t, "the node has all of them", func() bool {
		return d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund IS NOT NULL AND state = 'broadcast'`) == 4
	})
	if n := d.count(t, `SELECT max(nonce) - min(nonce) FROM outgoing_tx WHERE refund IS NOT NULL`); n != 3 {
		t.Errorf("read the numbers of four refunds: got a range of %d, want 3", n)
	}
	if ms := d.count(t, `SELECT (extract(epoch FROM max(created_at) - min(created_at)) * 1000)::bigint FROM outgoing_tx WHERE refund IS NOT NULL AND nonce > 0`); ms >= every.Milliseconds() {
		t.Errorf("read when three refunds were planned: got %d ms between the first and the last, want one round", ms)
	}
	d.Do("/block-time", map[string]string{"every": blockTime})
	for _, o := range orders {
		d.confirmed(t, o)
	}
}
