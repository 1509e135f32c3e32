//go:build integration

package placed_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"causeway.internal/libs/placed"
	"causeway.internal/libs/testkit/pg"
)

var migrations = fstest.MapFS{"00001_placed.sql": {Data: []byte("-- +goose Up\n" + placed.Schema)}}

// A database stays in the shard of its first process. Names without a code are of the first shard.
func TestCheck(t *testing.T) {
	t.Parallel()
	pg.Listed(t, "Statements")
	second, first := pg.New(t, migrations), pg.New(t, migrations)
	pg.Prepare(t, second, placed.Statements())
	for range 2 {
		if err := placed.Check(t.Context(), second, "K2"); err != nil {
			t.Fatalf("start in a database of the same shard: %v", err)
		}
	}
	if err := placed.Check(t.Context(), second, ""); err == nil || !strings.Contains(err.Error(), "belongs to the shard K2, not to AA") {
		t.Errorf("start without a code in a database of K2: got %v, want a refusal that names both shards", err)
	}
	if err := placed.Check(t.Context(), first, ""); err != nil {
		t.Fatalf("start without a code in a new database: %v", err)
	}
	if err := placed.Check(t.Context(), first, "AA"); err != nil {
		t.Errorf("start with the code of the first shard in its database: %v", err)
	}
	if err := placed.Check(t.Context(), first, "K2"); err == nil {
		t.Error("start with another code in a database of the first shard: got no error")
	}
}
