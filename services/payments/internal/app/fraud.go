package app

import (
	"context"
	"fmt"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/payment"
)

// FraudSignals is our copy of what reports says of addresses.
type FraudSignals interface {
	// NoteFraud keeps a signal unless a newer one of its mode and address is there.
	NoteFraud(ctx context.Context, m wire.FraudSignal) error
	// FraudConfirmed reports whether an operator has confirmed the fraud reports against one of the addresses, which may be
	// spelled in any case where their form allows it. However many merchants say it, their word alone is none.
	FraudConfirmed(ctx context.Context, mode payment.Mode, addresses []string) (bool, error)
}

// FraudSignalled takes a signal in. It is a snapshot with a version, so duplicates and late ones do no harm.
func FraudSignalled(ctx context.Context, s FraudSignals, m wire.FraudSignal) error {
	if (m.Mode != wire.Live && m.Mode != wire.Test) || m.Address == "" || m.Version < 1 || m.Merchants < 0 {
		return fault.Permanent(fmt.Errorf("fraud signal in mode %q, version %d cannot be read", m.Mode, m.Version))
	}
	return s.NoteFraud(ctx, m)
}
