package postgres_test

import (
	"strings"
	"testing"

	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
)

// Where TLS is required, a URL that may end in plain text, in an unverified server or in one of another name is
// refused.
func TestParse_requiresTLS(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"postgres://u:hunter2@db/x":                                  false, // prefer: plain text where TLS fails
		"postgres://u:hunter2@db/x?sslmode=disable":                  false,
		"postgres://u:hunter2@db/x?sslmode=allow":                    false,
		"postgres://u:hunter2@db/x?sslmode=require":                  false,
		"postgres://u:hunter2@db/x?sslmode=verify-ca":                false,
		"postgres://u:hunter2@/x?host=/run/pg&sslmode=verify-full":   false, // a socket knows no TLS
		"postgres://u:hunter2@db/x?sslmode=verify-full":              true,
		"postgres://u:hunter2@10.0.0.1/x?sslmode=verify-full":        true,
		"postgres://u:hunter2@one,two:5433/x?sslmode=verify-full":    true,
		"host=db user=u password=hunter2 dbname=x":                   false,
		"host=db user=u password=hunter2 dbname=x sslmode=verify-ca": false,
	} {
		_, err := postgres.Config{URL: config.Secret(url), TLS: postgres.TLS{Required: true}}.Parse()
		if (err == nil) != want {
			t.Errorf("parse %s where TLS is required: got %v", url, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "DATABASE_TLS_REQUIRED") || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: the error names no setting, or the password: %v", url, err)
		}
		if _, err := (postgres.Config{URL: config.Secret(url)}).Parse(); err != nil {
			t.Errorf("%s where TLS is not required: %v", url, err)
		}
	}
	_, err := postgres.Config{URL: "postgres://u@db/x?sslmode=verify-full", TLS: postgres.TLS{CA: "no certificate"}}.Parse()
	if err == nil || !strings.Contains(err.Error(), "DATABASE_CA") {
		t.Errorf("a CA that is none: %v", err)
	}
}
