//go:build integration && long

package main

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

// Somebody else spends an input of a refund. Its other input pays the next one.
func TestRefundBitcoin_foreign(t *testing.T) {
	t.Parallel()
	d := newBTCApprover(t, []int{300_000, 290_000}, nil)
	o, thief := d.order(t, 400_001), d.order(t, 200_000)
	d.await(t, "the outputs are found", func() bool { return d.count(t, `SELECT count(*) FROM station_outputs`) == 2 })
	d.sentOne(t, o)
	_, requests := d.forms(t, intent.Refund)
	r := d.stolen(requests[0], thief)
	in := slices.MaxFunc(r.Bitcoin.Inputs, func(a, b intent.Output) int { return int(a.Value - b.Value) })
	r.Bitcoin = &intent.Bitcoin{Inputs: []intent.Output{in}, Station: d.station, Change: in.Value - 200_000 - 2_000}
	d.prove(t, &r)
	signed := d.sign(t, r)
	foreign := signed.TxHash
	d.stays(t, "a transaction of nowhere", o, foreign, "no block holds")
	d.Do("/take", map[string]string{"raw": signed.Raw})
	d.Mine(1)
	d.stays(t, "one that is not final", o, foreign, "not final")
	d.Mine(6)
	d.blocked(t, o)
	d.stays(t, "its own form", o, d.ownForm(t, o), "the signer has signed")
	d.stays(t, "one that spends something else", o, in.TxID, "does not take the place")
	d.gaveUp(t, o, foreign)
	if n := d.count(t, `SELECT count(*) FROM station_outputs WHERE tx_hash = $1`, in.TxID); n != 0 {
		t.Errorf("count the outputs that the foreign transaction has spent: got %d, want none", n)
	}
	d.once(t, thief)
	d.btc.mines()
	next := d.order(t, 200_003)
	d.approve(t, next)
	d.refunded(t, next)
	if got := d.received(t, o.To); len(got) != 0 {
		t.Errorf("read the payer's outputs of the refund that was given up: got %v, want none", got)
	}
}

// Somebody else takes the tokens of the station while wallets is down. The refund's form expires, no next one can be
// made, and the operator gives the refund up beside the foreign transaction.
func TestRefundTron_foreign(t *testing.T) {
	t.Parallel()
	d, o, foreign := newRobbed(t)
	d.stays(t, "its own form", o, d.ownForm(t, o), "the signer has signed")
	other := d.Transfer(map[string]any{"to": d.station, "amount": "5", "token": false})
	d.await(t, "another transaction is final", func() bool {
		out, err := d.giveUp(o, other)
		return err != nil && strings.Contains(out, "does not take the place")
	})
	d.gaveUp(t, o, foreign)
	d.goesOn(t, o)
}

// The same refund is given up without a foreign transaction: its form has expired at every endpoint.
func TestRefundTron_noNextForm(t *testing.T) {
	t.Parallel()
	d, o, _ := newRobbed(t)
	if out, err := d.giveUp(o, ""); err != nil {
		t.Fatalf("give up a refund that has expired: got %v, %s, want no error", err, out)
	}
	d.await(t, "payments hears that it has failed", func() bool { return d.state(o) == string(wire.RefundFailed) })
	d.goesOn(t, o)
}

// newRobbed makes a refund whose form has expired, at a station without the token.
func newRobbed(t *testing.T) (d *tronApprover, o order.Order, foreign string) {
	t.Helper()
	d = newTronApprover(t, trx, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "40s" // the foreign one is made within it
		return policy
	})
	o, thief := d.order("USDT", "13000001"), d.order("USDT", "1000000000")
	gate := d.door("send", intent.Sweep, false)(t)
	d.approve(t, o)
	gate.wait(t)
	d.wallets.kill(t)
	gate.gone(t)
	_, requests := d.forms(t, intent.Refund)
	r := d.stolen(requests[0], thief)
	signed := d.sign(t, r)
	d.Do("/set", map[string]any{"hold": true})
	d.chain.post(t, "/wallet/broadcasthex", map[string]any{"transaction": signed.Raw}, new(any))
	d.startWallets(t)
	d.stays(t, "one that waits for a block", o, signed.TxHash, "no block holds")
	d.Do("/set", map[string]any{"hold": false})
	d.await(t, "the thief has the tokens", func() bool { return len(d.chain.moved(t, d.station, thief.To)) == 1 })
	d.Do("/set", map[string]any{"hold": true}) // the form of the refund lands no more
	d.stays(t, "nothing, before its form has expired", o, "", "may still land")
	d.await(t, "the refund waits for the station", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds WHERE id = $1 AND reason LIKE 'the refund station%'`, o.ID) == 1
	})
	d.Do("/set", map[string]any{"hold": false})
	return d, o, signed.TxHash
}

// goesOn fills the station again: the next refund is paid, and the one that was given up is not.
func (d *tronApprover) goesOn(t *testing.T, ended order.Order) {
	t.Helper()
	d.Transfer(map[string]any{"to": d.station, "amount": "1000000000", "token": "USDT"})
	next := d.order("USDT", "13000002")
	d.approve(t, next)
	d.await(t, "the next refund is confirmed", func() bool {
		if _, err := d.pool.Exec(t.Context(), `UPDATE refunds SET due_at = now() WHERE id = $1`, next.ID); err != nil { // a minute has passed
			t.Fatal(err)
		}
		return d.state(next) == string(wire.RefundConfirmed)
	})
	d.paid(t, next)
	d.got(t, ended)
}

// Somebody else advances the nonce of a refund on solana.
func TestRefundSolana_foreign(t *testing.T) {
	t.Parallel()
	d := newSolApprover(t, solFunds)
	d.Mine(8)
	o, thief := d.order("USDC", "14000001"), d.order("USDC", "500000000")
	gate := d.door("send", intent.Sweep, false)(t)
	d.payments.approve(t, o)
	gate.wait(t)
	d.wallets.kill(t)
	gate.gone(t)
	raws, requests := d.forms(t, intent.Refund)
	signed := d.payments.sign(t, d.payments.stolen(requests[0], thief))
	foreign := signed.TxHash
	raw, err := signed.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	d.payments.stays(t, "a transaction of nowhere", o, foreign, "no block holds")
	d.call(t, "sendTransaction", base64.StdEncoding.EncodeToString(raw), map[string]any{"encoding": "base64", "skipPreflight": true})
	d.Mine(1)
	d.payments.stays(t, "one that is not final", o, foreign, "not final")
	d.startWallets(t)
	d.flow()
	d.payments.blocked(t, o)
	d.payments.stays(t, "its own form", o, soltx.Hash(raws[0]), "the signer has signed")
	d.payments.gaveUp(t, o, foreign)
	next := d.order("USDC", "14000002")
	d.payments.approve(t, next)
	d.paid(t, next)
	if got := d.tokens(t, o.To); got != 0 {
		t.Errorf("read the payer's tokens of the refund that was given up: got %d, want none", got)
	}
}
