//go:build integration

package store_test

import (
	"math/big"
	"testing"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

// Old deposits that no host can answer for do not keep newer ones from being asked about, and pending ones go first.
func TestUnwitnessed_fair(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	key := fund(t, s, pool)
	at := begin(t, s)
	pay := func(tx string) chain.Transfer {
		return chain.Transfer{TxHash: tx, To: key, Asset: "ETH", Amount: big.NewInt(5)}
	}
	step := scanner.Step{Headers: []chain.Header{header(1, "h1", "h0")}, Transfers: []chain.Transfer{pay("0xold"), pay("0xnew"), pay("0xdenied")}}
	if err := s.Advance(t.Context(), lease, at, step); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE deposits SET state = 'confirmed', height = CASE tx_hash WHEN '0xnew' THEN 2 ELSE 1 END,
witness = CASE tx_hash WHEN '0xdenied' THEN 'contradicted' ELSE 'pending' END`); err != nil {
		t.Fatal(err)
	}
	answers := []wallet.Witness{wallet.WitnessPending, wallet.WitnessContradicted}
	asked := map[string]bool{}
	for range 64 {
		list, err := s.Unwitnessed(t.Context(), lease.Chain, answers, 1)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		asked[list[0].TxHash] = true
	}
	if !asked["0xold"] || !asked["0xnew"] || asked["0xdenied"] {
		t.Errorf("asked about %v", asked)
	}
}
