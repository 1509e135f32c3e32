//go:build integration && long

package main

import (
	"bytes"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"causeway.internal/services/wallets/internal/intent"
)

// A transaction that no block takes is signed again with a higher fee and the same nonce; one of its forms is mined.
func TestSweep_stuck(t *testing.T) {
	t.Parallel()
	c := newCustody(t, func(policy string, environ map[string]string) string {
		environ["EVM_ETHEREUM_SWEEP_STUCK"] = "1s"
		return policy
	})
	w := c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000001", "token": "USDT", "mine": 6})
	attempts := `SELECT coalesce(max(o.attempt), 0) FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1 AND o.kind = $2`
	c.await(t, "a funding with a higher fee", func() bool { return c.count(t, attempts, w.ID, "fund") >= 3 })
	pool, _ := c.statusPending()
	if pool != 1 {
		t.Errorf("%d transactions are in the pool, want the newest form alone", pool)
	}
	c.Mine(1)
	c.await(t, "a sweep with a higher fee", func() bool { return c.count(t, attempts, w.ID, "sweep") >= 3 })
	c.Do("/block-time", map[string]string{"every": blockTime})
	c.holds(t, w, "25000001")
	last, nonce := new(big.Int), uint64(0)
	_, requests := c.forms(t, intent.Sweep)
	for n, r := range requests {
		fee, err := intent.Units(r.EVM.MaxFee)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && (r.EVM.Nonce != nonce || fee.Cmp(new(big.Int).Div(new(big.Int).Mul(last, big.NewInt(11)), big.NewInt(10))) < 0) {
			t.Errorf("nonce %d at %s after nonce %d at %s", r.EVM.Nonce, fee, nonce, last)
		}
		last, nonce = fee, r.EVM.Nonce
	}
}

// The network's own coin pays its own fee; two deposits go in one sweep; a sum that is not worth it stays.
func TestSweep_coin(t *testing.T) {
	t.Parallel()
	c := newCustody(t, nil)
	w, small := c.wallet(t, "ETH"), c.wallet(t, "ETH")
	before := c.coins(t, treasury)
	c.Transfer(map[string]any{"to": w.Address, "amount": "300000000000000000", "token": false})
	c.Transfer(map[string]any{"to": w.Address, "amount": "400000000000000000", "token": false})
	c.Transfer(map[string]any{"to": small.Address, "amount": "400000000000000000", "token": false, "mine": 1})
	c.Do("/block-time", map[string]string{"every": blockTime})
	c.await(t, "swept", func() bool { return c.count(t, swept, w.ID) == 1 })
	var amount, fee string
	if err := c.pool.QueryRow(t.Context(), `SELECT o.amount::text, o.fee::text FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1`, w.ID).
		Scan(&amount, &fee); err != nil {
		t.Fatal(err)
	}
	sent, _ := new(big.Int).SetString(amount, 10)
	paid, _ := new(big.Int).SetString(fee, 10)
	left := c.coins(t, w.Address)
	if got := new(big.Int).Sub(c.coins(t, treasury), before); got.Cmp(sent) != 0 || new(big.Int).Add(new(big.Int).Add(sent, paid), left).String() != "700000000000000000" {
		t.Errorf("%s arrived, %s left for %s, %s remain", got, sent, paid, left)
	}
	if n := c.count(t, `SELECT count(*) FROM sweeps WHERE wallet_id = $1`, small.ID); n != 0 {
		t.Error("a sum that is not worth it was swept")
	}
	// A further deposit reopens the wallet, and it is swept again.
	c.Transfer(map[string]any{"to": w.Address, "amount": "600000000000000000", "token": false})
	c.await(t, "swept again", func() bool {
		return c.eventsOf(w) == "watching deposit_detected confirmed swept deposit_detected confirmed swept"
	})
	c.payments(t)
}

// A higher fee that the signer refuses leaves the transaction unchanged: it is sent again and mined.
func TestSweep_stuckAndRefused(t *testing.T) {
	t.Parallel()
	c := newCustody(t, func(policy string, environ map[string]string) string {
		environ["EVM_ETHEREUM_SWEEP_STUCK"] = "2s"
		return policy
	})
	w := c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000005", "token": "USDT", "mine": 6})
	c.await(t, "the funding is with the node", func() bool { return c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = 'broadcast'`) == 1 })
	kill := filepath.Join(c.dir, "stop")
	if err := os.WriteFile(kill, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.await(t, "a raised fee is refused", func() bool {
		log, err := os.ReadFile(filepath.Join(c.dir, "signer.log"))
		return err == nil && bytes.Contains(log, []byte(`"code":"stopped"`))
	})
	c.Do("/drop", map[string]any{})
	c.await(t, "the form before it is in the pool again", func() bool { n, err := c.statusPending(); return err == nil && n == 1 })
	c.Mine(1)
	c.await(t, "it is mined", func() bool {
		return c.count(t, `SELECT count(*) FROM outgoing_tx WHERE kind = 'fund' AND state = 'mined'`) == 1
	})
	c.await(t, "the sweep waits for the switch", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'open' AND reason LIKE '%(stopped)%'`) == 1
	})
	if err := os.Remove(kill); err != nil {
		t.Fatal(err)
	}
	if _, err := c.pool.Exec(t.Context(), `UPDATE sweeps SET due_at = now()`); err != nil { // ten minutes have passed
		t.Fatal(err)
	}
	c.Do("/block-time", map[string]string{"every": blockTime})
	c.holds(t, w, "25000005")
}
