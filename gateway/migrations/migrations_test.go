package migrations_test

import (
	"io/fs"
	"strings"
	"testing"

	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/idempotency"
)

// The table of stored answers is the library's, word for word.
func TestMigrations_idempotency(t *testing.T) {
	text, err := fs.ReadFile(migrations.FS, "00002_idempotency.sql")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), idempotency.Schema) {
		t.Error("00002_idempotency.sql and libs/idempotency differ")
	}
}
