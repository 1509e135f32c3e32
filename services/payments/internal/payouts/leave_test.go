package payouts

import (
	"testing"
	"time"

	"causeway.internal/services/payments/internal/payout"
)

// A payout that may not leave is looked at soon while it is new, and seldom once it has waited for long.
func TestLater(t *testing.T) {
	now := time.Unix(1e9, 0)
	for age, want := range map[time.Duration]time.Duration{
		-time.Hour: 2 * time.Second, 0: 2 * time.Second, 40 * time.Second: 2 * time.Second, time.Minute: 3 * time.Second,
		5 * time.Minute: 15 * time.Second, 10 * time.Minute: 30 * time.Second, 90 * 24 * time.Hour: 30 * time.Second,
	} {
		if got := later(payout.Payout{CreatedAt: now.Add(-age)}, now).Sub(now); got != want {
			t.Errorf("a payout that is %s old is looked at after %s, want %s", age, got, want)
		}
	}
}
