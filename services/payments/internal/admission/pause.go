package admission

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

// The parts that an operator can pause.
const (
	PauseQuotes  = "quotes"
	PausePayouts = "payouts"
	PauseRefunds = "refunds"
)

// Pause is an operator's pause of quotes, payouts or refunds, within one currency, network, rail and merchant. An empty
// field means all. It ends by itself at Until, never when that is zero.
type Pause struct {
	ID         int64
	What       string
	Currency   money.Currency
	Network    string
	Rail       string // of payouts
	MerchantID string // of quotes and payouts: money that is owed to payers goes back in any case
	Reason     string
	Operator   string
	At         time.Time
	Until      time.Time
}

// The refusals of a change of the pauses.
var (
	ErrPaused  = fault.New(fault.Conflict, "already_paused", "This is paused already.")
	ErrNoPause = fault.New(fault.NotFound, "pause_not_found", "There is no such pause.")
)

// Parts lists what can be paused.
func Parts() []string { return []string{PauseQuotes, PausePayouts, PauseRefunds} }

// Check adds an error for every broken rule of a new pause.
func (p *Pause) Check(problems *fault.Problems, now time.Time) {
	if !slices.Contains(Parts(), p.What) {
		problems.Add("what", "must be one of %s", strings.Join(Parts(), ", "))
	}
	if p.Currency != "" && !p.Currency.Valid() {
		problems.Add("fiatCurrency", "must be one of NGN, GHS, KES, ZAR")
	}
	if p.Network != "" {
		n, ok := money.NetworkOf(p.Network)
		if !ok {
			problems.Add("network", "is not supported. Supported: %s", money.Pairs())
		}
		p.Network = n.Name
	}
	if p.Rail != "" && p.What != PausePayouts {
		problems.Add("rail", "is for a pause of payouts only")
	}
	if p.MerchantID != "" && p.What == PauseRefunds {
		problems.Add("merchantId", "is not for a pause of refunds, which are owed to payers")
	}
	if !p.Until.IsZero() && !p.Until.After(now) {
		problems.Add("until", "must be in the future")
	}
}

// Pauses holds the pauses in memory, because a create does not query the database. Payouts read the table under their
// lock instead. The zero value pauses nothing.
type Pauses struct {
	list func(context.Context) ([]Pause, error)
	now  atomic.Pointer[[]Pause]
}

// NewPauses makes an empty copy of a list; Load fills it.
func NewPauses(list func(context.Context) ([]Pause, error)) *Pauses { return &Pauses{list: list} }

// Load reads this list alone again; see Copies.
func (p *Pauses) Load(ctx context.Context) error {
	found, err := p.list(ctx)
	if err != nil {
		return err
	}
	p.keep(found)
	return nil
}

func (p *Pauses) keep(found []Pause) { p.now.Store(&found) }

// All lists the pauses.
func (p *Pauses) All() []Pause {
	if p == nil {
		return nil
	}
	if found := p.now.Load(); found != nil {
		return *found
	}
	return nil
}

var errQuotesPaused = fault.New(fault.Unavailable, "quotes_paused", "Quotes are paused for this currency, network or merchant right now. Try again later.").After(time.Minute).Closed()

// Quotes refuses a currency, network or merchant whose quotes are paused. Without a merchant only the pauses of all
// count.
func (p *Pauses) Quotes(currency money.Currency, network, merchantID string) error {
	return p.refuse(PauseQuotes, currency, network, merchantID, errQuotesPaused)
}

var errRefundsPaused = fault.New(fault.Unavailable, "refunds_paused", "Refunds are paused for this currency or network right now. Try again later.").After(time.Minute).Closed()

// Refunds refuses a currency or network whose refunds are paused.
func (p *Pauses) Refunds(currency money.Currency, network string) error {
	return p.refuse(PauseRefunds, currency, network, "", errRefundsPaused)
}

func (p *Pauses) refuse(what string, currency money.Currency, network, merchantID string, because error) error {
	if slices.ContainsFunc(p.All(), func(x Pause) bool {
		return x.What == what && (x.MerchantID == "" || x.MerchantID == merchantID) && x.Rail == "" && (x.Currency == "" || x.Currency == currency) && (x.Network == "" || x.Network == network)
	}) {
		return because
	}
	return nil
}
