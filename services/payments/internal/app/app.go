// Package app holds the use cases of payments: create, show, deposit, expire, allocate and pay out. It decides who may do
// what in which order and leaves every rule of money and state to the pure packages, every row to the store behind its
// interfaces, and every byte of HTTP or AMQP to its callers. It may import no driver, no SQL and no transport.
package app

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/money"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

// Owner is the merchant and the world that a request may see. Every query carries both.
type Owner struct {
	MerchantID string
	KeyID      int64
	Mode       payment.Mode
}

// Key names a request that carried an Idempotency-Key; Key "" means that it carried none.
type Key struct {
	Scope, Key string
	Hash       [32]byte
}

// The statuses of stored answers, which are HTTP's.
const (
	statusOK      = 200
	statusCreated = 201
)

// Answer is the exact reply to a request, as it is stored for its Idempotency-Key.
//
// Where it is Personal, it names a person's account and is kept sealed. Where it holds a secret, Body goes without, Full is what the first caller gets and Secret its sealed form, which is
// kept for 15 minutes.
type Answer struct {
	Status   int
	Body     []byte
	Full     []byte
	Secret   []byte
	Personal bool
	Replayed bool
}

// Address is a deposit address with the wallet that watches it.
type Address struct {
	WalletID string
	Address  string
}

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

func (h Head) scan() Scan { return Scan{State: h.State, Quiet: h.Quiet} }

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
	Answer       *Answer // stored under the request's key
	Refused      error   // what the caller is told instead of an answer, though the change is kept
}

// Change decides what becomes of a payment. It runs while the payment's row is locked, may run more than once, and may
// do nothing that waits. now is the database's clock.
type Change func(v View, now time.Time) (Result, error)

// Incoming is a snapshot of a deposit as wallets reported it.
type Incoming struct {
	MessageID string
	Mode      payment.Mode
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

// Payments is the table of payments and everything that is written with them.
type Payments interface {
	// Insert writes a new payment with its history, event and stored answer in one round trip. ErrAddressUsed and
	// ErrReferenceUsed ask for another try with another one; ErrKeyTaken means that a request with the same key won.
	Insert(ctx context.Context, n Newborn) error
	// Find is the payment of an owner by its reference, without a lock and without what no answer shows of it, such as the payer.
	Find(ctx context.Context, o Owner, reference string) (View, error)
	// Update changes the payment of that id.
	Update(ctx context.Context, id string, f Change) error
	// UpdateOwned changes the payment of an owner by its reference and stores the answer under the key.
	UpdateOwned(ctx context.Context, o Owner, reference string, k Key, f Change) error
	// FindAny is the whole payment, and UpdateAny is UpdateOwned, for whoever knows the reference, which names its own mode.
	// UpdateAny gives ErrAddressUsed where Insert would.
	FindAny(ctx context.Context, reference string) (View, error)
	UpdateAny(ctx context.Context, reference string, k Key, f Change) error
	// FindByID is FindAny by the payment's id, for operators.
	FindByID(ctx context.Context, paymentID string) (View, error)
	// FindPayout is the reference of the owner's payment that a payout belongs to.
	FindPayout(ctx context.Context, o Owner, payoutID string) (reference string, err error)
	// PayoutPayment is the id of the payment that a payout belongs to.
	PayoutPayment(ctx context.Context, payoutID string) (paymentID string, err error)
	// Ours says whether an address in its canonical spelling is a payment's deposit address, waits in the stock for a
	// payment, has received money, or was named by wallets.
	Ours(ctx context.Context, family money.Family, address string) (bool, error)
	// UpdatePayoutOnce changes a payout together with its payment and stores the answer under the key.
	UpdatePayoutOnce(ctx context.Context, paymentID, payoutID string, k Key, f Change) error
	// Receive stores a deposit snapshot, if it is newer and its message is new, and changes the payment that carries its
	// address; without such a payment the address leaves the stock and stray decides.
	Receive(ctx context.Context, in Incoming, f Change, stray Stray) error
	// Replay is the stored answer of a key.
	Replay(ctx context.Context, k Key) (Answer, bool, error)
	// Settled is the stored answer of a key that another request holds; a 409 while that one is still running.
	Settled(ctx context.Context, k Key) (Answer, error)
}

// Newborn is a payment to be inserted.
type Newborn struct {
	Payment      payment.Payment
	WalletID     string
	Facts        []payment.Fact
	Reservations []Reservation // against daily limits
	Key          Key
	Answer       Answer
}

// units is an amount in base units of an asset, as wire messages carry it.
func units(a money.Asset, amount decimal.Decimal) string {
	return a.ToUnits(amount).Truncate(0).String()
}
