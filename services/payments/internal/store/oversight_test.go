//go:build integration

package store_test

import (
	"slices"
	"testing"

	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/store"
)

// Only claimable gifts delay an upgrade.
func TestUnmarkedGifts_thatCanBeClaimed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	unmarked := func() (ids []string, n int64) {
		t.Helper()
		n, err := w.store.UnmarkedGifts(t.Context(), func(g store.UnmarkedGift) error {
			ids = append(ids, g.ID)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return ids, n
	}
	w.fill(8)
	w.made(giftCommand()) // a marked one
	w.with(func(d *app.Deps) { d.PlainGifts = true })
	w.made(command())
	if ids, n := unmarked(); n != 0 || len(ids) != 0 {
		t.Errorf("no gift without a mark: %d, %q", n, ids)
	}
	fresh := w.made(giftCommand())
	w.nextMillisecond()
	held := w.made(giftCommand())
	if _, err := w.pool.Exec(t.Context(), `UPDATE payments SET status = 'needs_review', hold = 'screening' WHERE id = $1`, held.ID); err != nil {
		t.Fatal(err)
	}
	w.magic(payment.Gift, sim.AccountFails, "t1") // a claimed one
	ended := w.made(giftCommand())
	if _, err := w.app.Cancel(t.Context(), owner, ended.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if ids, n := unmarked(); n != 2 || !slices.Equal(ids, []string{held.ID, fresh.ID}) {
		t.Errorf("%d, %q; want 2, %q and %q", n, ids, held.ID, fresh.ID)
	}
}
