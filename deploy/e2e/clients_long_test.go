//go:build integration && long

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/contract"
)

// generating is how long the generators and the compilation of what they write may take.
const generating = 15 * time.Minute

// TestClients_ofGenerators: oapi-codegen, ogen and openapi-typescript make a client of the whole document, which
// compiles, and creates, reads and lists a payment with its exact amount. Redocly and Spectral find nothing to warn of.
func TestClients_ofGenerators(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	document, err := contract.Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), generating)
	defer cancel()
	dir := t.TempDir() // what is generated is no part of the tree
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(filepath.Dir(document), "..", "deploy", "clients"))); err != nil {
		t.Fatalf("copy deploy/clients: %v", err)
	}
	run := func(command ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		cmd.WaitDelay = 5 * time.Second
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("run %v in deploy/clients: %v\n%s", command, err, out)
		}
		return string(out)
	}
	run("npm", "ci", "--prefer-offline", "--no-audit", "--no-fund")
	if out := run("npx", "redocly", "lint", "--config", "redocly.yaml", document); strings.Contains(out, "You have") { // so many warnings
		t.Errorf("lint the document with Redocly: got warnings, want none\n%s", out)
	}
	run("npx", "spectral", "lint", "--fail-severity", "hint", "-r", "spectral.yaml", document)
	run("npx", "openapi-typescript", document, "-o", "try/typescript/client.gen.ts")
	run("npx", "tsc", "-p", "try/typescript")
	if err := os.Mkdir(filepath.Join(dir, "oapi"), 0o755); err != nil {
		t.Fatal(err)
	}
	run("go", "tool", "oapi-codegen", "-config", "oapi.yaml", document)
	run("go", "tool", "ogen", "-config", "ogen.yaml", "-clean", "-target", "ogen", "-package", "ogen", document)
	const amount = "1234567.89" // which a float32 makes 1234567.9
	for name, program := range map[string][]string{
		"oapi-codegen":       {"go", "run", "-tags", "generated", "./try/oapi"},
		"ogen":               {"go", "run", "-tags", "generated", "./try/ogen"},
		"openapi-typescript": {"node", "try/typescript/main.js"},
	} {
		secret := key(t, s, c, "test", unique("generated"), "*").Key
		out := strings.TrimSpace(run(append(program, s.BaseURL, secret, amount)...))
		out = out[strings.LastIndex(out, "\n")+1:] // above it go says what it downloads
		if out != amount+" "+amount+" "+amount {
			t.Errorf("create, read and list a payment of %s with the client of %s: got %q, want that amount three times", amount, name, out)
		}
	}
}
