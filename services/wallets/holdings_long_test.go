//go:build integration && long

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
)

// TestHoldings_solana is TestHoldings on solana, whose nodes answer about the newest final block alone.
func TestHoldings_solana(t *testing.T) {
	t.Parallel()
	c := newSolCustody(t, func(policy string, environ map[string]string) string {
		environ["HOLDINGS_EVERY"] = "500ms"
		return policy
	})
	h := c.listenHoldings(t)
	c.flow()
	swept, small := c.wallet(t, "USDC"), c.wallet(t, "USDC")
	c.Transfer(map[string]any{"to": swept.Address, "amount": "25000000", "token": "USDC"})
	c.Transfer(map[string]any{"to": small.Address, "amount": "5000000", "token": "USDC"})
	h.awaits(t, "one deposit is swept and one is not", wire.Holding{
		Asset: "USDC", Deposits: "5000000", Treasury: "25000000", Expected: "30000000", Standalone: "30000000",
	}, "0")
	h.awaits(t, "fees and returned rent are expected", wire.Holding{Asset: "SOL"}, fmt.Sprint(solFunds))
}

// TestHoldings_tron is TestHoldings on tron, whose nodes answer about the newest final block alone, and where coins of
// the station are staked.
func TestHoldings_tron(t *testing.T) {
	t.Parallel()
	c := newTron(t, func(policy string, environ map[string]string) string {
		environ["HOLDINGS_EVERY"] = "500ms"
		return policy
	})
	h := c.listenHoldings(t)
	swept, small := c.wallet(t, "USDT"), c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": swept.Address, "amount": "25000000", "token": "USDT"})
	c.Transfer(map[string]any{"to": small.Address, "amount": "5000000", "token": "USDT"})
	h.awaits(t, "one deposit is swept and one is not", wire.Holding{
		Asset: "USDT", Deposits: "5000000", Treasury: "25000001", Expected: "30000000", Standalone: "30000000",
	}, "1") // the treasury had one unit before
	h.awaits(t, "fees are expected", wire.Holding{Asset: "TRX", Treasury: "1000000"}, "5001000000")
}

// TestHoldings_bitcoin is TestHoldings on bitcoin, where blocks say which outputs are made and spent. wallets does not
// know the filling of the station, a payment to the treasury, and a theft from the station.
func TestHoldings_bitcoin(t *testing.T) {
	t.Parallel()
	d := newBTCApprover(t, []int{1_000_000, 290_000}, func(policy string, environ map[string]string) string {
		environ["HOLDINGS_EVERY"] = "500ms"
		return policy
	})
	h := d.listenHoldings(t)
	h.awaits(t, "the station is filled", wire.Holding{
		Asset: "BTC", Deposits: "0", GasStation: "0", RefundStation: "1290000", Treasury: "0", Expected: "0",
	}, "1290000")
	swept, dust := d.wallet(t, "BTC"), d.wallet(t, "BTC")
	d.btc.pay(swept.Address, 60_000)
	d.btc.pay(swept.Address, 40_000)
	d.btc.pay(dust.Address, 1_000)
	d.btc.mines()
	d.btc.holds(t, swept, 100_000)
	treasury := d.books(t, swept, "treasury", "BTC")
	h.awaits(t, "one address is swept and one is not", wire.Holding{
		Asset: "BTC", Deposits: "1000", Treasury: fmt.Sprint(treasury), Expected: fmt.Sprint(treasury + 1_000), Standalone: fmt.Sprint(treasury + 1_000),
	}, "1290000")
	d.btc.pay(d.btc.treasury, 7_000)
	h.awaits(t, "money comes to the treasury", wire.Holding{Asset: "BTC", Treasury: fmt.Sprint(treasury + 7_000)}, "1297000")

	o := d.order(t, 300_001)
	d.approve(t, o)
	d.refunded(t, o)
	_, last := d.progress(o)
	fee, err := intent.Units(last.Fee)
	if err != nil {
		t.Fatal(err)
	}
	left := 1_290_000 - 300_001 - fee.Int64()
	h.awaits(t, "a refund is expected", wire.Holding{Asset: "BTC", RefundStation: fmt.Sprint(left)}, "1297000")

	thief := d.order(t, 200_000)
	_, requests := d.forms(t, intent.Refund)
	r := d.stolen(requests[0], thief)
	in := d.spend(t, `SELECT tx_hash, ordinal, amount::bigint FROM station_outputs WHERE amount = 290000`)
	r.Bitcoin = &intent.Bitcoin{Inputs: []intent.Output{in}, Station: d.station, Change: in.Value - 200_000 - 2_000}
	d.prove(t, &r)
	d.Do("/take", map[string]string{"raw": d.sign(t, r).Raw})
	h.awaits(t, "somebody takes an output of the station", wire.Holding{Asset: "BTC", RefundStation: fmt.Sprint(left - 202_000)}, "1095000")
	stolen := fmt.Sprint(in.TxID, ":", in.Vout)
	counted := func(n string) func() bool {
		return func() bool {
			return strings.Contains(get(t, "http://"+d.environ["OPS_ADDR"]+"/metrics"), `wallets_outputs_spent_elsewhere{network="bitcoin",place="refund_station"} `+n)
		}
	}
	d.await(t, "the gauge counts the stolen output", counted("1"))
	accept := exec.Command(filepath.Join(d.bin, "wallets"), "outputs", "--accept", stolen, "--reason", "incident 7")
	accept.Env = d.wallets.Env
	if out, err := accept.CombinedOutput(); err != nil {
		t.Fatalf("accept %s: got %v, %s, want no error", stolen, err, out)
	}
	d.await(t, "the gauge counts nothing more", counted("0"))

	if _, err := d.pool.Exec(t.Context(), `UPDATE deposits SET amount = amount + 9000 WHERE address = $1`, dust.Address); err != nil {
		t.Fatal(err)
	}
	h.awaits(t, "the books have more on an address than the chain", wire.Holding{Asset: "BTC", Deposits: "1000"}, "1086000")
	late := `WITH gone AS (DELETE FROM holding_outputs WHERE address = $1 RETURNING 1) SELECT count(*) FROM gone`
	if n := d.count(t, late, dust.Address); n != 1 {
		t.Errorf("forget the output of the dust: got %d, want 1", n)
	}
	d.await(t, "a deposit that was found late is read from its block", func() bool {
		return d.count(t, `SELECT count(*) FROM holding_outputs WHERE address = $1 AND amount = 1000 AND spent IS NULL`, dust.Address) == 1
	})
	h.awaits(t, "nothing else has changed", wire.Holding{Asset: "BTC", Deposits: "1000", RefundStation: fmt.Sprint(left - 202_000)}, "1086000")
}
