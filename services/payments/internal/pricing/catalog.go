package pricing

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/views"
)

type rateView struct {
	Fiat      money.Currency `json:"fiat"`
	Crypto    string         `json:"crypto"`
	Rate      money.Number   `json:"rate"`
	FiatUSD   money.Number   `json:"fiatPerUsd"`
	Spread    int64          `json:"spreadBps"`
	Sources   int            `json:"sources"`
	Names     []string       `json:"sourceNames"`
	Age       int64          `json:"ageSeconds"`
	At        string         `json:"asOf"`
	Degraded  bool           `json:"degraded"`
	Simulated bool           `json:"simulated"`
}

type ratesAnswer struct {
	Success bool       `json:"success"`
	Rates   []rateView `json:"rates"`
}

// Rates is the body of GET /v1/rates: the rates that a quote of the mode would use now, with their sources and age. A
// request for one pair without a fresh price is a 503; a list omits the pair. Without a mode they are those of live
// mode, where it is open.
func (a *Pricing) Rates(mode tenant.Mode, fiat money.Currency, crypto string) ([]byte, error) {
	_, set, err := provider.Front(a.Providers, mode)
	if err != nil {
		return nil, err
	}
	currencies, cryptos := money.Currencies(), symbols()
	if fiat != "" {
		currencies = []money.Currency{fiat}
	}
	if crypto != "" {
		cryptos = []string{crypto}
	}
	one := fiat != "" && crypto != ""
	out := ratesAnswer{Success: true, Rates: []rateView{}}
	for _, cur := range currencies {
		for _, symbol := range cryptos {
			r, err := set.Rates.Quote(cur, symbol)
			if err != nil {
				if one {
					return nil, err
				}
				continue
			}
			out.Rates = append(out.Rates, a.rateView(r, set.Rates.Simulated()))
		}
	}
	return views.Encode(out)
}

func (a *Pricing) rateView(r quote.Rate, simulated bool) rateView {
	v := rateView{
		Fiat: r.Fiat, Crypto: r.Crypto, Rate: money.N(r.Value), FiatUSD: money.N(r.USD), Spread: r.SpreadBPS, Sources: len(r.Sources),
		Names: make([]string, 0, len(r.Sources)), Age: max(0, int64(a.Now().Sub(r.At)/time.Second)), At: timestamp.Text(r.At),
		Degraded: r.Degraded, Simulated: simulated,
	}
	for _, s := range r.Sources {
		v.Names = append(v.Names, s.Name)
	}
	return v
}

// symbols lists every crypto once, in the order of the networks.
func symbols() []string {
	var out []string
	seen := map[string]bool{}
	for _, n := range money.Networks() {
		for _, asset := range n.Assets {
			if !seen[asset.Symbol] {
				seen[asset.Symbol] = true
				out = append(out, asset.Symbol)
			}
		}
	}
	return out
}

// Symbol is the canonical symbol of a crypto that any network takes.
func Symbol(crypto string) (string, bool) {
	for _, n := range money.Networks() {
		if asset, ok := n.Asset(crypto); ok {
			return asset.Symbol, true
		}
	}
	return "", false
}

type networkView struct {
	Network       string                   `json:"network"`
	Family        string                   `json:"family"`
	Aliases       []string                 `json:"aliases"`
	Confirmations *int64                   `json:"confirmations"`
	Finality      bool                     `json:"finality"`
	Modes         map[tenant.Mode]openView `json:"modes"`
	Cryptos       []assetView              `json:"cryptos"`
}

// openView says whether new payments are taken on a network, and if not, why.
type openView struct {
	Open   bool              `json:"open"`
	Reason *admission.Closed `json:"reason"`
}

type assetView struct {
	Crypto   string                        `json:"crypto"`
	Decimals int32                         `json:"decimals"`
	Minimum  *money.Number                 `json:"minimum"`
	Minimums map[tenant.Mode]*money.Number `json:"minimums"`
	Seen     bool                          `json:"seesContractTransfers"`
}

type limitView struct {
	FiatCurrency money.Currency `json:"fiatCurrency"`
	Minimum      money.Number   `json:"minimum"`
	Maximum      money.Number   `json:"maximum"`
}

type networksAnswer struct {
	Success  bool          `json:"success"`
	Networks []networkView `json:"networks"`
	Limits   []limitView   `json:"limits"`
	Pauses   []pauseView   `json:"pauses"`
}

// Networks is the body of GET /v1/networks: the networks and their cryptos, whether each is open, its confirmations,
// the least payment, and the limits of a payment. confirmations is null where only finality counts. Minimums, limits
// and what the scan sees are those of the mode, and without a mode those of live mode where it is open. minimum is null
// where there is none. The networks of a mode that is closed are all closed.
func (a *Pricing) Networks(mode tenant.Mode) ([]byte, error) {
	front, set, err := provider.Front(a.Providers, mode)
	if err != nil && mode == "" {
		return nil, err
	}
	out := networksAnswer{Success: true, Pauses: pauseViews(a.Pauses.All())}
	for _, n := range money.Networks() {
		need := a.Policy.Depths.Required(n.Name, "", decimal.Zero)
		v := networkView{
			Network: n.Name, Family: string(n.Family), Aliases: append([]string{}, n.Aliases...), Finality: need.Finality,
			Modes: map[tenant.Mode]openView{},
		}
		for _, mode := range provider.Modes {
			v.Modes[mode] = a.opened(mode, n)
		}
		if need.Confirmations > 0 {
			v.Confirmations = &need.Confirmations
		}
		for _, asset := range n.Assets {
			minimums := map[tenant.Mode]*money.Number{}
			for _, mode := range provider.Modes {
				minimums[mode] = a.minimum(mode, n, asset)
			}
			v.Cryptos = append(v.Cryptos, assetView{asset.Symbol, asset.Decimals, minimums[front], minimums, a.SeesContracts(front, n, asset.Symbol)})
		}
		out.Networks = append(out.Networks, v)
	}
	for _, cur := range money.Currencies() {
		b := set.Limits(a.Policy.Limits[cur])
		out.Limits = append(out.Limits, limitView{cur, money.N(b.Min), money.N(b.Max)})
	}
	return views.Encode(out)
}

// minimum is the least payment of a pair in a mode; nil where there is none.
func (a *Pricing) minimum(mode tenant.Mode, n money.Network, asset money.Asset) *money.Number {
	least := a.Providers[mode].Minimums[quote.Pair{Network: n.Name, Crypto: asset.Symbol}]
	if !least.IsPositive() {
		return nil
	}
	shown := money.N(least)
	return &shown
}

// opened says whether new payments of a mode are taken on a network.
func (a *Pricing) opened(mode tenant.Mode, n money.Network) openView {
	why := a.Scans.Closed(mode, n.Name)
	switch _, open := a.Providers[mode]; {
	case !open:
		why = admission.ModeDisabled
	case !slices.Contains(a.Families[mode], n.Family):
		why = admission.NoAddresses
	case a.Pauses.Quotes("", n.Name, "") != nil:
		why = admission.Paused
	}
	if why == "" {
		return openView{Open: true}
	}
	return openView{Reason: &why}
}

// pauseView is a pause as GET /v1/networks shows it; null means all. The public sees no pause of a merchant, and no
// reason.
type pauseView struct {
	Paused   string          `json:"paused"`
	Currency *money.Currency `json:"fiatCurrency"`
	Network  *string         `json:"network"`
	Rail     *string         `json:"rail"`
	Since    string          `json:"since"`
}

func pauseViews(pauses []admission.Pause) []pauseView {
	out := []pauseView{}
	for _, x := range pauses {
		if x.MerchantID != "" {
			continue
		}
		v := pauseView{Paused: x.What, Since: timestamp.Text(x.At)}
		if x.Currency != "" {
			v.Currency = &x.Currency
		}
		if x.Network != "" {
			v.Network = &x.Network
		}
		if x.Rail != "" {
			v.Rail = &x.Rail
		}
		out = append(out, v)
	}
	return out
}
