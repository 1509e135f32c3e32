//go:build integration

package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// liveKey is a stack in live mode with a real EVM node that does not trace, and a live key of it.
func liveKey(t *testing.T) (*stack.Stack, string) {
	t.Helper()
	node := exec.Command(os.Getenv("CAUSEWAY_REALCHAIN"), "evm", "--chain-id", "1", "--until-stdin-ends")
	stdin, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatalf("%v: CAUSEWAY_REALCHAIN names the node, run the tests with `make test`", err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = node.Wait() })
	var at struct {
		RPCURL string            `json:"rpcUrl"`
		Tokens map[string]string `json:"tokens"`
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := stack.New(t, stack.Options{Env: map[string]map[string]string{
		"payments": {"ALLOW_SIMULATED_LIVE": "true", "RATES_LIVE": "fixed", "RAIL_LIVE": "sim"},
		"wallets": {
			"EVM_ETHEREUM_RPC_URLS": at.RPCURL, "EVM_ETHEREUM_CHAIN_ID": "1",
			"EVM_ETHEREUM_TOKENS": fmt.Sprintf("USDT:%s,USDC:%s", at.Tokens["USDT"], at.Tokens["USDC"]), "SCANNED_EVERY_LIVE": "500ms",
			// m/0'/1/2' of BIP-32's first test vector: public knowledge
			"XPUB_LIVE_EVM": "xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5",
		},
	}})
	operator := &api.Client{Base: s.BaseURL, Key: s.AdminToken, HTTP: &http.Client{Timeout: within}}
	operator.Call(t, http.MethodPost, "/v1/admin/merchants", api.Object{"merchantId": "contract-payer", "name": "Acme Stores", "country": "NG"}).Want(t, http.StatusCreated)
	operator.Call(t, http.MethodPost, "/v1/admin/merchants/contract-payer/approve", nil).Want(t, http.StatusOK)
	made := operator.Call(t, http.MethodPost, "/v1/admin/keys", api.Object{
		"merchantId": "contract-payer", "name": "page", "mode": "live", "permissions": []string{"*"},
	}).Want(t, http.StatusCreated)
	return s, made.Text(t, "key.secret")
}

// TestPayTransaction: where a network does not show what contracts send, the page says so for its coin, takes the hash
// of the transaction, thanks for it, and says when it is none; it does not for a token.
func TestPayTransaction(t *testing.T) {
	t.Parallel()
	s, key := liveKey(t)
	for _, size := range []size{phone, desktop} {
		t.Run(size.name, func(t *testing.T) {
			b := openOn(t, size, s, key)
			ref := b.create(api.Object{"crypto": "ETH", "network": "ethereum", "fiatAmount": 100000})
			api.Eventually(t, within, "the checkout to take a transaction", func() bool {
				takes, _ := b.api.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK).At("payment.takesTransactionHash")
				return takes == true
			})
			b.visit("/pay/" + ref)
			b.stage("send")
			b.shows("smart wallet, a contract or an exchange", "may not see such ETH by itself", "Transaction hash")
			b.firstScreen(".count", "#amount", ".network", "#address")
			b.sound()
			b.shoot("takes-a-transaction")
			b.expect("400")
			b.enter("#tx", "my transaction")
			b.submit(".named .button")
			b.shows("This is not a transaction hash")
			b.enter("#tx", "0x"+strings.Repeat("ab", 32))
			b.submit(".named .button")
			b.shows("Thank you. We look at it")
			b.stage("send")
			b.shoot("thanks")
			b.sound()

			b.visit("/pay/" + b.create(api.Object{"crypto": "USDT", "network": "ethereum", "fiatAmount": 100000}))
			b.stage("send")
			if strings.Contains(b.text(), "Transaction hash") {
				t.Error("a token, whose transfers are always seen, asks for a transaction")
			}
		})
	}
}
