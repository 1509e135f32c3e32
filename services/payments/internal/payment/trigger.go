package payment

import (
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/services/payments/internal/quote"
)

// TriggerName names a column of the transition table.
type TriggerName string

// The closed set of things that can happen to a payment.
const (
	OnCreate          TriggerName = "create"
	OnFulfil          TriggerName = "fulfil"
	OnCancel          TriggerName = "cancel"
	OnClaim           TriggerName = "claim"
	OnSettle          TriggerName = "settle"
	OnToken           TriggerName = "settlement_token"
	OnRefundAddress   TriggerName = "refund_address"
	OnNamed           TriggerName = "receiver_named"
	OnDeposits        TriggerName = "deposits"
	OnWindow          TriggerName = "window_over"
	OnDeadline        TriggerName = "deadline_over"
	OnScreened        TriggerName = "screened"
	OnPayoutSending   TriggerName = "payout_sending"
	OnPayoutUnknown   TriggerName = "payout_unknown"
	OnPayoutSucceeded TriggerName = "payout_succeeded"
	OnPayoutFailed    TriggerName = "payout_failed"
	OnPayoutReturned  TriggerName = "payout_returned"
	OnAccept          TriggerName = "accept"
	OnRetry           TriggerName = "retry_payout"
	OnRefund          TriggerName = "mark_refunded"
)

// TriggerNames lists every column of the table.
func TriggerNames() []TriggerName {
	return []TriggerName{
		OnCreate, OnFulfil, OnCancel, OnClaim, OnSettle, OnToken, OnRefundAddress, OnNamed, OnDeposits, OnWindow, OnDeadline, OnScreened,
		OnPayoutSending, OnPayoutUnknown, OnPayoutSucceeded, OnPayoutFailed, OnPayoutReturned, OnAccept, OnRetry, OnRefund,
	}
}

// Trigger is something that happened. The set is closed: only the types of this file implement it.
type Trigger interface{ Name() TriggerName }

// Create makes a payment out of a draft: everything the merchant said, checked, and for every type but request the
// quote and the address. Facets and times of the draft are ignored.
type Create struct{ Draft Payment }

// Fulfil gives a request its price and address, at the rate of now. The fee is always charged from crypto.
type Fulfil struct {
	Payer       Payer
	Quote       quote.Quote
	NetworkName string // network as the payer named it
	Address     string
}

// Cancel is the merchant's withdrawal.
type Cancel struct{}

// ClaimGift names the account that a gift is paid to. The names of the receiver are ours.
type ClaimGift struct {
	Receiver Receiver
	Rail     string
}

// Settle is the caller's word that it has paid the receiver, with the one-time token's SHA-256.
type Settle struct {
	TokenHash []byte
	Reference string
}

// NewToken replaces the settlement token; the old one is void.
type NewToken struct{ Token Token }

// SetRefundAddress notes where a refund goes; the address was checked and screened before.
type SetRefundAddress struct{ Address string }

// Named fills in the receiver's name, when the name service was down at create.
type Named struct{ Receiver Receiver }

// Deposits says that transfers changed: every deposit row of the payment, not only the new one. Rate is the current
// fiat-per-crypto rate of the quoted pair, which alone decides on money that comes late; zero when there is none, and
// then a person decides.
type Deposits struct {
	Rows []Deposit
	Rate decimal.Decimal
}

// WindowOver says that the window is over: ExpiresAt has passed and, for a payment with an address, its network is
// scanned to ScannedTo, which must lie ScanMargin past ExpiresAt. Early closes the window now, as the sandbox may: then
// ExpiresAt moves to now.
type WindowOver struct {
	Rows      []Deposit
	Rate      decimal.Decimal
	ScannedTo time.Time // block time that the network of the quote is scanned through
	Early     bool
}

// DeadlineOver says that DeadlineAt has passed: a gift was not claimed, a payment not settled by its caller.
type DeadlineOver struct{}

// Screened is the verdict on the senders. Clear lets a payment that is deep enough go on.
type Screened struct {
	Verdict Screening
	Rows    []Deposit
}

// Sending says that the payout is claimed and about to leave. It is applied before the first byte is sent, in the
// transaction that leases the payout row; a refusal means that it must not leave.
type Sending struct{ Attempt int }

// Unknown says that the payout may have left and nobody knows.
type Unknown struct{ Attempt int }

// Succeeded is the rail's conclusive success, equal to ours in reference, amount and currency. Fee is what it charged.
type Succeeded struct {
	Attempt int
	Fee     decimal.Decimal
}

// Failed is the rail's conclusive failure, or ours before anything left. Over names the rail that tries next, "" for none:
// only where the failure was confirmed by asking the rail (R9).
type Failed struct {
	Attempt int
	Over    string
}

// Returned says that the money came back, after a success that was told before or without one.
type Returned struct{ Attempt int }

// Accept is an operator's decision to go on with what was received. Payout is what it must pay exactly; zero pays what the
// money is worth, and never more than the quoted payout.
type Accept struct {
	Rows   []Deposit
	Payout decimal.Decimal
}

// Retry is an operator's decision to pay out again, if need be to another receiver or over another rail.
type Retry struct {
	Receiver Receiver // zero keeps the receiver
	Rail     string   // "" keeps the rail
}

// MarkRefunded says that the money went back to the payer in this transaction.
type MarkRefunded struct {
	Tx   string
	Rows []Deposit
}

// Name of each trigger's column.
func (Create) Name() TriggerName           { return OnCreate }
func (Fulfil) Name() TriggerName           { return OnFulfil }
func (Cancel) Name() TriggerName           { return OnCancel }
func (ClaimGift) Name() TriggerName        { return OnClaim }
func (Settle) Name() TriggerName           { return OnSettle }
func (NewToken) Name() TriggerName         { return OnToken }
func (SetRefundAddress) Name() TriggerName { return OnRefundAddress }
func (Named) Name() TriggerName            { return OnNamed }
func (Deposits) Name() TriggerName         { return OnDeposits }
func (WindowOver) Name() TriggerName       { return OnWindow }
func (DeadlineOver) Name() TriggerName     { return OnDeadline }
func (Screened) Name() TriggerName         { return OnScreened }
func (Sending) Name() TriggerName          { return OnPayoutSending }
func (Unknown) Name() TriggerName          { return OnPayoutUnknown }
func (Succeeded) Name() TriggerName        { return OnPayoutSucceeded }
func (Failed) Name() TriggerName           { return OnPayoutFailed }
func (Returned) Name() TriggerName         { return OnPayoutReturned }
func (Accept) Name() TriggerName           { return OnAccept }
func (Retry) Name() TriggerName            { return OnRetry }
func (MarkRefunded) Name() TriggerName     { return OnRefund }
