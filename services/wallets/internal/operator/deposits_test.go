//go:build integration

package operator_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/operator"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/migrations"
)

// The list of an operator is JSON with both kinds of cases.
func TestUnexplained(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	do, err := operator.Unexplained(command.Input{Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	book := store.New(pg.New(t, migrations.FS), messaging.Out{Now: time.Now}, store.Settings{Now: time.Now})
	if err := do(t.Context(), operator.Parts{Store: book}); err != nil {
		t.Fatal(err)
	}
	var shown struct{ Balances, Transactions []any }
	if err := json.Unmarshal([]byte(out.String()), &shown); err != nil || shown.Balances == nil || shown.Transactions == nil {
		t.Errorf("read what is unexplained: got %s: %v", out.String(), err)
	}
}
