//go:build integration && long

package e2e

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestLiveWalks_evm: EVM networks besides ethereum, as TestLiveWalks walks bitcoin and tron. A deposit on bsc is deep
// enough as soon as its block is final; on polygon it waits for its depth, because the node never says that a block is
// final.
func TestLiveWalks_evm(t *testing.T) {
	t.Parallel()
	newLiveProduct(t, nil, "bsc", "polygon", "base", "arbitrum").walks(t, []liveAsset{
		{network: "bsc", crypto: "USDT", token: "USDT", decimals: 18, address: evmAddress, notYet: 20, blocks: 1},
		{network: "bsc", crypto: "USDC", token: "USDC", decimals: 18, address: evmAddress, notYet: 20, blocks: 1},
		{network: "bsc", crypto: "BNB", decimals: 18, address: evmAddress, notYet: 20, blocks: 1},
		{network: "polygon", crypto: "USDC", token: "USDC", decimals: 6, address: evmAddress, notYet: 127, blocks: 1},
		{network: "base", crypto: "ETH", decimals: 18, address: evmAddress, notYet: 11, blocks: 1},
		{network: "arbitrum", crypto: "USDT", token: "USDT", decimals: 6, address: evmAddress, notYet: 39, blocks: 1},
	})
}

// TestLiveWalks_solana: solana's addresses come from a signer, as its operators bring them.
func TestLiveWalks_solana(t *testing.T) {
	t.Parallel()
	ceremony := newCeremony(t)
	p := newLiveProduct(t, map[string]map[string]string{
		"payments": {"ADDRESS_FAMILIES_LIVE": "evm,solana"},
		"wallets":  {"ADDRESS_BATCH_KEY": ceremony.batchKey, "MASTER_KEYS": ceremony.masterKeys},
	}, "solana")
	ceremony.bring(t, p)
	p.walks(t, []liveAsset{
		{network: "solana", crypto: "SOL", decimals: 9, address: solanaAddress, blocks: 40},
		{network: "solana", crypto: "USDC", token: "USDC", decimals: 6, address: solanaAddress, blocks: 40},
	})
}

// ceremony is a signer with a new seed and the solana addresses that it made and signed.
type ceremony struct{ batchKey, masterKeys, batch string }

// poolOfAddresses is more than the stock that payments asks for.
const poolOfAddresses = "3000"

func newCeremony(t *testing.T) ceremony {
	t.Helper()
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.json")
	if err := os.WriteFile(policy, []byte(`{"mode":"live","account":0,"gasAccount":1,"indexBelow":1000,"networks":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	seed, batch := filepath.Join(dir, "seed.age"), filepath.Join(dir, "batch.json")
	settings := []string{"SIGNER_SEED=" + seed, "SIGNER_POLICY=" + policy, "SIGNER_PASSPHRASE=of this test"}
	runProgram(t, "signer", settings, nil, "new-seed", "--out", seed)
	_, line, found := strings.Cut(runProgram(t, "signer", settings, nil, "xpubs"), "ADDRESS_BATCH_KEY=")
	if !found {
		t.Fatal("the signer names no batch key")
	}
	runProgram(t, "signer", settings, nil, "addresses", "--count", poolOfAddresses, "--out", batch)
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	return ceremony{batchKey: strings.TrimSpace(line), masterKeys: "k1:" + key, batch: batch}
}

// bring imports the addresses and waits until payments has some.
func (c ceremony) bring(t *testing.T, p *liveProduct) {
	t.Helper()
	batch, err := os.ReadFile(c.batch)
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{"DATABASE_URL=" + p.s.Databases["wallets"], "MASTER_KEYS=" + c.masterKeys, "ADDRESS_BATCH_KEY=" + c.batchKey}
	runProgram(t, "wallets", settings, batch, "import-addresses")
	stocked := regexp.MustCompile(`payments_address_stock\{family="solana",mode="live"\} [1-9]`)
	api.Eventually(t, settle, "solana addresses in stock", func() bool { return stocked.Match(p.s.Metrics(t)) })
}

// runProgram runs a program of the product and returns what it prints.
func runProgram(t *testing.T, name string, settings []string, in []byte, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(os.Getenv("CAUSEWAY_STACK")), name), args...) //nolint:gosec // of this product
	cmd.Env, cmd.Stdin = settings, bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run %s %s: %v: %s", name, args[0], err, stderr.Bytes())
	}
	return string(out)
}
