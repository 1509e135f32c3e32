//go:build integration

package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/money"
	"causeway.internal/libs/testkit/stack"
)

// liveAsset is an asset on the real node of its network, and how deep a deposit of it must be.
type liveAsset struct {
	network, crypto string
	token           string // its name at the node; "" for the coin
	decimals        int64
	address         *regexp.Regexp
	notYet          int  // confirmations that are not enough; 0 where the chain makes blocks by itself
	blocks          int  // that make them enough
	mempool         bool // seen before a block holds it
}

// liveChains are the networks' software with its flags.
var liveChains = map[string][]string{
	"bitcoin":  {"bitcoin"},
	"tron":     {"tron"},
	"solana":   {"solana"},
	"polygon":  {"evm", "--chain-id", chainID("polygon"), "--finality", "100000"}, // never said to be final
	"bsc":      {"evm", "--chain-id", chainID("bsc"), "--decimals", "18", "--finality", "20"},
	"base":     {"evm", "--chain-id", chainID("base")},
	"arbitrum": {"evm", "--chain-id", chainID("arbitrum")},
}

// chainID is the chain id of a listed network, as the node's flag wants it.
func chainID(network string) string {
	n, _ := money.NetworkOf(network)
	return strconv.FormatInt(n.ChainID, 10)
}

// liveProduct is a stack that serves live mode on networks, each on its own node.
type liveProduct struct {
	s      *stack.Stack
	nodes  map[string]*node
	c      *api.Client
	secret string
}

// newLiveProduct starts the nodes and the stack, with more settings if any, and makes a merchant.
func newLiveProduct(t testing.TB, more map[string]map[string]string, networks ...string) *liveProduct {
	t.Helper()
	p := &liveProduct{nodes: map[string]*node{}}
	for _, network := range networks {
		chain := liveChains[network]
		p.nodes[network] = startChain(t, chain[0], chain[1:]...)
	}
	env := liveOn(p.nodes)
	for service, settings := range more {
		maps.Copy(env[service], settings)
	}
	p.s = stack.New(t, stack.Options{Env: env})
	for _, network := range networks {
		awaitNetwork(t, client(t, p.s), network, "")
	}
	p.c, p.secret = liveMerchant(t, p.s)
	return p
}

// TestLiveWalks: bitcoin and tron, each on its own software, from the creation of a payment to the bank's statement.
func TestLiveWalks(t *testing.T) {
	t.Parallel()
	p := newLiveProduct(t, nil, "bitcoin", "tron")
	p.walks(t, []liveAsset{
		{network: "bitcoin", crypto: "BTC", decimals: 8, address: bitcoinAddress, notYet: 1, blocks: 1, mempool: true},
		{network: "tron", crypto: "USDT", token: "USDT", decimals: 6, address: tronAddress, notYet: 18, blocks: 1},
		{network: "tron", crypto: "TRX", decimals: 6, address: tronAddress, notYet: 18, blocks: 1},
	})
	t.Run("bitcoin: a replaced transaction", p.replaced)
}

// walks runs the walk of each asset, one after the other: assets of one network share its chain.
func (p *liveProduct) walks(t *testing.T, assets []liveAsset) {
	for _, a := range assets {
		t.Run(a.network+" "+a.crypto, func(t *testing.T) { p.walk(t, a) })
	}
}

// walk: a merchant creates a transfer, a payer pays on the real chain, the deposit gets as deep as its network demands
// and no less, its senders are found and cleared, the bank pays once, and each signed callback is received and
// verified. No operator acts.
func (p *liveProduct) walk(t *testing.T, asset liveAsset) {
	n := p.nodes[asset.network]
	hook, path := hooks(t, p.secret)
	made := create(t, p.c, liveTransfer(asset.network, asset.crypto, hook.URL(path)))
	ref, address := made.Text(t, "payment.reference"), made.Text(t, "payment.depositAddress")
	if !asset.address.MatchString(address) {
		t.Fatalf("deposit address %q", address)
	}
	hash := n.pay(t, asset.token, address, unitsOf(t, made.Number(t, "payment.cryptoAmount"), asset.decimals))
	if asset.mempool {
		p.waits(t, ref, hash)
	} else if got := get(t, p.c, ref).Text(t, "payment.status"); got != "pending" {
		t.Fatalf("%s before the transfer was mined", got)
	}
	n.mine(t, 1)
	if asset.notYet == 0 {
		awaitStatus(t, p.c, ref, "confirming")
	} else {
		p.deep(t, ref, hash, 1)
	}
	if asset.notYet > 1 {
		n.mine(t, asset.notYet-1)
		p.deep(t, ref, hash, asset.notYet)
	}
	n.mine(t, asset.blocks)
	settled := awaitStatus(t, p.c, ref, "settled")
	checkSettled(t, settled, made)
	if settled.Text(t, "payment.txHash") != hash {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitExactly(t, hook, path, walkEvents...)
	for _, d := range events(hook, path) {
		if d.Mode != "live" {
			t.Errorf("%s says mode %q", d.Type, d.Mode)
		}
	}
	clean(t, hook)
	paidOnce(t, p.s, ref)
	p.screened(t, ref)
}

// liveTransfer is worth more than the least payment of each network.
func liveTransfer(network, crypto, callback string) api.Object {
	return transfer(api.Object{"network": network, "crypto": crypto, "fiatAmount": 100000, "callbackUrl": callback})
}

// waits checks that a transaction shows while it waits for a block.
func (p *liveProduct) waits(t *testing.T, ref, hash string) {
	t.Helper()
	if seen := p.deep(t, ref, hash, 0); !seen.Null("payment.confirmedAt") {
		t.Errorf("confirmed in no block: %s", seen.Body)
	}
}

// deep waits until a transaction has so many confirmations, at which its payment is still confirming.
func (p *liveProduct) deep(t *testing.T, ref, hash string, confirmations int) *api.Answer {
	t.Helper()
	want := api.Rat(fmt.Sprint(confirmations))
	seen := awaitPayment(t, p.c, ref, fmt.Sprintf("%d deep", confirmations), func(a *api.Answer) bool {
		return a.Text(t, "payment.txHash") == hash && a.Number(t, "payment.confirmations").Cmp(want) == 0
	})
	if seen.Text(t, "payment.status") != "confirming" {
		t.Errorf("%d deep: %s", confirmations, seen.Body)
	}
	return seen
}

// screened checks that the senders were known and cleared, at the deposit and before the payout.
func (p *liveProduct) screened(t *testing.T, ref string) {
	t.Helper()
	const decisions = `SELECT count(*) FROM screenings s JOIN payments p ON p.id = s.payment_id WHERE p.reference = $1`
	for _, stage := range []string{"deposit", "payout"} {
		clear := ` AND s.stage = $2 AND s.verdict = 'clear' AND s.reason = '' AND cardinality(s.addresses) > 0`
		if count(t, p.s, "payments", decisions+clear, ref, stage) == 0 {
			t.Errorf("the senders were not cleared at the %s", stage)
		}
	}
	if n := count(t, p.s, "payments", decisions+` AND (s.verdict <> 'clear' OR cardinality(s.addresses) = 0)`, ref); n != 0 {
		t.Errorf("%d decisions about senders are hits or name nobody", n)
	}
}

// replaced: the payer replaces the transaction before a block holds it. The payment is pending again, and settles on
// the money that comes then, once.
func (p *liveProduct) replaced(t *testing.T) {
	n := p.nodes["bitcoin"]
	hook, path := hooks(t, p.secret)
	made := create(t, p.c, liveTransfer("bitcoin", "BTC", hook.URL(path)))
	ref, address := made.Text(t, "payment.reference"), made.Text(t, "payment.depositAddress")
	owed := unitsOf(t, made.Number(t, "payment.cryptoAmount"), 8)
	hash := n.pay(t, "", address, owed)
	p.waits(t, ref, hash)
	foreign := "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"
	// It moves less, so it pays more for its place.
	n.control(t, "/replace", map[string]any{"txHash": hash, "to": foreign, "amount": "10000", "token": false}, nil)
	if fallen := awaitStatus(t, p.c, ref, "pending"); fallen.Number(t, "payment.receivedAmount").Sign() != 0 {
		t.Errorf("replaced: %s", fallen.Body)
	}
	n.mine(t, 3)
	again := n.pay(t, "", address, owed)
	p.waits(t, ref, again)
	n.mine(t, 2)
	settled := awaitStatus(t, p.c, ref, "settled")
	if settled.Text(t, "payment.txHash") != again || !settled.Null("payment.exception") ||
		settled.Number(t, "payment.receivedAmount").Cmp(made.Number(t, "payment.cryptoAmount")) != 0 {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitCallbacks(t, hook, path, "payment.reorged", "payment.settled")
	clean(t, hook)
	paidOnce(t, p.s, ref)
	p.screened(t, ref)
}
