package app

import (
	"context"
	"fmt"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/wire"
)

// Progress is the table of how far each network is scanned.
type Progress interface {
	Advance(ctx context.Context, m wire.ScannedThrough) error
}

// ScannedThrough notes how far a network is scanned. The message is a snapshot, so a duplicate does no harm. It may
// overtake deposits of the blocks that it speaks of; the table counts those before it believes it.
func ScannedThrough(ctx context.Context, p Progress, m wire.ScannedThrough) error {
	n, ok := money.NetworkOf(m.Network)
	if !ok || (m.Mode != wire.Live && m.Mode != wire.Test) || m.BlockTime.IsZero() || m.Deposits < 0 {
		return fault.Permanent(fmt.Errorf("progress of network %q in mode %q cannot be read", m.Network, m.Mode))
	}
	m.Network = n.Name
	return p.Advance(ctx, m)
}
