package app

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
)

// Refund is an approved refund or withdrawal with the addresses in the form in which the drivers of its chain write
// them.
type Refund struct {
	Ordered  intent.Ordered
	Network  money.Network
	To       string
	Contract string         // "" for the network's own coin
	Currency money.Currency // of the payment, "" where payments does not say
	// MerchantID and Charge are those of a withdrawal: whose balance pays, and what it pays besides the amount.
	MerchantID string
	Charge     *big.Int
	PaidBy     string // transaction of a withdrawal that was paid before a restore: nothing is left to send
	Cancelled  bool   // payments has cancelled it meanwhile: a person decides
}

// Refunds keeps approved refunds.
type Refunds interface {
	// TakeRefund keeps a refund, once for its id. It fails with ErrOtherOrder when the id belongs to another order, and
	// with ErrOwnDestination when the money would not leave this system, with ErrBalance when the balance does not cover
	// a withdrawal, and with ErrCancelled when its cancellation has come before it. An order that was cancelled, and may
	// have been paid before a restore, is kept for a person to decide.
	TakeRefund(ctx context.Context, r Refund) error
	// RefuseRefund ends the refund of an order for which nothing was signed, once for its id: nothing will be. It fails
	// with ErrOtherOrder when a transaction of the refund may land.
	RefuseRefund(ctx context.Context, o intent.Ordered, reason string) error
	// KeepRefund tells payments that a refund which has not ended was not cancelled.
	KeepRefund(ctx context.Context, id string) error
	// PauseRefunds keeps the pauses of refunds, unless newer ones are known.
	PauseRefunds(ctx context.Context, p wire.RefundsPaused) error
}

// The orders that wallets refuses.
var (
	ErrOtherOrder     = errors.New("another order has come under the same id")
	ErrOwnDestination = errors.New("the destination belongs to this system")
	ErrCancelled      = errors.New("payments has cancelled the order before it came")
	ErrBalance        = errors.New("the balance is below the withdrawal and its fee")
)

// TakeRefund takes an approved refund. It cannot verify the approval, since only the signer has the keys: in live mode
// nothing is sent without it. An order that is refused for good ends its refund, so that payments owes the money again,
// unless something may have been signed for it: that is a permanent fault.
func (a *App) TakeRefund(ctx context.Context, m wire.RefundApproved) error {
	o := m.Approved
	r, err := a.readRefund(m)
	reason := wire.RefundOrderInvalid
	if err == nil {
		switch err = a.refunds.TakeRefund(ctx, r); {
		case errors.Is(err, ErrOtherOrder):
			reason = wire.RefundOrderChanged
		case errors.Is(err, ErrOwnDestination):
			reason = wire.RefundDestinationOwned
		case errors.Is(err, ErrCancelled):
			a.log.InfoContext(ctx, "order after its cancellation", "refund", o.ID, "network", o.Network, "asset", o.Asset)
			return a.endRefund(ctx, o, wire.RefundCancelled, err)
		case errors.Is(err, ErrBalance):
			a.log.InfoContext(ctx, "withdrawal above balance", "withdrawal", o.ID, "network", o.Network, "asset", o.Asset)
			return a.endRefund(ctx, o, wire.RefundBalance, err)
		default:
			return err
		}
	}
	a.log.ErrorContext(ctx, "approved refund refused", "refund", o.ID, "network", o.Network, "asset", o.Asset, "reason", reason, "err", err)
	a.refused()
	if !tellable(o) {
		return fault.Permanent(fmt.Errorf("refund %.80q: %w", o.ID, err))
	}
	return a.endRefund(ctx, o, reason, err)
}

// endRefund fails a refund that is refused for a cause, unless something may have been signed for it.
func (a *App) endRefund(ctx context.Context, o intent.Ordered, reason string, cause error) error {
	err := a.refunds.RefuseRefund(ctx, o, reason)
	if errors.Is(err, ErrOtherOrder) {
		return fault.Permanent(fmt.Errorf("refund %s: %w, and something may be signed: %w", o.ID, cause, err))
	}
	return err
}

// WithdrawRefund ends a refund that an operator has cancelled, also before its order has come. A refund for which
// something may be signed goes on, which the answer to payments says.
func (a *App) WithdrawRefund(ctx context.Context, o order.Order) error {
	ordered := intent.Ordered{Order: o}
	if !tellable(ordered) {
		return fault.Permanent(fmt.Errorf("the withdrawn refund %.80q names no refund", o.ID))
	}
	err := a.refunds.RefuseRefund(ctx, ordered, wire.RefundCancelled)
	if errors.Is(err, ErrOtherOrder) {
		a.log.WarnContext(ctx, "refund cancelled too late", "refund", o.ID, "network", o.Network, "asset", o.Asset)
		return a.refunds.KeepRefund(ctx, o.ID)
	}
	if err == nil {
		a.log.InfoContext(ctx, "refund cancelled by operator", "refund", o.ID, "network", o.Network, "asset", o.Asset)
	}
	return err
}

// PauseRefunds keeps the pauses of refunds: no signature is asked for while a refund is paused.
func (a *App) PauseRefunds(ctx context.Context, p wire.RefundsPaused) error {
	return a.refunds.PauseRefunds(ctx, p)
}

// tellable reports an order with the fields by which payments knows its refund.
func tellable(o intent.Ordered) bool {
	amount, err := intent.Units(o.Amount)
	return err == nil && amount.Sign() > 0 && o.ID != "" && o.Mode.Valid() && o.Network != ""
}

// readRefund checks the form of an order.
func (a *App) readRefund(m wire.RefundApproved) (r Refund, err error) {
	o := m.Approved
	if err := o.Check(); err != nil {
		return r, err
	}
	r.Ordered, r.Currency, r.Charge, r.Cancelled = o, m.Currency, new(big.Int), m.Cancelled
	if o.Kind == order.Withdrawal {
		if m.MerchantID == "" {
			return r, errors.New("the withdrawal names no merchant")
		}
		r.MerchantID, r.PaidBy = m.MerchantID, m.PaidBy
		if r.Charge, err = intent.Units(m.Charge); err != nil {
			return r, fmt.Errorf("the charge %w", err)
		}
	}
	r.Network, _ = money.NetworkOf(o.Network) // Check has looked it up
	if o.Mode == tenant.Live {                // the simulated chains take addresses of any net
		if _, err := address.Parse(r.Network.Family, a.nets[o.Mode], o.To); err != nil {
			return r, fmt.Errorf("the destination %w", err)
		}
	}
	if err := address.Check(r.Network.Family, address.Any, o.To); err != nil {
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
