//go:build integration

package store_test

import "testing"

// A restored database gives no record id a second time, and skips ids once, however often recovery runs.
func TestRecover_idsArePassedOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	next := func() (n int64) {
		t.Helper()
		if err := w.pool.QueryRow(t.Context(), `SELECT nextval('report_ids')`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	shown := next()
	for range 3 {
		if err := w.store.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := next(); got <= shown+99_000 || got > shown+101_000 {
		t.Errorf("after %d comes %d", shown, got)
	}
}
