package withdrawal

import (
	"crypto/subtle"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/payment"
)

// Account is a bank account that a merchant's own money may go to. Its receiver never changes.
type Account struct {
	ID          string
	Owner       tenant.Owner // KeyID is the key that proposed it
	Currency    money.Currency
	Receiver    payment.Receiver
	CreatedAt   time.Time
	ConfirmedAt time.Time // zero before the second step
	ConfirmedBy int64     // the key
	HeldUntil   time.Time // no money leaves before it; zero without a hold
	DeletedAt   time.Time
}

// Change is what became of the account with its last step: the type of the event about it, without its prefix.
func (a Account) Change() string {
	switch {
	case !a.DeletedAt.IsZero():
		return "deleted"
	case !a.ConfirmedAt.IsZero():
		return "confirmed"
	}
	return "added"
}

// Sequence is the number of the account's steps. Each has an event.
func (a Account) Sequence() int64 {
	n := int64(1)
	for _, step := range []time.Time{a.ConfirmedAt, a.DeletedAt} {
		if !step.IsZero() {
			n++
		}
	}
	return n
}

// AccountEvent is what the type of each event of an account begins with; its change follows.
const AccountEvent = "settlement_account."

// AccountsMost bounds the accounts of a merchant in a mode.
const AccountsMost = 20

// The refusals of settlement accounts.
var (
	ErrNoAccount      = fault.New(fault.NotFound, "settlement_account_not_found", "Settlement account not found")
	errManyAccounts   = fault.New(fault.Conflict, "too_many_settlement_accounts", "A merchant has at most %d settlement accounts. Delete one first.", AccountsMost)
	errAnotherNumber  = fault.New(fault.Conflict, "settlement_account_differs", "The account number is not that of this settlement account.")
	errAlreadyAllowed = fault.New(fault.Conflict, "settlement_account_confirmed", "The settlement account is confirmed already.")
	errUnconfirmed    = fault.New(fault.Conflict, "settlement_account_unconfirmed", "The settlement account is not confirmed yet.")
)

// MayAdd refuses one account too many.
func MayAdd(existing []Account) error {
	if len(existing) >= AccountsMost {
		return errManyAccounts
	}
	return nil
}

// Confirm is the second step, which repeats the account's number. In live mode the hold begins with it.
func (a Account) Confirm(number string, by int64, hold time.Duration, now time.Time) (Account, error) {
	switch {
	case !a.ConfirmedAt.IsZero():
		return a, errAlreadyAllowed
	case subtle.ConstantTimeCompare([]byte(number), []byte(a.Receiver.AccountNumber)) != 1:
		return a, errAnotherNumber
	}
	a.ConfirmedAt, a.ConfirmedBy = now, by
	if a.Owner.Mode == tenant.Live && hold > 0 {
		a.HeldUntil = now.Add(hold)
	}
	return a, nil
}

// MayPay refuses an account to which no money may leave now.
func (a Account) MayPay(now time.Time) error {
	switch {
	case !a.DeletedAt.IsZero():
		return ErrNoAccount
	case a.ConfirmedAt.IsZero():
		return errUnconfirmed
	case now.Before(a.HeldUntil):
		return fault.New(fault.Conflict, "settlement_account_held", "The settlement account is new, so no money leaves to it before %s",
			timestamp.Text(a.HeldUntil)).After(a.HeldUntil.Sub(now))
	}
	return nil
}

// Find is an account by its id.
func Find(all []Account, accountID string) (Account, error) {
	for _, a := range all {
		if a.ID == accountID {
			return a, nil
		}
	}
	return Account{}, ErrNoAccount
}
