//go:build integration

package e2e

import (
	"math/big"
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// liveEVM is the extended public key at m/0'/1/2' of BIP-32's first test vector: public knowledge, and another one than
// that of test mode, as start-up demands.
const liveEVM = "xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5"

// liveBitcoin and liveTron are keys of account 1 of the seed whose 24 words are "abandon … art": public knowledge too.
const (
	liveBitcoin = "xpub6Bner3L3tdQW5KF2GrQZtFCbgtd5v9QiYK5ZPih84AY9GfLW1veEkUkBjbdkMTcSwZUeMxf4XKqE6VgaGfubogQJkhkYVMBCZihr5H7VXyK"
	liveTron    = "xpub6DLYF9ZdBa3xPFX6dxxQsEvTKwZPLNjWYQTyCxdMj7bopP4rxtkQpyz4mHDUZg1JcCM3yF1j1whMZQFZKv2Yfztaa7cTkHQKQc5LPoxrhQt"
)

// loopback lifts the rules of live mode for the receivers of this test.
const loopback = "127.0.0.0/8"

// liveStack is a stack that serves live mode: simulated bank and fixed rates, and a real chain, which is open.
func liveStack(t testing.TB, n *node) *stack.Stack {
	t.Helper()
	s := stack.New(t, stack.Options{Env: liveEnv(n)})
	awaitNetwork(t, client(t, s), "ethereum", "")
	return s
}

// liveEnv are the settings of a live stack on ethereum. Its payments are small, so that they need a smaller minimum.
func liveEnv(n *node) map[string]map[string]string {
	env := liveOn(map[string]*node{"ethereum": n})
	env["payments"]["MINIMUMS_LIVE"] = "ethereum/USDT=1,ethereum/USDC=1"
	return env
}

// liveOn are the settings of a stack that serves live mode on networks, each on a node of its own.
func liveOn(nodes map[string]*node) map[string]map[string]string {
	wallets := map[string]string{
		"XPUB_LIVE_BITCOIN": liveBitcoin, "XPUB_LIVE_EVM": liveEVM, "XPUB_LIVE_TRON": liveTron,
		"BITCOIN_NETWORK_LIVE": "regtest", "BITCOIN_MEMPOOL_POLL": "200ms", "SCANNED_EVERY_LIVE": "500ms",
	}
	for network, n := range nodes {
		prefix := strings.ToUpper(network) + "_"
		if n.ChainID != 0 { // the id itself stays that of the network
			prefix = "EVM_" + prefix
		}
		wallets[prefix+"RPC_URLS"], wallets[prefix+"POLL"], wallets[prefix+"ROLLBACK_GRACE"] = n.RPCURL, "100ms", "500ms"
		if network == "tron" || network == "solana" {
			wallets[prefix+"GENESIS"] = n.Genesis
		}
		tokens := []string{}
		for _, symbol := range []string{"USDT", "USDC"} {
			if contract := n.Tokens[symbol]; contract != "" && network+symbol != "baseUSDT" { // which is not taken there
				tokens = append(tokens, symbol+":"+contract)
			}
		}
		if len(tokens) > 0 {
			wallets[prefix+"TOKENS"] = strings.Join(tokens, ",")
		}
	}
	return map[string]map[string]string{
		"payments": {
			"ALLOW_SIMULATED_LIVE": "true", "RATES_LIVE": "fixed", "RAIL_LIVE": "sim", "CALLBACK_ALLOW_LIVE": loopback,
			"BITCOIN_NETWORK_LIVE": "regtest",
		},
		"wallets": wallets, "callback-dispatcher": {"CALLBACK_ALLOW_LIVE": loopback},
	}
}

// liveMerchant is a live key of a new merchant with the secret that signs its callbacks.
func liveMerchant(t testing.TB, s *stack.Stack) (c *api.Client, secret string) {
	t.Helper()
	c = key(t, s, client(t, s), "live", unique("live"), "*")
	return c, c.Call(t, http.MethodGet, "/v1/webhooks/secret", nil).Want(t, http.StatusOK).Text(t, "secret")
}

// units turns a quoted amount into base units of a token with 6 decimals.
func units(t testing.TB, amount *big.Rat) string {
	t.Helper()
	return unitsOf(t, amount, 6)
}

// unitsOf turns a quoted amount into base units of an asset.
func unitsOf(t testing.TB, amount *big.Rat, decimals int64) string {
	t.Helper()
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil)
	whole := new(big.Rat).Mul(amount, new(big.Rat).SetInt(scale))
	if !whole.IsInt() {
		t.Fatalf("%s has more than %d digits", amount.FloatString(20), decimals)
	}
	return whole.Num().String()
}

// TestLiveWalk: a merchant creates a transfer, a payer sends real ERC-20 USDT on a real EVM chain, the deposit
// confirms, the bank payout is made, the payment is settled, and every signed callback is received and verified.
func TestLiveWalk(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	env := liveEnv(n)
	env["payments"]["SCAN_SILENCE"], env["payments"]["MINIMUMS_LIVE"] = "10s", "ethereum/USDT=1"
	s := stack.New(t, stack.Options{Env: env})
	c, secret := liveMerchant(t, s)
	awaitNetwork(t, c, "ethereum", "")

	t.Run("settles", func(t *testing.T) { liveWalk(t, n, s, c, secret) })
	t.Run("survives a longer branch", func(t *testing.T) {
		liveReorg(t, n, s, c, secret, func() { n.control(t, "/reorg", map[string]any{"depth": 4, "blocks": 6}, nil) })
	})
	t.Run("ignores a token that only calls itself USDT", func(t *testing.T) { liveFake(t, n, c) })
	t.Run("ends at the merchant's limit of a day", func(t *testing.T) { liveDailyLimit(t, s) })
	t.Run("takes no less than the minimum", func(t *testing.T) { minimums(t, s, c) })
	t.Run("is closed while wallets does not follow the chain", func(t *testing.T) { networkCloses(t, n, s, c) })
}

func liveWalk(t *testing.T, n *node, s *stack.Stack, c *api.Client, secret string) {
	hook, path := hooks(t, secret)
	made := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path), "network": "ethereum"}))
	ref, address := made.Text(t, "payment.reference"), made.Text(t, "payment.depositAddress")
	if !evmAddress.MatchString(address) {
		t.Fatalf("deposit address %q", address)
	}
	hash := n.pay(t, "USDT", address, units(t, made.Number(t, "payment.cryptoAmount")))
	if got := get(t, c, ref).Text(t, "payment.status"); got != "pending" {
		t.Fatalf("%s before the transfer was mined", got)
	}
	n.mine(t, 1)
	seen := awaitStatus(t, c, ref, "confirming")
	if seen.Text(t, "payment.txHash") != hash || seen.Number(t, "payment.confirmations").Cmp(api.Rat("1")) != 0 {
		t.Errorf("confirming: %s", seen.Body)
	}
	n.mine(t, 10)
	awaitPayment(t, c, ref, "11 deep", func(a *api.Answer) bool { return a.Number(t, "payment.confirmations").Cmp(api.Rat("11")) == 0 })
	if got := get(t, c, ref).Text(t, "payment.status"); got != "confirming" {
		t.Errorf("%s at 11 confirmations", got)
	}
	n.mine(t, 1)
	settled := awaitStatus(t, c, ref, "settled")
	checkSettled(t, settled, made)
	if settled.Text(t, "payment.txHash") != hash || settled.Number(t, "payment.confirmations").Cmp(api.Rat("12")) < 0 {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitExactly(t, hook, path, walkEvents...)
	for _, d := range events(hook, path) {
		if d.Mode != "live" {
			t.Errorf("%s says mode %q", d.Type, d.Mode)
		}
	}
	clean(t, hook)
	paidOnce(t, s, ref)
}

// liveReorg: the transfer's block is abandoned before it is deep enough; the payment falls back, and settles once when
// the same transfer is mined again at another height and log index.
func liveReorg(t *testing.T, n *node, s *stack.Stack, c *api.Client, secret string, rearrange func()) {
	hook, path := hooks(t, secret)
	made := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path), "network": "erc20"}))
	ref := made.Text(t, "payment.reference")
	hash := n.pay(t, "USDT", made.Text(t, "payment.depositAddress"), units(t, made.Number(t, "payment.cryptoAmount")))
	n.mine(t, 4)
	awaitStatus(t, c, ref, "confirming")
	rearrange()
	fallen := awaitStatus(t, c, ref, "pending")
	if exception(fallen) != "reorged" || fallen.Number(t, "payment.receivedAmount").Sign() != 0 {
		t.Errorf("after the reorganisation: %s", fallen.Body)
	}
	n.control(t, "/include", map[string]any{"txHash": hash, "ahead": 2}, nil)
	n.mine(t, 12)
	settled := awaitStatus(t, c, ref, "settled")
	if settled.Text(t, "payment.txHash") != hash || settled.Number(t, "payment.receivedAmount").Cmp(made.Number(t, "payment.cryptoAmount")) != 0 {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitCallbacks(t, hook, path, "payment.reorged", "payment.settled")
	clean(t, hook)
	paidOnce(t, s, ref)
}

// liveFake: a transfer of a contract that is not listed is no money, whatever it calls itself; the right one still is.
func liveFake(t *testing.T, n *node, c *api.Client) {
	made := create(t, c, transfer(api.Object{"network": "ethereum"}))
	ref, address := made.Text(t, "payment.reference"), made.Text(t, "payment.depositAddress")
	owed := units(t, made.Number(t, "payment.cryptoAmount"))
	n.pay(t, "FAKE", address, owed)
	n.mine(t, 13)
	hash := n.pay(t, "USDT", address, owed)
	n.mine(t, 13)
	settled := awaitStatus(t, c, ref, "settled")
	if settled.Len(t, "payment.transfers") != 1 || settled.Text(t, "payment.transfers.0.txHash") != hash {
		t.Errorf("settled: %s", settled.Body)
	}
}

// liveDailyLimit: the payments of one day take no more than the merchant's limit of a day.
func liveDailyLimit(t *testing.T, s *stack.Stack) {
	merchant := unique("limited")
	c := key(t, s, client(t, s), "live", merchant, "*")
	operator, path := c.With(s.AdminToken), "/v1/admin/merchants/"+merchant
	limited := func(most int, code string) {
		t.Helper()
		operator.Call(t, http.MethodPatch, path, api.Object{"dailyLimits": []api.Object{{"fiatCurrency": "NGN", "maximum": most}}}).Want(t, http.StatusOK)
		inForce(t, operator, path)
		api.Eventually(t, settle, "the limit of the day to hold", func() bool {
			return codeOf(c.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"network": "ethereum"}))) == code
		})
	}
	limited(24_999, "daily_limit_exceeded")
	limited(50_000, "") // which makes the first payment, of 25 000
	create(t, c, transfer(api.Object{"network": "ethereum"}))
	refusedAs(t, c, "/v1/payments", transfer(api.Object{"network": "ethereum"}), http.StatusBadRequest, "daily_limit_exceeded")
}

// TestLiveIsClosed: without real rates, rail and chain, live mode answers 503 after it has checked the request, and
// writes nothing; a live key does not see the sandbox.
func TestLiveIsClosed(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("live")
	live := key(t, s, c, "live", merchant, "*")
	a := live.Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Once).Want(t, http.StatusServiceUnavailable)
	if a.Text(t, "error.code") != "live_disabled" {
		t.Errorf("refused with %s", a.Body)
	}
	live.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"type": nil}), bad).Want(t, http.StatusBadRequest)
	live.Call(t, http.MethodPost, "/v1/sandbox/payments/CW-ABCDEFGHJKMN/deposits", api.Object{}, bad).Want(t, http.StatusNotFound)
	if n := countPayments(t, s, merchant); n != 0 {
		t.Errorf("%d payments were written", n)
	}
}
