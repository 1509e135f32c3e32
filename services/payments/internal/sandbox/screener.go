package sandbox

import (
	"context"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/magic"
	"causeway.internal/services/payments/internal/screen"
)

// Screener is a screener to whom in test mode one magic sender is on the list of sanctioned addresses.
type Screener struct{ admission.Screener }

// Screen asks the screener.
func (s Screener) Screen(ctx context.Context, mode tenant.Mode, network string, addresses []string) (change.Verdict, error) {
	v, err := s.Screener.Screen(ctx, mode, network, addresses)
	if err == nil && magic.Listed.Sent(mode, addresses) {
		v.Hit, v.Reason = true, screen.Sanctioned
	}
	return v, err
}
