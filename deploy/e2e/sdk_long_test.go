//go:build integration && long

package e2e

import (
	"cmp"
	"os"
	"testing"
)

// TestSDK_python: the client in gateway/sdk/python passes its own tests, its types and those of its examples fit, and
// it works with the product, and so do its examples.
func TestSDK_python(t *testing.T) {
	t.Parallel()
	python := []string{"env", "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1", "python3", "-m", "unittest", "discover", "-s"}
	sdk(t, "python",
		append(python, "tests"), []string{"npx", "--yes", "--prefer-offline", "pyright@1.1.414"}, append(python, "tests/live"))
}

// TestSDK_php: the client in gateway/sdk/php passes its own tests and works with the product, and so do its examples.
func TestSDK_php(t *testing.T) {
	t.Parallel()
	php := cmp.Or(os.Getenv("CAUSEWAY_PHP"), "php") // bin/stack test installs it
	sdk(t, "php", []string{php, "tests/vectors.php"}, []string{php, "tests/client.php"}, []string{php, "tests/live/live.php"})
}
