package payment

import (
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/refund"
)

// Fact is a consequence of a change that the store writes in the same transaction. Without facts nothing changed and
// the store writes nothing.
type Fact interface{ fact() }

// Change is one row of the history. Every Apply that changes anything returns at least one. From equals To when only a
// facet or an amount changed.
type Change struct {
	Trigger   TriggerName
	From, To  State
	Exception Exception // after the change
}

// Event is one webhook event. Payment is the snapshot in its body, with the event's own sequence: a payment that passes
// two statuses at once has two events with two snapshots.
type Event struct {
	Type      string // payment.confirmed, payment.underpaid, …
	Payment   Payment
	WithToken bool // the body carries a fresh settlement token (docs/api-contract.md#webhooks); the store keeps its hash
}

// Post is one ledger journal, balanced.
type Post struct{ Journal ledger.Journal }

// HoldPayout creates the payout row of an attempt, or revives the withdrawn and unsent row of the same reference.
type HoldPayout struct {
	Reference string
	Attempt   int
	Rail      string
	Amount    decimal.Decimal
	Currency  money.Currency
	Receiver  Receiver
}

// VoidPayout withdraws a payout that has not left. No worker may send its row.
type VoidPayout struct{ Reference string }

// Mark writes the marks of one deposit row.
type Mark struct {
	Key          string
	Booked       string
	BookedAmount decimal.Decimal
	BookedBlock  string
	Bookings     int
	Counted      decimal.Decimal
	Refunded     decimal.Decimal
}

// KeepRefund writes one refund. Version 1 is a new row; a later version replaces the one before it.
type KeepRefund struct{ Refund refund.Refund }

// Alert is a message to operators. Text contains no secret and no personal data.
type Alert struct {
	Code alert.Code
	Text string
}

func (Change) fact()     {}
func (Event) fact()      {}
func (Post) fact()       {}
func (HoldPayout) fact() {}
func (VoidPayout) fact() {}
func (Mark) fact()       {}
func (KeepRefund) fact() {}
func (Alert) fact()      {}

// The event types other than "payment." plus a status.
const (
	EventUnderpaid  = "payment.underpaid"
	EventOverpaid   = "payment.overpaid"
	EventReorged    = "payment.reorged"
	EventWrongAsset = "payment.wrong_asset"
	EventRefund     = "payment.refund_" // with the state of the refund

	EventRefundAddressChanged  = "payment.refund_address_changed"
	EventRefundAddressProposed = "payment.refund_address_proposed"
)

// EventTypes lists every type a payment can send.
func EventTypes() []string {
	var all []string
	for _, s := range Statuses() {
		all = append(all, "payment."+string(s))
	}
	all = append(all, EventUnderpaid, EventOverpaid, EventReorged, EventWrongAsset, EventRefundAddressChanged, EventRefundAddressProposed)
	for _, s := range refund.States() {
		all = append(all, EventRefund+string(s))
	}
	return all
}
