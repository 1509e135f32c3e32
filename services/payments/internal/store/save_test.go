//go:build integration

package store_test

import (
	"slices"
	"testing"
	"time"

	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payout"
)

// Payouts that are written in one statement are written as alone: not one that somebody else has written since it was
// read, and one row once.
func TestSavePayouts(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	_, arrive := made(w, 3)
	for _, f := range arrive {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	due, err := w.Due(3)
	if err != nil || len(due) != 3 {
		t.Fatalf("%d payouts are due, error %v; want three and none", len(due), err)
	}
	w.SQL(`UPDATE payouts SET reason = 'somebody else' WHERE id = $1`, due[1].ID)
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	for i := range due {
		due[i].State, due[i].NextAt, due[i].Reason, due[i].Polls = payout.Pending, at, "ours", i+1
	}
	saved, err := w.Store.SavePayouts(t.Context(), due[0], due[1], due[2], due[2])
	if err != nil {
		t.Fatal(err)
	}
	if once := saved[2] != saved[3]; !saved[0] || saved[1] || !once {
		t.Errorf("saved = %v, want the first, not the second, and the third once", saved)
	}
	for i, want := range []string{"pending ours 1", "created somebody else 0", "pending ours 3"} {
		got := fixture.Ask[string](w, `SELECT concat_ws(' ', state, reason, polls) FROM payouts WHERE id = $1`, due[i].ID)
		if got != want {
			t.Errorf("payout %d = %s, want %s", i, got, want)
		}
	}
	if later := fixture.Ask[int](w, `SELECT count(*) FROM payouts WHERE next_at = $1 AND fee = 0 AND receiver <> ''`, at); later != 2 {
		t.Errorf("%d payouts are due at the time that was written, want 2", later)
	}
	if again, err := w.Store.SavePayouts(t.Context(), due[0]); err != nil || slices.Contains(again, true) {
		t.Errorf("a second write of a row that was read before the first = %v, %v; want that it writes nothing", again, err)
	}
}
