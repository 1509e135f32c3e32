package books

import (
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/ledger"
)

// Another party's transaction may have swept several addresses: each is booked, whatever was booked for the hash alone.
func TestOutgoing_parts(t *testing.T) {
	keys := map[string]bool{}
	for _, part := range []string{"", "swp_1", "swp_2"} {
		j, err := outgoing(wire.OutgoingFinal{
			Mode: tenant.Live, Network: "ethereum", TxHash: "0x1", Kind: wire.OutgoingSweep, Asset: "USDC", Amount: "25000000", Fee: "0", Part: part,
		})
		if err != nil || keys[j.Key] {
			t.Errorf("book the part %q: got the key %q again, or %v", part, j.Key, err)
		}
		keys[j.Key] = true
	}
}

// On solana the station pays the fee of every asset, and rent that comes back lowers the cost of gas.
func TestOutgoing_solana(t *testing.T) {
	for _, c := range []struct {
		asset, amount, returned string
		hot, deposit, gas       string // debits less credits
	}{
		{"SOL", "600000000", "", "0.59999", "-0.6", "0.00001"},
		{"SOL", "0", "", "-0.00001", "0", "0.00001"},
		{"USDC", "25000000", "2039280", "25", "-25", "-0.00202928"},
	} {
		m := wire.OutgoingFinal{
			Mode: tenant.Live, Network: "solana", TxHash: "s", Kind: wire.OutgoingSweep, Asset: c.asset, Amount: c.amount, Fee: "10000", Returned: c.returned,
		}
		j, err := outgoing(m)
		if err != nil {
			t.Fatalf("outgoing(%+v): %v", m, err)
		}
		for account, want := range map[ledger.Account]string{
			ledger.CryptoHot("solana", c.asset): c.hot, ledger.CryptoDeposit("solana", c.asset): c.deposit, ledger.Gas("SOL"): c.gas,
		} {
			got := decimal.Zero
			for _, e := range j.Entries {
				if e.Account == account && e.Side == ledger.Debit {
					got = got.Add(e.Amount)
				} else if e.Account == account {
					got = got.Sub(e.Amount)
				}
			}
			if got.String() != want {
				t.Errorf("%s of %s gives %s to %s, want %s", c.amount, c.asset, got, account, want)
			}
		}
	}
	if _, err := outgoing(wire.OutgoingFinal{
		Mode: tenant.Live, Network: "solana", TxHash: "s", Kind: wire.OutgoingSweep, Asset: "SOL", Amount: "1", Fee: "1", Returned: "-1",
	}); err == nil {
		t.Error("rent below zero was accepted")
	}
}
