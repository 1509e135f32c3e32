//go:build integration && long

package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/intent"
)

// TestSweep_authorizedKill9 kills wallets, or the signer, at every step of a sweep with an authorization, and starts it
// again. The money moves once, in one transaction.
func TestSweep_authorizedKill9(t *testing.T) {
	t.Parallel()
	c := newAuthorized(t, authorizedGas, nil)
	c.MineEvery(100 * time.Millisecond)
	c.installSteps(t)
	dies := func(at func(t *testing.T) stop, side string) func(t *testing.T) {
		return func(t *testing.T) {
			c.made++
			amount := fmt.Sprint(25_000_000 + c.made)
			w := c.wallet(t, "USDC")
			place := at(t)
			c.Transfer(map[string]any{"to": w.Address, "amount": amount, "token": "USDC"})
			c.killAt(t, place, side)
			c.arrived(t, w, amount)
			if n := c.count(t, `SELECT count(*) FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1`, w.ID); n != 1 {
				t.Errorf("count the transactions: got %d, want 1", n)
			}
		}
	}
	for _, answered := range []bool{false, true} {
		for _, side := range []string{"wallets", "signer"} {
			t.Run(fmt.Sprintf("signing, answered %v, %s dies", answered, side), dies(c.door("sign", intent.Sweep, answered), side))
		}
		t.Run(fmt.Sprintf("sending, answered %v", answered), dies(c.door("send", intent.Sweep, answered), "wallets"))
	}
	for _, state := range []string{"planned", "signed", "broadcast", "mined", "final"} {
		t.Run("writing "+state, dies(c.row("sweep "+state), "wallets"))
	}
}

// A transaction that no block takes is signed again with a higher fee and a renewed authorization of the same nonce.
func TestSweep_authorizedStuck(t *testing.T) {
	t.Parallel()
	c := newAuthorized(t, authorizedGas, func(policy string, environ map[string]string) string {
		environ["EVM_ETHEREUM_SWEEP_STUCK"] = "2s"
		return policy
	})
	w := c.pay(t, "25000001", 15)
	c.await(t, "a higher fee", func() bool { return c.count(t, `SELECT coalesce(max(attempt), 0) FROM outgoing_tx`) >= 3 })
	c.MineEvery(100 * time.Millisecond)
	c.arrived(t, w, "25000001")
	nonces := c.authorizations(t)
	if len(nonces) != 1 {
		t.Errorf("read the nonces of the authorizations: got %v, want one for the sweep", nonces)
	}
}

// authorizations counts the forms by the nonce of their authorization.
func (c *custody) authorizations(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	_, requests := c.forms(t, intent.Sweep)
	for _, r := range requests {
		if r.EVM.Authorization != nil {
			found[r.EVM.Authorization.Nonce]++
		}
	}
	return found
}

// A transaction without enough gas fails in its block: the station's fee is booked, and the sweep is planned again with
// the same nonce of the authorization until it is blocked. An operator cannot release it while anybody could present
// the authorization.
func TestSweep_authorizedReverts(t *testing.T) {
	t.Parallel()
	c := newAuthorized(t, 1, nil)
	c.MineEvery(100 * time.Millisecond)
	w := c.pay(t, "25000001", 1)
	c.await(t, "blocked", func() bool { return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'blocked'`) == 1 })
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = 'failed' AND fee > 0`); n != 3 {
		t.Errorf("count the failed transactions: got %d, want 3", n)
	}
	if got := c.movedOf(t, "USDC", w.Address, treasury); len(got) != 0 {
		t.Errorf("read the transfers to the treasury: got %v, want none", got)
	}
	if nonces := c.authorizations(t); len(nonces) != 1 {
		t.Errorf("read the nonces of the authorizations: got %v, want one for the sweep", nonces)
	}
	c.stationAgrees(t)
	var blocked string
	if err := c.pool.QueryRow(t.Context(), `SELECT id FROM sweeps`).Scan(&blocked); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(c.bin, "wallets"), "sweeps", "--release", blocked)
	cmd.Env = c.wallets.Env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "its authorization is valid") {
		t.Errorf("release a sweep whose authorization is valid: got %s, %v, want a refusal", out, err)
	}
	if _, err := c.pool.Exec(t.Context(), `UPDATE outgoing_attempts SET request =
jsonb_set(request::jsonb, '{evm,authorization,before}', to_jsonb(extract(epoch FROM now() - interval '21 minutes')::bigint))::text`); err != nil { // an hour has passed
		t.Fatal(err)
	}
	c.await(t, "the sweeper has seen the authorization unused", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE unused_until > now() - interval '10 minutes'`) == 1
	})
	c.release(t)
}

// The signer refuses a transaction that costs more than one funding may give: the sweep is blocked, and nothing is
// signed.
func TestSweep_authorizedRefused(t *testing.T) {
	t.Parallel()
	c := newAuthorized(t, authorizedGas, func(policy string, _ map[string]string) string {
		return strings.Replace(policy, `"fund":{"most":"100000000000000000"`, `"fund":{"most":"1"`, 1)
	})
	c.MineEvery(100 * time.Millisecond)
	c.pay(t, "25000001", 1)
	c.await(t, "blocked", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'blocked' AND reason LIKE '%(fee)%'`) == 1
	})
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx`); n != 0 {
		t.Errorf("%d transactions hold a number that nothing was signed for", n)
	}
	log, err := os.ReadFile(filepath.Join(c.dir, "signer.log"))
	if err != nil || strings.Contains(string(log), `"event":"signed"`) {
		t.Errorf("read the signer's log: got %s, %v, want no signature", log, err)
	}
}

// Another party presents the authorization before the gas station does. The money is at the treasury: the own
// transaction fails and is paid for, and the foreign one counts as the sweep, without a fee.
func TestSweep_authorizedPresentedByAnother(t *testing.T) {
	t.Parallel()
	c := newAuthorized(t, authorizedGas, nil)
	key := secp256k1.PrivKeyFromBytes([]byte("another key, of thirty-two bytes"))
	sum := address.Keccak256(key.PubKey().SerializeUncompressed()[1:])
	c.Transfer(map[string]any{"to": evmtx.Account(sum[12:]).String(), "amount": "1000000000000000000", "token": false, "mine": 1})
	place := c.door("send", intent.Sweep, false)(t)
	w := c.pay(t, "25000001", 6)
	place.wait(t)
	raws, _ := c.forms(t, intent.Sweep)
	own, _, err := evmtx.Parse(raws[0])
	if err != nil {
		t.Fatal(err)
	}
	foreign := own
	foreign.Nonce, foreign.MaxFee, foreign.Tip = 0, big.NewInt(50_000_000_000), big.NewInt(10_000_000_000)
	digest := foreign.Digest()
	compact := ecdsa.SignCompact(key, digest[:], false)
	signed := foreign.Signed(compact[0]-27, new(big.Int).SetBytes(compact[1:33]), new(big.Int).SetBytes(compact[33:]))
	var hash string
	if err := json.Unmarshal(c.call(t, "eth_sendRawTransaction", "0x"+hex.EncodeToString(signed)), &hash); err != nil {
		t.Fatal(err)
	}
	c.Mine(1)
	place.gone(t)
	c.await(t, "the own transaction is with the node", func() bool { n, err := c.statusPending(); return err == nil && n == 1 })
	c.MineEvery(100 * time.Millisecond)
	c.await(t, "the own transaction has failed", func() bool {
		return c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = 'failed' AND fee > 0`) == 1
	})
	if _, err := c.pool.Exec(t.Context(), `UPDATE sweeps SET due_at = now() WHERE state = 'open'`); err != nil { // minutes have passed
		t.Fatal(err)
	}
	c.arrived(t, w, "25000001")
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = 'final' AND tx_hash = $1 AND fee = 0 AND amount = 25000001`, hash); n != 1 {
		t.Errorf("count the foreign transaction %s: got %d, want 1 that is final, without a fee", hash, n)
	}
}

// Where an authorization is dearer than a funding and a transfer, the address gets coins and sends the token itself.
func TestSweep_authorizedDearer(t *testing.T) {
	t.Parallel()
	c := newAuthorized(t, 2_000_000, func(policy string, environ map[string]string) string {
		environ["EVM_ETHEREUM_SWEEP_RESERVE_WEI"] = "0"
		return strings.Replace(policy, `"maxGas":500000`, `"maxGas":5000000`, 1)
	})
	c.MineEvery(100 * time.Millisecond)
	w := c.pay(t, "25000003", 1)
	c.await(t, "swept", func() bool { return c.count(t, swept, w.ID) == 1 })
	if n := c.count(t, `SELECT count(*) FILTER (WHERE kind = 'fund') * 10 + count(*) FILTER (WHERE kind = 'sweep') FROM outgoing_tx
WHERE state = 'final' AND NOT authorized`); n != 11 {
		t.Errorf("sweep with a dear authorization: got %d, want 11 for a funding and a sweep", n)
	}
}
