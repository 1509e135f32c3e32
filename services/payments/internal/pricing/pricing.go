// Package pricing prices payments, and lists networks, cryptos and rates.
package pricing

import (
	"slices"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/fees"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rate"
)

// Pricing prices payments, and lists networks, cryptos and rates.
type Pricing struct {
	Providers map[tenant.Mode]provider.Set
	Families  map[tenant.Mode][]money.Family // whose addresses each open mode has
	Policy    payment.Policy
	Fees      *fees.Schedules
	Pauses    *admission.Pauses
	Terms     *admission.Terms
	Scans     *admission.Scans
	Outages   *admission.Outages
	Now       func() time.Time
}

// Quote prices a request of a merchant by the fees that the merchant pays now, unless an operator has paused its quotes
// or the merchant's terms refuse it.
func (a *Pricing) Quote(w provider.Set, o tenant.Owner, ask quote.Ask) (quote.Quote, error) {
	if err := a.Terms.Quote(o.MerchantID, ask.Currency, ask.Network); err != nil {
		return quote.Quote{}, err
	}
	if err := a.Pauses.Quotes(ask.Currency, ask.Network, o.MerchantID); err != nil {
		return quote.Quote{}, err
	}
	if a.Outages.Rates(o.Mode, o.MerchantID) {
		return quote.Quote{}, rate.Unavailable(ask.Currency, ask.Asset.Symbol)
	}
	r, err := w.Rates.Quote(ask.Currency, ask.Asset.Symbol)
	if err != nil {
		return quote.Quote{}, err
	}
	q, err := a.Fees.Of(o, ask.Currency).Make(ask, a.Policy.Limits[ask.Currency], r)
	if err != nil {
		return quote.Quote{}, err
	}
	if err := a.Terms.Amount(o.MerchantID, ask.Currency, q.FiatAmount); err != nil {
		return quote.Quote{}, err
	}
	return q, w.Minimums.Check(ask, q)
}

// Requested refuses a payment that its merchant may not make now, before its price.
func (a *Pricing) Requested(p payment.Payment) error {
	if err := a.Terms.Create(p.MerchantID, p.Type, p.Currency); err != nil {
		return err
	}
	return a.Terms.Amount(p.MerchantID, p.Currency, p.FiatAmount)
}

// Option is the price of a request now, in one crypto on one network.
type Option struct {
	Crypto       string       `json:"crypto"`
	Network      string       `json:"network"`
	CryptoAmount money.Number `json:"cryptoAmount"`
	Rate         money.Number `json:"rate"`
}

// Options prices a request in every crypto of its mode. It omits closed networks, and pairs that have no fresh price or
// a minimum above the request.
func (a *Pricing) Options(p payment.Payment) []Option {
	set, ok := a.Providers[p.Mode]
	if !ok {
		return nil
	}
	var out []Option
	for _, n := range money.Networks() {
		if !slices.Contains(a.Families[p.Mode], n.Family) || !a.Scans.Open(p.Owner(), n.Name) {
			continue
		}
		for _, asset := range n.Assets {
			terms := payment.FulfilTerms{Network: n, Asset: asset}
			if q, err := a.Quote(set, p.Owner(), terms.Ask(p)); err == nil {
				out = append(out, Option{asset.Symbol, n.Name, money.N(q.CryptoAmount), money.N(q.Rate.Value)})
			}
		}
	}
	return out
}

// SeesContracts reports whether the scan of a network sees a crypto from every sender, contracts included.
func (a *Pricing) SeesContracts(mode tenant.Mode, n money.Network, crypto string) bool {
	return n.Family != money.EVM || n.Coin().Symbol != crypto || !a.Scans.Untraced(mode, n.Name)
}
