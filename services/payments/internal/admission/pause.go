package admission

import (
	"context"
	"slices"
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

// Pause is an operator's pause of quotes, payouts or refunds, within one currency, network and rail. An empty field
// means all.
type Pause struct {
	What     string
	Currency money.Currency
	Network  string
	Rail     string
	Operator string
	At       time.Time
}

// Pauses holds the pauses in memory, because a create does not query the database. Payouts read the table under their
// lock instead. The zero value pauses nothing.
type Pauses struct {
	list func(context.Context) ([]Pause, error)
	now  atomic.Pointer[[]Pause]
}

// NewPauses makes an empty copy of a list; Load fills it.
func NewPauses(list func(context.Context) ([]Pause, error)) *Pauses { return &Pauses{list: list} }

// Load reads the list again. Call it every second; while the database is down, the last list remains.
func (p *Pauses) Load(ctx context.Context) error {
	found, err := p.list(ctx)
	if err != nil {
		return err
	}
	p.now.Store(&found)
	return nil
}

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

var errQuotesPaused = fault.New(fault.Unavailable, "quotes_paused", "Quotes are paused for this currency or network right now. Try again later.").After(time.Minute).Closed()

// Quotes refuses a currency or network whose quotes are paused.
func (p *Pauses) Quotes(currency money.Currency, network string) error {
	return p.refuse(PauseQuotes, currency, network, errQuotesPaused)
}

var errRefundsPaused = fault.New(fault.Unavailable, "refunds_paused", "Refunds are paused for this currency or network right now. Try again later.").After(time.Minute).Closed()

// Refunds refuses a currency or network whose refunds are paused.
func (p *Pauses) Refunds(currency money.Currency, network string) error {
	return p.refuse(PauseRefunds, currency, network, errRefundsPaused)
}

func (p *Pauses) refuse(what string, currency money.Currency, network string, because error) error {
	if slices.ContainsFunc(p.All(), func(x Pause) bool {
		return x.What == what && x.Rail == "" && (x.Currency == "" || x.Currency == currency) && (x.Network == "" || x.Network == network)
	}) {
		return because
	}
	return nil
}
