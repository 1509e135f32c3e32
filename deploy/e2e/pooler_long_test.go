//go:build integration && long

package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/stack"
)

// TestPooler: no service starts behind a PgBouncer that lends its sessions away, and each says why. Behind one in
// session mode all start, a payment settles, and the next one does after its leaders were killed.
func TestPooler(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{})
	c := client(t, s)
	urls := slices.Collect(maps.Values(s.Databases))
	behind := func(through func(string) string, service string) error {
		return s.StartWith(t, service, map[string]string{"DATABASE_URL": through(s.Databases[service])})
	}
	for service := range s.Databases {
		s.Kill(t, service)
	}
	for _, mode := range []string{"transaction", "statement"} {
		through := pg.Pooler(t, mode, urls)
		before := refusals(t, s)
		started := make(chan string)
		for service := range s.Databases {
			go func() {
				if behind(through, service) != nil {
					service = ""
				}
				started <- service
			}()
		}
		for range s.Databases {
			if service := <-started; service != "" {
				t.Fatalf("%s runs behind a pooler in %s mode", service, mode)
			}
		}
		if told := refusals(t, s) - before; told != len(s.Databases) {
			t.Errorf("%d of %d services say why they refuse a pooler in %s mode", told, len(s.Databases), mode)
		}
	}
	through := pg.Pooler(t, "session", urls)
	for service := range s.Databases {
		if err := behind(through, service); err != nil {
			t.Fatalf("%s does not start behind a pooler in session mode: %v", service, err)
		}
	}
	awaitNetworks(t, c)
	walkBehind(t, s, c, func() {})
	walkBehind(t, s, c, func() {
		for _, service := range []string{"payments", "wallets", "callback-dispatcher"} {
			s.Kill(t, service)
			if err := behind(through, service); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// refusals counts the services that ended because of a pooler.
func refusals(t *testing.T, s *stack.Stack) int {
	t.Helper()
	return strings.Count(string(s.Logs(t)), "does not give each connection a session of its own")
}
