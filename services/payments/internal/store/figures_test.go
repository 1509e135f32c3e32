//go:build integration

package store_test

import (
	"testing"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

// The store counts payments by status, and the open payouts with their age.
func TestFigures(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(10)
	w.Make(fixture.Command())
	paid := w.Make(fixture.Command())
	w.See(paid, fixture.Coin{Key: "aa", Amount: "31.25", Version: 1})
	all, err := w.Store.Open(t.Context())
	if err != nil || len(all) != 6*2*len(payment.StoredTypes()) {
		t.Fatalf("%d figures, %v", len(all), err)
	}
	for _, o := range all {
		want := 0
		if o.Mode == tenant.Test && o.Type == payment.Transfer && (o.Status == payment.StatusPending || o.Status == payment.StatusConfirming) {
			want = 1
		}
		if o.Payments != want {
			t.Errorf("%+v, want %d", o, want)
		}
	}

	w.See(paid, fixture.Coin{Key: "aa", Amount: "31.25", Version: 2, Depth: 1000})
	w.SQL(`UPDATE payouts SET created_at = now() - interval '1 hour'`)
	payouts, err := w.Store.Unknowns(t.Context())
	if err != nil || len(payouts) != 1 || payouts[0].Open != 1 || payouts[0].Payouts != 0 || payouts[0].Waits < time.Hour || payouts[0].Waits > 2*time.Hour {
		t.Errorf("Unknowns() = %+v, %v; want 1 open payout of an hour", payouts, err)
	}
}
