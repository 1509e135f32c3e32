package payment

import (
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/refund"
)

// TriggerName names a column of the transition table.
type TriggerName string

// The closed set of triggers.
const (
	OnCreate          TriggerName = "create"
	OnAdopt           TriggerName = "adopt"
	OnFulfil          TriggerName = "fulfil"
	OnCancel          TriggerName = "cancel"
	OnClaim           TriggerName = "claim"
	OnSettle          TriggerName = "settle"
	OnToken           TriggerName = "settlement_token"
	OnRefundAddress   TriggerName = "refund_address"
	OnRefundProposal  TriggerName = "refund_address_proposal"
	OnRefundConfirm   TriggerName = "refund_address_confirm"
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
	OnRefundRequested TriggerName = "refund_requested"
	OnRefundChanged   TriggerName = "refund_changed"
)

// TriggerNames lists every column of the table.
func TriggerNames() []TriggerName {
	return []TriggerName{
		OnCreate, OnAdopt, OnFulfil, OnCancel, OnClaim, OnSettle, OnToken, OnRefundAddress, OnRefundProposal, OnRefundConfirm, OnNamed,
		OnDeposits, OnWindow, OnDeadline, OnScreened,
		OnPayoutSending, OnPayoutUnknown, OnPayoutSucceeded, OnPayoutFailed, OnPayoutReturned, OnAccept, OnRetry, OnRefund,
		OnRefundRequested, OnRefundChanged,
	}
}

// Trigger is an event that a payment reacts to. Only the types of this file implement it.
type Trigger interface{ Name() TriggerName }

// Create makes a payment from a draft: the checked input of the merchant and, except for a request, the quote and the
// address. Facets and times of the draft are ignored.
type Create struct{ Draft Payment }

// Adopt makes the payment of an address whose money no payment has. The draft has id, reference, mode, network and
// address. Rows are all deposits of the address.
type Adopt struct {
	Draft Payment
	Rows  []Deposit
}

// Fulfil gives a request its price, at the current rate, and its address. The fee is always charged from crypto.
type Fulfil struct {
	Payer       Payer
	Quote       quote.Quote
	NetworkName string // network as the payer named it
	Address     string
}

// Cancel is the merchant's withdrawal.
type Cancel struct{}

// ClaimGift names the account that a gift is paid to. Causeway resolved the names of the receiver.
type ClaimGift struct {
	Receiver Receiver
	Rail     string
}

// Settle is the caller's statement that it has paid the receiver, with the SHA-256 of the one-time token.
type Settle struct {
	TokenHash []byte
	Reference string
}

// NewToken replaces the settlement token; the old one is void.
type NewToken struct{ Token Token }

// SetRefundAddress stores the address of a refund, which was checked and screened before.
// Refunds are all refunds of the payment.
type SetRefundAddress struct {
	Address string
	Rows    []Deposit
	Refunds []refund.Refund
}

// ProposeRefundAddress is the payer's wish for the address of a refund. It takes effect when somebody confirms it.
type ProposeRefundAddress struct {
	Address string
	Refused bool // the address cannot be used: the proposal is only counted
	Rows    []Deposit
	Refunds []refund.Refund
}

// ConfirmRefundAddress makes the payer's proposal the address of a refund. It repeats the address, so that nobody
// confirms a later proposal by mistake.
type ConfirmRefundAddress struct {
	Address string
	Rows    []Deposit
	Refunds []refund.Refund
}

// Named fills in the receiver's name when the bank's name lookup failed at create.
type Named struct{ Receiver Receiver }

// Deposits says that transfers changed. Rows are all deposit rows of the payment. Rate is the current fiat-per-crypto
// rate of the quoted pair, which only late money needs. It is zero without a fresh rate; then an operator decides.
type Deposits struct {
	Rows []Deposit
	Rate decimal.Decimal
}

// WindowOver says that the window has ended: ExpiresAt has passed and, for a payment with an address, its network is
// scanned to ScannedTo, which must be ScanMargin past ExpiresAt. Early closes the window now and moves ExpiresAt to
// now; only the sandbox sets it.
type WindowOver struct {
	Rows      []Deposit
	Rate      decimal.Decimal
	ScannedTo time.Time // block time that the network of the quote is scanned through
	Early     bool
}

// DeadlineOver says that DeadlineAt has passed: a gift was not claimed, the caller did not settle a payment, or an
// earlier release left one to its caller whose money is credited to the balance.
type DeadlineOver struct{ Rows []Deposit }

// Screened is the verdict on the senders. Clear lets a payment whose money is deep enough continue.
type Screened struct {
	Verdict Screening
	Rows    []Deposit
}

// Sending says that a worker has leased the payout and is about to send it. It is applied before the first byte is
// sent, in the transaction that leases the payout row. When it is refused, the payout must not leave.
type Sending struct{ Attempt int }

// Unknown says that the payout may have left and the rail gave no conclusive answer.
type Unknown struct{ Attempt int }

// Succeeded is the rail's conclusive success. Its reference, amount and currency equal the payout's. Fee is the rail's.
type Succeeded struct {
	Attempt int
	Fee     decimal.Decimal
	Refunds []refund.Refund // all refunds of the payment
}

// Failed is the rail's conclusive failure, or Causeway's own before the payout left. Over names the next rail, "" for
// none. It is set only after a query to the rail confirmed the failure (R9).
type Failed struct {
	Attempt int
	Over    string
}

// Returned says that the money came back. The rail may have reported a success before.
type Returned struct{ Attempt int }

// Accept is an operator's decision to continue with the received money. Payout is the exact amount that must be paid.
// Zero pays the worth of the money, and never more than the quoted payout.
type Accept struct {
	Rows    []Deposit
	Refunds []refund.Refund
	Payout  decimal.Decimal
}

// Retry is an operator's decision to pay out again, optionally to another receiver or over another rail.
type Retry struct {
	Receiver Receiver // zero keeps the receiver
	Rail     string   // "" keeps the rail
	Refunds  []refund.Refund
}

// MarkRefunded says that transaction Tx, which this system did not send, returned the money to the payer. Later are the
// keys of the deposits that it did not return: they stay owed. Refunds are all refunds of the payment.
type MarkRefunded struct {
	Tx      string
	Rows    []Deposit
	Later   []string
	Refunds []refund.Refund
}

// RequestRefund holds money for a refund to the payment's refund address. Refund names asset, network, amount and who
// asks; amount zero is everything that is owed.
type RequestRefund struct {
	Refund  refund.Refund
	Rows    []Deposit
	Refunds []refund.Refund // the other refunds of the payment
}

// ChangeRefund applies a trigger to one refund. Refund is its row before, and Refunds are all refunds of the payment.
type ChangeRefund struct {
	Refund  refund.Refund
	Trigger refund.Trigger
	Rows    []Deposit
	Refunds []refund.Refund
}

// Name of each trigger's column.
func (Create) Name() TriggerName               { return OnCreate }
func (Adopt) Name() TriggerName                { return OnAdopt }
func (Fulfil) Name() TriggerName               { return OnFulfil }
func (Cancel) Name() TriggerName               { return OnCancel }
func (ClaimGift) Name() TriggerName            { return OnClaim }
func (Settle) Name() TriggerName               { return OnSettle }
func (NewToken) Name() TriggerName             { return OnToken }
func (SetRefundAddress) Name() TriggerName     { return OnRefundAddress }
func (ProposeRefundAddress) Name() TriggerName { return OnRefundProposal }
func (ConfirmRefundAddress) Name() TriggerName { return OnRefundConfirm }
func (Named) Name() TriggerName                { return OnNamed }
func (Deposits) Name() TriggerName             { return OnDeposits }
func (WindowOver) Name() TriggerName           { return OnWindow }
func (DeadlineOver) Name() TriggerName         { return OnDeadline }
func (Screened) Name() TriggerName             { return OnScreened }
func (Sending) Name() TriggerName              { return OnPayoutSending }
func (Unknown) Name() TriggerName              { return OnPayoutUnknown }
func (Succeeded) Name() TriggerName            { return OnPayoutSucceeded }
func (Failed) Name() TriggerName               { return OnPayoutFailed }
func (Returned) Name() TriggerName             { return OnPayoutReturned }
func (Accept) Name() TriggerName               { return OnAccept }
func (Retry) Name() TriggerName                { return OnRetry }
func (MarkRefunded) Name() TriggerName         { return OnRefund }
func (RequestRefund) Name() TriggerName        { return OnRefundRequested }
func (ChangeRefund) Name() TriggerName         { return OnRefundChanged }
