//go:build integration

package e2e

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// passwords: while the password of a database role is another than its service knows, callers hear 503 (on a busy
// machine 504 now and then) and when to try again, and never 500. The gateway stays ready without its database and
// serves what needs none. All goes on by itself with the right password.
func passwords(t *testing.T, s *stack.Stack, c *api.Client) {
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	lookup := "/v1/reports/lookup?phoneNumber=2348012345678"
	t.Run("of payments", func(t *testing.T) {
		restore := changePassword(t, s.Databases["payments"])
		away(t, c, http.MethodPost, "/v1/payments", transfer(nil), "service_unavailable")
		away(t, c, http.MethodGet, "/v1/payments/"+ref, nil, "service_unavailable")
		restore()
		back(t, c, "/v1/payments/"+ref)
	})
	t.Run("of the gateway", func(t *testing.T) {
		restore := changePassword(t, s.Databases["gateway"])
		api.Eventually(t, 30*time.Second, "no key is known without the database", func() bool {
			a, err := c.Try(t.Context(), http.MethodGet, "/v1/payments/"+ref, nil)
			return err == nil && a.Status == http.StatusServiceUnavailable
		})
		away(t, c, http.MethodGet, "/v1/payments/"+ref, nil, "keys_unavailable")
		c.With("").Call(t, http.MethodGet, lookup, nil).Want(t, http.StatusOK)
		if status := s.Ready(t, "gateway"); status != http.StatusOK {
			t.Errorf("the gateway's readiness is %d while its database is away", status)
		}
		restore()
		back(t, c, "/v1/payments/"+ref)
	})
}

// changePassword gives the role of a database's URL another password and ends its sessions. restore gives the role its
// old password back.
func changePassword(t *testing.T, database string) (restore func()) {
	t.Helper()
	admin, err := pgx.Connect(t.Context(), os.Getenv("CAUSEWAY_TEST_POSTGRES_URL"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close(context.WithoutCancel(t.Context())) })
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	role := address.User.Username()
	set := func(password string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), `ALTER ROLE `+pgx.Identifier{role}.Sanitize()+` PASSWORD '`+password+`'`); err != nil {
			t.Fatal(err)
		}
	}
	set("another")
	if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1`, role); err != nil {
		t.Fatal(err)
	}
	old, _ := address.User.Password()
	return func() { set(old) }
}

// away asks until it has heard five times that what it needs is away. On a busy machine the answer may be that it took
// too long to find that out; that waiting helps it hears each time.
func away(t *testing.T, c *api.Client, method, path string, body any, code string) {
	t.Helper()
	slow := []string{"timeout", "upstream_timeout"}
	heard := 0
	for range 7 {
		a := c.Call(t, method, path, body, api.Once)
		got := a.Text(t, "error.code")
		switch {
		case a.Header.Get("Retry-After") == "":
			t.Errorf("%s %s: got %d without Retry-After, %s", method, path, a.Status, a.Body)
		case a.Status == http.StatusServiceUnavailable && got == code:
			heard++
		case a.Status != http.StatusGatewayTimeout || !slices.Contains(slow, got):
			t.Errorf("%s %s: got %d, %s, want 503 with %s", method, path, a.Status, a.Body, code)
		}
		if heard == 5 {
			return
		}
	}
	t.Errorf("%s %s: heard %d times that what it needs is away, want 5", method, path, heard)
}

func back(t *testing.T, c *api.Client, path string) {
	t.Helper()
	api.Eventually(t, 30*time.Second, "all goes on with the right password", func() bool {
		a, err := c.Try(t.Context(), http.MethodGet, path, nil)
		return err == nil && a.Status == http.StatusOK
	})
}
