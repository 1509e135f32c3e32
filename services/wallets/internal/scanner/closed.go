package scanner

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"causeway.internal/services/wallets/internal/wallet"
)

// Mismatched is the job of a chain that is not scanned because a setting differs from that of its issued addresses. It
// announces so at intervals, so that payments closes the network and shows the reason. A chain that was never scanned
// is closed anyway.
func Mismatched(c Chain, every time.Duration, store Store, log *slog.Logger) Job {
	return Job{Chain: c, Run: func(ctx context.Context, epoch int64) error {
		lease := Lease{Chain: c, Epoch: epoch}
		for ctx.Err() == nil {
			if err := tellMismatch(ctx, lease, store); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "closed network not announced", "chain", c.String(), "err", err)
			}
			pause(ctx, every, nil)
		}
		return nil
	}}
}

func tellMismatch(ctx context.Context, lease Lease, store Store) error {
	at, found, err := store.Adopt(ctx, lease)
	if err != nil {
		return fmt.Errorf("taking over the cursor: %w", err)
	}
	if !found {
		return nil
	}
	return store.Announce(ctx, lease, at, Health{State: wallet.ScanMismatched})
}
