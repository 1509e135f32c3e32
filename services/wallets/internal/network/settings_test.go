package network

import (
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
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
