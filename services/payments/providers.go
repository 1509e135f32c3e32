package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/address"
	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/flutterwave"
	"causeway.internal/services/payments/internal/rail/paystack"
	"causeway.internal/services/payments/internal/rail/self"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/rate/binance"
	"causeway.internal/services/payments/internal/rate/coinbase"
	"causeway.internal/services/payments/internal/rate/erapi"
	"causeway.internal/services/payments/internal/rate/fixed"
	"causeway.internal/services/payments/internal/rate/kraken"
	"causeway.internal/services/payments/internal/rate/luno"
	"causeway.internal/services/payments/internal/rate/market"
	"causeway.internal/services/payments/internal/rate/paycrest"
	"causeway.internal/services/payments/internal/rate/quidax"
)

// rateSettings are those of the sources of prices (docs/rates.md).
type rateSettings struct {
	Sources    []string `env:"RATE_SOURCES" envDefault:"binance,coinbase,coinbase-fx,kraken,quidax,luno,paycrest,open.er-api" doc:"comma separated sources of the prices of market"`
	Spreads    string   `env:"RATE_SPREADS" doc:"basis points off the price, over the defaults: stable=75;coin=125;degraded=100;USDT/NGN=60"`
	Binance    string   `env:"RATE_BINANCE_URL" envDefault:"https://api.binance.com" doc:"address of Binance; https://data-api.binance.vision serves the same"`
	Coinbase   string   `env:"RATE_COINBASE_URL" envDefault:"https://api.exchange.coinbase.com" doc:"address of Coinbase Exchange"`
	CoinbaseFX string   `env:"RATE_COINBASE_FX_URL" envDefault:"https://api.coinbase.com" doc:"address of Coinbase's reference rates"`
	Kraken     string   `env:"RATE_KRAKEN_URL" envDefault:"https://api.kraken.com" doc:"address of Kraken"`
	Quidax     string   `env:"RATE_QUIDAX_URL" envDefault:"https://app.quidax.io" doc:"address of Quidax"`
	Luno       string   `env:"RATE_LUNO_URL" envDefault:"https://api.luno.com" doc:"address of Luno"`
	Paycrest   string   `env:"RATE_PAYCREST_URL" envDefault:"https://api.paycrest.io" doc:"address of Paycrest"`
	OpenERAPI  string   `env:"RATE_OPEN_ER_API_URL" envDefault:"https://open.er-api.com" doc:"address of open.er-api"`
}

// railSettings are those of the rails that are called over the network (docs/rails.md).
type railSettings struct {
	PaystackURL     string        `env:"PAYSTACK_URL" envDefault:"https://api.paystack.co" doc:"address of Paystack"`
	PaystackNGN     config.Secret `env:"PAYSTACK_KEY_NGN" doc:"secret key of the Paystack business of Nigeria; a currency without a key is not paid over Paystack"`
	PaystackGHS     config.Secret `env:"PAYSTACK_KEY_GHS" doc:"the same of Ghana"`
	PaystackKES     config.Secret `env:"PAYSTACK_KEY_KES" doc:"the same of Kenya"`
	PaystackZAR     config.Secret `env:"PAYSTACK_KEY_ZAR" doc:"the same of South Africa"`
	FlutterwaveURL  string        `env:"FLUTTERWAVE_URL" envDefault:"https://api.flutterwave.com/v3" doc:"address of Flutterwave v3"`
	FlutterwaveKey  config.Secret `env:"FLUTTERWAVE_KEY" doc:"secret key of Flutterwave"`
	FlutterwaveHash config.Secret `env:"FLUTTERWAVE_HASH" doc:"secret hash that Flutterwave's webhooks carry"`
	Limits          string        `env:"RAIL_LIMITS" envDefault:"paystack/NGN=100..;paystack/GHS=1..;paystack/KES=100..150000;paystack/ZAR=10..;flutterwave/NGN=100..;flutterwave/GHS=1..;flutterwave/KES=100..150000" doc:"least and most of one payout by rail and currency, as in your contract with the rail"`
}

// outside is what the providers use besides the settings.
type outside struct {
	statement sim.Statement
	log       *slog.Logger
	metrics   prometheus.Registerer
}

// providers gives each mode its prices and its rails. Live mode is closed without both. The start fails on a mode that
// has only one of them, and on a live mode that would move no real money unless ALLOW_SIMULATED_LIVE is set.
func (s settings) providers(o outside) (map[tenant.Mode]provider.Set, error) {
	providers := map[tenant.Mode]provider.Set{}
	for _, c := range []struct {
		mode         tenant.Mode
		rates, rails string
	}{{tenant.Test, s.RatesTest, s.RailTest}, {tenant.Live, s.RatesLive, s.RailLive}} {
		if c.rates == "" && c.rails == "" {
			continue
		}
		suffix := strings.ToUpper(string(c.mode))
		rates, err := s.Rates.open(c.rates, o, providers[tenant.Test].Rates)
		if err != nil {
			return nil, fmt.Errorf("RATES_%s: %w", suffix, err)
		}
		rails, err := s.Rails.open(c.rails, o)
		if err != nil {
			return nil, fmt.Errorf("RAIL_%s: %w", suffix, err)
		}
		simulated := slices.ContainsFunc(rails, func(p rail.Provider) bool { return p.Caps().Simulated })
		real := slices.ContainsFunc(rails, func(p rail.Provider) bool { return !p.Caps().Simulated && p.Name() != self.Name })
		if c.mode == tenant.Live && !s.AllowSimulatedLive {
			if err := s.refuseUnreal(rates, rails); err != nil {
				return nil, err
			}
		}
		minimums, err := s.Limits.minimums(c.mode)
		if err != nil {
			return nil, fmt.Errorf("MINIMUMS_%s: %w", suffix, err)
		}
		w := provider.Set{Rates: rates, Rail: rails[0], Others: rails[1:], Minimums: minimums, Timing: payout.LiveTiming()}
		if simulated && !real { // they answer at once
			w.Timing = payout.TestTiming()
		}
		if c.mode == tenant.Test {
			w.NameWait = nameWaitTest
		}
		providers[c.mode] = w
	}
	return providers, nil
}

// refuseUnreal names the settings of live mode that move no real money.
func (s settings) refuseUnreal(rates rate.Aggregator, rails []rail.Provider) error {
	var found []string
	if s.BitcoinLive != address.Mainnet {
		found = append(found, "BITCOIN_NETWORK_LIVE is a test network")
	}
	if rates.Simulated() {
		found = append(found, "RATES_LIVE is a table of fixed prices")
	}
	for _, p := range rails {
		switch {
		case p.Caps().Simulated:
			found = append(found, "RAIL_LIVE names a simulated rail")
		case p.Name() == paystack.Name && (unsafe(s.Rails.PaystackURL) || slices.ContainsFunc(s.Rails.paystackKeys(), isTest("sk_test_"))):
			found = append(found, "Paystack has a test key or an address without TLS")
		case p.Name() == flutterwave.Name && (unsafe(s.Rails.FlutterwaveURL) || isTest("FLWSECK_TEST")(s.Rails.FlutterwaveKey)):
			found = append(found, "Flutterwave has a test key or an address without TLS")
		}
	}
	if len(found) == 0 {
		return nil
	}
	return errors.New(strings.Join(found, "; ") + ": set ALLOW_SIMULATED_LIVE=true if that is meant")
}

func unsafe(url string) bool { return !strings.HasPrefix(url, "https://") }

func isTest(prefix string) func(config.Secret) bool {
	return func(key config.Secret) bool { return strings.HasPrefix(key.Reveal(), prefix) }
}

// fixedTable and marketName are the known values of RATES_TEST and RATES_LIVE.
const (
	fixedTable = "fixed"
	marketName = "market"
)

// open makes a source of prices; the two modes share one market.
func (s rateSettings) open(name string, o outside, other rate.Aggregator) (rate.Aggregator, error) {
	switch name {
	case fixedTable:
		return fixed.New(time.Now), nil
	case marketName:
		if m, ok := other.(*market.Market); ok {
			return m, nil
		}
		return s.market(o)
	case "":
		return nil, errors.New("is needed too: a mode has prices and a rail, or neither")
	}
	return nil, fmt.Errorf("%q is no source of prices; known: fixed, market", name)
}

// drivers are the sources by name. A new source is a line here and one in the conformance suite (docs/rates.md).
func (s rateSettings) drivers() map[string]func() (rate.Driver, error) {
	at := func(f func(string) (rate.Driver, error), base string) func() (rate.Driver, error) {
		return func() (rate.Driver, error) { return f(base) }
	}
	return map[string]func() (rate.Driver, error){
		"binance": at(binance.New, s.Binance), "coinbase": at(coinbase.New, s.Coinbase), "coinbase-fx": at(coinbase.NewReference, s.CoinbaseFX),
		"kraken": at(kraken.New, s.Kraken), "quidax": at(quidax.New, s.Quidax), "luno": at(luno.New, s.Luno),
		"paycrest": at(paycrest.New, s.Paycrest), "open.er-api": at(erapi.New, s.OpenERAPI),
	}
}

// quorums lists the sources of each leg, which needs two of them.
var quorums = map[string][]string{
	"coins": {"binance", "coinbase", "kraken"}, "NGN": {"quidax", "paycrest", "luno"}, "GHS": {"paycrest", "open.er-api", "coinbase-fx"},
	"KES": {"paycrest", "open.er-api", "coinbase-fx"}, "ZAR": {"luno", "open.er-api", "coinbase-fx"},
}

func (s rateSettings) market(o outside) (rate.Aggregator, error) {
	spreads, err := market.ParseSpreads(s.Spreads)
	if err != nil {
		return nil, fmt.Errorf("RATE_SPREADS: %w", err)
	}
	for leg, sources := range quorums {
		have := 0
		for _, name := range sources {
			if slices.Contains(s.Sources, name) {
				have++
			}
		}
		if have < 2 {
			return nil, fmt.Errorf("RATE_SOURCES: %s needs two of %s", leg, strings.Join(sources, ", "))
		}
	}
	options := market.Options{Spreads: spreads, Rules: market.Defaults(), Now: time.Now, Log: o.log, Metrics: o.metrics}
	known := s.drivers()
	for _, name := range s.Sources {
		f, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("RATE_SOURCES: %q is no source", name)
		}
		d, err := f()
		if err != nil {
			return nil, fmt.Errorf("the address of %s %w", name, err)
		}
		options.Drivers = append(options.Drivers, d)
	}
	return market.New(options), nil
}

// open makes the rails of a mode, in the order in which they are tried.
func (s railSettings) open(names string, o outside) ([]rail.Provider, error) {
	limits, err := s.limits()
	if err != nil {
		return nil, fmt.Errorf("RAIL_LIMITS: %w", err)
	}
	var out []rail.Provider
	for name := range strings.SplitSeq(names, ",") {
		p, err := s.one(strings.TrimSpace(name), o, limits)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(other rail.Provider) bool { return other.Name() == p.Name() }) {
			return nil, fmt.Errorf("%s is named twice", p.Name())
		}
		out = append(out, p)
	}
	return out, nil
}

// one makes a rail. A new rail is a case here and a line in the conformance suite (docs/rails.md).
func (s railSettings) one(name string, o outside, limits map[string]map[money.Currency]rail.CurrencyCaps) (p rail.Provider, err error) {
	switch name {
	case sim.Name:
		return sim.New(o.statement, time.Now), nil
	case self.Name:
		return self.Rail{}, nil
	case paystack.Name:
		keys := map[money.Currency]config.Secret{
			money.NGN: s.PaystackNGN, money.GHS: s.PaystackGHS, money.KES: s.PaystackKES, money.ZAR: s.PaystackZAR,
		}
		p, err = paystack.New(paystack.Options{Base: s.PaystackURL, Keys: keys, Limits: limits[name], Now: time.Now})
	case flutterwave.Name:
		p, err = flutterwave.New(flutterwave.Options{
			Base: s.FlutterwaveURL, Key: s.FlutterwaveKey, Hash: s.FlutterwaveHash, Limits: limits[name], Now: time.Now,
		})
	case "":
		return nil, errors.New("is needed too: a mode has prices and a rail, or neither")
	default:
		return nil, fmt.Errorf("%q is no rail; known: sim, self, paystack, flutterwave", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func (s railSettings) paystackKeys() []config.Secret {
	return []config.Secret{s.PaystackNGN, s.PaystackGHS, s.PaystackKES, s.PaystackZAR}
}

// limits reads "paystack/NGN=100..5000000;flutterwave/KES=100..": least and most, of which the most may be left out.
func (s railSettings) limits() (map[string]map[money.Currency]rail.CurrencyCaps, error) {
	out := map[string]map[money.Currency]rail.CurrencyCaps{}
	for item := range strings.SplitSeq(s.Limits, ";") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		place, span, _ := strings.Cut(item, "=")
		name, cur, _ := strings.Cut(place, "/")
		low, high, isSpan := strings.Cut(span, "..")
		least, err := money.Parse(low)
		most := decimal.Zero
		if err == nil && high != "" {
			most, err = money.Parse(high)
		}
		if err != nil || !isSpan || !money.Currency(cur).Valid() || least.IsNegative() || (high != "" && most.LessThan(least)) {
			return nil, fmt.Errorf("%q: say rail/CURRENCY=least..most", item)
		}
		if out[name] == nil {
			out[name] = map[money.Currency]rail.CurrencyCaps{}
		}
		out[name][money.Currency(cur)] = rail.CurrencyCaps{Min: least, Max: most}
	}
	return out, nil
}

// whole lists the rails and currencies that pay whole units only.
func whole(providers map[tenant.Mode]provider.Set) map[payment.RailCurrency]bool {
	out := map[payment.RailCurrency]bool{}
	for _, w := range providers {
		for _, p := range append([]rail.Provider{w.Rail}, w.Others...) {
			for cur, c := range p.Caps().Currencies {
				if c.Whole {
					out[payment.RailCurrency{Rail: p.Name(), Currency: cur}] = true
				}
			}
		}
	}
	return out
}

// markets lists the sources of prices that are read in the background, each once.
func markets(providers map[tenant.Mode]provider.Set) []*market.Market {
	var out []*market.Market
	for _, w := range providers {
		if m, ok := w.Rates.(*market.Market); ok && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}
