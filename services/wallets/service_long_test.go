//go:build integration && long

package main

import (
	"strings"
	"testing"

	"causeway.internal/libs/testkit/port"
)

// A changed contract with the same decimals is accepted: the driver checks the contract itself. The decimals of a
// network are recorded once, when it is first scanned.
func TestService_changedContract(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	db := w.database()
	const first, second = "0xdAC17F958D2ee523a2206206994597C13D831ec7", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
	recorded := func() (out string) {
		err := db.QueryRow(t.Context(), `SELECT coalesce(string_agg(asset || ' ' || contract || ' ' || decimals, ', ' ORDER BY asset), '')
			FROM counted_assets WHERE mode = 'live'`).Scan(&out)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	start := func(contract string) {
		t.Helper()
		w.environ["EVM_ETHEREUM_RPC_URLS"], w.environ["EVM_ETHEREUM_TOKENS"] = "http://"+port.Free(t), "USDT:"+strings.ToLower(contract)
		stop, _, _ := w.replica()
		stop()
	}
	stop, _, _ := w.replica()
	stop()
	if got := recorded(); got != "" {
		t.Errorf("recorded of networks that are not scanned: %s", got)
	}
	for _, contract := range []string{first, second} {
		start(contract)
		if got, want := recorded(), "ETH  18, USDT "+contract+" 6"; got != want {
			t.Errorf("recorded %s, want %s", got, want)
		}
	}
	if _, err := db.Exec(t.Context(), `UPDATE counted_assets SET decimals = 18 WHERE mode = 'live' AND asset = 'USDT'`); err != nil {
		t.Fatal(err)
	}
	start(first)
	if got, want := recorded(), "ETH  18, USDT "+second+" 18"; got != want {
		t.Errorf("recorded %s, want %s", got, want)
	}
}
