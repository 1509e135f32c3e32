package livenet

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Programs are where the programs of live networks lie.
type Programs struct {
	Realchain string
	Signer    string
}

// Treasuries are addresses whose keys nobody here has. Solana's has token accounts, which Furnish makes.
const (
	treasuryEVM     = "0x00000000000000000000000000000000000cafe5"
	treasuryBitcoin = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"
	treasuryTron    = "TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC"
	treasurySolana  = "6BbH5GuvkxcdgGeFXp8ToAxAq9Pga6S3XzxE8CaoU57V"
)

// Payers are addresses to which refunds go, and whose keys nobody here has either.
const (
	payerBitcoin = "bcrt1q8gwv7pv43u9stz6wyl53h9qf8c4fe5k44u2gyx"
	payerEVM     = "0x000000000000000000000000000000000ba7e4f0"
	payerSolana  = "HSgzdVi9r1q5ogRY31RdJ9e2ypeCGw6UwkGyJKFGqsBR"
	payerTron    = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
)

// merchantEVM is an address to which crypto of wallets is withdrawn, without a key too. On other networks it goes where
// refunds go.
const merchantEVM = "0x000000000000000000000000000000000d4a3b17"

// nonces are solana's nonce accounts, and the value that each has at the start; refundNonces are the same of the refund
// station.
var (
	nonces = map[string]string{
		"6BcANQxMhY7HuH2UtmkYezWjjYH1n32H7DA5VPGySCKR": "6Bd3fYzne7bx8HQiFjNdWp5JdwALyycWgRMvrZy9QKXM",
		"6Bdvxh3Dah6cMHnwcgziNddsYL3gBvCkFdZnDkfKNSjH": "6BepFq5eXGbGaJBAyecoETCSSiw1PrnypqmdawMVLZwD",
	}
	refundNonces = map[string]string{
		"HrWt2XzCA518mmskXd7MRoyXoUkUh64PHsZU53YHegX4": "Awxz29kvahSJyqkpSKG5nqsupo3P62sxrGAy474kQu5V",
		"rFErCHDH9q6k9CqT9Hv6b15PESick8Bx6fBfpC6Pk6i":  "2gW6WPjsqXTdtLrkHCbb3PSHJQ7wAAYqiBUfqanC24Z7",
	}
)

// indexBelow is more addresses than any run hands out, and batchOf more than the stock that payments asks for.
const (
	indexBelow = 1_000_000
	batchOf    = "6000"
)

// family says how a chain is run, swept and signed for.
type family struct {
	chain    Chain
	flags    []string
	settings map[string]string // of wallets, behind the network's prefix
	policy   map[string]any
	perHour  map[string]string // by asset
}

// families in the order in which runs take them. A block comes every second or faster, and is final soon.
var families = []family{
	{
		chain: Chain{
			Family: "evm", Network: "ethereum", Treasury: treasuryEVM, Payer: payerEVM, Merchant: merchantEVM, Pays: []string{"USDT", "ETH"},
			Assets: []Asset{{Symbol: "ETH", Digits: 18}, {Symbol: "USDT", Digits: 6}},
		},
		flags:    []string{"--chain-id", "1", "--block-time", "1s", "--finality", "6"},
		settings: map[string]string{"SWEEP_STUCK": "10s", "SWEEP_LEAST": "USDT:1,ETH:0.001"},
		policy:   map[string]any{"chainId": 1, "maxFeePerGas": "100000000000", "maxGas": 500_000, "fund": limits("100000000000000000", "1000000000000000000000")},
		perHour:  map[string]string{"ETH": "1000000000000000000000", "USDT": "1000000000000"},
	},
	{
		chain: Chain{
			Family: "bitcoin", Network: "bitcoin", Treasury: treasuryBitcoin, Payer: payerBitcoin, Merchant: payerBitcoin, Pays: []string{"BTC"},
			Assets: []Asset{{Symbol: "BTC", Digits: 8}},
		},
		settings: map[string]string{"SWEEP_STUCK": "20s", "SWEEP_LEAST": "BTC:0.0001", "FINAL_DEPTH": "3", "START": "100", "MEMPOOL_POLL": "200ms", "REFUND_FROM": "100"},
		policy:   map[string]any{"bitcoin": map[string]any{"maxFeeRate": 200, "maxFee": 20_000_000}},
		perHour:  map[string]string{"BTC": "10000000000000"},
	},
	{
		chain: Chain{
			Family: "solana", Network: "solana", Treasury: treasurySolana, Payer: payerSolana, Merchant: payerSolana, Pays: []string{"USDC", "SOL"},
			Assets: []Asset{{Symbol: "SOL", Digits: 9}, {Symbol: "USDC", Digits: 6}},
		},
		settings: map[string]string{"SWEEP_STUCK": "10s", "SWEEP_LEAST": "USDC:1,SOL:0.01", "SWEEP_SETTLE": "0s"},
		policy: map[string]any{"solana": map[string]any{
			"maxFee": "100000", "nonces": keysOf(nonces), "refundNonces": keysOf(refundNonces), "rentPerHour": "1000000000",
		}},
		perHour: map[string]string{"SOL": "10000000000000", "USDC": "1000000000000"},
	},
	{
		chain: Chain{
			Family: "tron", Network: "tron", Treasury: treasuryTron, Payer: payerTron, Merchant: payerTron, Pays: []string{"USDT", "TRX"},
			Assets: []Asset{{Symbol: "TRX", Digits: 6}, {Symbol: "USDT", Digits: 6}},
		},
		settings: map[string]string{"SWEEP_LEAST": "USDT:1,TRX:30", "SWEEP_EXPIRY": "60s", "SWEEP_RESEND": "1s", "START": "1"},
		policy: map[string]any{
			"fund": limits("40000000", "1000000000000"),
			"tron": map[string]any{"maxFeeLimit": "40000000", "expiresWithin": 120, "expiryMargin": 1, "formsPerOrder": 10, "lend": limits("20000000000", "90000000000000")},
		},
		perHour: map[string]string{"TRX": "100000000000000", "USDT": "1000000000000"},
	},
}

func limits(most, perHour string) map[string]any {
	return map[string]any{"most": most, "perHour": perHour}
}

func keysOf(m map[string]string) (all []string) {
	for key := range m {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// Families are the names of all.
func Families() (all []string) {
	for _, f := range families {
		all = append(all, f.chain.Family)
	}
	return all
}

// Lay starts the nodes of the chosen families and makes a signer's files in a directory. It returns the settings, as
// the launcher takes them (service:NAME=value), of an instance that is live on them, and the file for Open.
func Lay(ctx context.Context, dir string, programs Programs, chosen []string) (settings []string, path string, end func(), err error) {
	var ends []func()
	all := func() {
		for _, e := range ends {
			e()
		}
	}
	end = all
	defer func() {
		if err != nil { // end is nil then
			all()
		}
	}()
	n := &Networks{}
	networks := map[string]any{}
	settings = []string{
		"payments:ALLOW_SIMULATED_LIVE=true", "payments:RATES_LIVE=fixed", "payments:RAIL_LIVE=sim", "payments:REFUND_APPROVAL_ABOVE=NGN=1000000000", "payments:REFUND_ADDRESS_HOLD=3s",
		"payments:SECOND_OPERATOR_ABOVE=NGN=1000000000000", "payments:SETTLEMENT_ACCOUNT_HOLD=3s", "payments:WITHDRAWAL_ADDRESS_HOLD=3s",
		"payments:WITHDRAWAL_DAILY_USD=1000000000", "payments:WITHDRAWAL_APPROVAL_ABOVE_USD=1000000000",
		"payments:CALLBACK_ALLOW_LIVE=127.0.0.0/8", "payments:WITNESS_USD_LIVE=0", // one host serves each chain
		"callback-dispatcher:CALLBACK_ALLOW_LIVE=127.0.0.0/8", "payments:ADDRESS_FAMILIES_LIVE=" + strings.Join(chosen, ","),
		"wallets:SWEEP_EVERY=500ms", "wallets:HOLDINGS_EVERY=20s", "payments:TREASURY_EVERY=20s", "wallets:SCANNED_EVERY_LIVE=500ms", "wallets:BITCOIN_NETWORK_LIVE=regtest", "payments:BITCOIN_NETWORK_LIVE=regtest",
	}
	for _, f := range families {
		if !slices.Contains(chosen, f.chain.Family) {
			continue
		}
		node, stop, err := start(ctx, dir, programs.Realchain, f.chain.Family, f.flags...)
		if err != nil {
			return nil, "", nil, err
		}
		ends = append(ends, stop)
		c := f.on(node)
		n.Chains, networks[c.Network] = append(n.Chains, c), f.allowed(c)
		for name, value := range f.live(c) {
			settings = append(settings, "wallets:"+name+"="+value)
		}
	}
	signer, err := n.seal(ctx, dir, programs.Signer, networks)
	if err != nil {
		return nil, "", nil, err
	}
	var refunds, withdrawals, contracts []string
	for _, c := range n.Chains {
		if c.Payer != "" {
			refunds = append(refunds, c.Network)
		}
		if c.Merchant != "" {
			withdrawals = append(withdrawals, c.Network)
			for _, a := range c.Assets[1:] {
				contracts = append(contracts, c.Network+"/"+a.Symbol+"="+a.Contract)
			}
		}
	}
	if len(refunds) > 0 {
		settings = append(settings, "payments:REFUND_NETWORKS="+strings.Join(refunds, ","))
	}
	if len(withdrawals) > 0 {
		settings = append(settings, "payments:WITHDRAWAL_NETWORKS="+strings.Join(withdrawals, ","), "payments:WITHDRAWAL_CONTRACTS="+strings.Join(contracts, ","))
	}
	path, err = n.write(dir)
	return append(settings, signer...), path, end, err
}

// on is the chain on its node.
func (f family) on(node Node) Chain {
	c := f.chain
	c.Node, c.Assets = node, slices.Clone(c.Assets)
	for i, a := range c.Assets[1:] {
		c.Assets[i+1].Contract = node.Tokens[a.Symbol]
	}
	return c
}

// allowed is the chain in the signer's policy.
func (f family) allowed(c Chain) map[string]any {
	policy := map[string]any{"treasury": c.Treasury, "countPerHour": 100_000}
	for name, value := range f.policy {
		policy[name] = value
	}
	assets := map[string]any{}
	for _, a := range c.Assets {
		limit := map[string]any{"perHour": f.perHour[a.Symbol]}
		if c.Payer != "" {
			limit["refundPerHour"], limit["automaticPerHour"] = f.perHour[a.Symbol], f.perHour[a.Symbol]
		}
		if c.Merchant != "" {
			limit["withdrawPerHour"], limit["automaticWithdrawPerHour"] = f.perHour[a.Symbol], f.perHour[a.Symbol]
		}
		if a.Contract != "" {
			limit["contract"] = a.Contract
		}
		assets[a.Symbol] = limit
	}
	policy["assets"] = assets
	return policy
}

// live are the settings of wallets.
func (f family) live(c Chain) map[string]string {
	prefix := strings.ToUpper(c.Network) + "_"
	if c.Family == "evm" {
		prefix = "EVM_" + prefix
	}
	all := map[string]string{
		prefix + "RPC_URLS": c.Node.RPCURL, prefix + "POLL": "200ms", prefix + "ROLLBACK_GRACE": "500ms", prefix + "SWEEP_TREASURY": c.Treasury,
	}
	if c.Family == "tron" || c.Family == "solana" {
		all[prefix+"GENESIS"] = c.Node.Genesis
	}
	var tokens []string
	for _, a := range c.Assets[1:] {
		tokens = append(tokens, a.Symbol+":"+a.Contract)
	}
	if len(tokens) > 0 {
		all[prefix+"TOKENS"] = strings.Join(tokens, ",")
	}
	for name, value := range f.settings {
		all[prefix+name] = value
	}
	return all
}

// seal makes a seed, a policy and, for solana, addresses, as operators do, and returns the settings that name them.
func (n *Networks) seal(ctx context.Context, dir, program string, networks map[string]any) (settings []string, err error) {
	at := func(name string) string { return filepath.Join(dir, name) }
	orders := map[string]string{} // public keys, by approval
	for approval, variable := range map[string]string{"automatic": "ORDER_AUTOMATIC_KEY", "operator": "ORDER_OPERATOR_KEY"} {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("making a key of orders: %w", err)
		}
		orders[approval] = base64.StdEncoding.EncodeToString(public)
		settings = append(settings, "payments:"+variable+"="+base64.StdEncoding.EncodeToString(private.Seed()))
	}
	text, err := json.Marshal(map[string]any{
		"mode": "live", "account": 0, "gasAccount": 1, "refundAccount": 2, "orders": orders, "indexBelow": indexBelow, "networks": networks,
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(at("policy.json"), text, 0o600); err != nil {
		return nil, fmt.Errorf("writing the policy: %w", err)
	}
	secret, recipient, err := identity()
	if err != nil {
		return nil, err
	}
	environ := []string{"SIGNER_SEED=" + at("seed.age"), "SIGNER_POLICY=" + at("policy.json"), "SIGNER_IDENTITY=" + secret, "SIGNER_LOG=" + at("signer-log.jsonl")}
	run := func(words ...string) (string, error) {
		cmd := exec.CommandContext(ctx, program, words...)
		cmd.Env = environ
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("signer %s: %w: %s", words[0], err, complaint.Bytes())
		}
		return string(out), nil
	}
	if _, err := run("new-seed", "--recipient", recipient, "--out", at("seed.age")); err != nil {
		return nil, err
	}
	if _, err := run("new-log"); err != nil {
		return nil, err
	}
	keys, err := run("xpubs")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(keys) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "XPUB_LIVE_") || strings.HasPrefix(line, "ADDRESS_BATCH_KEY=") {
			settings = append(settings, "wallets:"+line)
		}
	}
	if networks["solana"] != nil {
		n.Batch = at("batch.json")
		if _, err := run("addresses", "--from", "0", "--count", batchOf, "--out", n.Batch); err != nil {
			return nil, err
		}
	}
	for _, variable := range environ {
		settings = append(settings, "signer:"+variable)
	}
	return settings, nil
}
