//go:build integration

package audit

import (
	"fmt"
	"math/big"
	"testing"

	"causeway.internal/deploy/chaos/internal/livenet"
)

// journal writes one journal of wallets on solana; each entry is an account, an asset, a debit and a credit.
func journal(key, event string, all ...[4]string) string {
	text := fmt.Sprintf(`INSERT INTO custody_journals (key, event, mode, merchant_id, wallet_id, deposit)
VALUES ('%s', '%s', 'live', '', '', '');`, key, event)
	for line, e := range all {
		text += fmt.Sprintf(`INSERT INTO custody_entries (journal, line, mode, merchant_id, account, network, asset, debit, credit)
VALUES ('%s', %d, 'live', '', '%s', 'solana', '%s', %s, %s);`, key, line, e[0], e[1], e[2], e[3])
	}
	return text
}

// The costs of a network are those of its sweeps and of its refunds, in coins and in US dollars. Rent that a closed
// token account gave back is no part of them.
func TestSide_costs(t *testing.T) {
	t.Parallel()
	wallets, payments := schema(t, "wallets"), schema(t, "payments")
	books := journal("sweep", "swept", [4]string{"treasury", "USDC", "50000000", "0"}, [4]string{"payments", "USDC", "0", "50000000"},
		[4]string{"fees", "SOL", "10000", "0"}, [4]string{"gas_station", "SOL", "0", "10000"},
		[4]string{"gas_station", "SOL", "2000000", "0"}, [4]string{"rent", "SOL", "0", "2000000"}) +
		journal("refund", "refunded", [4]string{"payments", "USDC", "1000000", "0"}, [4]string{"refund_station", "USDC", "0", "1000000"},
			[4]string{"fees", "SOL", "5000", "0"}, [4]string{"rent", "SOL", "2000000", "0"}, [4]string{"refund_station", "SOL", "0", "2005000"})
	if _, err := wallets.Exec(t.Context(), books); err != nil {
		t.Fatalf("write the books: %v", err)
	}
	for n, asset := range []string{"SOL", "USDC"} {
		price := []string{"256000", "1600"}[n]
		_, err := payments.Exec(t.Context(), fmt.Sprintf(payment, n)+fmt.Sprintf(`UPDATE payments SET mode = 'live', crypto = '%s', address = id,
	price = '{"rate":{"mid":"%s","usd":"1600"}}' WHERE id = 'pay_%d'`, asset, price, n))
		if err != nil {
			t.Fatalf("write a payment in %s: %v", asset, err)
		}
	}
	usd, err := readPrices(t.Context(), payments)
	if err != nil {
		t.Fatal(err)
	}
	s := side{chain: livenet.Chain{Network: "solana", Assets: []livenet.Asset{{Symbol: "SOL", Digits: 9}, {Symbol: "USDC", Digits: 6}}}}
	var got Network
	if err := s.costs(t.Context(), wallets, prices{"USDC": big.NewRat(1, 1)}, &Network{Name: "solana"}); err != nil {
		t.Errorf("read the costs without a price of the coin: %v", err)
	}
	got.Name = "solana"
	if err := s.costs(t.Context(), wallets, usd, &got); err != nil {
		t.Fatal(err)
	}
	want := Network{
		Name: "solana", Collected: "$50.00", Cost: "0.00001 SOL = $0.00", CostPerUSD: "$0.000032",
		RefundCost: "0.002005 SOL = $0.32", Returned: "0.002 SOL = $0.32",
	}
	if got != want {
		t.Errorf("read the costs of a sweep and a refund: got %+v, want %+v", got, want)
	}
}
