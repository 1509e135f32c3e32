package app

import (
	"context"
	"errors"
	"fmt"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/intent"
)

// Refund is an approved refund with the addresses in the form in which the drivers of its chain write them.
type Refund struct {
	Ordered  intent.Ordered
	Network  money.Network
	To       string
	Contract string // "" for the network's own coin
}

// Refunds keeps approved refunds.
type Refunds interface {
	// TakeRefund keeps a refund, once for its id. It fails with ErrOtherOrder when the id belongs to another order.
	TakeRefund(ctx context.Context, r Refund) error
}

// ErrOtherOrder says that the id of a refund belongs to another order.
var ErrOtherOrder = errors.New("another order has come under the same id")

// TakeRefund takes an approved refund. It cannot verify the approval, since only the signer has the keys: in live mode
// nothing is sent without it. An order that no transaction can carry out, and another one under a known id, are
// permanent faults.
func (a *App) TakeRefund(ctx context.Context, o intent.Ordered) error {
	r, err := a.readRefund(o)
	if err != nil {
		err = fault.Permanent(fmt.Errorf("refund %.80q: %w", o.ID, err))
	} else if err = a.refunds.TakeRefund(ctx, r); errors.Is(err, ErrOtherOrder) {
		err = fault.Permanent(fmt.Errorf("refund %s: %w", o.ID, err))
	}
	if fault.IsPermanent(err) {
		a.log.ErrorContext(ctx, "approved refund refused", "refund", o.ID, "network", o.Network, "asset", o.Asset, "err", err)
		a.refused()
	}
	return err
}

// readRefund checks the form of an order.
func (a *App) readRefund(o intent.Ordered) (r Refund, err error) {
	if err := o.Check(); err != nil {
		return r, err
	}
	r.Ordered = o
	r.Network, _ = money.NetworkOf(o.Network) // Check has looked it up
	if o.Mode == tenant.Live {                // the simulated chains take addresses of any net
		if _, err := address.Parse(r.Network.Family, a.nets[o.Mode], o.To); err != nil {
			return r, fmt.Errorf("the destination %w", err)
		}
	}
	if err := address.Check(r.Network.Family, false, o.To); err != nil {
		return r, fmt.Errorf("the destination %w", err)
	}
	r.To = address.Canonical(r.Network.Family, o.To)
	if o.Contract == "" {
		return r, nil
	}
	if _, err := address.Parse(r.Network.Family, address.Mainnet, o.Contract); err != nil {
		return r, fmt.Errorf("the contract %w", err)
	}
	r.Contract = address.Canonical(r.Network.Family, o.Contract)
	return r, nil
}
