//go:build integration

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	btcwire "github.com/btcsuite/btcd/wire/v2"

	"causeway.internal/libs/address"
	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/wallet"
)

// vaultOf writes a regtest address whose key nobody here has.
func vaultOf(t *testing.T, mark byte) string {
	t.Helper()
	text, err := address.Encode(money.Bitcoin, address.Regtest, bytes.Repeat([]byte{mark}, 20))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// btc is a custody of bitcoin on btcd.
type btc struct {
	*custody
	treasury string
}

func newBTC(t *testing.T, change func(policy string, environ map[string]string) string) *btc {
	t.Helper()
	c := &btc{custody: custodyOf(t, "bitcoin"), treasury: vaultOf(t, 0xca)}
	maps.Copy(c.environ, map[string]string{
		"BITCOIN_NETWORK_LIVE": "regtest", "BITCOIN_START": "100", "BITCOIN_POLL": poll, "BITCOIN_FINAL_DEPTH": "3",
		"BITCOIN_ROLLBACK_GRACE": "200ms", "BITCOIN_MEMPOOL_POLL": "0", "BITCOIN_SWEEP_TREASURY": c.treasury, "BITCOIN_SWEEP_STUCK": "1h",
		"BITCOIN_SWEEP_LEAST": "BTC:0.0005",
	})
	policy := `{"mode":"live","account":0,"gasAccount":1,"indexBelow":100000,"networks":{"bitcoin":{"treasury":"` + c.treasury + `",
"countPerHour":1000,"assets":{"BTC":{"perHour":"100000000000"}},"bitcoin":{"maxFeeRate":200,"maxFee":2000000}}}}`
	if change != nil {
		policy = change(policy, c.environ)
	}
	c.listen(t)
	c.seal(t, policy)
	c.openDoors(t, "BITCOIN_RPC_URLS", func(body []byte) (string, string) {
		if bytes.Contains(body, []byte("sendrawtransaction")) {
			return "send", string(intent.Sweep)
		}
		return "", ""
	})
	cmd := exec.Command(filepath.Join(c.bin, "signer"), "xpubs")
	cmd.Env = c.vault
	shown, err := cmd.Output()
	if err != nil {
		t.Fatalf("print the extended keys: %v", err)
	}
	_, rest, _ := strings.Cut(string(shown), "XPUB_LIVE_BITCOIN=")
	xpub, _, _ := strings.Cut(rest, "\n")
	c.environ["XPUB_LIVE_BITCOIN"] = xpub
	c.derives(t, chainSettings{XpubLiveBitcoin: config.Secret(xpub)})
	c.startSigner(t)
	c.startWallets(t)
	return c
}

// mines makes the node mine until the test ends.
func (c *btc) mines() { c.MineEvery(250 * time.Millisecond) }

func (c *btc) pay(to string, sats int) {
	c.Transfer(map[string]any{"to": to, "amount": fmt.Sprint(sats), "token": false})
}

// output is an unspent output of the chain, in bitcoin, or nil.
func (c *btc) output(t *testing.T, txID string, vout int) *struct {
	Value        json.Number
	ScriptPubKey struct{ Addresses []string }
} {
	t.Helper()
	var out *struct {
		Value        json.Number
		ScriptPubKey struct{ Addresses []string }
	}
	if err := json.Unmarshal(c.call(t, "gettxout", txID, vout, false), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// holds checks the state after the sweep of a wallet: one event, one sweep, deposits spent once, the treasury paid, and
// books that add up to the deposits.
func (c *btc) holds(t *testing.T, w wallet.Wallet, sats int64) {
	t.Helper()
	c.await(t, "swept "+w.Address, func() bool { return c.eventsOf(w) == "watching deposit_detected confirmed swept" })
	if n := c.count(t, swept, w.ID); n != 1 {
		t.Errorf("the wallet was swept %d times, want once", n)
	}
	if n := c.count(t, `SELECT count(*) FROM sweeps WHERE wallet_id = $1`, w.ID); n != 1 {
		t.Errorf("the wallet has %d sweeps, want 1", n)
	}
	var hash string
	if err := c.pool.QueryRow(t.Context(), `SELECT o.tx_hash FROM outgoing_parts p JOIN outgoing_tx o ON o.id = p.outgoing
		JOIN sweeps s ON s.id = p.sweep WHERE s.wallet_id = $1 AND p.state = 'final'`, w.ID).Scan(&hash); err != nil {
		t.Fatalf("read the final transaction: %v", err)
	}
	c.paid(t, hash)
	rows, err := c.pool.Query(t.Context(), `SELECT tx_hash, ordinal FROM deposits WHERE wallet_id = $1 AND sweep IS NOT NULL`, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var tx string
		var vout int
		if err := rows.Scan(&tx, &vout); err != nil {
			t.Fatal(err)
		}
		if c.output(t, tx, vout) != nil {
			t.Errorf("the deposit %s:%d is not spent", tx, vout)
		}
	}
	books := func(account string) int64 { return c.books(t, w, account, "BTC") }
	if got, fee := books("treasury"), books("fees"); got+fee != sats || fee <= 0 || books("custody") != 0 || books("merchant") != -sats {
		t.Errorf("books of %d: treasury %d, fees %d, custody %d, merchant %d", sats, got, fee, books("custody"), books("merchant"))
	}
}

// paid checks that a transaction has one output, to the treasury, with the amount of the books.
func (c *btc) paid(t *testing.T, hash string) {
	t.Helper()
	var amount, fee, inputs int64
	if err := c.pool.QueryRow(t.Context(), `SELECT o.amount::bigint, o.fee::bigint, (SELECT sum(amount)::bigint FROM outgoing_inputs WHERE outgoing = o.id)
		FROM outgoing_tx o WHERE o.tx_hash = $1`, hash).Scan(&amount, &fee, &inputs); err != nil {
		t.Fatal(err)
	}
	out := c.output(t, hash, 0)
	if out == nil || len(out.ScriptPubKey.Addresses) != 1 || out.ScriptPubKey.Addresses[0] != c.treasury {
		t.Fatalf("the output of %s: %+v, want one to the treasury", hash, out)
	}
	if value, err := out.Value.Float64(); err != nil || int64(value*1e8+0.5) != amount || amount+fee != inputs {
		t.Errorf("%s pays %s bitcoin; the books say %d and a fee of %d out of %d", hash, out.Value, amount, fee, inputs)
	}
	if c.output(t, hash, 1) != nil {
		t.Errorf("%s has a second output", hash)
	}
}

// One transaction collects the deposits of several addresses. Dust stays, and payments learns its own part.
func TestSweepBitcoin_batch(t *testing.T) {
	t.Parallel()
	c := newBTC(t, func(policy string, environ map[string]string) string {
		environ["BITCOIN_SWEEP_LEAST"] = "BTC:0.003" // all of it together
		return policy
	})
	one, two := c.wallet(t, "BTC"), c.wallet(t, "BTC")
	at := c.handed(t)
	c.pay(one.Address, 50_001)
	c.pay(one.Address, 50_002)
	c.pay(at, 1_000) // dust
	c.pay(at, 100_003)
	c.Mine(6)
	c.await(t, "two sweeps wait for a third", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'open' AND reason LIKE 'not worth%'`) == 2
	})
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx`); n != 0 {
		t.Errorf("%d transactions are planned for a sum that is too small", n)
	}
	c.pay(two.Address, 100_004)
	c.mines()
	c.holds(t, one, 100_003)
	c.holds(t, two, 100_004)
	if n, inputs := c.count(t, `SELECT count(*) FROM outgoing_tx`), c.count(t, `SELECT count(*) FROM outgoing_inputs`); n != 1 || inputs != 4 {
		t.Errorf("%d transactions spend %d outputs, want one that spends 4", n, inputs)
	}
	if n := c.count(t, `SELECT count(*) FROM deposits WHERE address = $1 AND amount = 1000 AND sweep IS NULL`, at); n != 1 {
		t.Errorf("%d deposits of dust are left, want 1", n)
	}
	c.await(t, "payments gets the message", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.final) == 1 })
	amount, fee := c.count(t, `SELECT p.amount::bigint FROM outgoing_sweeps p JOIN sweeps s ON s.id = p.sweep WHERE s.address = $1`, at),
		c.count(t, `SELECT p.fee::bigint FROM outgoing_sweeps p JOIN sweeps s ON s.id = p.sweep WHERE s.address = $1`, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ids := range c.final {
		for _, o := range ids {
			if len(ids) != 1 || o.Amount != fmt.Sprint(amount) || o.Fee != fmt.Sprint(fee) || amount+fee != 100_003 || o.Asset != "BTC" {
				t.Errorf("message to payments: got %+v, want %d and a fee of %d", o, amount, fee)
			}
		}
	}
}

// elsewhere signs a transaction of one wallet's deposit to another treasury.
func (c *btc) elsewhere(t *testing.T, of intent.Request, w wallet.Wallet) intent.Signed {
	t.Helper()
	to := vaultOf(t, 0xfe)
	c.changePolicy(t, c.treasury, to)
	r := of
	r.ID, r.To = "elsewhere", to
	index := c.count(t, `SELECT idx FROM addresses WHERE address = $1`, w.Address)
	r.Bitcoin = &intent.Bitcoin{}
	for _, in := range of.Bitcoin.Inputs {
		if int64(in.Index) == index {
			r.Bitcoin.Inputs = append(r.Bitcoin.Inputs, in)
		}
	}
	r.Amount = "98000"
	tx, err := r.Collection()
	if err != nil {
		t.Fatal(err)
	}
	var previous string
	if err := json.Unmarshal(c.call(t, "getrawtransaction", r.Bitcoin.Inputs[0].TxID, 0), &previous); err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(previous)
	if err != nil {
		t.Fatal(err)
	}
	from, err := btctx.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if r.Bitcoin.PSBT, err = tx.PSBT(map[chainhash.Hash]*btcwire.MsgTx{from.TxHash(): from}); err != nil {
		t.Fatal(err)
	}
	signed, err := c.asked(t, r)
	if err != nil {
		t.Fatalf("sign a transaction to another treasury: %v", err)
	}
	c.changePolicy(t, to, c.treasury)
	return signed
}
