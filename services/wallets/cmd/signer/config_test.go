package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"causeway.internal/libs/config"
	"causeway.internal/libs/testkit/page"
	"causeway.internal/services/wallets/internal/intent"
)

func TestConfigPage(t *testing.T) {
	page.Section(t, "../../../../docs/config.md", "signer", config.Describe[settings]("signer"))
}

// The verbs of the key ceremony in their order (docs/custody.md).
func TestCeremony(t *testing.T) {
	dir := t.TempDir()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	seed, policy := filepath.Join(dir, "seed.age"), filepath.Join(dir, "policy.json")
	if err := os.WriteFile(policy, []byte(`{"mode":"live","account":0,"gasAccount":1,"indexBelow":1000,"networks":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := map[string]string{"SIGNER_SEED": seed, "SIGNER_IDENTITY": identity.String(), "SIGNER_POLICY": policy}
	do := func(in string, args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), args, environ, strings.NewReader(in), &out)
		return out.String(), err
	}
	words, err := do("", "new-seed", "--recipient", identity.Recipient().String(), "--out", seed)
	if err != nil || len(strings.Fields(words)) != 24 {
		t.Fatalf("%d words, %v", len(strings.Fields(words)), err)
	}
	if _, err := do("", "new-seed", "--recipient", identity.Recipient().String(), "--out", seed); err == nil {
		t.Error("a seed was overwritten")
	}
	keys, err := do("", "xpubs")
	if err != nil || !strings.Contains(keys, "XPUB_LIVE_EVM=xpub") || !strings.Contains(keys, "ADDRESS_BATCH_KEY=") {
		t.Fatalf("print the public keys: got %s, %v, want XPUB_LIVE_EVM and ADDRESS_BATCH_KEY", keys, err)
	}
	environ["SIGNER_LOG"] = filepath.Join(dir, "log.jsonl")
	if _, err := do("", "new-log"); err != nil {
		t.Errorf("make the log: %v", err)
	}
	if _, err := do("", "new-log"); err == nil {
		t.Error("make the log again: got no error, want one")
	}
	if shown, err := do("", "verify-log"); err != nil || !strings.HasPrefix(shown, "1 lines are valid") {
		t.Errorf("verify the new log: got %s, %v, want one line", shown, err)
	}
	// The written words restore the same keys.
	environ["SIGNER_SEED"] = filepath.Join(dir, "restored.age")
	if _, err := do(words, "seal-seed", "--recipient", identity.Recipient().String(), "--out", environ["SIGNER_SEED"]); err != nil {
		t.Fatal(err)
	}
	if again, err := do("", "xpubs"); err != nil || again != keys {
		t.Errorf("print the public keys of the sealed seed: got %s, %v, want the same", again, err)
	}
	path := filepath.Join(dir, "batch.json")
	if _, err := do("", "addresses", "--from", "5", "--count", "10", "--out", path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var batch intent.Batch
	if err := json.Unmarshal(text, &batch); err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(keys, "ADDRESS_BATCH_KEY=")
	pinned, err := intent.ParseBatchKey(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.Verify(pinned); err != nil || batch.From != 5 || len(batch.Addresses) != 10 {
		t.Errorf("verify the batch of addresses: got %+v, %v, want ten from 5 on", batch, err)
	}
}

func TestRun_refuses(t *testing.T) {
	for _, args := range [][]string{nil, {"sign"}, {"serve", "now"}, {"new-seed"}, {"addresses", "--count", "0", "--out", "x"}} {
		if err := run(t.Context(), args, nil, strings.NewReader(""), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "usage") {
			t.Errorf("run %v: got %v, want the usage", args, err)
		}
	}
	for name, environ := range map[string]map[string]string{
		"no socket":    {},
		"no policy":    {"SIGNER_SOCKET": "s", "SIGNER_LOG": "l"},
		"no such file": {"SIGNER_SOCKET": "s", "SIGNER_LOG": "l", "SIGNER_POLICY": "/nowhere"},
	} {
		if err := run(t.Context(), []string{"serve"}, environ, strings.NewReader(""), &bytes.Buffer{}); err == nil {
			t.Errorf("%s: it serves", name)
		}
	}
	two := map[string]string{"SIGNER_SEED": "x", "SIGNER_IDENTITY": "a", "SIGNER_PASSPHRASE": "b", "SIGNER_POLICY": "x"}
	if err := run(t.Context(), []string{"xpubs"}, two, strings.NewReader(""), &bytes.Buffer{}); err == nil {
		t.Error("two ways to open the seed")
	}
}
