//go:build integration

package main

import (
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
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

// giveUp gives a refund up as an operator does, beside a foreign transaction unless it is "".
func (d *approver) giveUp(o order.Order, foreign string, environ ...string) (string, error) {
	args := []string{"refunds", "--give-up", o.ID}
	if foreign != "" {
		args = append(args, "--foreign", foreign, "--reason", "incident 7")
	}
	cmd := exec.Command(filepath.Join(d.bin, "wallets"), args...)
	cmd.Env = append(slices.Clone(d.wallets.Env), environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// stays wants a refusal to give a refund up, with a text in it, and that the refund goes on.
func (d *approver) stays(t *testing.T, act string, o order.Order, foreign, want string, environ ...string) {
	t.Helper()
	if out, err := d.giveUp(o, foreign, environ...); err == nil || !strings.Contains(out, want) {
		t.Errorf("give up %s beside %s: got %v, %s, want an error with %q", o.ID, act, err, out, want)
	}
	if n := d.count(t, `SELECT count(*) FROM refunds WHERE id = $1 AND state IN ('signing', 'sent')`, o.ID); n != 1 {
		t.Errorf("count the open refunds %s after that: got %d, want 1", o.ID, n)
	}
}

// gaveUp gives a refund up twice and checks its one end.
func (d *approver) gaveUp(t *testing.T, o order.Order, foreign string) {
	t.Helper()
	for range 2 {
		if out, err := d.giveUp(o, foreign); err != nil {
			t.Fatalf("give up %s beside %s: got %v, %s, want no error", o.ID, foreign, err, out)
		}
	}
	d.await(t, "payments hears that "+o.ID+" has failed", func() bool { return d.state(o) == string(wire.RefundFailed) })
	if states, last := d.progress(o); last.Reason != wire.RefundGivenUp || last.TxHash != "" || states[len(states)-2] == string(wire.RefundFailed) {
		t.Errorf("follow %s: got %v and %+v, want one end, given up, without a hash", o.ID, states, last)
	}
	if n := d.count(t, `SELECT count(*) FROM audit WHERE action = 'give up refund' AND detail->>'refund' = $1 AND detail->>'foreign' = $2
AND detail->>'reason' = 'incident 7'`, o.ID, foreign); n != 1 {
		t.Errorf("count the rows of the audit about %s: got %d, want 1", o.ID, n)
	}
	if out, err := d.giveUp(o, strings.Repeat("ab", 32)); err == nil {
		t.Errorf("give up %s beside another transaction: got %s, want an error", o.ID, out)
	}
}

// stolen is a request that the signer takes for another order in the place of a refund: a log that was lost, or a key
// in other hands.
func (d *approver) stolen(of intent.Request, o order.Order) intent.Request {
	r := of
	r.ID, r.To, r.Amount, r.Asset, r.Order = "stolen "+o.ID, o.To, o.Amount, o.Asset, new(o.Approve(automaticKey, time.Now()))
	return r
}

// sign has the signer sign a request.
func (d *approver) sign(t *testing.T, r intent.Request) intent.Signed {
	t.Helper()
	signed, err := d.asked(t, r)
	if err != nil {
		t.Fatalf("sign %s: got %v, want no error", r.ID, err)
	}
	return signed
}

// outbid sends a transaction with the number of a refund's, at a higher fee, and returns its hash.
func (d *approver) outbid(t *testing.T, o, by order.Order) (hash string) {
	t.Helper()
	_, requests := d.forms(t, intent.Refund)
	at := slices.IndexFunc(requests, func(r intent.Request) bool { return r.Order.ID == o.ID })
	r := d.stolen(requests[at], by)
	terms := *r.EVM
	for _, fee := range []*string{&terms.MaxFee, &terms.Tip} {
		n, _ := new(big.Int).SetString(*fee, 10)
		*fee = n.Mul(n, big.NewInt(2)).String()
	}
	r.EVM = &terms
	if err := json.Unmarshal(d.call(t, "eth_sendRawTransaction", "0x"+d.sign(t, r).Raw), &hash); err != nil {
		t.Fatal(err)
	}
	return hash
}

// blocked waits until a refund is blocked.
func (d *approver) blocked(t *testing.T, o order.Order) {
	t.Helper()
	d.await(t, o.ID+" is blocked", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds WHERE id = $1 AND blocked`, o.ID) == 1
	})
}

// sentOne approves a refund and waits until a node has it.
func (d *approver) sentOne(t *testing.T, o order.Order) {
	t.Helper()
	d.approve(t, o)
	d.await(t, "the node has "+o.ID, func() bool {
		return d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1 AND state = 'broadcast'`, o.ID) == 1
	})
}

// Somebody else uses the number of a refund. The refund is given up once that is final and every endpoint shows it, and
// not beside anything else; the next refund has the next number.
func TestRefund_foreign(t *testing.T) {
	t.Parallel()
	d := newApprover(t, ether, nil)
	d.Mine(1) // the station's money
	other := d.Transfer(map[string]any{"to": treasury, "amount": "1", "token": false, "mine": 1})
	o, thief := d.order("USDT", "11000001"), d.order("USDT", "900000000")
	d.sentOne(t, o)
	foreign := d.outbid(t, o, thief)
	d.stays(t, "a transaction of the pool", o, foreign, "no block holds")
	d.Mine(1)
	d.stays(t, "one that is not final", o, foreign, "not final")
	d.Mine(6)
	d.blocked(t, o)
	d.stays(t, "its own form", o, d.ownForm(t, o), "the signer has signed")
	d.stays(t, "one of another sender", o, other, "does not take the place")
	d.stays(t, "one that does not exist", o, "0x"+strings.Repeat("ab", 32), "no block holds")
	urls := "EVM_ETHEREUM_RPC_URLS=" + d.RPC
	down := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(down.Close)
	d.stays(t, "one that an endpoint does not show", o, foreign, "endpoint", urls+","+down.URL)
	d.gaveUp(t, o, foreign)
	if got := d.moved(t, d.station, o.To); len(got) != 0 {
		t.Errorf("read the payer's transfers after the end: got %v, want none", got)
	}
	d.Do("/block-time", map[string]string{"every": blockTime})
	next := d.order("USDT", "11000002")
	d.approve(t, next)
	d.paid(t, next)

	d.Do("/block-time", map[string]string{"every": "0"})
	twin, double := d.order("USDT", "12000001"), d.order("USDT", "12000001")
	double.To = twin.To
	d.sentOne(t, twin)
	foreign = d.outbid(t, twin, double)
	d.Mine(7)
	d.blocked(t, twin)
	d.stays(t, "one that pays the payer", twin, foreign, "does the same")
}

// ownForm is the hash of the newest form of a refund.
func (d *approver) ownForm(t *testing.T, o order.Order) (hash string) {
	t.Helper()
	if err := d.pool.QueryRow(t.Context(), `SELECT a.tx_hash FROM outgoing_attempts a JOIN outgoing_tx o ON o.id = a.outgoing
WHERE o.refund = $1 ORDER BY a.number DESC LIMIT 1`, o.ID).Scan(&hash); err != nil {
		t.Fatal(err)
	}
	return hash
}
