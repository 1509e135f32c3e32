package stock

import (
	"context"
	"fmt"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

// Allocated passes the addresses that wallets allocated to fill, which adds them to the stock once per message.
func Allocated(fill func(ctx context.Context, messageID string, m wire.AddressesAllocated) error) func(ctx context.Context, messageID string, m wire.AddressesAllocated) error {
	return func(ctx context.Context, messageID string, m wire.AddressesAllocated) error {
		if (m.Mode != tenant.Live && m.Mode != tenant.Test) || m.RequestID == "" || len(m.Addresses) > wire.AddressesMax {
			return fault.Permanent(fmt.Errorf("allocation %q of mode %q with %d addresses cannot be read", m.RequestID, m.Mode, len(m.Addresses)))
		}
		for _, a := range m.Addresses {
			if a.Address == "" || a.WalletID == "" {
				return fault.Permanent(fmt.Errorf("allocation %q holds an empty address", m.RequestID))
			}
		}
		return fill(ctx, messageID, m)
	}
}

// Owned passes addresses that only wallets knows (standalone wallets, treasuries, stations) to keep, in their
// canonical spelling. keep only adds addresses, so the order and repetition of messages do not matter.
func Owned(keep func(ctx context.Context, addresses []wire.OwnedAddress) error) func(ctx context.Context, messageID string, m wire.AddressesOwned) error {
	return func(ctx context.Context, _ string, m wire.AddressesOwned) error {
		if len(m.Addresses) > wire.AddressesMax {
			return fault.Permanent(fmt.Errorf("%d addresses in one message, of at most %d", len(m.Addresses), wire.AddressesMax))
		}
		kept := make([]wire.OwnedAddress, len(m.Addresses))
		for i, a := range m.Addresses {
			if a.Mode != tenant.Live && a.Mode != tenant.Test {
				return fault.Permanent(fmt.Errorf("address of unknown mode %.10q", a.Mode))
			}
			if err := address.Check(a.Family, address.Any, a.Address); err != nil {
				return fault.Permanent(fmt.Errorf("%.100q %w", a.Address, err))
			}
			a.Address = address.Canonical(a.Family, a.Address)
			kept[i] = a
		}
		return keep(ctx, kept)
	}
}
