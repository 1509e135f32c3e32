// Package change holds the values that the use cases and the store exchange about one payment: the view that a change
// sees, the result that it decides, and the errors of the store that a use case acts on.
package change

import (
	"errors"
	"fmt"
	"reflect"
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
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/withdrawal"
)

// The HTTP statuses of stored answers.
const (
	StatusOK       = 200
	StatusCreated  = 201
	StatusAccepted = 202
)

// Command is a message to another service, written with the change that needs it.
type Command struct {
	Name    wire.Name
	ID      string
	Payload any
}

// View is a payment with the rows that belong to it, as one transaction saw them.
type View struct {
	Payment    payment.Payment
	Rows       []payment.Deposit
	Payout     *payout.Payout         // of the current attempt
	Refunds    []refund.Refund        // oldest first
	Heads      map[string]Head        // how far each network of the payment's mode is scanned
	OverLimit  bool                   // a daily limit has no room for the payout, or for converting more than the quote
	Paused     bool                   // an operator has paused payouts like this one; set only where a payout may leave
	Withdrawal *withdrawal.Withdrawal // that the payout belongs to, instead of a payment: Payment then has id, owner, currency and rail alone
	Token      bool                   // the event carries a settlement token, which the body shows masked
}

// Head is the last scanned block of a network, with the state of its scan.
type Head struct {
	Height int64
	Time   time.Time
	State  wire.ScanState
	Quiet  time.Duration // since the last report of wallets
}

// Result is what the store writes for a change. Without facts, payout and commands it writes nothing.
type Result struct {
	Payment      payment.Payment
	Facts        []payment.Fact
	Payout       *payout.Payout     // row to save
	WalletID     string             // of the address that the change gave to the payment
	Withdrawal   *withdrawal.Change // of the view's withdrawal
	Decision     *Decision          // of an operator, kept with the change
	Reservations []Reservation      // of payer and receiver that the change named
	Approval     *approval.Request  // an order that a second operator has to confirm
	Withdrawn    bool               // the open request of an operator is withdrawn
	Audit        *AuditNote         // an operator's action, kept with the change
	Screened     []Screened         // decisions about senders, kept with the change
	Lookups      []Lookup           // questions to wallets about transactions that an operator names, kept until their answer
	Refunding    []Transaction      // transactions that refund this payment and no other
	Differing    []Transaction      // transactions that were named as its refund and are none
	Commands     []Command
	Alerts       []payment.Alert
	Answer       *idempotency.Answer // stored under Key
	Key          idempotency.Key     // of the request, which the store sets
	Refused      error               // the caller's error, though the change is kept
}

// Writes reports that the store writes more than the answer.
func (r Result) Writes() bool {
	r.Payment, r.Answer, r.Key, r.Refused = payment.Payment{}, nil, idempotency.Key{}, nil
	return !reflect.DeepEqual(r, Result{})
}

// Func decides the change of a payment. It runs while the payment's row is locked, may run more than once, and must not
// wait for anything. now is the database's clock.
type Func func(v View, now time.Time) (Result, error)

// Incoming is a snapshot of a deposit as wallets reported it.
type Incoming struct {
	MessageID string
	Mode      tenant.Mode
	Family    money.Family
	Address   string
	Number    int64 // of the message within its mode and network, 0 without one
	Deposit   payment.Deposit
	Verdict   Verdict // on its senders, where the deposit was screened
}

// Stray decides the journals of a deposit on an address that no payment has, and the marks of its row.
type Stray func(d payment.Deposit) ([]ledger.Journal, payment.Mark)

// Newborn is a payment that the store has to insert.
type Newborn struct {
	Payment      payment.Payment
	Link         string // the payment link that makes it, "" without one
	WalletID     string
	Facts        []payment.Fact
	Reservations []Reservation // against daily limits
	Key          idempotency.Key
	Answer       idempotency.Answer
}

// Reservation counts a payment against one daily limit.
type Reservation struct {
	Kind     string
	Subject  []byte // a keyed hash of key, merchant, payer or receiver
	Currency money.Currency
	Amount   decimal.Decimal
	Most     decimal.Decimal
}

// Verdict is the stored decision of a screening, with its reason and its lists.
type Verdict struct {
	Hit      bool
	Reason   string // stable code of the finding, or of why screening failed; "" when clear
	Lists    string // names and versions of the lists
	Outdated bool   // a list is older than the operators allow; not stored
}

// Screening is the verdict in the form that a payment keeps.
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

// Screened is a decision about senders that the store keeps.
type Screened struct {
	Stage     string
	Deposit   string // key of the transfer, "" for all of a payment
	Verdict   Verdict
	Addresses []string
}

// Transaction names a transaction on its network.
type Transaction struct{ Network, TxHash string }

// Lookup is a question to wallets: what did the transaction bring to the address?
type Lookup struct {
	Transaction
	Address   string
	RequestID string
}

// Ask adds a question to wallets. owed is for the simulated chains.
func (r *Result) Ask(l Lookup, owed []wire.Sum) {
	r.Lookups = append(r.Lookups, l)
	r.Commands = append(r.Commands, Command{Name: wire.FindTransferV1, ID: l.RequestID, Payload: wire.FindTransfer{
		RequestID: l.RequestID, Mode: r.Payment.Mode, Network: l.Network, Address: l.Address, TxHash: l.TxHash, Owed: owed,
	}})
}

// Decision is the stored decision of an operator.
type Decision struct{ Operator, Action, Reason, TxHash string }

// AuditNote is an operator's action in the audit.
type AuditNote struct {
	Operator, Action string
	Detail           map[string]any
}

// Applied is the result of a trigger that the state machine applied.
func Applied(p payment.Payment, facts []payment.Fact, err error) (Result, error) {
	return Result{Payment: p, Facts: facts}, err
}

// Refuses reports whether the payment's state refuses a trigger. empty is the trigger without its values, so a state
// that takes it finds it incomplete, which is not a refusal.
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
