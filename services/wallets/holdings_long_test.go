//go:build integration && long

package main

import (
	"fmt"
	"testing"

	"causeway.internal/libs/wire"
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

// TestHoldings_tron is TestHoldings on tron, whose nodes answer about the newest block alone, and where coins of the
// station are staked.
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
