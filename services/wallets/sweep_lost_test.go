//go:build integration

package main

import (
	"math/big"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/wallet"
)

// giveUpSweep gives a sweep up as an operator does.
func (c *custody) giveUpSweep(id, foreign string, environ ...string) (string, error) {
	cmd := exec.Command(filepath.Join(c.bin, "wallets"), "sweeps", "--give-up", id, "--foreign", foreign, "--reason", "incident 7")
	cmd.Env = append(slices.Clone(c.wallets.Env), environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// sweepGoesOn wants a refusal to give a sweep up, with a text in it, and that the sweep goes on.
func (c *custody) sweepGoesOn(t *testing.T, act, id, foreign, want string, environ ...string) {
	t.Helper()
	if out, err := c.giveUpSweep(id, foreign, environ...); err == nil || !strings.Contains(out, want) {
		t.Errorf("give up %s beside %s: got %v, %s, want an error with %q", id, act, err, out, want)
	}
	if n := c.count(t, `SELECT count(*) FROM sweeps WHERE id = $1 AND state = 'open'`, id); n != 1 {
		t.Errorf("count the open sweeps %s after that: got %d, want 1", id, n)
	}
}

// sweepGivenUp gives a sweep up twice and checks its one end.
func (c *custody) sweepGivenUp(t *testing.T, id, foreign string) {
	t.Helper()
	for range 2 {
		if out, err := c.giveUpSweep(id, foreign); err != nil {
			t.Fatalf("give up %s beside %s: got %v, %s, want no error", id, foreign, err, out)
		}
	}
	if out, err := c.giveUpSweep(id, strings.Repeat("ab", 32)); err == nil {
		t.Errorf("give up %s beside another transaction: got %s, want an error", id, out)
	}
	for what, sql := range map[string]string{
		"ended sweeps with their deposits": `SELECT count(*) FROM sweeps s JOIN deposits d ON d.sweep = s.id WHERE s.id = $1 AND s.state = 'released' AND s.reason LIKE '%' || $2 || '%'`,
		"rows of the audit": `SELECT count(*) FROM audit WHERE action = 'give up sweep' AND detail->>'sweep' = $1 AND detail->>'foreign' = $2
AND detail->>'reason' = 'incident 7'`,
		"lost sweeps": `SELECT count(*) FROM lost_sweeps WHERE sweep = $1 AND tx_hash = $2`,
	} {
		if n := c.count(t, sql, id, foreign); n != 1 {
			t.Errorf("give up %s: count the %s: got %d, want 1", id, what, n)
		}
	}
}

// missed waits until a wallet has an open sweep whose money is not there.
func (c *custody) missed(t *testing.T, w wallet.Wallet) (id string) {
	t.Helper()
	c.await(t, "the sweep of "+w.Address+" misses its money", func() bool {
		return c.pool.QueryRow(t.Context(), `SELECT id FROM sweeps WHERE wallet_id = $1 AND state = 'open'
AND (reason LIKE 'the balance on the chain%' OR reason LIKE '%is spent')`, w.ID).Scan(&id) == nil
	})
	return id
}

// newStolen makes a wallet whose deposit somebody with the words moves elsewhere, under the number of its sweep. The
// node has that transaction in its pool, and wallets is down.
func newStolen(t *testing.T) (c *custody, w wallet.Wallet, paid, foreign string) {
	t.Helper()
	const thief = "0x00000000000000000000000000000000000bad5e"
	c = newCustody(t, func(policy string, environ map[string]string) string {
		environ["EVM_ETHEREUM_SWEEP_STUCK"] = "30s" // for so long no node may show the sweep until it is replaced
		return policy
	})
	w = c.wallet(t, "USDT")
	paid = c.Transfer(map[string]any{"to": w.Address, "amount": "25000001", "token": "USDT", "mine": 15})
	sent := func(kind string) {
		t.Helper()
		c.await(t, "the node has the "+kind, func() bool {
			pending, err := c.statusPending()
			return err == nil && pending > 0 && c.count(t, `SELECT count(*) FROM outgoing_tx WHERE kind = $1 AND state = 'broadcast'`, kind) == 1
		})
	}
	sent("fund")
	c.Mine(1)
	sent("sweep")
	c.wallets.kill(t)
	_, requests := c.forms(t, intent.Sweep)
	r := requests[0]
	r.ID, r.To = "theft", thief
	terms := *r.EVM
	for _, fee := range []*string{&terms.MaxFee, &terms.Tip} {
		n, _ := new(big.Int).SetString(*fee, 10)
		*fee = n.Add(n, new(big.Int).Rsh(n, 3)).Add(n, big.NewInt(1)).String()
	}
	r.EVM = &terms
	c.changePolicy(t, treasury, thief)
	signed, err := c.asked(t, r)
	if err != nil {
		t.Fatalf("sign a transfer to somebody else: got %v, want no error", err)
	}
	c.call(t, "eth_sendRawTransaction", "0x"+signed.Raw)
	c.changePolicy(t, thief, treasury)
	return c, w, paid, signed.TxHash
}

// Somebody with the words moves a deposit elsewhere, under the number of its sweep. The sweep is given up once every
// endpoint shows that as final, and beside nothing else; the next deposit of the address is swept.
func TestSweep_lost(t *testing.T) {
	t.Parallel()
	c, w, paid, foreign := newStolen(t)
	var id string
	if err := c.pool.QueryRow(t.Context(), `SELECT id FROM sweeps WHERE wallet_id = $1`, w.ID).Scan(&id); err != nil {
		t.Fatal(err)
	}
	c.sweepGoesOn(t, "a transaction of the pool", id, foreign, "no block holds")
	c.Mine(1)
	c.sweepGoesOn(t, "one that is not final", id, foreign, "not final")
	c.startWallets(t)
	c.Mine(6)
	if got := c.missed(t, w); got != id {
		t.Fatalf("wait for the sweep of a lost deposit: got %s, want %s", got, id)
	}
	var own string
	if err := c.pool.QueryRow(t.Context(), `SELECT tx_hash FROM outgoing_attempts WHERE request::jsonb->>'kind' = 'sweep'`).Scan(&own); err != nil {
		t.Fatal(err)
	}
	c.sweepGoesOn(t, "its own form", id, own, "the signer has signed")
	c.sweepGoesOn(t, "the payer's transaction", id, paid, "moves no USDT")
	c.sweepGoesOn(t, "one that does not exist", id, "0x"+strings.Repeat("ab", 32), "no block holds")
	down := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(down.Close)
	c.sweepGoesOn(t, "one that an endpoint does not show", id, foreign, "endpoint", "EVM_ETHEREUM_RPC_URLS="+c.RPC+","+down.URL)
	c.sweepGivenUp(t, id, foreign)
	if got := c.books(t, w, "custody", "USDT"); got != 25_000_001 {
		t.Errorf("read the books of the lost deposit: custody has %d, want 25000001 until a person books the loss", got)
	}
	c.Do("/block-time", map[string]string{"every": blockTime})
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000002", "token": "USDT"})
	c.await(t, "the next deposit is swept", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE wallet_id = $1 AND state = 'swept' AND amount = 25000002`, w.ID) == 1
	})
	if got := c.moved(t, w.Address, treasury); !slices.Equal(got, []string{"25000002"}) {
		t.Errorf("read the transfers to the treasury: got %v, want those of the second deposit", got)
	}
}
