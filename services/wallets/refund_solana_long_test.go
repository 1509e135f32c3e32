//go:build integration && long

package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

// A refund waits for the station. One that no transaction could carry out is blocked before anything is signed.
func TestRefundSolana_emptyStation(t *testing.T) {
	t.Parallel()
	d := newSolApprover(t, 0)
	d.flow()
	// SOL in a nonce account is out of reach without the station's key, so payments must refuse its address.
	for what, at := range map[string]string{"station": d.station.String(), "nonce account of refunds": d.nonceAt.String(), "nonce account of sweeps": d.solCustody.nonceAt.String()} {
		d.await(t, "payments receives the "+what, func() bool {
			return d.count(t, `SELECT count(*) FROM own_accounts WHERE mode = 'live' AND family = 'solana' AND address = $1 AND told`, at) == 1
		})
	}
	o := d.order("USDC", "6000001")
	d.payments.approve(t, o)
	d.await(t, "the refund waits for the station", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds WHERE reason LIKE 'the refund station%' AND state = 'signing'`) == 1
	})
	d.fill(t, solFunds)
	if _, err := d.pool.Exec(t.Context(), `UPDATE refunds SET due_at = now()`); err != nil { // a minute has passed
		t.Fatal(err)
	}
	d.paid(t, o)

	bare, purse := d.order("SOL", "890879"), d.order("USDC", "6000002")
	d.call(t, "surfnet_setAccount", purse.To, map[string]any{"lamports": rentOfToken, "data": strings.Repeat("00", 165), "owner": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"})
	d.payments.approve(t, bare)
	d.payments.approve(t, purse)
	for reason, o := range map[string]order.Order{"%must keep": bare, "%no wallet": purse} {
		d.await(t, o.ID+" is blocked", func() bool {
			return d.count(t, `SELECT count(*) FROM refunds WHERE id = $1 AND blocked AND state = 'signing' AND reason LIKE $2`, o.ID, reason) == 1
		})
		if n := d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1`, o.ID); n != 0 {
			t.Errorf("count the transactions of %s: got %d, want none", o.ID, n)
		}
	}
	d.agreed(t, solFunds)
}

// The nonce of a signed refund has another value. Nothing else is signed for its order, nobody can give it up, and once
// the value is back, as after a rollback, the same bytes land.
func TestRefundSolana_expired(t *testing.T) {
	t.Parallel()
	d := newSolApprover(t, solFunds)
	o := d.order("USDC", "7000001")
	d.Mine(8)
	d.payments.approve(t, o)
	d.await(t, "the refund is with the node", func() bool {
		return d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1 AND state = 'broadcast'`, o.ID) == 1
	})
	d.setRefundNonce(t, soltx.Account{77, 7})
	d.flow()
	d.await(t, "the refund is blocked", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds WHERE id = $1 AND blocked AND state = 'sent'`, o.ID) == 1
	})
	cmd := exec.Command(filepath.Join(d.bin, "wallets"), "refunds", "--give-up", o.ID)
	cmd.Env = d.wallets.Env
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("give up a signed refund: got %s, want an error", out)
	}
	d.setRefundNonce(t, soltx.Account{77, 6})
	d.paid(t, o)
	d.agreed(t, solFunds)
}

// A refund that fails in its block has failed: nothing is paid, its fee is booked, and nothing else is signed for it.
func TestRefundSolana_failedOnChain(t *testing.T) {
	t.Parallel()
	d := newSolApprover(t, solFunds)
	d.Mine(8)
	o := d.order("USDC", "8000001")
	d.call(t, "surfnet_setTokenAccount", o.To, d.Tokens["USDC"], map[string]any{"amount": 0})
	d.payments.approve(t, o)
	d.await(t, "the refund is with the node", func() bool {
		return d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1 AND state = 'broadcast'`, o.ID) == 1
	})
	d.call(t, "surfnet_setTokenAccount", o.To, d.Tokens["USDC"], map[string]any{"amount": 0, "state": "frozen"})
	d.flow()
	d.await(t, "the refund has failed", func() bool { return d.payments.state(o) == string(wire.RefundFailed) })
	if _, last := d.payments.progress(o); last.Reason != wire.RefundReverted || last.Fee == "0" {
		t.Errorf("read the end of a failed refund: got %+v, want the reason %s and its fee", last, wire.RefundReverted)
	}
	if got := d.tokens(t, o.To) + uint64(d.total(t, "payments", "USDC")); got != 0 {
		t.Errorf("read payer and books after a failed refund: got %d, want nothing", got)
	}
	d.agreed(t, solFunds)
}

// Two thirds of the stake have confirmed the block of a refund, and it still leaves the chain: payments has heard of no
// confirmation, the same bytes are sent again under the same nonce, and the payer has the money once.
func TestRefundSolana_reorganised(t *testing.T) {
	t.Parallel()
	d := newSolApprover(t, solFunds)
	d.Do("/finality", map[string]int{"depth": 12})
	d.Mine(16)
	in := func(o order.Order, state string) func() bool {
		return func() bool {
			return d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1 AND state = $2`, o.ID, state) == 1
		}
	}
	o := d.order("USDC", "7500001")
	d.payments.approve(t, o)
	d.await(t, "the refund is with the node", in(o, "broadcast"))
	d.Mine(1)
	d.await(t, "the refund is mined", in(o, "mined"))
	d.setRefundNonce(t, soltx.Account{77, 6}) // the node of tests takes back blocks and no accounts
	d.Do("/reorg", map[string]any{"depth": 1, "blocks": 2})
	d.await(t, "the refund is in no block", in(o, "broadcast"))
	if n := d.count(t, `SELECT count(*) FROM refunds WHERE id = $1 AND state = 'sent' AND NOT blocked`, o.ID); n != 1 {
		t.Errorf("read the refund after the rollback: got %d that are sent and not blocked, want 1", n)
	}
	d.flow()
	d.paid(t, o)
	d.agreed(t, solFunds)
}

// A hostile wallets gets no signature for anything but the order, and one form of it alone.
func TestRefundSolana_refused(t *testing.T) {
	t.Parallel()
	d := newSolApprover(t, solFunds)
	stolen, thief := d.order("USDC", "9000001"), d.order("USDC", "1").To
	ask := func(id string, change func(r *intent.Request)) error {
		r := intent.Request{
			ID: id, Kind: intent.Refund, Network: "solana", Asset: "USDC", Amount: stolen.Amount, To: stolen.To,
			Order: new(stolen.Approve(automaticKey, time.Now())),
			Solana: &intent.Solana{
				Station: d.station.String(), NonceAt: d.nonceAt.String(), Nonce: soltx.Account{77, 6}.String(), UnitLimit: 82_000, UnitPrice: 15_000, // wallets offers another price
				Mint: d.Tokens["USDC"], Decimals: 6,
			},
		}
		change(&r)
		_, err := d.asked(t, r)
		return err
	}
	for _, c := range []struct {
		name, want string
		change     func(r *intent.Request)
	}{
		{"destination", intent.Destination, func(r *intent.Request) { r.To = thief }},
		{"order", intent.Order, func(r *intent.Request) { r.Order.To, r.To = thief, thief }},
		{"gas station", intent.Address, func(r *intent.Request) { r.Solana.Station = d.solCustody.station.String() }},
		{"mint", intent.Asset, func(r *intent.Request) { r.Solana.Mint = d.Tokens["USDT"] }},
		{"nothing", "", func(*intent.Request) {}},
		{"price", intent.OrderSpent, func(r *intent.Request) { r.Solana.UnitPrice = 20_000 }},
		{"block hash", intent.OrderSpent, func(r *intent.Request) { r.Solana.Nonce = soltx.Account{77, 8}.String() }},
	} {
		err, got := ask("theft "+c.name, c.change), ""
		if no, ok := errors.AsType[*intent.Refusal](err); ok {
			got = no.Code
		}
		if got != c.want || (err != nil) != (c.want != "") {
			t.Errorf("sign a refund with another %s: got %v, want the refusal %q", c.name, err, c.want)
		}
	}
	d.payments.approve(t, stolen) // wallets plans another form: the refund is blocked, and cannot be given up
	d.flow()
	d.await(t, "the refund is blocked", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds WHERE id = $1 AND blocked AND spent AND state = 'signing'`, stolen.ID) == 1
	})
	if got := d.tokens(t, thief) + d.tokens(t, stolen.To); got != 0 {
		t.Errorf("read the thief's and the payer's tokens: got %d, want none", got)
	}
}

// Both assets are refunded to new addresses, whose token account the station opens. A second token's refund opens none.
func TestRefundSolana_newTokenAccount(t *testing.T) {
	t.Parallel()
	d := newSolApprover(t, solFunds)
	d.flow()
	coin, token := d.order("SOL", "5000001"), d.order("USDC", "5000002")
	d.payments.approve(t, coin)
	d.payments.approve(t, token)
	d.paid(t, coin)
	d.paid(t, token)
	again := d.order("USDC", "5000003")
	again.To = token.To
	d.payments.approve(t, again)
	d.await(t, "the second refund is confirmed", func() bool { return d.payments.state(again) == string(wire.RefundConfirmed) })
	if got, want := d.tokens(t, token.To), uint64(10_000_005); got != want {
		t.Errorf("read the payer's tokens after two refunds: got %d, want %d", got, want)
	}
	if got := d.total(t, "rent", "SOL"); got != rentOfToken {
		t.Errorf("read the rent in the books: got %d, want that of one account", got)
	}
	d.agreed(t, solFunds)
}
