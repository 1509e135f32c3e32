//go:build integration

package store_test

import (
	"testing"

	"causeway.internal/gateway/internal/apikey"
)

// A key that is made after a restore never has the id of one that was lost, and ids are passed over once, however often
// recovery is begun.
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
