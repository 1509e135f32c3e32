// Package payment is the life of a payment (docs/api-contract.md#payment-life): its stored fields, its status, and the
// one total table of transitions. It is pure: it does no I/O and has no clock and no randomness. Every function takes
// the time and the rows that it needs, so the same call always has the same result. It imports quote, ledger, payout
// and refund and nothing else of this service.
package payment

import (
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/quote"
)

// Type is what a payment is for (docs/api-contract.md#create).
type Type string

// The types.
const (
	Transfer         Type = "transfer"
	Gift             Type = "gift"
	Request          Type = "request"
	MerchantPayment  Type = "merchant"
	BankConfirmation Type = "bank_confirmation"
)

// Stray is the type of a payment that an operator made for money on an address without a payment, so that the money can
// go back (docs/architecture.md#stray-money). No merchant owns it. It has no price, no currency and no events.
const Stray Type = "stray"

// Types lists every type in the order of the interface.
func Types() []Type {
	return []Type{Transfer, Gift, Request, MerchantPayment, BankConfirmation}
}

// StoredTypes lists every type that a row may have.
func StoredTypes() []Type { return append(Types(), Stray) }

// Valid reports whether t is one of the five that merchants create.
func (t Type) Valid() bool {
	switch t {
	case Transfer, Gift, Request, MerchantPayment, BankConfirmation:
		return true
	case Stray:
	}
	return false
}

// ProRata reports whether the type pays out in proportion to the received amount when that differs from the quote
// (docs/api-contract.md#deposits).
func (t Type) ProRata() bool { return t == Transfer || t == Gift }

// Payer is the person who pays. ChatID is the merchant's identifier for the person.
type Payer struct {
	ChatID string `json:"chatId"`
	Phone  string `json:"phone,omitempty"`
}

// Receiver is the bank account that is paid. Causeway resolves the names from bank and account number and ignores names
// that a caller sends.
type Receiver struct {
	BankCode      string `json:"bankCode"` // as the caller wrote it
	BankName      string `json:"bankName"`
	AccountNumber string `json:"accountNumber"`
	AccountName   string `json:"accountName"`
	NameVerified  bool   `json:"nameVerified"`
}

// Known reports whether there is a receiver at all.
func (r Receiver) Known() bool { return r.AccountNumber != "" }

// ForgottenAccount replaces the account number of an erased receiver. It shows that the payment had a receiver.
const ForgottenAccount = "****"

// Forgotten reports an erased receiver. No payout can go to it.
func (r Receiver) Forgotten() bool { return r.AccountNumber == ForgottenAccount }

// Masked shows the last four characters of the account number and hides the rest.
func (r Receiver) Masked() Receiver {
	const shown = 4
	n := []rune(r.AccountNumber)
	for i := 0; i < len(n)-shown; i++ {
		n[i] = '*'
	}
	r.AccountNumber = string(n)
	return r
}

// Preference is the pair that a payee would like to be paid in; either part may be empty.
type Preference struct {
	Crypto  string `json:"crypto,omitempty"`
	Network string `json:"network,omitempty"`
}

// Funding is the facet of the payer's money.
type Funding string

// None: no transfer counts. Short: transfers count, for less than the due. Seen: transfers for the due are visible.
// Confirmed: they are deep enough, and the credit is frozen.
const (
	Unfunded  Funding = "none"
	Short     Funding = "short"
	Seen      Funding = "seen"
	Confirmed Funding = "confirmed"
)

// Timing is the facet that says whether the money arrived inside the window.
type Timing string

// On time: the money arrived inside the window. Late: it arrived after the window closed.
const (
	OnTime Timing = "on_time"
	Late   Timing = "late"
)

// Claim is the facet of a gift's claim.
type Claim string

// None: the payment is no gift. Open: anybody with the reference may claim. Claimed: a receiver is named. Void: the
// gift ended before it was claimed, or expired unfunded after the claim.
const (
	NoClaim   Claim = "none"
	ClaimOpen Claim = "open"
	Claimed   Claim = "claimed"
	ClaimVoid Claim = "void"
)

// Payout is the facet of the payout to the receiver. It moves from none to succeeded when the caller pays out itself.
type Payout string

// The states of the payout. From sending on, the money may have left.
const (
	NoPayout        Payout = "none"
	PayoutHeld      Payout = "held"
	PayoutSending   Payout = "sending"
	PayoutUnknown   Payout = "unknown"
	PayoutSucceeded Payout = "succeeded"
	PayoutFailed    Payout = "failed"
	PayoutReturned  Payout = "returned"
)

// Left reports whether the payout may have left. No later change of the deposit can call it back.
func (p Payout) Left() bool {
	switch p {
	case PayoutSending, PayoutUnknown, PayoutSucceeded, PayoutFailed, PayoutReturned:
		return true
	case NoPayout, PayoutHeld:
	}
	return false
}

// paysNow reports a payout that is reserved, on its way or paid, so that its money must not go back to the payer.
func (p Payout) paysNow() bool {
	switch p {
	case PayoutHeld, PayoutSending, PayoutUnknown, PayoutSucceeded:
		return true
	case NoPayout, PayoutFailed, PayoutReturned:
	}
	return false
}

// Hold is the reason why an operator has to decide; "" means that no decision is needed.
type Hold string

// The reasons of a hold. Each makes the status needs_review.
const (
	NotHeld        Hold = ""
	HoldScreening  Hold = "screening"
	HoldUnderpaid  Hold = "underpaid"
	HoldLate       Hold = "paid_late"
	HoldWrongAsset Hold = "wrong_asset"
	HoldMaximum    Hold = "over_maximum" // the payout is above the quote and above the currency's maximum
	HoldLimit      Hold = "over_limit"   // the payout is above the quote, and a daily limit or a capacity has no room for it
	HoldUnverified Hold = "unverified"   // the payment is large, and one host alone reports the money
	HoldUnclaimed  Hold = "unclaimed"
)

// End is how a payment ended without a payout.
type End string

// The ends.
const (
	NotEnded  End = ""
	Cancelled End = "cancelled"
	Refunded  End = "refunded"
)

// Screening is the verdict on the senders of the money.
type Screening string

// The verdicts. Unscreened blocks a confirmation only where the policy asks for screening.
const (
	Unscreened Screening = ""
	Clear      Screening = "clear"
	Hit        Screening = "hit"
	Overruled  Screening = "overruled" // a hit, after which an operator accepted the money
)

// Token is the one-time settlement token of a payment that the caller settles; only its hash is kept.
type Token struct {
	Hash      []byte    `json:"hash,omitempty"` // SHA-256 of the token
	ExpiresAt time.Time `json:"expiresAt"`
}

// Credit is the conversion that is frozen when the payment is confirmed: the converted crypto, the payout to the
// receiver, and Causeway's fee. N counts the conversions, because a reorg may undo one.
type Credit struct {
	N      int             `json:"n"`
	Crypto decimal.Decimal `json:"crypto"`
	Payout decimal.Decimal `json:"payout"`
	Fee    decimal.Decimal `json:"fee"`
	Frozen bool            `json:"frozen"`

	FeeCrypto decimal.Decimal `json:"feeCrypto"` // the fee at the applied rate; only answers show it
	FeeUSD    decimal.Decimal `json:"feeUsd"`
}

// Payment is one payment as a value. Only Policy.Apply changes it, and the store writes the result. Version counts the
// writes of the row; the store sets it and Apply ignores it.
type Payment struct {
	ID         string
	Reference  string // bearer secret for claim and fulfil: never logged
	MerchantID string
	KeyID      int64
	Mode       tenant.Mode
	Type       Type
	Version    int64
	Sequence   int64 // events so far: 1, 2, 3 without gaps

	Currency    money.Currency
	FiatAmount  decimal.Decimal // the priced amount; before a request is fulfilled, the requested amount
	ChargeFrom  quote.ChargeFrom
	Quote       quote.Quote // not Priced before a request is fulfilled
	NetworkName string      // network as the caller wrote it, in lower case; aliases are kept
	Address     string      // deposit address, "" before fulfil
	Payer       Payer
	Receiver    Receiver
	Preferred   Preference
	Rail        string // rail that the payout is created on
	BankRef     string
	CallbackURL string
	Shop        Shop
	ToBalance   bool   // nobody is paid: its money is credited to the merchant's balance
	Metadata    []byte // JSON object, "{}" when none was supplied
	Trace       string // trace parent of the create, "" when the create is not traced

	// Facets. Status and Exception are functions of these and of nothing else.
	Funding    Funding
	Timing     Timing
	Claim      Claim
	Payout     Payout
	Hold       Hold
	End        End
	Closed     bool // the window has ended, the network is scanned past its end, and no unmined transfer keeps it open
	Underpaid  bool // continues with less than the quote
	Overpaid   bool
	WrongAsset bool
	Reorged    bool
	Screening  Screening

	Received      decimal.Decimal // sum of the valid transfers of the quoted asset; an unmined one is part only while it may count
	Ignored       decimal.Decimal // the part of Received that is dust and counts for nothing
	LateRate      decimal.Decimal // conversion rate of late money, at most the locked rate; zero before late money is taken
	Transfers     int             // valid transfers of any asset, dust included
	Credit        Credit
	Attempt       int // number of the current payout, 0 before the first
	Holds         int // reservations of the current attempt
	Token         Token
	RefundTx      string
	Refunds       int    // number of refunds on a chain, in any state
	Unclaimed     int    // number of assets whose money is booked as unclaimed
	SettlementRef string // the caller's own reference of the payout it made

	RefundAddress         string    // the address of a refund, "" without one
	RefundAddressFrom     time.Time // no refund leaves before it; zero without a hold
	RefundAddressProposed string    // the payer's proposal, which nobody has confirmed yet
	RefundProposals       int       // number of the payer's proposals so far

	CreatedAt   time.Time
	ExpiresAt   time.Time // end of the window: payment, or fulfilment of a request
	WaitsUntil  time.Time // when unmined money stops counting and the window closes; zero while no unmined money counts
	DeadlineAt  time.Time // when an unclaimed gift or an unsettled payment goes to review; zero without a deadline
	FulfilledAt time.Time
	ClaimedAt   time.Time
	ConfirmedAt time.Time
	SettledAt   time.Time
}

// Owner is the merchant and the mode of the payment.
func (p Payment) Owner() tenant.Owner { return tenant.Owner{MerchantID: p.MerchantID, Mode: p.Mode} }

// CallerSettles reports whether the merchant pays the receiver itself and reports that with the one-time token.
func (p Payment) CallerSettles() bool {
	return p.Type == BankConfirmation || (p.Type == MerchantPayment && !p.Receiver.Known() && !p.ToBalance)
}

// MayCredit reports whether the money of a new payment may go to the merchant's balance, if the merchant wishes it.
func (p Payment) MayCredit() bool { return p.Type == MerchantPayment && !p.Receiver.Known() }

// PayoutAmount is the receiver's amount: the frozen one once the money is confirmed, and before that the quoted one.
func (p Payment) PayoutAmount() decimal.Decimal {
	if p.Credit.Frozen {
		return p.Credit.Payout
	}
	return p.Quote.PayoutAmount
}

// Charge is the fee: the frozen one once the money is confirmed, and before that the quoted one. Early versions stored
// only the fiat fee of a conversion; for those the quote's fee is returned.
func (p Payment) Charge() quote.Charge {
	if c := p.Credit; c.Frozen && (c.Fee.IsZero() || c.FeeCrypto.IsPositive()) {
		return quote.Charge{Fiat: c.Fee, Crypto: c.FeeCrypto, USD: c.FeeUSD}
	}
	return p.Quote.Charge
}

// Rate is the applied rate: the locked one, or the lower one of late money.
func (p Payment) Rate() decimal.Decimal {
	if p.LateRate.IsPositive() {
		return decimal.Min(p.LateRate, p.Quote.Rate.Value)
	}
	return p.Quote.Rate.Value
}

// Confirmed reports whether the payment has money: deep enough, converted, and not reorged away.
func (p Payment) Confirmed() bool { return p.Funding == Confirmed && p.Credit.Frozen && !p.Reorged }
