package network

import (
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/soltx"
)

func TestSettings(t *testing.T) {
	set, err := config.Read[Settings](map[string]string{
		"EVM_BASE_RPC_URLS": "https://a/key, https://b", "EVM_BASE_TOKENS": "usdc:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
	})
	if err != nil {
		t.Fatal(err)
	}
	if urls := set.Base.Scan.Endpoints(); len(urls) != 2 || urls[1] != "https://b" || len(set.Ethereum.Scan.Endpoints()) != 0 {
		t.Errorf("read the endpoints of base: got %v, want two", urls)
	}
	ethereum, _ := money.NetworkOf("ethereum")
	base, _ := money.NetworkOf("base")
	if tokens, err := contracts(base, set.Base.Tokens); err != nil || tokens["USDC"] == "" || len(tokens) != 1 {
		t.Errorf("read the tokens of base: got %v, %v, want USDC alone", tokens, err)
	}
	if tokens, err := contracts(ethereum, set.Ethereum.Tokens); err != nil || len(tokens) != 2 {
		t.Errorf("read the tokens of ethereum: got %v, %v, want two", tokens, err)
	}
	if _, err := contracts(base, "USDC"); err == nil {
		t.Error("a token without a contract was accepted")
	}
	live := set.Networks(address.Mainnet)
	for _, n := range money.Networks() {
		if live[n.Name].open == nil || lags[n.Name] == 0 || (n.Family == money.EVM) != (n.ChainID != 0) {
			t.Errorf("%s cannot be scanned in live mode", n.Name)
		}
	}
}

// Payments learns the treasury of solana and its token accounts, so that no refund goes to one of them. One that no key
// signs for is none.
func TestTreasuries_solana(t *testing.T) {
	const treasury, mint = "5ZWj7a1f8tWkjBESHKgrLmXshuXxqeY9SYcfbshpAqPG", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	set := Settings{}
	set.Solana.Tokens, set.Solana.Sweep.Treasury = "USDC:"+mint, treasury
	owner, err := soltx.ParseOwner(treasury)
	if err != nil {
		t.Fatal(err)
	}
	of, err := soltx.ParseAccount(mint)
	if err != nil {
		t.Fatal(err)
	}
	holder, err := soltx.TokenAccount(owner, of)
	if err != nil {
		t.Fatal(err)
	}
	got := set.Treasuries()
	if len(got) != 2 || got[0].Address != treasury || got[1].Address != holder.String() || got[1].Family != money.Solana {
		t.Errorf("list the treasuries: got %v, want %s and %s", got, treasury, holder)
	}
	for _, other := range []string{holder.String(), soltx.Account{}.String()} {
		set.Solana.Sweep.Treasury = other
		if got := set.Treasuries(); len(got) != 0 {
			t.Errorf("list the treasuries with %s, which no key signs for: got %v, want none", other, got)
		}
	}
}

// An order has the contract in its usual form, however payments and the settings write it: a difference of form alone
// would block every refund of a token.
func TestContracts_usualForm(t *testing.T) {
	for _, n := range money.Networks() {
		listed := n.Contracts()
		var setting []string
		for symbol, contract := range listed {
			if n.Family == money.EVM {
				contract = strings.ToLower(contract)
			}
			setting = append(setting, strings.ToLower(symbol)+":"+contract)
		}
		for _, tokens := range []string{"", strings.Join(setting, ", ")} {
			got, err := (Live{tokens: tokens}).contracts(n)
			if err != nil || len(got) != len(listed) {
				t.Errorf("read the contracts of %s from %q: got %v, %v, want those of %v", n.Name, tokens, got, err, listed)
			}
			for symbol, contract := range listed {
				if want := address.Canonical(n.Family, contract); got[symbol] != want {
					t.Errorf("read the contract of %s on %s from %q: got %q, want %q", symbol, n.Name, tokens, got[symbol], want)
				}
			}
		}
	}
}
