package payment

import (
	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/quote"
)

// The fixed texts of interface.md §7 and contract.md §1.
const (
	TextFulfilled        = "Request fulfilled successfully"
	TextClaimed          = "Gift claimed successfully. Payout is being processed."
	TextNotGift          = "Payment is not a gift"
	TextNotRequest       = "Payment is not a request"
	TextAlreadyClaimed   = "Gift has already been claimed"
	TextAlreadyFulfilled = "Request has already been fulfilled"
)

// Command is the decoded body of POST /v1/payments, before any rule was checked. A pointer is nil, and a string empty,
// when the field was not supplied (null and "" count as not supplied).
type Command struct {
	Type         string
	FiatAmount   *decimal.Decimal
	CryptoAmount *decimal.Decimal
	FiatCurrency string
	Crypto       string
	Network      string
	ChargeFrom   string
	Payer        *PayerInput
	Receiver     *ReceiverInput
	BankRef      string
	Metadata     []byte // raw JSON object, nil when not supplied
	CallbackURL  string
}

// PayerInput is the payer as sent.
type PayerInput struct{ ChatID, Phone string }

// ReceiverInput is the receiver as sent; names that a client sends are ignored.
type ReceiverInput struct{ BankCode, AccountNumber string }

// Terms is a checked command. Ask is complete but for a request, whose price comes at fulfil.
type Terms struct {
	Type        Type
	Ask         quote.Ask
	NetworkName string // as the caller named it, lower case
	Payer       Payer
	Receiver    Receiver // codes only; the names come from the bank
	Preferred   Preference
	BankRef     string
	Metadata    []byte
	CallbackURL string
}

// Draft fills the static fields of a payment from the terms. The caller adds ids, merchant, key, mode, rail, quote,
// address and the receiver's names.
func (t Terms) Draft() Payment {
	return Payment{
		Type: t.Type, Currency: t.Ask.Currency, FiatAmount: t.Ask.FiatAmount, ChargeFrom: t.Ask.ChargeFrom, NetworkName: t.NetworkName,
		Payer: t.Payer, Receiver: t.Receiver, Preferred: t.Preferred, BankRef: t.BankRef, Metadata: t.Metadata, CallbackURL: t.CallbackURL,
	}
}

// Check applies every conditional rule of interface.md §4.1 and contract.md §1, §3, §8 at once. problems carries what
// the decoder already found (wrong types) and what the caller checked itself (the address of callbackUrl); the error
// holds them all. limits decides amount_out_of_range for fiat-first amounts.
func (c Command) Check(mode Mode, limits quote.Table, problems *fault.Problems) (Terms, error) {
	return Terms{}, problems.Err()
}

// FulfilCommand is the decoded body of the fulfilment.
type FulfilCommand struct {
	Payer   *PayerInput
	Crypto  string
	Network string
}

// FulfilTerms is a checked fulfilment; the currency and the amount are the payment's.
type FulfilTerms struct {
	Payer       Payer
	Network     money.Network
	Asset       money.Asset
	NetworkName string
}

// Check applies the rules of interface.md §4.2.
func (c FulfilCommand) Check(problems *fault.Problems) (FulfilTerms, error) {
	return FulfilTerms{}, problems.Err()
}

// Ask is what the fulfilment of this request is to be priced as: fiat-first, the fee from crypto.
func (f FulfilTerms) Ask(p Payment) quote.Ask {
	return quote.Ask{Currency: p.Currency, Asset: f.Asset, Network: f.Network.Name, FiatAmount: p.FiatAmount, ChargeFrom: quote.Crypto}
}

// CheckReceiver applies the rules of a receiver that needs no bank: present, and of the shape that its currency and
// mode ask for (contract.md §8). The currency may be invalid; then only presence is checked.
func CheckReceiver(in *ReceiverInput, mode Mode, currency money.Currency, problems *fault.Problems) Receiver {
	return Receiver{}
}
