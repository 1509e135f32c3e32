package admission

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

// What can be paused.
const (
	PauseQuotes  = "quotes"
	PausePayouts = "payouts"
)

// Pause is what an operator has stopped: all of it, or what has this currency, network and rail. An empty part stands for
// all.
type Pause struct {
	What     string
	Currency money.Currency
	Network  string
	Rail     string
	Operator string
	At       time.Time
}

// Pauses is what is stopped, in memory for those who quote: a create asks no database. Payouts do not look here; they read
// the table under their lock. The zero value stops nothing.
type Pauses struct {
	list func(context.Context) ([]Pause, error)
	now  atomic.Pointer[[]Pause]
}

// NewPauses makes an empty copy of a list; Load fills it.
func NewPauses(list func(context.Context) ([]Pause, error)) *Pauses { return &Pauses{list: list} }

// Load reads the list anew. Call it every second; what it knows stays while the database is away.
func (p *Pauses) Load(ctx context.Context) error {
	found, err := p.list(ctx)
	if err != nil {
		return err
	}
	p.now.Store(&found)
	return nil
}

// All lists what is stopped.
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

// Quotes refuses a pair that is stopped.
func (p *Pauses) Quotes(currency money.Currency, network string) error {
	if slices.ContainsFunc(p.All(), func(x Pause) bool {
		return x.What == PauseQuotes && x.Rail == "" && (x.Currency == "" || x.Currency == currency) && (x.Network == "" || x.Network == network)
	}) {
		return errQuotesPaused
	}
	return nil
}
