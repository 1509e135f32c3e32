// Package refund is the life of a refund on a chain (docs/architecture.md#refunds): its states, and the one total table
// of transitions. It is pure: every function takes the time that it needs.
package refund

import (
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

// State is the progress of a refund.
type State string

// The states. A refund holds its money from requested on, and gives it back when it fails. Money that is converted is
// only reserved until the approval.
const (
	Requested State = "requested" // waits for operators
	Approved  State = "approved"  // its signed order is on the way to wallets
	Signing   State = "signing"   // wallets has taken the order
	Sent      State = "sent"      // a node has accepted a transaction
	Confirmed State = "confirmed" // a final block holds the transaction
	Failed    State = "failed"    // no transaction of the order can ever land
)

// States lists every state in the order of a refund's life.
func States() []State {
	return []State{Requested, Approved, Signing, Sent, Confirmed, Failed}
}

// Open reports a refund whose money has neither left nor been given back.
func (s State) Open() bool { return s != Confirmed && s != Failed }

// Reserves reports a request for converted money, which has taken nothing from deposits yet. Until its approval the
// payment keeps the conversion, and nobody else may ask for the money.
func (r Refund) Reserves() bool { return r.State == Requested && len(r.Parts) == 0 }

// Approval is who approved a refund. It names the key that signs the order.
type Approval string

// The approvals.
const (
	Automatic  Approval = "automatic" // the merchant's request, within the bound of its currency
	ByOperator Approval = "operator"
)

// Cancellation is the progress of an operator's wish that an approved refund does not leave.
type Cancellation string

// The progress of a cancellation, "" without one. One that wallets carries out fails the refund.
const (
	CancelRequested Cancellation = "requested" // wallets has not answered
	CancelTooLate   Cancellation = "too_late"  // a transaction of the refund may land
)

// Source is an account of the payment from which a refund takes money.
type Source string

// The sources.
const (
	Customer Source = "customer"
	Suspense Source = "suspense"
)

// Part is the money that a refund takes from one deposit.
type Part struct {
	Deposit string          `json:"deposit"` // key of the transfer
	From    Source          `json:"from"`
	Amount  decimal.Decimal `json:"amount"`
}

// Refund is an amount of one asset on one network, which leaves for one address under one payment. The address is fixed
// when the refund is requested. Version counts the writes of the row; Told is the version of the last message of
// wallets.
type Refund struct {
	ID          string
	PaymentID   string
	Mode        tenant.Mode
	Network     string
	Asset       string
	Contract    string // of a token, "" for the coin of the network
	Amount      decimal.Decimal
	Address     string
	Parts       []Part
	Reason      string // of the request
	RequestedBy string // "key 7" or the operator's name
	State       State
	Approval    Approval // "" before the approval
	Failure     string   // stable code of why it failed
	Cancelled   Cancellation
	TxHash      string
	Fee         decimal.Decimal // of the network, in its coin
	Finals      int             // number of times that a final block held the transaction
	Version     int64
	Told        int64
	CreatedAt   time.Time
	ApprovedAt  time.Time
	ConfirmedAt time.Time
	EndedAt     time.Time
}

// Trigger is an event that a refund reacts to. Told is the version of wallets' message, zero for a person's decision.
type Trigger struct {
	Name     TriggerName
	Approval Approval        // of approve
	Failure  string          // of refuse and failed
	TxHash   string          // of broadcast, final and failed
	Fee      decimal.Decimal // of final and failed
	Told     int64
	Kept     bool // of taken and broadcast: the answer that the refund was not cancelled
}

// Apply is the one transition function. It returns the changed refund and the effects on the books, in their order. An
// old message changes nothing. An error refuses the trigger.
func Apply(r Refund, t Trigger, now time.Time) (Refund, []Effect, error) {
	if t.Told != 0 && t.Told <= r.Told {
		return r, nil, nil
	}
	cell := transitions[r.State][t.Name]
	if !cell.Taken {
		return r, nil, refusal(r.State, t.Name)
	}
	next := r
	next.State, next.Version, next.Told = cell.To, r.Version+1, max(r.Told, t.Told)
	switch t.Name {
	case OnApprove:
		next.Approval, next.ApprovedAt = t.Approval, now
	case OnCancel:
		next.Cancelled = CancelRequested
	case OnRefuse, OnFailed:
		next.Failure, next.EndedAt, next.ConfirmedAt = t.Failure, now, time.Time{}
		next.TxHash, next.Fee = t.TxHash, t.Fee
	case OnBroadcast, OnReorged:
		next.TxHash, next.ConfirmedAt, next.EndedAt = t.TxHash, time.Time{}, time.Time{}
	case OnFinal:
		next.TxHash, next.Fee, next.Finals = t.TxHash, t.Fee, r.Finals+1
		next.ConfirmedAt, next.EndedAt = now, now
	case OnTaken:
	}
	if next.Cancelled == CancelRequested && (t.Kept || next.State == Sent || next.State == Confirmed) {
		next.Cancelled = CancelTooLate
	}
	return next, cell.Effects, nil
}

// CodeNotOpen refuses a report of wallets that the state of its refund cannot have.
const CodeNotOpen = "refund_not_open"

func refusal(s State, name TriggerName) error {
	switch name {
	case OnCancel:
		return fault.New(fault.Conflict, "refund_not_cancellable", "A refund that is %s cannot be cancelled, only one that is approved or signing", s)
	case OnApprove, OnRefuse:
		return fault.New(fault.Conflict, "refund_decided", "The refund is %s already, so nothing is left to decide", s)
	case OnTaken, OnBroadcast, OnFinal, OnReorged, OnFailed:
	}
	return fault.New(fault.Conflict, CodeNotOpen, "A refund that is %s cannot become %s", s, name)
}
