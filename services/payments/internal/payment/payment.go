// Package payment is the life of a payment (docs/api-contract.md#payment-life): what is stored, which status that
// means, and the one total table of what may happen next. It is pure: no I/O, no clock, no randomness; every function
// is given the time and all the rows it needs, so the same call always has the same result. It may import quote and
// ledger, whose values it carries, and nothing else of this service.
package payment

import (
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
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

// Types lists every type in the order of the interface.
func Types() []Type {
	return []Type{Transfer, Gift, Request, MerchantPayment, BankConfirmation}
}

// Valid reports whether t is one of the five.
func (t Type) Valid() bool {
	switch t {
	case Transfer, Gift, Request, MerchantPayment, BankConfirmation:
		return true
	}
	return false
}

// ProRata reports whether the type pays out what was received when that differs from the quote
// (docs/api-contract.md#deposits).
func (t Type) ProRata() bool { return t == Transfer || t == Gift }

// Mode separates the live world from the test world.
type Mode string

// The modes.
const (
	Live Mode = "live"
	Test Mode = "test"
)

// Payer is who pays. ChatID is the merchant's identifier for the person.
type Payer struct {
	ChatID string `json:"chatId"`
	Phone  string `json:"phone,omitempty"`
}

// Receiver is the bank account that is paid. The names are always ours, resolved from bank and account number.
type Receiver struct {
	BankCode      string `json:"bankCode"` // as the caller wrote it
	BankName      string `json:"bankName"`
	AccountNumber string `json:"accountNumber"`
	AccountName   string `json:"accountName"`
	NameVerified  bool   `json:"nameVerified"`
}

// Known reports whether there is a receiver at all.
func (r Receiver) Known() bool { return r.AccountNumber != "" }

// ForgottenAccount is the account number of a receiver who was erased: the payment still says that there was one.
const ForgottenAccount = "****"

// Forgotten reports a receiver who was erased. Nobody can be paid there.
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

// Funding is the facet that says how far the payer's money has come.
type Funding string

// How far the money has come: nothing that counts; less than due; enough, in sight; enough, deep enough and frozen as
// the sum that is converted.
const (
	Unfunded  Funding = "none"
	Short     Funding = "short"
	Seen      Funding = "seen"
	Confirmed Funding = "confirmed"
)

// Timing is the facet that says whether the money came inside the window.
type Timing string

// On time, or first seen after the window closed.
const (
	OnTime Timing = "on_time"
	Late   Timing = "late"
)

// Claim is the facet of a gift's claim.
type Claim string

// No claim applies (not a gift); open to anybody with the reference; claimed; claimed but the gift expired unfunded.
const (
	NoClaim   Claim = "none"
	ClaimOpen Claim = "open"
	Claimed   Claim = "claimed"
	ClaimVoid Claim = "void"
)

// Payout is the facet of the payout to the receiver. A caller that pays out itself jumps from none to succeeded.
type Payout string

// How far the payout has come. From sending on the money may have left.
const (
	NoPayout        Payout = "none"
	PayoutHeld      Payout = "held"
	PayoutSending   Payout = "sending"
	PayoutUnknown   Payout = "unknown"
	PayoutSucceeded Payout = "succeeded"
	PayoutFailed    Payout = "failed"
	PayoutReturned  Payout = "returned"
)

// Left reports whether the payout may have left us: nothing that happens to the deposit can call it back.
func (p Payout) Left() bool {
	switch p {
	case PayoutSending, PayoutUnknown, PayoutSucceeded, PayoutFailed, PayoutReturned:
		return true
	case NoPayout, PayoutHeld:
	}
	return false
}

// Hold is the reason why a person has to decide; "" means nobody has to.
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
	HoldUnverified Hold = "unverified"   // it is worth much, and one host alone tells of the money
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
	Overruled  Screening = "overruled" // a hit, and an operator has accepted the money
)

// Token is the one-time settlement token of a payment that the caller settles; only its hash is kept.
type Token struct {
	Hash      []byte    `json:"hash,omitempty"` // SHA-256 of the token
	ExpiresAt time.Time `json:"expiresAt"`
}

// Credit is the money that counts, frozen when the payment is confirmed: how much crypto is converted, what the
// receiver gets for it and what we keep as fee. N counts the conversions, because a reorg may undo one.
type Credit struct {
	N      int             `json:"n"`
	Crypto decimal.Decimal `json:"crypto"`
	Payout decimal.Decimal `json:"payout"`
	Fee    decimal.Decimal `json:"fee"`
	Frozen bool            `json:"frozen"`

	FeeCrypto decimal.Decimal `json:"feeCrypto"` // the fee at the rate that was applied, for showing
	FeeUSD    decimal.Decimal `json:"feeUsd"`
}

// Payment is one payment as a value. It is changed only by Policy.Apply; the store writes what Apply returns and keeps
// Version, which counts the writes of the row and is none of Apply's business.
type Payment struct {
	ID         string
	Reference  string // bearer secret for claim and fulfil: never logged
	MerchantID string
	KeyID      int64
	Mode       Mode
	Type       Type
	Version    int64
	Sequence   int64 // events so far: 1, 2, 3 without gaps

	Currency    money.Currency
	FiatAmount  decimal.Decimal // the priced amount; for an unfulfilled request what was asked for
	ChargeFrom  quote.ChargeFrom
	Quote       quote.Quote // not Priced before a request is fulfilled
	NetworkName string      // network as the caller named it, in lower case: an alias stays an alias
	Address     string      // deposit address, "" before fulfil
	Payer       Payer
	Receiver    Receiver
	Preferred   Preference
	Rail        string // rail that the payout is created on
	BankRef     string
	CallbackURL string
	Metadata    []byte // JSON object, "{}" when none was supplied
	Trace       string // where the create stands in its trace, "" when nobody records that

	// Facets. Status and Exception are functions of these and of nothing else.
	Funding    Funding
	Timing     Timing
	Claim      Claim
	Payout     Payout
	Hold       Hold
	End        End
	Closed     bool // the payment window is over, its network is scanned past it, and no unmined transfer keeps it open
	Underpaid  bool // goes on with less than the quote
	Overpaid   bool
	WrongAsset bool
	Reorged    bool
	Screening  Screening

	Received      decimal.Decimal // sum of every transfer of the quoted asset that stands; unmined, only while it may count
	Ignored       decimal.Decimal // of it, the dust that counts for nothing
	LateRate      decimal.Decimal // what late money is converted at, at most the locked rate; zero while none was taken
	Transfers     int             // transfers of any asset that stand, dust included
	Credit        Credit
	Attempt       int // number of the current payout, 0 before the first
	Holds         int // reservations of the current attempt
	Token         Token
	RefundAddress string
	RefundTx      string
	SettlementRef string // the caller's own reference of the payout it made

	CreatedAt   time.Time
	ExpiresAt   time.Time // end of the window: payment, or fulfilment of a request
	WaitsUntil  time.Time // when what counts and is in no block yet stops counting, and the window closes; zero while there is none
	DeadlineAt  time.Time // when an unclaimed gift or an unsettled payment goes to review; zero while none runs
	FulfilledAt time.Time
	ClaimedAt   time.Time
	ConfirmedAt time.Time
	SettledAt   time.Time
}

// CallerSettles reports whether the merchant pays the receiver itself and tells us with the one-time token.
func (p Payment) CallerSettles() bool {
	return p.Type == BankConfirmation || (p.Type == MerchantPayment && !p.Receiver.Known())
}

// PayoutAmount is what the receiver gets: the frozen sum once the money is confirmed, else what was quoted.
func (p Payment) PayoutAmount() decimal.Decimal {
	if p.Credit.Frozen {
		return p.Credit.Payout
	}
	return p.Quote.PayoutAmount
}

// Charge is the fee that was taken, once the money is confirmed, else the quoted one. A conversion by a version that kept
// no more than the fee in fiat shows the quote's.
func (p Payment) Charge() quote.Charge {
	if c := p.Credit; c.Frozen && (c.Fee.IsZero() || c.FeeCrypto.IsPositive()) {
		return quote.Charge{Fiat: c.Fee, Crypto: c.FeeCrypto, USD: c.FeeUSD}
	}
	return p.Quote.Charge
}

// Rate is the rate that applies: the locked one, or the lower one that late money is converted at.
func (p Payment) Rate() decimal.Decimal {
	if p.LateRate.IsPositive() {
		return decimal.Min(p.LateRate, p.Quote.Rate.Value)
	}
	return p.Quote.Rate.Value
}

// Confirmed reports whether money stands behind the payment: deep enough, converted, and not reorged away.
func (p Payment) Confirmed() bool { return p.Funding == Confirmed && p.Credit.Frozen && !p.Reorged }
