package infra

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// ChromiumPath names the variable that lends a browser to the tests of the pages, and hands them the one that was found.
const ChromiumPath = "CAUSEWAY_CHROMIUM"

// chromiumPackage is Debian's package of a Chromium without windows, which brings no desktop with it.
const chromiumPackage = "chromium-headless-shell"

// chromiumNames are the programs that serve, the smallest first.
var chromiumNames = []string{chromiumPackage, "headless_shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// Chromium is the path of a Chromium for tests: the lent one, an installed one, or one that is installed now.
func (s Servers) Chromium(ctx context.Context) (string, error) {
	if path := s.Environ[ChromiumPath]; path != "" {
		return path, nil
	}
	var path string
	missing := func() []string {
		for _, name := range chromiumNames {
			if found, err := exec.LookPath(name); err == nil {
				path = found
				return nil
			}
		}
		return []string{chromiumPackage}
	}
	err := s.obtain(ctx, missing, chromiumAdvice)
	return path, err
}

func chromiumAdvice(packages []string) string {
	return fmt.Sprintf(`missing: a Chromium for the tests of the pages. Install one and run this again:
      Debian:  sudo apt-get install -y --no-install-recommends %s
      others:  any Chromium or Chrome; %s=/path/to/it if it is not found by name`, strings.Join(packages, " "), ChromiumPath)
}
