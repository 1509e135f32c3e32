// Package self is the rail of a caller that pays the receivers itself and reports that with a one-time token:
// bank_confirmation, and merchant payments without a receiver. It moves no money and makes no call. A create refuses a
// payment that needs either.
package self

import (
	"context"
	"net/http"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/rail"
)

// Name is the rail's name in configuration and payment rows.
const Name = "self"

// Rail makes no payouts.
type Rail struct{}

var _ rail.Provider = Rail{}

// Name is "self".
func (Rail) Name() string { return Name }

// Caps is empty.
func (Rail) Caps() rail.Caps { return rail.Caps{} }

// Pays is always false.
func (Rail) Pays(money.Currency, string) bool { return false }

// Banks lists none.
func (Rail) Banks(money.Currency) []rail.Bank { return nil }

// Resolve knows no names.
func (Rail) Resolve(_ context.Context, cur money.Currency, bankCode, account string) (rail.Account, error) {
	name, _ := rail.BankName(cur, bankCode)
	return rail.Account{BankName: name, Number: account}, rail.ErrUnsupported
}

// Send refuses: the caller pays.
func (Rail) Send(context.Context, rail.Order) (rail.Status, error) {
	return rail.Status{Reason: "the caller pays the receiver itself"}, rail.ErrRefused
}

// Query knows no reference.
func (Rail) Query(context.Context, money.Currency, string) (rail.Status, error) {
	return rail.Status{}, rail.ErrNoSuchRef
}

// Balance is unsupported: the float is the caller's.
func (Rail) Balance(context.Context, money.Currency) (decimal.Decimal, error) {
	return decimal.Zero, rail.ErrUnsupported
}

// ParseWebhook is unsupported: this rail has no webhooks.
func (Rail) ParseWebhook(http.Header, []byte) (rail.Event, error) {
	return rail.Event{}, rail.ErrUnsupported
}
