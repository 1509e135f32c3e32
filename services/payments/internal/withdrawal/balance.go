// Package withdrawal holds the rules of a merchant's own money: its balance, the bank accounts that it may go to, and
// the life of a withdrawal. It is pure: the caller passes rows and times.
package withdrawal

import (
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// Balance is what Causeway owes a merchant in one currency (docs/api-contract.md#balances). Pending is the money of
// confirmed payments that a reorganisation may take back or that the merchant has not settled.
type Balance struct {
	Currency           money.Currency
	Available, Pending decimal.Decimal
}

// Settings are a merchant's choices about its own money.
type Settings struct {
	ToBalance bool       // payments of type merchant without a receiver are credited to the balance
	Daily     []Schedule // one for each currency at most, in the order of their names
}
