// Package rail is the outside of the payout business: banks, name resolution and transfers at a provider. Drivers
// implement Provider; nothing here knows payments, and nothing here decides what an answer means: that is package
// payout.
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

// The errors that mean something. Every other error of Resolve means unavailable, and every other error of Send or Query
// means that we do not know.
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
	Simulated  bool // no real money moves: serves live mode only where that is explicitly allowed
	RefMin     int  // length of a reference
	RefMax     int
	Patience   time.Duration // how long the answer to an order may take; zero is the worker's own
}

// CurrencyCaps is what a rail can do in one currency.
type CurrencyCaps struct {
	Resolves bool            // gives the name behind an account number
	Min, Max decimal.Decimal // of one transfer; zero is no bound
	Whole    bool            // whole units only
}

// Bank is one bank of a currency.
type Bank struct {
	Code     string
	Name     string
	Currency money.Currency
}

// Account is a resolved account. Verified is false where the corridor cannot resolve names; then Name is "".
type Account struct {
	BankName string
	Number   string
	Name     string
	Verified bool
}

// Order is one transfer to be made. Ref is ours, fixed before the first byte leaves.
type Order struct {
	Ref           string
	Amount        decimal.Decimal
	Currency      money.Currency
	BankCode      string
	AccountNumber string
	AccountName   string
	Narration     string
	Resend        bool // the same reference was on the wire before and the rail said three times that it has no such transfer
}

// State is the rail's word on a transfer.
type State string

// The states. ActionRequired waits for a person at the provider (OTP, approval) and is not conclusive.
const (
	Pending        State = "pending"
	ActionRequired State = "action_required"
	Succeeded      State = "succeeded"
	Failed         State = "failed"
	Returned       State = "returned"
)

// Status is what the rail says about one reference.
type Status struct {
	Ref      string
	State    State
	Amount   decimal.Decimal
	Currency money.Currency
	RailID   string
	Reason   string
	Fee      decimal.Decimal
	At       time.Time
}

// Event is a verified webhook of a rail: a hint to query this reference, and nothing more.
type Event struct {
	Ref string
	Raw State
}

// Provider is one rail.
type Provider interface {
	Name() string
	Caps() Caps
	// Pays reports whether an account at a bank of the currency can be paid over this rail. It asks nobody.
	Pays(cur money.Currency, bankCode string) bool
	// Banks lists the banks of a currency.
	Banks(ctx context.Context, cur money.Currency) ([]Bank, error)
	// Resolve gives the name behind an account: ErrNotFound, ErrUnsupported, else unavailable.
	Resolve(ctx context.Context, cur money.Currency, bankCode, account string) (Account, error)
	// Send puts one order on the wire, once. ErrNotSent says for sure that it did not get that far.
	Send(ctx context.Context, o Order) (Status, error)
	// Query asks for a reference; ErrNoSuchRef is distinct from a transport error.
	Query(ctx context.Context, cur money.Currency, ref string) (Status, error)
	// Balance is our float in a currency.
	Balance(ctx context.Context, cur money.Currency) (decimal.Decimal, error)
	// ParseWebhook verifies the signature on the raw bytes, in constant time: ErrForged. One that verifies and is about no
	// transfer of ours is ErrNoHint; a rail without webhooks gives ErrUnsupported.
	ParseWebhook(h http.Header, raw []byte) (Event, error)
}

// Sent translates the result of Send for package payout. Only a definite refusal is one; everything that leaves a doubt,
// a duplicate reference included, means that we do not know (R3, R4).
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
	o := payout.Observation{Ref: s.Ref, Amount: s.Amount, Currency: s.Currency, RailID: s.RailID, Fee: s.Fee}
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

// reasonMost bounds what is kept of a rail's own words.
const reasonMost = 200

// reason is the rail's own words as a database can keep them.
func reason(s Status, otherwise string) string {
	text := strings.ReplaceAll(s.Reason, "\x00", "")
	if text = strings.ToValidUTF8(text[:min(len(text), reasonMost)], ""); text == "" {
		return otherwise
	}
	return text
}
