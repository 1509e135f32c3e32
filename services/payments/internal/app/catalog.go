package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rail"
)

// modes are the modes, the one that counts first.
var modes = tenant.Modes()

// front is the world that routes without a mode speak of: the live one where it is open.
func (a *App) front() (tenant.Mode, provider.Set, error) {
	for _, mode := range modes {
		if w, ok := a.Worlds[mode]; ok {
			return mode, w, nil
		}
	}
	return "", provider.Set{}, change.ErrLiveDisabled
}

type bankView struct {
	Code     string         `json:"code"`
	Name     string         `json:"name"`
	Currency money.Currency `json:"currency"`
}

type banksAnswer struct {
	Success bool       `json:"success"`
	Banks   []bankView `json:"banks"`
}

// Banks is the body of GET /v1/banks: the banks of a currency, or of all, that can be paid and that a person may mean by
// name (rail.Search).
func (a *App) Banks(currency money.Currency, name string) ([]byte, error) {
	_, world, err := a.front()
	if err != nil {
		return nil, err
	}
	currencies := money.Currencies()
	if currency != "" {
		currencies = []money.Currency{currency}
	}
	out := banksAnswer{Success: true, Banks: []bankView{}}
	for _, cur := range currencies {
		for _, b := range rail.Search(cur, name) {
			if _, ok := world.Paying(cur, b.Code); ok {
				out.Banks = append(out.Banks, bankView{b.Code, b.Name, cur})
			}
		}
	}
	return encode(out)
}

type verifiedAnswer struct {
	Success  bool         `json:"success"`
	Receiver verifiedView `json:"receiver"`
}

type verifiedView struct {
	AccountName   string          `json:"accountName"`
	AccountNumber string          `json:"accountNumber"`
	BankCode      string          `json:"bankCode"`
	BankName      string          `json:"bankName"`
	FiatCurrency  money.Currency  `json:"fiatCurrency"`
	NameVerified  bool            `json:"nameVerified"`
	CheckDigit    rail.CheckDigit `json:"checkDigit"` // advice: see rail.NUBAN
}

// Lookup is the decoded body of a look-up of an account, and who asks.
type Lookup struct {
	Owner     *change.Owner // nil without a key
	Receiver  payment.ReceiverInput
	Currency  string
	Reference string
}

// Refusals of a look-up.
var (
	errLookup = fault.New(fault.Unauthenticated, "reference_required",
		"Send an API key with the permission payment:create, or in `reference` the reference of an open payment.")
	errLookups = fault.New(fault.RateLimited, "rate_limited", "Too many accounts were looked up for this payment. Try again later.")
)

// VerifyReceiver is the body of POST /v1/payments/verify-receiver: whose account it is, as a claim would find. Without a
// currency the bank's code decides, and NGN where it says nothing. A payment's reference names mode and currency instead;
// without a key there must be one, and every reason against it has the same refusal.
func (a *App) VerifyReceiver(ctx context.Context, l Lookup, problems *fault.Problems) ([]byte, error) {
	in, currency := l.Receiver, l.Currency
	mode, cur := tenant.Mode(""), money.Currency(currency)
	if l.Owner != nil {
		mode = l.Owner.Mode
	}
	var asking payment.Payment
	if l.Owner == nil || l.Reference != "" {
		var err error
		if asking, err = a.asking(ctx, l); err != nil {
			return nil, err
		}
		mode, cur = asking.Mode, asking.Currency
	}
	world, open := a.Worlds[mode]
	if !open {
		return nil, change.ErrLiveDisabled
	}
	switch {
	case asking.ID != "":
	case currency == "":
		cur = currencyOf(in.BankCode)
	case !cur.Valid():
		problems.Add("fiatCurrency", "must be one of NGN, GHS, KES, ZAR")
	}
	var nested fault.Problems
	r := payment.CheckReceiver(&in, mode, cur, &nested)
	flatten(problems, nested.Err())
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if err := knownBank(mode, payment.Payment{Currency: cur, Receiver: r}); err != nil {
		flatten(problems, err)
		return nil, problems.Err()
	}
	if l.Owner == nil {
		if wait := a.lookups.take(asking.ID); wait > 0 {
			return nil, errLookups.After(wait)
		}
	}
	named, ok, err := a.names.resolve(ctx, world.Namer(cur), mode, cur, r)
	switch {
	case errors.Is(err, rail.ErrNotFound):
		flatten(problems, accountNotFound())
		return nil, problems.Err()
	case err != nil:
		return nil, err
	case !ok:
		return nil, errNameDown
	}
	return encode(verifiedAnswer{true, verifiedView{
		named.AccountName, named.AccountNumber, named.BankCode, named.BankName, cur, named.NameVerified,
		rail.NUBAN(cur, named.BankCode, named.AccountNumber),
	}})
}

// asking is the payment for which an account is looked up: the merchant's own, or without a key an open one.
func (a *App) asking(ctx context.Context, l Lookup) (payment.Payment, error) {
	if l.Owner != nil {
		if !id.IsPaymentReference(l.Reference) {
			return payment.Payment{}, change.ErrNotFound
		}
		v, err := a.Payments.Find(ctx, *l.Owner, l.Reference)
		return v.Payment, err
	}
	v, _, _, err := a.open(ctx, l.Reference, change.Key{})
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.NotFound {
		return payment.Payment{}, errLookup
	}
	if err == nil && !a.awaitsPerson(v.Payment) {
		err = errLookup
	}
	return v.Payment, err
}

// awaitsPerson reports whether a payer or a recipient has still something to do about a payment.
func (a *App) awaitsPerson(p payment.Payment) bool {
	if p.Type == payment.Gift {
		return !a.refuses(p, payment.ClaimGift{})
	}
	return slices.Contains([]payment.Status{payment.StatusCreated, payment.StatusPending, payment.StatusConfirming}, p.Status())
}

// flatten takes problems of a receiver over for a body whose fields stand at its top.
func flatten(into *fault.Problems, err error) {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		for _, field := range f.Fields {
			into.Add(strings.TrimPrefix(field.Field, "receiver."), "%s", field.Message)
		}
	}
}

// currencyOf is the one currency whose banks know the code, NGN when none or several do.
func currencyOf(code string) money.Currency {
	var found []money.Currency
	for _, cur := range money.Currencies() {
		if _, ok := rail.BankName(cur, code); ok {
			found = append(found, cur)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return money.NGN
}

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

// Rates is the body of GET /v1/rates: the numbers that a quote would use now, with where they come from and their age. One
// pair without a fresh price is a 503; in a list it is left out.
func (a *App) Rates(fiat money.Currency, crypto string) ([]byte, error) {
	_, world, err := a.front()
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
			r, err := world.Rates.Quote(cur, symbol)
			if err != nil {
				if one {
					return nil, err
				}
				continue
			}
			out.Rates = append(out.Rates, a.rateView(r, world.Rates.Simulated()))
		}
	}
	return encode(out)
}

func (a *App) rateView(r quote.Rate, simulated bool) rateView {
	v := rateView{
		Fiat: r.Fiat, Crypto: r.Crypto, Rate: money.N(r.Value), FiatUSD: money.N(r.USD), Spread: r.SpreadBPS, Sources: len(r.Sources),
		Names: make([]string, 0, len(r.Sources)), Age: max(0, int64(a.Now().Sub(r.At)/time.Second)), At: Timestamp(r.At),
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

// Symbol is the canonical symbol of a crypto that is taken anywhere.
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

// Networks is the body of GET /v1/networks: what is taken where and whether it is now, how deep it has to be, the least
// payment, and the limits of a payment. confirmations is null where only finality counts; minimum is that of the live mode
// where it has one, and null where there is none.
func (a *App) Networks() ([]byte, error) {
	front, world, err := a.front()
	if err != nil {
		return nil, err
	}
	out := networksAnswer{Success: true, Pauses: pauseViews(a.Pauses.All())}
	for _, n := range money.Networks() {
		need := a.Policy.Depths.Required(n.Name, "", decimal.Zero)
		v := networkView{
			Network: n.Name, Family: string(n.Family), Aliases: append([]string{}, n.Aliases...), Finality: need.Finality,
			Modes: map[tenant.Mode]openView{},
		}
		for _, mode := range modes {
			v.Modes[mode] = a.opened(mode, n)
		}
		if need.Confirmations > 0 {
			v.Confirmations = &need.Confirmations
		}
		for _, asset := range n.Assets {
			minimums := map[tenant.Mode]*money.Number{}
			for _, mode := range modes {
				minimums[mode] = a.minimum(mode, n, asset)
			}
			v.Cryptos = append(v.Cryptos, assetView{asset.Symbol, asset.Decimals, minimums[front], minimums, a.seesContracts(front, n, asset.Symbol)})
		}
		out.Networks = append(out.Networks, v)
	}
	for _, cur := range money.Currencies() {
		s := world.Limits(a.Policy.Fees.Schedules[cur])
		out.Limits = append(out.Limits, limitView{cur, money.N(s.Min), money.N(s.Max)})
	}
	return encode(out)
}

// minimum is the least payment of a pair in a mode; nil where there is none.
func (a *App) minimum(mode tenant.Mode, n money.Network, asset money.Asset) *money.Number {
	least := a.Worlds[mode].Minimums[quote.Pair{Network: n.Name, Crypto: asset.Symbol}]
	if !least.IsPositive() {
		return nil
	}
	shown := money.N(least)
	return &shown
}

// opened says whether new payments of a mode are taken on a network.
func (a *App) opened(mode tenant.Mode, n money.Network) openView {
	why := a.Scans.Closed(mode, n.Name)
	switch _, world := a.Worlds[mode]; {
	case !world:
		why = admission.ModeDisabled
	case !slices.Contains(a.Families[mode], n.Family):
		why = admission.NoAddresses
	case a.Pauses.Quotes("", n.Name) != nil:
		why = admission.Paused
	}
	if why == "" {
		return openView{Open: true}
	}
	return openView{Reason: &why}
}

// pauseView is a pause as GET /v1/networks shows it; null stands for all.
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
		v := pauseView{Paused: x.What, Since: Timestamp(x.At)}
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
