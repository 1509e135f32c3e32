package payment

import (
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/ledger"
)

// Fact is something that follows from a change and that the store writes in the same transaction. No facts means that
// nothing changed and nothing is to be written.
type Fact interface{ fact() }

// Change is one row of the history: every Apply that changes anything gives at least one. From equals To when only a
// facet or a figure changed.
type Change struct {
	Trigger   TriggerName
	From, To  State
	Exception Exception // after the change
}

// Event is one webhook event. Payment is the snapshot that its body shows, with the event's own sequence: a payment
// that runs through two statuses at once has two events with two snapshots.
type Event struct {
	Type      string // payment.confirmed, payment.underpaid, …
	Payment   Payment
	WithToken bool // the body carries a fresh settlement token (docs/api-contract.md#webhooks); the store keeps its hash
}

// Post is one ledger journal, balanced.
type Post struct{ Journal ledger.Journal }

// HoldPayout creates the payout row of an attempt, or revives the row of the same reference that was withdrawn before
// it left.
type HoldPayout struct {
	Reference string
	Attempt   int
	Rail      string
	Amount    decimal.Decimal
	Currency  money.Currency
	Receiver  Receiver
}

// VoidPayout withdraws a payout that has not left: its row must not be sent.
type VoidPayout struct{ Reference string }

// Mark writes our marks on one deposit row.
type Mark struct {
	Key          string
	Booked       string
	BookedAmount decimal.Decimal
	Bookings     int
	Counted      decimal.Decimal
}

// Alert tells an operator. Code is stable, Text says what happened without secrets or personal data.
type Alert struct{ Code, Text string }

func (Change) fact()     {}
func (Event) fact()      {}
func (Post) fact()       {}
func (HoldPayout) fact() {}
func (VoidPayout) fact() {}
func (Mark) fact()       {}
func (Alert) fact()      {}

// The event types that are not "payment." plus a status.
const (
	EventUnderpaid  = "payment.underpaid"
	EventOverpaid   = "payment.overpaid"
	EventReorged    = "payment.reorged"
	EventWrongAsset = "payment.wrong_asset"
)

// EventTypes lists every type a payment can send.
func EventTypes() []string {
	var all []string
	for _, s := range Statuses() {
		all = append(all, "payment."+string(s))
	}
	return append(all, EventUnderpaid, EventOverpaid, EventReorged, EventWrongAsset)
}
