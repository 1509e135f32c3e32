//go:build integration

package store_test

import (
	"testing"

	"causeway.internal/gateway/internal/apikey"
)

// A key that is made after a restore never has the id of a lost one, and ids are skipped once, however often recovery
// runs.
func TestRecover_idsArePassedOver(t *testing.T) {
	t.Parallel()
	w := start(t)
	first, err := w.keys.Create(t.Context(), order(), by, apikey.Once{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.store.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	next, err := w.keys.Create(t.Context(), order(), by, apikey.Once{})
	if err != nil {
		t.Fatal(err)
	}
	if next.Key.ID <= first.Key.ID+99_000 || next.Key.ID > first.Key.ID+101_000 {
		t.Errorf("after key %d comes %d", first.Key.ID, next.Key.ID)
	}
}
