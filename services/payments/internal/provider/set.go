// Package provider says which prices and rails each mode runs on, and which rail pays a payment.
package provider

import (
	"slices"
	"strings"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/self"
	"causeway.internal/services/payments/internal/rate"
)

// CallTimeout is how long one call of a rail may take. An order may take longer (rail.Caps), but less than the lease of
// a real rail.
const CallTimeout = 8 * time.Second

// Set holds the providers of one mode. Live and test share code and nothing else. A mode without a set is closed: 503
// live_disabled.
type Set struct {
	Rates    rate.Aggregator
	Rail     rail.Provider
	Others   []rail.Provider // tried in this order where Rail does not pay a bank, or a failure is confirmed
	Minimums quote.Minimums
	Timing   payout.Timing
	// NameWait is how long a payout waits for a name service that is down; zero means without end, for modes with real
	// money.
	NameWait time.Duration
}

// Rails are the rails of a mode in the order in which they are tried.
func (w Set) Rails() []rail.Provider {
	if w.Rail == nil { // a mode that is closed
		return nil
	}
	return append([]rail.Provider{w.Rail}, w.Others...)
}

// Named finds a rail by its name.
func (w Set) Named(name string) (rail.Provider, bool) {
	for _, p := range w.Rails() {
		if p.Name() == name {
			return p, true
		}
	}
	return nil, false
}

// Paying is the first rail that pays a bank of a currency; bankCode "" asks for the currency alone.
func (w Set) Paying(cur money.Currency, bankCode string) (rail.Provider, bool) {
	for _, p := range w.Rails() {
		if _, has := p.Caps().Currencies[cur]; has && (bankCode == "" || p.Pays(cur, bankCode)) {
			return p, true
		}
	}
	return nil, false
}

// Lists reports whether the list of a rail has the bank.
func (w Set) Lists(cur money.Currency, bankCode string) bool {
	return slices.ContainsFunc(w.Rails(), func(p rail.Provider) bool {
		_, has := p.Caps().Currencies[cur]
		return has && slices.ContainsFunc(p.Banks(cur), func(b rail.Bank) bool { return strings.EqualFold(b.Code, bankCode) })
	})
}

// Banks lists the banks of a currency that the rails pay, each code and each name once.
func (w Set) Banks(cur money.Currency) (out []rail.Bank) {
	seen := map[string]bool{}
	for _, p := range w.Rails() {
		if _, has := p.Caps().Currencies[cur]; !has {
			continue
		}
		for _, b := range p.Banks(cur) {
			code, name := "code "+strings.ToUpper(b.Code), "name "+strings.ToUpper(b.Name)
			if !seen[code] && !seen[name] {
				seen[code], seen[name] = true, true
				out = append(out, b)
			}
		}
	}
	return out
}

// Namer is the rail that resolves the names of a currency: the first that can, else the first.
func (w Set) Namer(cur money.Currency) rail.Provider {
	for _, p := range w.Rails() {
		if p.Caps().Currencies[cur].Resolves {
			return p
		}
	}
	return w.Rail
}

// After is the name of the next rail that pays the bank when the named one has failed, "" when there is none.
func (w Set) After(name string, cur money.Currency, bankCode string) string {
	list := w.Rails()
	i := slices.IndexFunc(list, func(p rail.Provider) bool { return p.Name() == name })
	for _, p := range list[i+1:] {
		if i >= 0 && p.Pays(cur, bankCode) {
			return p.Name()
		}
	}
	return ""
}

// Route chooses the rail of a new payment and refuses a payment that no rail of the mode pays. The claim of a gift
// chooses its rail.
func (w Set) Route(p payment.Payment) (string, error) {
	if p.CallerSettles() || p.ToBalance {
		return self.Name, nil
	}
	found, ok := w.Paying(p.Currency, p.Receiver.BankCode)
	switch {
	case ok:
		return found.Name(), nil
	case p.Receiver.Known():
		return "", Unreachable()
	}
	var problems fault.Problems
	problems.Add("fiatCurrency", "%s is not paid out now", p.Currency)
	return "", problems.Err()
}

// Reroute is the rail for another receiver; "" keeps the payment's own, which pays the bank.
func (w Set) Reroute(p payment.Payment, to payment.Receiver) (string, error) {
	if own, ok := w.Named(p.Rail); ok && own.Pays(p.Currency, to.BankCode) {
		return "", nil
	}
	found, ok := w.Paying(p.Currency, to.BankCode)
	if !ok {
		return "", Unreachable()
	}
	return found.Name(), nil
}

func Unreachable() error {
	var problems fault.Problems
	problems.Add("receiver.bankCode", "is a bank that is not paid now")
	return problems.Err()
}

// Limits narrows the currency's limits to the amounts that the rails pay.
func (w Set) Limits(b quote.Bounds) quote.Bounds {
	p, ok := w.Paying(b.Currency, "")
	if !ok {
		return b
	}
	return Narrowed(b, p.Caps().Currencies[b.Currency])
}

func Narrowed(b quote.Bounds, c rail.CurrencyCaps) quote.Bounds {
	if c.Min.GreaterThan(b.Min) {
		b.Min = c.Min
	}
	if c.Max.IsPositive() && c.Max.LessThan(b.Max) {
		b.Max = c.Max
	}
	return b
}
