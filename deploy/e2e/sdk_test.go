//go:build integration

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/contract"
)

// TestSDK_typescript: the client in gateway/sdk/typescript compiles, passes its own tests, and works with the product,
// and so do its examples.
func TestSDK_typescript(t *testing.T) {
	t.Parallel()
	sdk(t, "typescript",
		[]string{"npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"},
		[]string{"npm", "run", "build"}, []string{"npm", "run", "check"}, []string{"npm", "test"}, []string{"npm", "run", "live"})
	t.Run("shop", sellLamp) // with the client that has just been built
}

// TestSDK_go: the client in gateway/sdk/go passes its own tests, and it works with the product, and so do its examples.
func TestSDK_go(t *testing.T) {
	t.Parallel()
	sdk(t, "go", []string{"go", "vet", "./..."}, []string{"go", "test", "./..."}, []string{"go", "test", "-tags", "live", "-run", "TestLive_", "-count", "1", "."})
}

// sdk runs the commands of a client in its directory, one after the other, with a key of a new merchant.
func sdk(t *testing.T, language string, commands ...[]string) {
	t.Helper()
	s, c := shared(t)
	public, secret := pairOf(t, s, c, unique("sdk-"+language), "*")
	document, err := contract.Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run := func(command []string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*settle) // it may compile beside other tests
		defer cancel()
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir = filepath.Join(filepath.Dir(document), "sdk", language)
		cmd.Env = append(os.Environ(), "CAUSEWAY_URL="+s.BaseURL, "CAUSEWAY_API_KEY="+secret, "CAUSEWAY_PUBLIC_KEY="+public)
		cmd.WaitDelay = 5 * time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("run %v of the %s client: %v\n%s", command, language, err, out)
		}
	}
	for _, command := range commands {
		run(command)
	}
}
