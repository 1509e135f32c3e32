package app

import (
	"slices"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/self"
)

// rails are the rails of a world in the order in which they are tried.
func (w World) rails() []rail.Provider {
	if w.Rail == nil { // a mode that is closed
		return nil
	}
	return append([]rail.Provider{w.Rail}, w.Others...)
}

// named finds a rail by its name.
func (w World) named(name string) (rail.Provider, bool) {
	for _, p := range w.rails() {
		if p.Name() == name {
			return p, true
		}
	}
	return nil, false
}

// paying is the first rail that pays a bank of a currency; bankCode "" asks for the currency alone.
func (w World) paying(cur money.Currency, bankCode string) (rail.Provider, bool) {
	for _, p := range w.rails() {
		if _, has := p.Caps().Currencies[cur]; has && (bankCode == "" || p.Pays(cur, bankCode)) {
			return p, true
		}
	}
	return nil, false
}

// namer is the rail that is asked for names of a currency: the first that knows any, else the first.
func (w World) namer(cur money.Currency) rail.Provider {
	for _, p := range w.rails() {
		if p.Caps().Currencies[cur].Resolves {
			return p
		}
	}
	return w.Rail
}

// after is the name of the next rail that pays the bank when the named one has failed, "" when there is none.
func (w World) after(name string, cur money.Currency, bankCode string) string {
	list := w.rails()
	i := slices.IndexFunc(list, func(p rail.Provider) bool { return p.Name() == name })
	for _, p := range list[i+1:] {
		if i >= 0 && p.Pays(cur, bankCode) {
			return p.Name()
		}
	}
	return ""
}

// route chooses the rail of a new payment and refuses what no rail of the world pays. Which one a gift takes is known once
// somebody has claimed it.
func (w World) route(p payment.Payment) (string, error) {
	if p.CallerSettles() {
		return self.Name, nil
	}
	found, ok := w.paying(p.Currency, p.Receiver.BankCode)
	switch {
	case ok:
		return found.Name(), nil
	case p.Receiver.Known():
		return "", unreachable()
	}
	var problems fault.Problems
	problems.Add("fiatCurrency", "%s is not paid out now", p.Currency)
	return "", problems.Err()
}

// reroute is the rail of another receiver: "" keeps the payment's own while that pays the bank.
func (w World) reroute(p payment.Payment, to payment.Receiver) (string, error) {
	if own, ok := w.named(p.Rail); ok && own.Pays(p.Currency, to.BankCode) {
		return "", nil
	}
	found, ok := w.paying(p.Currency, to.BankCode)
	if !ok {
		return "", unreachable()
	}
	return found.Name(), nil
}

func unreachable() error {
	var problems fault.Problems
	problems.Add("receiver.bankCode", "is a bank that is not paid now")
	return problems.Err()
}

// limits are the currency's limits, narrowed by what the rails can pay.
func (w World) limits(s quote.Schedule) quote.Schedule {
	p, ok := w.paying(s.Currency, "")
	if !ok {
		return s
	}
	return narrowed(s, p.Caps().Currencies[s.Currency])
}

func narrowed(s quote.Schedule, c rail.CurrencyCaps) quote.Schedule {
	if c.Min.GreaterThan(s.Min) {
		s.Min = c.Min
	}
	if c.Max.IsPositive() && c.Max.LessThan(s.Max) {
		s.Max = c.Max
	}
	return s
}

// payable refuses a payout that its rail would refuse for its size.
func (a *App) payable(w World, p payment.Payment) error {
	found, ok := w.named(p.Rail)
	if !ok {
		return nil // the caller settles
	}
	wide := a.Policy.Fees.Schedules[p.Currency]
	s := narrowed(wide, found.Caps().Currencies[p.Currency])
	if s.Min.Equal(wide.Min) && s.Max.Equal(wide.Max) {
		return nil // no narrower than what the price was checked against
	}
	amount := p.FiatAmount
	if p.Quote.Priced() {
		amount = p.Quote.PayoutAmount
	}
	return s.InRange("fiatAmount", amount)
}
