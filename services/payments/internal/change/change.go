// Package change holds the values that the use cases and the store exchange about one payment: the view that a change
// sees, the result that it decides, and the errors of the store that a use case acts on.
package change

import (
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

// The statuses of stored answers, which are HTTP's.
const (
	StatusOK      = 200
	StatusCreated = 201
)

// Command is a message to another service, written with the change that needs it.
type Command struct {
	Name    wire.Name
	ID      string
	Payload any
}

// View is a payment with the rows that belong to it, as one transaction saw them.
type View struct {
	Payment   payment.Payment
	Rows      []payment.Deposit
	Payout    *payout.Payout  // of the current attempt
	Heads     map[string]Head // how far each network of the payment's mode is scanned
	OverLimit bool            // a daily limit has no room: for a payout that would leave, or for converting more than the quote
	Paused    bool            // an operator has stopped payouts like this one; known where a payout is changed
	Token     bool            // an event that brings a settlement token, which it shows masked
}

// Head is the last scanned block of a network, with how its scan fares.
type Head struct {
	Height int64
	Time   time.Time
	State  wire.ScanState
	Quiet  time.Duration // since wallets last told of it
}

// Result is what a change wants to be written. Facts empty, Payout nil and no commands mean: nothing.
type Result struct {
	Payment      payment.Payment
	Facts        []payment.Fact
	Payout       *payout.Payout               // row to save as it is here
	WalletID     string                       // of the address that the change gave to the payment
	Decision     *Decision                    // of an operator, kept with the change
	Reservations []Reservation                // of those whom the change has named
	Approval     *approval.Request            // what an operator asked for and a second one has to confirm
	Withdrawn    bool                         // the open request of an operator is over
	Audit        *AuditNote                   // what an operator did, kept with the change
	Screened     []Screened                   // decisions about senders, kept with the change
	Verdicts     map[string]payment.Screening // of single deposits
	Commands     []Command
	Alerts       []payment.Alert
	Answer       *idempotency.Answer // stored under the request's key
	Refused      error               // what the caller is told instead of an answer, though the change is kept
}

// Func decides what becomes of a payment. It runs while the payment's row is locked, may run more than once, and may
// do nothing that waits. now is the database's clock.
type Func func(v View, now time.Time) (Result, error)

// Incoming is a snapshot of a deposit as wallets reported it.
type Incoming struct {
	MessageID string
	Mode      tenant.Mode
	Family    money.Family
	Address   string
	BlockHash string
	Number    int64 // of the message among those of its mode and network, 0 when it has none
	Deposit   payment.Deposit
	Verdict   Verdict // on its senders, where the deposit's own says that there is one
}

// Stray decides what is booked for a deposit on an address that no payment carries: the journals, and the marks of the
// row.
type Stray func(d payment.Deposit) ([]ledger.Journal, payment.Mark)

// Newborn is a payment to be inserted.
type Newborn struct {
	Payment      payment.Payment
	WalletID     string
	Facts        []payment.Fact
	Reservations []Reservation // against daily limits
	Key          idempotency.Key
	Answer       idempotency.Answer
}

// Reservation counts a payment against one daily limit.
type Reservation struct {
	Kind     string
	Subject  []byte // whose limit, keyed so that it names nobody
	Currency money.Currency
	Amount   decimal.Decimal
	Most     decimal.Decimal
}

// Verdict is a decision with what it rests on, as it is kept.
type Verdict struct {
	Hit    bool
	Reason string // stable code of what was found, or of why nothing could be; "" when simply clear
	Lists  string // names and versions of what was asked
}

// Screening is the verdict as a payment keeps it.
func (v Verdict) Screening() payment.Screening {
	if v.Hit {
		return payment.Hit
	}
	return payment.Clear
}

// The stages at which senders are screened.
const (
	AtDeposit = "deposit"
	AtPayout  = "payout"
	AtRefund  = "refund"
)

// Screened is a decision to be kept.
type Screened struct {
	Stage     string
	Deposit   string // key of the one transfer that it is about, "" for all of a payment
	Verdict   Verdict
	Addresses []string
}

// Decision is an operator's decision as it is kept.
type Decision struct{ Operator, Action, Reason, TxHash string }

// AuditNote is what an operator did.
type AuditNote struct {
	Operator, Action string
	Detail           map[string]any
}

// Applied is the result of a trigger that the state machine took.
func Applied(p payment.Payment, facts []payment.Fact, err error) (Result, error) {
	return Result{Payment: p, Facts: facts}, err
}

// Refuses reports whether the payment's state refuses a trigger, which is shown empty: one that the state would take is
// then found incomplete, which is no refusal.
func Refuses(policy payment.Policy, p payment.Payment, empty payment.Trigger, now time.Time) bool {
	_, _, err := policy.Apply(p, empty, now)
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind != fault.Internal
}

// BaseUnits reads an amount in base units.
func BaseUnits(asset money.Asset, text string) (decimal.Decimal, error) {
	n, err := money.Parse(text)
	if err != nil || !n.IsInteger() || n.IsNegative() {
		return decimal.Decimal{}, fmt.Errorf("%q is no amount of %s in base units", text, asset.Symbol)
	}
	return asset.FromUnits(n), nil
}
