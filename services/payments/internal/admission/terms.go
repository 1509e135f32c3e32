package admission

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
)

// Term is what the gateway says of one merchant. An empty list allows all.
type Term struct {
	MerchantID  string
	Version     int64 // a newer one replaces it
	Suspended   bool
	Reason      string // of the suspension
	Operator    string // who suspended it
	Currencies  []string
	Networks    []string
	Types       []string
	Limits      map[money.Currency]decimal.Decimal // the most of one payment
	DailyLimits map[money.Currency]decimal.Decimal // the most of one day; nil, from an earlier gateway, changes nothing
	Counted     bool                               // it has had daily limits, so payments may have reserved some of them
}

// Terms holds the terms that bind a merchant in memory, because a create does not query the database. Payouts read a
// suspension under their lock instead. The zero value binds nobody.
type Terms struct {
	list func(context.Context) ([]Term, error)
	now  atomic.Pointer[map[string]Term]
}

// NewTerms makes an empty copy of a list; Load fills it.
func NewTerms(list func(context.Context) ([]Term, error)) *Terms { return &Terms{list: list} }

// Load reads this list alone again; see Copies.
func (t *Terms) Load(ctx context.Context) error {
	found, err := t.list(ctx)
	if err != nil {
		return err
	}
	t.keep(found)
	return nil
}

func (t *Terms) keep(found []Term) {
	by := make(map[string]Term, len(found))
	for _, term := range found {
		by[term.MerchantID] = term
	}
	t.now.Store(&by)
}

func (t *Terms) of(merchantID string) Term {
	if t == nil {
		return Term{}
	}
	if now := t.now.Load(); now != nil {
		return (*now)[merchantID]
	}
	return Term{}
}

// ErrSuspended refuses new business of a suspended merchant.
var ErrSuspended = fault.New(fault.Forbidden, "merchant_suspended", "The merchant takes no payments right now.")

// Suspended refuses a merchant who is suspended.
func (t *Terms) Suspended(merchantID string) error {
	if t.of(merchantID).Suspended {
		return ErrSuspended
	}
	return nil
}

// Create refuses a payment that its merchant may not make; its price may come later.
func (t *Terms) Create(merchantID string, kind payment.Type, currency money.Currency) error {
	term := t.of(merchantID)
	switch {
	case term.Suspended:
		return ErrSuspended
	case !open(term.Types, string(kind)):
		return fault.New(fault.Forbidden, "type_not_enabled", "This merchant does not take payments of the type %s. Enabled: %s.", kind, strings.Join(term.Types, ", "))
	case !open(term.Currencies, string(currency)):
		return otherCurrency(currency, term)
	}
	return nil
}

// Quote refuses a price in a currency or on a network that the merchant does not take.
func (t *Terms) Quote(merchantID string, currency money.Currency, network string) error {
	term := t.of(merchantID)
	switch {
	case term.Suspended:
		return ErrSuspended
	case !open(term.Currencies, string(currency)):
		return otherCurrency(currency, term)
	case !open(term.Networks, network):
		return fault.New(fault.Forbidden, "network_not_enabled", "This merchant does not take payments on %s. Enabled: %s.", network, strings.Join(term.Networks, ", "))
	}
	return nil
}

// Amount refuses the fiat amount of a payment above the merchant's limit.
func (t *Terms) Amount(merchantID string, currency money.Currency, fiat decimal.Decimal) error {
	most, limited := t.of(merchantID).Limits[currency]
	if !limited || fiat.LessThanOrEqual(most) {
		return nil
	}
	var p fault.Problems
	p.Add("fiatAmount", "must be at most %s %s for this merchant", money.Canonical(most), currency)
	return p.Err()
}

func open(some []string, one string) bool { return len(some) == 0 || slices.Contains(some, one) }

func otherCurrency(currency money.Currency, term Term) error {
	return fault.New(fault.Forbidden, "currency_not_enabled", "This merchant does not take payments in %s. Enabled: %s.", currency, strings.Join(term.Currencies, ", "))
}
