// Package ledger turns the events of a payment into double-entry journals (docs/architecture.md#ledger). It is pure: it
// builds journals that balance per asset, each with a key. The store writes them and ignores a second journal with the
// same key.
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

// Account is one account of the chart. An account of one payment has a stored balance, which changes under the
// payment's lock. A shared account has entries only, so that no hot row serialises settlement; reconciliation sums its
// entries.
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

// Sought reports whether entries of the account are read without those of others. The store keeps them findable.
func (a Account) Sought() bool { return a.Kind() == KindMerchant || a.Kind() == kindSuspense }

func shared(normal Side, asset string, parts ...string) Account {
	return Account{Code: strings.Join(parts, ":"), Asset: asset, Normal: normal}
}

// CryptoDeposit is crypto on deposit addresses of a network.
func CryptoDeposit(network, asset string) Account {
	return shared(Debit, asset, "crypto", "deposit", network, asset)
}

// CryptoHot is crypto in the treasury after sweeping. Refunds are paid from it.
func CryptoHot(network, asset string) Account {
	return shared(Debit, asset, "crypto", "hot", network, asset)
}

// FiatFloat is Causeway's balance at a rail.
func FiatFloat(rail string, cur money.Currency) Account {
	return shared(Debit, string(cur), "fiat", "float", rail, string(cur))
}

// PayoutClearing holds payouts that a rail has not concluded. Its balance is the open risk.
func PayoutClearing(rail string, cur money.Currency) Account {
	return shared(Credit, string(cur), "clearing", "payout", rail, string(cur))
}

// RefundClearing holds refunds that no final block holds yet. Its balance is the sum of the open refunds.
func RefundClearing(network, asset string) Account {
	return shared(Credit, asset, "clearing", "refund", network, asset)
}

// Customer is crypto of the payer that is not converted: it will be converted, or is owed back.
func Customer(payment, asset string) Account {
	return Account{Code: "customer:" + payment + ":" + asset, Asset: asset, Normal: Credit, Payment: payment}
}

// Payable is fiat owed to the receiver of a payment.
func Payable(payment string, cur money.Currency) Account {
	return Account{Code: "payable:" + payment + ":" + string(cur), Asset: string(cur), Normal: Credit, Payment: payment}
}

// KindMerchant is the kind of merchants' balances.
const KindMerchant = "merchant"

// Merchant is a merchant's balance: fiat owed to a merchant who paid the receiver itself, or whose payments have none.
// It is the one shared account with a stored balance, which a trigger of the table keeps.
func Merchant(merchant string, cur money.Currency) Account {
	return shared(Credit, string(cur), KindMerchant, merchant, string(cur))
}

const kindSuspense = "suspense"

// Suspense is crypto that arrived and belongs to no running payment.
func Suspense(asset string) Account { return shared(Credit, asset, kindSuspense, asset) }

// Unclaimed is money of others that nobody has asked for in a long time. It is still owed to those who come late.
func Unclaimed(asset string) Account { return shared(Credit, asset, "unclaimed", asset) }

// Position is Causeway's trading position in an asset or a currency. A conversion posts to one of each.
func Position(asset string) Account { return shared(Credit, asset, "fx", asset) }

// Fees is fee income.
func Fees(cur money.Currency) Account { return shared(Credit, string(cur), "fees", string(cur)) }

// Spread is the realised trading result.
func Spread(cur money.Currency) Account { return shared(Credit, string(cur), "spread", string(cur)) }

// ProviderFees is the fees of rails.
func ProviderFees(cur money.Currency) Account {
	return shared(Debit, string(cur), "provider_fees", string(cur))
}

// Rounding is owed money that cannot be paid: parts of a unit where a rail pays whole units.
func Rounding(cur money.Currency) Account {
	return shared(Credit, string(cur), "rounding", string(cur))
}

// Gas is the fees of networks.
func Gas(asset string) Account { return shared(Debit, asset, "gas", asset) }

// Capital is the product's own crypto, which operators brought from elsewhere to pay for gas.
func Capital(asset string) Account { return shared(Credit, asset, "capital", asset) }
