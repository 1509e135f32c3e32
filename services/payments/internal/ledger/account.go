// Package ledger turns what happens to a payment into double-entry journals (docs/architecture.md#ledger). It is pure:
// it builds journals that balance per asset and names the key under which each may be written once; storing them, and
// refusing a second one with the same key, is the store's work.
package ledger

import (
	"strings"

	"causeway.internal/libs/money"
)

// Side is the side of an entry, and of an account the side on which its balance grows.
type Side string

// The sides.
const (
	Debit  Side = "debit"
	Credit Side = "credit"
)

// Account is one account of the chart. Accounts of one payment have their balance materialised under the payment's
// lock; shared accounts have entries only and are rolled up by a job, so that no hot row serialises settlement.
type Account struct {
	Code    string // unique, the kind first: customer:pay_…:USDT
	Asset   string // symbol of the crypto or code of the currency it is kept in
	Normal  Side
	Payment string // id of the payment that owns it, "" for a shared account
}

// Shared reports whether the account belongs to no single payment.
func (a Account) Shared() bool { return a.Payment == "" }

// Kind is the first part of the code.
func (a Account) Kind() string { kind, _, _ := strings.Cut(a.Code, ":"); return kind }

func shared(normal Side, asset string, parts ...string) Account {
	return Account{Code: strings.Join(parts, ":"), Asset: asset, Normal: normal}
}

// CryptoDeposit is what sits on deposit addresses of a network.
func CryptoDeposit(network, asset string) Account {
	return shared(Debit, asset, "crypto", "deposit", network, asset)
}

// CryptoHot is what the treasury holds after sweeping, and what refunds are paid from.
func CryptoHot(network, asset string) Account {
	return shared(Debit, asset, "crypto", "hot", network, asset)
}

// FiatFloat is our balance at a rail.
func FiatFloat(rail string, cur money.Currency) Account {
	return shared(Debit, string(cur), "fiat", "float", rail, string(cur))
}

// PayoutClearing holds payouts that are under way at a rail; what stays in it is the open risk.
func PayoutClearing(rail string, cur money.Currency) Account {
	return shared(Credit, string(cur), "clearing", "payout", rail, string(cur))
}

// Customer is crypto of the payer that has not been converted: money still to be used, or owed back.
func Customer(payment, asset string) Account {
	return Account{Code: "customer:" + payment + ":" + asset, Asset: asset, Normal: Credit, Payment: payment}
}

// Payable is fiat owed to the receiver of a payment.
func Payable(payment string, cur money.Currency) Account {
	return Account{Code: "payable:" + payment + ":" + string(cur), Asset: string(cur), Normal: Credit, Payment: payment}
}

// Merchant is fiat owed to a merchant that pays the receiver itself.
func Merchant(merchant string, cur money.Currency) Account {
	return shared(Credit, string(cur), "merchant", merchant, string(cur))
}

// Suspense is crypto that arrived and belongs to no running payment.
func Suspense(asset string) Account { return shared(Credit, asset, "suspense", asset) }

// Position is our trading position in an asset or a currency; both sides of a conversion meet in a pair of them.
func Position(asset string) Account { return shared(Credit, asset, "fx", asset) }

// Fees is fee income.
func Fees(cur money.Currency) Account { return shared(Credit, string(cur), "fees", string(cur)) }

// Spread is the realised trading result.
func Spread(cur money.Currency) Account { return shared(Credit, string(cur), "spread", string(cur)) }

// ProviderFees is what rails charge us.
func ProviderFees(cur money.Currency) Account {
	return shared(Debit, string(cur), "provider_fees", string(cur))
}

// Rounding is what is owed and cannot be paid: parts of a unit where a rail pays whole ones.
func Rounding(cur money.Currency) Account {
	return shared(Credit, string(cur), "rounding", string(cur))
}

// Gas is what networks charge us.
func Gas(asset string) Account { return shared(Debit, asset, "gas", asset) }
