package admission

import (
	"context"
	"fmt"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

// Scanned hands the progress of a network's scan to advance. The message is a snapshot, so a duplicate does no harm. It
// may arrive before deposits of its blocks, so the store counts them before it moves the head.
func Scanned(advance func(ctx context.Context, m wire.ScannedThrough) error) func(ctx context.Context, messageID string, m wire.ScannedThrough) error {
	return func(ctx context.Context, _ string, m wire.ScannedThrough) error {
		n, ok := money.NetworkOf(m.Network)
		if !ok || (m.Mode != tenant.Live && m.Mode != tenant.Test) || m.BlockTime.IsZero() || m.Deposits < 0 {
			return fault.Permanent(fmt.Errorf("progress of network %q in mode %q cannot be read", m.Network, m.Mode))
		}
		m.Network = n.Name
		return advance(ctx, m)
	}
}
