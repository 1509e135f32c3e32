// Package receivers looks up the holders of accounts, and lists the banks that the rails pay.
package receivers

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
)

// Receivers looks up the holders of accounts, and lists the banks that the rails pay.
type Receivers struct {
	Options
	names   *names
	lookups *lookups
}

// Options holds the dependencies of Receivers.
type Options struct {
	Providers map[tenant.Mode]provider.Set
	Access    *access.Payments
	Find      func(ctx context.Context, o tenant.Owner, reference string) (change.View, error) // of an owner
	Policy    payment.Policy
	Now       func() time.Time
}

// New makes Receivers with an empty cache of names.
func New(o Options) *Receivers {
	return &Receivers{Options: o, names: newNames(o.Now), lookups: newLookups(o.Now)}
}

// Complete adds the names of bank and holder to a receiver. It returns rail.ErrNotFound for an unknown account; while
// the name service is down, ok is false and there is no name.
func (a *Receivers) Complete(ctx context.Context, mode tenant.Mode, currency money.Currency, r payment.Receiver) (named payment.Receiver, ok bool, err error) {
	return a.names.resolve(ctx, a.Providers[mode].Namer(currency), mode, currency, r)
}

// Named checks a new receiver of a payment and adds its names, or refuses it.
func (a *Receivers) Named(ctx context.Context, p payment.Payment, r payment.Receiver) (payment.Receiver, error) {
	set, ok := a.Providers[p.Mode]
	if err := KnownBank(p.Mode, set, payment.Payment{Currency: p.Currency, Receiver: r}); err != nil {
		return r, err
	}
	if !ok {
		return r, change.ErrLiveDisabled
	}
	if _, ok := set.Paying(p.Currency, r.BankCode); !ok {
		return r, provider.Unreachable()
	}
	named, ok, err := a.Complete(ctx, p.Mode, p.Currency, r)
	switch {
	case errors.Is(err, rail.ErrNotFound):
		return r, AccountNotFound()
	case err != nil:
		return r, err
	case !ok:
		return r, errNameDown
	}
	return named, nil
}

// KnownBank refuses, in live mode only, a bank that neither the table nor a rail's list has, and a mobile wallet with a
// number that is no mobile number of the country (docs/api-contract.md#receivers).
func KnownBank(mode tenant.Mode, set provider.Set, draft payment.Payment) error {
	if mode != tenant.Live || !draft.Receiver.Known() {
		return nil
	}
	var p fault.Problems
	switch wallet, known := rail.WalletOf(draft.Currency, draft.Receiver.BankCode); {
	case known:
		if problem := wallet.Refuses(draft.Receiver.AccountNumber); problem != "" {
			p.Add("receiver.accountNumber", "%s", problem)
		}
	default:
		_, known := rail.BankName(draft.Currency, draft.Receiver.BankCode)
		if !known && !set.Lists(draft.Currency, draft.Receiver.BankCode) {
			p.Add("receiver.bankCode", "is no bank of %s", draft.Currency)
		}
	}
	return p.Err()
}

// errNameDown refuses a claim or a look-up while the name service is down.
var errNameDown = fault.New(fault.Unavailable, "name_service_unavailable",
	"The account's name cannot be looked up right now. Try again shortly.").After(5 * time.Second)
