package infra

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Program is one that some tests need.
type Program struct {
	Variable string   // lends one, and hands tests the one that was found
	packs    []string // Debian's packages
	names    []string
	advice   string
}

// Chromium is for the tests of the pages. Debian's package brings no desktop with it.
var Chromium = Program{
	Variable: "CAUSEWAY_CHROMIUM", packs: []string{"chromium-headless-shell"},
	names:  []string{"chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"},
	advice: "a Chromium for the tests of the pages; any Chromium or Chrome will do",
}

// PgBouncer is for the tests of poolers.
var PgBouncer = Program{
	Variable: "CAUSEWAY_PGBOUNCER", packs: []string{"pgbouncer"}, names: []string{"pgbouncer", "/usr/sbin/pgbouncer"},
	advice: "a PgBouncer for the tests of poolers, 1.18 or newer",
}

// PHP is for the tests of the client in PHP.
var PHP = Program{
	Variable: "CAUSEWAY_PHP", packs: []string{"php-cli", "php-curl"}, names: []string{"php"},
	advice: "a PHP for the tests of the client in PHP, 8.2 or newer, with its extension curl",
}

// Find is the path of a program: the lent one, an installed one, the first name first, or one that is installed now.
func (s Servers) Find(ctx context.Context, p Program) (string, error) {
	if path := s.Environ[p.Variable]; path != "" {
		return path, nil
	}
	var path string
	missing := func() []string {
		for _, name := range p.names {
			if found, err := exec.LookPath(name); err == nil {
				path = found
				return nil
			}
		}
		return p.packs
	}
	err := s.obtain(ctx, missing, func([]string) string {
		return fmt.Sprintf(`missing: %s. Install one and run this again:
      Debian:  sudo apt-get install -y --no-install-recommends %s
      others:  %s=/path/to/it if it is not found by name`, p.advice, strings.Join(p.packs, " "), p.Variable)
	})
	return path, err
}
