package screen

import (
	"context"
	"fmt"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

// Signalled hands a signal of reports to note, which keeps the newest of each mode and address. A signal is a snapshot
// with a version, so duplicates and late ones do no harm.
func Signalled(note func(ctx context.Context, m wire.FraudSignal) error) func(ctx context.Context, messageID string, m wire.FraudSignal) error {
	return func(ctx context.Context, _ string, m wire.FraudSignal) error {
		if (m.Mode != tenant.Live && m.Mode != tenant.Test) || m.Address == "" || m.Version < 1 || m.Merchants < 0 {
			return fault.Permanent(fmt.Errorf("fraud signal in mode %q, version %d cannot be read", m.Mode, m.Version))
		}
		return note(ctx, m)
	}
}
