// Package rail is the interface to payout providers: banks, name resolution and transfers. Drivers implement Provider.
// This package knows nothing of payments; package payout decides what an answer means.
package rail

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payout"
)

// The errors with a meaning. Every other error of Resolve means unavailable, and every other error of Send or Query
// means that the outcome is unknown.
var (
	ErrNotFound    = errors.New("no such account")
	ErrUnsupported = errors.New("not supported by the rail")
	ErrUnavailable = errors.New("the rail does not answer")
	ErrNoSuchRef   = errors.New("the rail does not know the reference")
	ErrDuplicate   = errors.New("the rail has the reference already")
	ErrRefused     = errors.New("the rail refuses the order and made no transfer")
	ErrNoFunds     = errors.New("the balance at the rail is too low")
	ErrNotSent     = errors.New("the order was not put on the wire")
	ErrForged      = errors.New("the webhook's signature does not verify")
	ErrNoHint      = errors.New("the webhook is about no transfer")
)

// Caps says what a rail can do.
type Caps struct {
	Currencies map[money.Currency]CurrencyCaps
	Simulated  bool // no real money moves; the rail serves live mode only where a setting allows it
	RefMin     int  // length of a reference
	RefMax     int
	Patience   time.Duration // longest wait for the answer to an order; zero is the worker's default
}

// CurrencyCaps is what a rail can do in one currency.
type CurrencyCaps struct {
	Resolves bool            // returns the name of an account's owner
	Min, Max decimal.Decimal // bounds of one transfer; zero is no bound
	Whole    bool            // whole units only
}

// Bank is one bank of a currency.
type Bank struct {
	Code     string
	Name     string
	Currency money.Currency
}

// Account is a resolved account. Verified is false, and Name "", where the rail cannot resolve names in the currency.
type Account struct {
	BankName string
	Number   string
	Name     string
	Verified bool
}

// Order is one transfer to be made. Ref is Causeway's reference, fixed before the first byte leaves.
type Order struct {
	Ref           string
	Amount        decimal.Decimal
	Currency      money.Currency
	BankCode      string
	AccountNumber string
	AccountName   string
	Narration     string
	Resend        bool // the same reference was sent before, and the rail answered three times that it does not know it
}

// State is a transfer's state at the rail.
type State string

// The states. ActionRequired waits for an action at the provider (OTP, approval) and is not conclusive.
const (
	Pending        State = "pending"
	ActionRequired State = "action_required"
	Succeeded      State = "succeeded"
	Failed         State = "failed"
	Returned       State = "returned"
)

// Status is the rail's answer about one reference.
type Status struct {
	Ref      string
	State    State
	Amount   decimal.Decimal
	Currency money.Currency
	RailID   string
	Reason   string
	Fee      decimal.Decimal
	At       time.Time
	Again    time.Duration // with a success: the rail may say something else after it; zero where it does not know
}

// Event is a verified webhook of a rail. It is only a hint to query this reference.
type Event struct {
	Ref string
	Raw State
}

// Provider is one rail.
type Provider interface {
	Name() string
	Caps() Caps
	// Pays reports whether this rail takes new payments to a bank of the currency. It makes no call.
	Pays(cur money.Currency, bankCode string) bool
	// Banks lists the banks of a currency that this rail pays. It makes no call.
	Banks(cur money.Currency) []Bank
	// Resolve returns the name of an account's owner, ErrNotFound or ErrUnsupported. Any other error means unavailable.
	Resolve(ctx context.Context, cur money.Currency, bankCode, account string) (Account, error)
	// Send sends one order, once. ErrNotSent means for certain that no byte of it reached the wire.
	Send(ctx context.Context, o Order) (Status, error)
	// Query reads the status of a reference. ErrNoSuchRef is distinct from a transport error.
	Query(ctx context.Context, cur money.Currency, ref string) (Status, error)
	// Balance is Causeway's float in a currency.
	Balance(ctx context.Context, cur money.Currency) (decimal.Decimal, error)
	// ParseWebhook verifies the signature of the raw bytes in constant time. A wrong one is ErrForged, a genuine webhook
	// about no Causeway transfer is ErrNoHint, and a rail without webhooks returns ErrUnsupported.
	ParseWebhook(h http.Header, raw []byte) (Event, error)
}

// Lister is a rail that has lists of banks of its own, which payments reads and keeps (package banks).
type Lister interface {
	Provider
	// ReadBanks reads the rail's list of a currency.
	ReadBanks(ctx context.Context, cur money.Currency) ([]Listed, error)
	// KeepBanks makes the rail use a list.
	KeepBanks(cur money.Currency, l List)
}

// Sent translates the result of Send for package payout. Only a definite refusal is Refused. Every doubtful answer,
// also a duplicate reference, means that the outcome is unknown (R3, R4).
func Sent(s Status, err error) payout.Observation {
	switch {
	case err == nil:
		return said(s)
	case errors.Is(err, ErrRefused):
		return payout.Observation{Seen: payout.Refused, Reason: reason(s, "the rail refused the order")}
	case errors.Is(err, ErrNoFunds):
		return payout.Observation{Seen: payout.NoFunds, Reason: reason(s, "the balance at the rail is too low")}
	case errors.Is(err, ErrNotSent):
		return payout.Observation{Seen: payout.NotSent}
	}
	return payout.Observation{Seen: payout.Unsure}
}

// Queried translates the result of Query for package payout.
func Queried(s Status, err error) payout.Observation {
	switch {
	case err == nil:
		return said(s)
	case errors.Is(err, ErrNoSuchRef):
		return payout.Observation{Seen: payout.NoSuchRef}
	}
	return payout.Observation{Seen: payout.Unsure}
}

func said(s Status) payout.Observation {
	o := payout.Observation{Ref: s.Ref, Amount: s.Amount, Currency: s.Currency, RailID: s.RailID, Fee: s.Fee, Again: s.Again}
	switch s.State {
	case Pending, ActionRequired:
		o.Seen = payout.Accepted
	case Succeeded:
		o.Seen = payout.Success
	case Failed:
		o.Seen, o.Reason = payout.Failure, reason(s, "the rail reports a failure")
	case Returned:
		o.Seen, o.Reason = payout.GaveBack, reason(s, "the receiving bank sent the money back")
	default:
		return payout.Observation{Seen: payout.Unsure}
	}
	return o
}

// reasonMost bounds the stored length of a rail's reason.
const reasonMost = 200

// reason is the rail's reason, in a form that a database can store.
func reason(s Status, otherwise string) string {
	text := strings.ReplaceAll(s.Reason, "\x00", "")
	if text = strings.ToValidUTF8(text[:min(len(text), reasonMost)], ""); text == "" {
		return otherwise
	}
	return text
}
