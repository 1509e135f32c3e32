package admission

import (
	"context"
	"sync/atomic"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
)

// The parts that a merchant can take down in its own test mode.
const (
	OutageRates   = "rates"
	OutageNetwork = "network"
)

// Outage says that a merchant's test mode has no prices, or does not follow a network, until a time.
type Outage struct {
	MerchantID string
	What       string
	Network    string // of an outage of a network, else ""
	Until      time.Time
}

// Outages holds the outages of test mode in memory, because a create does not query the database. A nil Outages has
// none. Live mode never has one.
type Outages struct {
	list func(context.Context) ([]Outage, error)
	now  atomic.Pointer[map[outage]bool]
}

type outage struct{ merchant, what, network string }

// NewOutages makes an empty copy of a list; Load fills it.
func NewOutages(list func(context.Context) ([]Outage, error)) *Outages { return &Outages{list: list} }

// Load reads this list alone again, the outages that have not ended; see Copies.
func (o *Outages) Load(ctx context.Context) error {
	found, err := o.list(ctx)
	if err != nil {
		return err
	}
	o.keep(found)
	return nil
}

func (o *Outages) keep(found []Outage) {
	now := map[outage]bool{}
	for _, x := range found {
		now[outage{x.MerchantID, x.What, x.Network}] = true
	}
	o.now.Store(&now)
}

func (o *Outages) has(mode tenant.Mode, x outage) bool {
	if o == nil || mode != tenant.Test {
		return false
	}
	now := o.now.Load()
	return now != nil && (*now)[x]
}

// Rates reports whether a merchant's test mode has no prices.
func (o *Outages) Rates(mode tenant.Mode, merchantID string) bool {
	return o.has(mode, outage{merchantID, OutageRates, ""})
}

// Network reports whether a merchant's test mode does not follow a network.
func (o *Outages) Network(mode tenant.Mode, merchantID, network string) bool {
	return o.has(mode, outage{merchantID, OutageNetwork, network})
}

// Rests reports whether a payment rests on no network that its merchant took down.
func (o *Outages) Rests(v change.View) bool {
	p := v.Payment
	if o.Network(p.Mode, p.MerchantID, p.Quote.Network) {
		return false
	}
	for _, d := range v.Rows {
		if d.Counted.IsPositive() && o.Network(p.Mode, p.MerchantID, d.Network) {
			return false
		}
	}
	return true
}
