package app

import (
	"context"
	"fmt"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/scanner"
)

// Recovery keeps the work that a restore of the database requires.
type Recovery interface {
	// Recover notes the restore once.
	Recover(ctx context.Context, margin int64) error
	// Jump makes and watches some of the addresses that may have been issued in the lost time; more says that it must
	// be called again.
	Jump(ctx context.Context, mode tenant.Mode, family money.Family, source derivation.Source) (more bool, err error)
	// PendingRescans are the second looks that are not done.
	PendingRescans(ctx context.Context) ([]scanner.Rescan, error)
	EndRecovery(ctx context.Context) error
}

// RecoveryMargin is how far every next index moves past the largest that the restored database knows
// (docs/architecture.md#recovery): more addresses than can have been made since the backup.
const RecoveryMargin = 100_000

// Recover moves every next index past the indices that may have been issued in the lost time, and watches all addresses
// in between. Nothing may be issued before it returns. Several processes may run it at once, and it may be repeated.
func (a *App) Recover(ctx context.Context, r Recovery) error {
	if err := r.Recover(ctx, a.margin); err != nil {
		return err
	}
	for _, mode := range tenant.Modes() {
		for _, family := range money.Families() {
			for more := true; more; {
				var err error
				if more, err = r.Jump(ctx, mode, family, a.sources[mode][family]); err != nil {
					return fmt.Errorf("recovering: %w", err)
				}
			}
			a.log.InfoContext(ctx, "next address index past issued ones", "mode", mode, "family", family)
		}
	}
	return nil
}

// EndRecovery notes that the service runs normally again.
func (a *App) EndRecovery(ctx context.Context, r Recovery) error {
	pending, err := r.PendingRescans(ctx)
	if err != nil {
		return err
	}
	for _, rescan := range pending {
		a.log.WarnContext(ctx, "recovery ended before second look", "chain", rescan.Chain.String())
	}
	return r.EndRecovery(ctx)
}
