//go:build integration && long

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweeper"
)

// Wallets or the signer dies at every step of a sweep, and starts again. The money moves once.
func TestSweep_solanaKill9(t *testing.T) {
	t.Parallel()
	c := newSolCustody(t, nil)
	c.installSteps(t)
	c.flow()
	amount := 25_000_000
	dies := func(name string, at func(t *testing.T) stop, side string) {
		t.Run(name, func(t *testing.T) {
			amount++
			w := c.wallet(t, "USDC")
			before := c.tokens(t, c.treasury.String())
			place := at(t)
			c.pay(w.Address, "USDC", fmt.Sprint(amount))
			c.killAt(t, place, side)
			c.ended(t, w)
			if got := c.tokens(t, c.treasury.String()) - before; got != uint64(amount) {
				t.Errorf("%d arrived at the treasury, want %d", got, amount)
			}
		})
	}
	for _, answered := range []bool{false, true} {
		for _, side := range []string{"wallets", "signer"} {
			dies(fmt.Sprintf("signing, answered %v, %s dies", answered, side), c.door("sign", intent.Sweep, answered), side)
		}
		dies(fmt.Sprintf("sending, answered %v", answered), c.door("send", intent.Sweep, answered), "wallets")
	}
	for _, state := range solanaStates {
		dies("writing "+state, c.row("sweep "+state), "wallets")
	}
	dies("opening", c.row("open"), "wallets")
	c.agree(t)
	c.logHolds(t)
}

// Somebody else uses up the nonce: the transaction can land no more, and the sweep is planned again under the next one.
func TestSweep_solanaReplaced(t *testing.T) {
	t.Parallel()
	c := newSolRounds(t, 1, nil)
	at := c.live.Addresses[0]
	c.Transfer(map[string]any{"to": at, "amount": "25000002", "token": "USDC", "mine": 8})
	c.await(t, "the sweep is with the node", func() bool { return c.outgoing(t, "broadcast") == 1 })
	c.setNonce(t, soltx.Account{77, 4})
	c.Mine(1)
	c.flow()
	c.swept(t, at)
	if n := c.outgoing(t, "replaced"); n != 1 {
		t.Errorf("%d transactions are replaced, want the first", n)
	}
	c.agree(t)
}

// The block that holds the sweep leaves the chain: the same bytes are sent again and land once.
func TestSweep_solanaReorganised(t *testing.T) {
	t.Parallel()
	c := newSolRounds(t, 1, nil)
	c.Do("/finality", map[string]int{"depth": 12})
	at := c.live.Addresses[0]
	c.Transfer(map[string]any{"to": at, "amount": "25000004", "token": "USDC", "mine": 16})
	c.await(t, "the sweep is with the node", func() bool { return c.outgoing(t, "broadcast") == 1 })
	c.Mine(1)
	c.await(t, "it is mined", func() bool { return c.outgoing(t, "mined") == 1 })
	c.Do("/reorg", map[string]any{"depth": 1, "blocks": 2})
	c.await(t, "it is in no block", func() bool { return c.outgoing(t, "mined") == 0 })
	c.flow()
	c.swept(t, at)
	c.agree(t)
}

// A final refusal of the signer blocks the sweep until an operator releases it.
func TestSweep_solanaRefused(t *testing.T) {
	t.Parallel()
	c := newSolRounds(t, 1, func(policy string, _ *sweeper.Config) string {
		return strings.Replace(policy, `"maxFee":"100000"`, `"maxFee":"9999"`, 1) // two signatures cost more
	})
	c.flow()
	c.pay(c.live.Addresses[0], "USDC", "25000006")
	c.await(t, "blocked", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'blocked' AND reason LIKE '%(fee)%'`) == 1
	})
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx`); n != 0 {
		t.Errorf("%d transactions hold a nonce that nothing was signed for", n)
	}
}

// Three sweepers work on the same deposits: the money moves once.
func TestSweep_solanaTwoSweepers(t *testing.T) {
	t.Parallel()
	c := newSolRounds(t, 3, nil)
	c.flow()
	for _, at := range c.live.Addresses {
		c.pay(at, "USDC", "25000007")
	}
	for _, at := range c.live.Addresses {
		c.swept(t, at)
	}
	if got, want := c.tokens(t, c.treasury.String()), uint64(len(c.live.Addresses)*25_000_007); got != want {
		t.Errorf("%d arrived at the treasury, want %d", got, want)
	}
	c.agree(t)
}

// A transaction that no block takes is signed again at a higher price, and nodes have all of its forms. The forms name
// one nonce: the chain takes one of them, and cannot take another.
func TestSweep_solanaStuck(t *testing.T) {
	t.Parallel()
	c := newSolRounds(t, 1, func(policy string, cfg *sweeper.Config) string {
		cfg.Stuck = time.Second
		return policy
	})
	at := c.live.Addresses[0]
	c.Transfer(map[string]any{"to": at, "amount": "25000001", "token": "USDC", "mine": 8})
	c.await(t, "two forms are with the node", func() bool {
		return c.count(t, `SELECT count(*) FROM outgoing_attempts WHERE sent_at IS NOT NULL`) >= 3
	})
	c.flow()
	c.swept(t, at)
	var last *intent.Solana
	_, requests := c.forms(t, intent.Sweep)
	for _, r := range requests {
		if last != nil && (r.Solana.NonceAt != last.NonceAt || r.Solana.Nonce != last.Nonce || r.Solana.UnitPrice <= last.UnitPrice) {
			t.Errorf("the form after %+v is %+v, want the same nonce at a higher price", last, r.Solana)
		}
		last = r.Solana
	}
	c.agree(t) // a second form would have moved the money, or paid a fee, once more
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx`); n != 1 {
		t.Errorf("%d transactions, want one in several forms", n)
	}
}

// The signer signs transfers to its own treasury only, whatever wallets requests.
func TestSweep_solanaWrongDestination(t *testing.T) {
	t.Parallel()
	thief := soltx.Account{67}
	c := newSolCustody(t, func(policy string, environ map[string]string) string {
		environ["SOLANA_SWEEP_TREASURY"] = thief.String()
		return policy
	})
	w := c.wallet(t, "USDC")
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000005", "token": "USDC", "mine": 8})
	r := intent.Request{
		ID: "theft", Kind: intent.Sweep, Network: "solana", Asset: "USDC", Amount: "25000005", To: thief.String(),
		Solana: &intent.Solana{
			Station: c.station.String(), NonceAt: c.nonceAt.String(), Nonce: soltx.Account{77, 3}.String(), UnitLimit: 50_000, Mint: c.Tokens["USDC"], Decimals: 6,
			Moves: []intent.SolanaMove{{Index: 0, Owner: w.Address, Amount: "25000005"}},
		},
	}
	c.refused(t, r)
	c.unswept(t)
}

// A transaction that fails in its block is booked, and its sweeps are planned again. The one at fault is blocked by the
// next trial, the other arrives.
func TestSweep_solanaFailed(t *testing.T) {
	t.Parallel()
	c := newSolRounds(t, 1, nil)
	at, frozen := c.live.Addresses[0], c.live.Addresses[1]
	c.pay(frozen, "USDC", "25000003")
	c.Transfer(map[string]any{"to": at, "amount": "25000003", "token": "USDC", "mine": 8})
	c.await(t, "both are with the node", func() bool {
		return c.count(t, `SELECT count(*) FROM outgoing_sweeps c JOIN outgoing_tx o ON o.id = c.outgoing WHERE o.state = 'broadcast'`) == 2
	})
	c.call(t, "surfnet_setTokenAccount", frozen, c.Tokens["USDC"], map[string]any{"amount": 25_000_003, "state": "frozen"})
	c.flow()
	c.swept(t, at)
	if n := c.outgoing(t, "failed"); n != 1 {
		t.Errorf("%d transactions failed, want one", n)
	}
	if n := c.count(t, `SELECT count(*) FROM sweeps WHERE address = $1 AND state = 'blocked'`, frozen); n != 1 {
		t.Error("the sweep of the frozen account is not blocked")
	}
	c.agree(t)
}
