//go:build integration

package store_test

import (
	"slices"
	"testing"

	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/store"
)

// Only claimable gifts delay an upgrade.
func TestUnmarkedGifts_thatCanBeClaimed(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	unmarked := func() (ids []string, n int64) {
		t.Helper()
		n, err := w.Store.UnmarkedGifts(t.Context(), func(g store.UnmarkedGift) error {
			ids = append(ids, g.ID)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return ids, n
	}
	w.Fill(8)
	w.Make(fixture.Gift()) // a marked one
	w.With(func(d *fixture.Deps) { d.PlainGifts = true })
	w.Make(fixture.Command())
	if ids, n := unmarked(); n != 0 || len(ids) != 0 {
		t.Errorf("no gift without a mark: %d, %q", n, ids)
	}
	fresh := w.Make(fixture.Gift())
	w.NextMillisecond()
	held := w.Make(fixture.Gift())
	if _, err := w.Pool.Exec(t.Context(), `UPDATE payments SET status = 'needs_review', hold = 'screening' WHERE id = $1`, held.ID); err != nil {
		t.Fatal(err)
	}
	w.Magic(payment.Gift, sim.AccountFails, "t1") // a claimed one
	ended := w.Make(fixture.Gift())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, ended.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if ids, n := unmarked(); n != 2 || !slices.Equal(ids, []string{held.ID, fresh.ID}) {
		t.Errorf("%d, %q; want 2, %q and %q", n, ids, held.ID, fresh.ID)
	}
}
