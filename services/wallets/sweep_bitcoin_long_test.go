//go:build integration && long

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/wallet"
)

// TestSweepBitcoin_kill9 kills wallets, or the signer, at every step of a sweep of bitcoin, and starts it again. The
// money moves once.
func TestSweepBitcoin_kill9(t *testing.T) {
	t.Parallel()
	c := newBTC(t, nil)
	c.mines()
	c.installSteps(t)
	die := func(name string, at func(t *testing.T) stop, side string) {
		t.Run(name, func(t *testing.T) {
			c.made++
			w := c.wallet(t, "BTC")
			place := at(t)
			c.pay(w.Address, 100_000+c.made)
			c.killAt(t, place, side)
			c.holds(t, w, int64(100_000+c.made))
		})
	}
	for _, answered := range []bool{false, true} {
		for _, side := range []string{"wallets", "signer"} {
			die(fmt.Sprintf("signing, answered %v, %s dies", answered, side), c.door("sign", intent.Sweep, answered), side)
		}
		die(fmt.Sprintf("sending, answered %v", answered), c.door("send", intent.Sweep, answered), "wallets")
	}
	for _, state := range []string{"planned", "signed", "broadcast", "mined", "final"} {
		die("writing "+state, c.row("sweep "+state), "wallets")
	}
	die("opening", c.row("open"), "wallets")
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.final) != 0 {
		t.Errorf("message to payments about standalone wallets: %v", c.final)
	}
}

// A higher fee that the signer refuses leaves the transaction as it was: it is mined.
func TestSweepBitcoin_stuckAndRefused(t *testing.T) {
	t.Parallel()
	c := newBTC(t, func(policy string, environ map[string]string) string {
		environ["BITCOIN_SWEEP_STUCK"] = "1s"
		return strings.Replace(policy, `"maxFee":2000000`, `"maxFee":1700`, 1)
	})
	w := c.wallet(t, "BTC")
	c.pay(w.Address, 1_000_002)
	c.Mine(6)
	c.await(t, "a raised fee is refused", func() bool {
		log, err := os.ReadFile(filepath.Join(c.dir, "signer.log"))
		return err == nil && bytes.Contains(log, []byte(`"code":"fee"`))
	})
	c.mines()
	c.holds(t, w, 1_000_002)
}

// A foreign transaction spends an input of a batch: the batch ends as replaced once that is final, and is planned again
// without the output. The sweep of the lost deposit is given up beside the foreign transaction.
func TestSweepBitcoin_replaced(t *testing.T) {
	t.Parallel()
	c := newBTC(t, nil)
	lost, kept := c.wallet(t, "BTC"), c.wallet(t, "BTC")
	c.pay(lost.Address, 100_001)
	c.pay(kept.Address, 100_002)
	c.Mine(6)
	c.await(t, "the sweep is with the node", func() bool { return c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = 'broadcast'`) >= 1 })
	_, requests := c.forms(t, intent.Sweep)
	// An operator with the words sends one deposit elsewhere: a signer with another policy plays that operator.
	c.wallets.kill(t)
	theft := c.elsewhere(t, requests[0], lost)
	c.Do("/take", map[string]string{"raw": theft.Raw})
	c.Mine(1)
	c.startWallets(t)
	c.mines()
	c.holds(t, kept, 100_002)
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = 'replaced'`); n != 1 {
		t.Errorf("%d transactions are replaced, want 1", n)
	}
	id := c.missed(t, lost)
	var own string
	if err := c.pool.QueryRow(t.Context(), `SELECT tx_hash FROM outgoing_tx WHERE state = 'final'`).Scan(&own); err != nil {
		t.Fatal(err)
	}
	c.sweepGoesOn(t, "the sweep of another deposit", id, own, "it pays")
	c.sweepGoesOn(t, "the payer's transaction", id, requests[0].Bitcoin.Inputs[0].TxID, "spends none")
	c.sweepGivenUp(t, id, theft.TxHash)
	c.pay(lost.Address, 100_003)
	c.await(t, "the next deposit is swept", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE wallet_id = $1 AND state = 'swept' AND amount = 100003`, lost.ID) == 1
	})
}

// The block of a sweep leaves the chain: the sweep is sent again and mined once.
func TestSweepBitcoin_reorganised(t *testing.T) {
	t.Parallel()
	c := newBTC(t, nil)
	w := c.wallet(t, "BTC")
	c.pay(w.Address, 1_000_003)
	c.Mine(6)
	state := func(s string) func() bool {
		return func() bool { return c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = $1`, s) == 1 }
	}
	c.await(t, "the sweep is with the node", state("broadcast"))
	c.Mine(1)
	c.await(t, "it is mined", state("mined"))
	c.Do("/reorg", map[string]any{"depth": 1, "blocks": 2})
	c.Do("/drop", map[string]any{})
	c.await(t, "it is in no block", state("broadcast"))
	c.await(t, "it is in the pool again", func() bool {
		var pool []string
		return json.Unmarshal(c.call(t, "getrawmempool"), &pool) == nil && len(pool) == 1
	})
	raws, _ := c.forms(t, intent.Sweep)
	c.Do("/take", map[string]string{"raw": hex.EncodeToString(raws[0])})
	c.mines()
	c.holds(t, w, 1_000_003)
}

// A final refusal of the signer blocks the sweeps of the batch until an operator releases them.
func TestSweepBitcoin_refused(t *testing.T) {
	t.Parallel()
	c := newBTC(t, func(policy string, _ map[string]string) string {
		return strings.Replace(policy, `"maxFee":2000000`, `"maxFee":10`, 1)
	})
	w := c.wallet(t, "BTC")
	c.pay(w.Address, 100_004)
	c.mines()
	c.await(t, "blocked", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'blocked' AND reason LIKE '%(fee)%'`) == 1
	})
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx`) + c.count(t, `SELECT count(*) FROM outgoing_inputs`); n != 0 {
		t.Errorf("%d rows hold sweeps and outputs that nothing was signed for", n)
	}
	c.changePolicy(t, `"maxFee":10`, `"maxFee":2000000`)
	c.release(t)
	c.await(t, "swept", func() bool { return c.count(t, swept, w.ID) == 1 })
}

// The signer signs transfers to its own treasury only, whatever wallets requests, and wallets does not ask one that has
// another treasury.
func TestSweepBitcoin_wrongDestination(t *testing.T) {
	t.Parallel()
	thief := vaultOf(t, 0xde)
	c := newBTC(t, func(policy string, environ map[string]string) string {
		environ["BITCOIN_SWEEP_TREASURY"] = thief
		return policy
	})
	w := c.wallet(t, "BTC")
	c.pay(w.Address, 100_001)
	c.Mine(6)
	r := intent.Request{
		ID: "theft", Kind: intent.Sweep, Network: "bitcoin", Asset: "BTC", Amount: "90000", To: thief,
		Bitcoin: &intent.Bitcoin{Inputs: []intent.Output{{TxID: strings.Repeat("ab", 32), Value: 91_000}}},
	}
	c.refused(t, r)
	c.unswept(t)
}

// The signer refuses a batch of two sweeps more than the hour allows: the half that fits goes, and the rest waits for
// the next hour.
func TestSweepBitcoin_batchAboveHour(t *testing.T) {
	t.Parallel()
	c := newBTC(t, func(policy string, environ map[string]string) string {
		environ["BITCOIN_SWEEP_LEAST"] = "BTC:0.004" // all of it together
		return strings.Replace(policy, `"perHour":"100000000000"`, `"perHour":"250000"`, 1)
	})
	for i := range 4 {
		c.pay(c.wallet(t, "BTC").Address, 100_001+i)
	}
	c.mines()
	c.await(t, "half of the batch is swept", func() bool { return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'swept'`) == 2 })
	c.await(t, "the rest waits", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'open' AND reason LIKE '%(value)%'`) == 2
	})
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = 'final'`); n != 1 {
		t.Errorf("%d transactions are final, want 1", n)
	}
}

// An output that is not worth its fee any more does not hold the money beside it.
func TestSweepBitcoin_smallBeside(t *testing.T) {
	t.Parallel()
	c := newBTC(t, func(policy string, environ map[string]string) string {
		environ["BITCOIN_SWEEP_LEAST"] = "BTC:0.001"
		return policy
	})
	w := c.wallet(t, "BTC")
	c.pay(w.Address, 60_001)
	c.Mine(6)
	c.await(t, "the sweep is open", func() bool { return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'open'`) == 1 })
	// The rate was lower when the sweep was opened.
	c.pay(w.Address, 1_500)
	c.Mine(6)
	c.await(t, "the small deposit is final", func() bool { return c.count(t, `SELECT count(*) FROM deposits WHERE finalized`) == 2 })
	if _, err := c.pool.Exec(t.Context(), `WITH small AS (UPDATE deposits SET sweep = (SELECT id FROM sweeps) WHERE amount = 1500)
		UPDATE sweeps SET amount = amount + 1500`); err != nil {
		t.Fatal(err)
	}
	other := c.wallet(t, "BTC")
	c.pay(other.Address, 60_002)
	c.mines()
	c.await(t, "both are swept", func() bool { return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'swept'`) == 2 })
	if n := c.count(t, `SELECT count(*) FROM deposits WHERE amount = 1500 AND sweep IS NULL`); n != 1 {
		t.Errorf("%d small deposits are left out, want 1", n)
	}
}

// Two hundred small sweeps that wait do not hide a later one with which their sum is enough.
func TestSweepBitcoin_manyWait(t *testing.T) {
	t.Parallel()
	c := newBTC(t, func(policy string, environ map[string]string) string {
		environ["BITCOIN_SWEEP_LEAST"] = "BTC:0.0085"
		return policy
	})
	w := c.wallet(t, "BTC")
	c.pay(w.Address, 100_001)
	c.Mine(6)
	c.await(t, "the sweep waits", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'open' AND reason LIKE 'not worth%'`) == 1
	})
	c.wallets.kill(t)
	for _, sql := range []string{
		`INSERT INTO sweeps SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'swp_' || n, 'address', 'address ' || n, 'amount', 4000,
			'due_at', s.due_at - interval '1 hour'))).* FROM sweeps s, generate_series(1, 200) n`,
		`INSERT INTO deposits SELECT (jsonb_populate_record(d, jsonb_build_object('tx_hash', lpad(to_hex(n), 64, '0'), 'amount', 4000,
			'address', 'address ' || n, 'sweep', 'swp_' || n))).* FROM deposits d, generate_series(1, 200) n`,
	} {
		if _, err := c.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	c.startWallets(t)
	c.mines()
	c.await(t, "swept", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'swept' AND wallet_id = $1 AND amount = 100001`, w.ID) == 1
	})
}

// A transaction that no block takes is signed again with a higher fee, of the same inputs. The node takes each form in
// place of the one before, and when a miner takes an older one, that one counts.
func TestSweepBitcoin_stuck(t *testing.T) {
	t.Parallel()
	c := newBTC(t, func(policy string, environ map[string]string) string {
		environ["BITCOIN_SWEEP_STUCK"] = "1s"
		return policy
	})
	w := c.wallet(t, "BTC")
	c.pay(w.Address, 1_000_001)
	c.Mine(6)
	c.await(t, "three forms are with the node", func() bool {
		return c.count(t, `SELECT count(*) FROM outgoing_attempts WHERE sent_at IS NOT NULL`) >= 3
	})
	var pool []string
	if err := json.Unmarshal(c.call(t, "getrawmempool"), &pool); err != nil || len(pool) != 1 {
		t.Errorf("the node's pool: %v, %v, want one form", pool, err)
	}
	raws, requests := c.forms(t, intent.Sweep)
	last := int64(0)
	for i, r := range requests {
		tx, err := r.Collection()
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && (tx.Fee() < last+tx.Size() || len(tx.Inputs) != 1 || r.Bitcoin.Inputs[0] != requests[0].Bitcoin.Inputs[0]) {
			t.Errorf("form %d has a fee of %d after %d, with the inputs %+v", i+1, tx.Fee(), last, r.Bitcoin.Inputs)
		}
		last = tx.Fee()
	}
	c.Do("/take", map[string]string{"raw": hex.EncodeToString(raws[0])})
	c.mines()
	c.holds(t, w, 1_000_001)
	first, err := requests[0].Collection()
	if err != nil {
		t.Fatal(err)
	}
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = 'final' AND fee = $1`, first.Fee()); n != 1 {
		t.Error("the form that was mined is not the one that counts")
	}
}

// The signer refuses one sweep of a batch for good: that one is blocked, and the others are swept.
func TestSweepBitcoin_batchRefused(t *testing.T) {
	t.Parallel()
	c := newBTC(t, func(policy string, environ map[string]string) string {
		environ["BITCOIN_SWEEP_LEAST"] = "BTC:0.003" // all of it together
		return strings.Replace(policy, `"indexBelow":100000,`, `"indexBelow":2,`, 1)
	})
	var last wallet.Wallet
	for i := range 3 {
		last = c.wallet(t, "BTC")
		c.pay(last.Address, 100_001+i)
	}
	c.mines()
	c.await(t, "the others are swept", func() bool { return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'swept'`) == 2 })
	c.await(t, "the refused one is blocked", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'blocked' AND reason LIKE '%(address)%' AND wallet_id = $1`, last.ID) == 1
	})
}
