package quote

import (
	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

// ChargeFrom says who bears the fee (docs/api-contract.md#create).
type ChargeFrom string

// Fiat takes the fee from the payout. Crypto adds it to the amount that the payer owes.
const (
	Fiat   ChargeFrom = "fiat"
	Crypto ChargeFrom = "crypto"
)

// Valid reports whether c is Fiat or Crypto.
func (c ChargeFrom) Valid() bool { return c == Fiat || c == Crypto }

// Ask is a request for a price. Exactly one of the two amounts is positive: FiatAmount prices fiat-first, CryptoAmount
// crypto-first.
type Ask struct {
	Currency     money.Currency
	Asset        money.Asset
	Network      string // canonical name
	FiatAmount   decimal.Decimal
	CryptoAmount decimal.Decimal
	ChargeFrom   ChargeFrom
}

// Charge is the fee in three units (docs/api-contract.md#charge-and-payout). Fiat is the fee; the other two are for
// display.
type Charge struct {
	Fiat   decimal.Decimal `json:"fiat"`
	Crypto decimal.Decimal `json:"crypto"`
	USD    decimal.Decimal `json:"usd"`
}

// Quote is a locked price. It never changes after a payment has it.
type Quote struct {
	Currency       money.Currency  `json:"currency"`
	Crypto         string          `json:"crypto"`  // symbol, upper case
	Network        string          `json:"network"` // canonical name
	ChargeFrom     ChargeFrom      `json:"chargeFrom"`
	FiatAmount     decimal.Decimal `json:"fiatAmount"`   // the priced amount
	CryptoAmount   decimal.Decimal `json:"cryptoAmount"` // amount that the payer owes
	PayoutAmount   decimal.Decimal `json:"payoutAmount"` // amount that the receiver gets
	Charge         Charge          `json:"charge"`
	TransactionUSD decimal.Decimal `json:"transactionUsd"`
	Rate           Rate            `json:"rate"`
	Fees           Schedule        `json:"fees"` // that priced it
}

// Priced reports whether the quote has a price. An unfulfilled request has none.
func (q Quote) Priced() bool { return q.CryptoAmount.IsPositive() }

// Make prices an ask at a rate, with the rounding sides of docs/api-contract.md#money. A fiat amount outside the bounds
// is 400 amount_out_of_range.
func (s Schedule) Make(ask Ask, within Bounds, rate Rate) (Quote, error) {
	q := Quote{
		Currency: ask.Currency, Crypto: ask.Asset.Symbol, Network: ask.Network, ChargeFrom: ask.ChargeFrom,
		CryptoAmount: ask.CryptoAmount, FiatAmount: ask.FiatAmount, Rate: rate, Fees: s,
	}
	if !rate.Value.IsPositive() || !rate.USD.IsPositive() {
		return Quote{}, fault.New(fault.Unavailable, "rate_unavailable", "No fresh %s/%s rate; try again shortly", ask.Asset.Symbol, ask.Currency)
	}
	first := "fiatAmount"
	if ask.CryptoAmount.IsPositive() {
		first = "cryptoAmount"
		gross := money.Down(ask.CryptoAmount.Mul(rate.Value), money.FiatDigits)
		q.FiatAmount, q.Charge.Fiat = gross, s.feeOf(gross, ask.ChargeFrom)
		if ask.ChargeFrom == Crypto {
			q.FiatAmount = gross.Sub(q.Charge.Fiat)
		}
	} else {
		q.Charge.Fiat = s.Fee(q.FiatAmount)
	}
	if err := within.InRange(first, q.FiatAmount); err != nil {
		return Quote{}, err
	}
	if !ask.CryptoAmount.IsPositive() {
		owed := q.FiatAmount
		if q.ChargeFrom == Crypto {
			owed = owed.Add(q.Charge.Fiat)
		}
		q.CryptoAmount = money.DivUp(owed, rate.Value, ask.Asset.QuoteDigits)
	}
	q.PayoutAmount = q.FiatAmount
	if q.ChargeFrom == Fiat {
		q.PayoutAmount = q.FiatAmount.Sub(q.Charge.Fiat)
	}
	q.Charge = rate.Charge(q.Charge.Fiat)
	q.TransactionUSD = rate.USDOf(q.FiatAmount)
	return q, nil
}

// Share is amount × part ÷ whole, down to the minor unit: the pro-rata payout of docs/api-contract.md#deposits.
func Share(amount, part, whole decimal.Decimal) decimal.Decimal {
	if !whole.IsPositive() || !part.IsPositive() {
		return decimal.Zero
	}
	return money.DivDown(amount.Mul(part), whole, money.FiatDigits)
}
