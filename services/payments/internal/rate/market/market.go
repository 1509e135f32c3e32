// Package market prices every pair from outside sources (docs/rates.md). It reads its drivers in the background and
// answers a quote from memory. It refuses a quote when too few fresh sources agree. A price has two legs, each with its
// own guard: dollars per coin, and units of the currency per dollar.
package market

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rate"
)

// Options of a market.
type Options struct {
	Drivers []rate.Driver
	Spreads Spreads
	Rules   Rules
	Now     func() time.Time
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil for none
}

// Market is the aggregator. It has prices only while Run runs. It is safe for concurrent use.
type Market struct {
	Options
	name string

	mu     sync.Mutex
	ticks  map[tickKey]tick
	guards map[string]*guard
	table  atomic.Pointer[table]

	ages, counts *prometheus.GaugeVec
	reads        *prometheus.CounterVec
}

var _ rate.Aggregator = (*Market)(nil)

type tickKey struct{ source, base, quote string }

// tick is the newest price of a pair from a source.
type tick struct {
	rate.Tick
	terms rate.Terms
	read  time.Time
	moved time.Time // when its mark last changed
}

// table holds the prices of quotes. It is never changed, only replaced.
type table struct {
	rates map[pair]entry
	until time.Time // the table expires then, because the loop that makes it may have stopped
}

type pair struct {
	fiat   money.Currency
	crypto string
}

type entry struct {
	rate quote.Rate
	why  error
}

// The lifetimes of the table.
const (
	lookEvery = time.Second
	tableLife = 10 * time.Second
)

// New makes a market.
func New(o Options) *Market {
	names := make([]string, 0, len(o.Drivers))
	for _, d := range o.Drivers {
		names = append(names, d.Name())
	}
	m := &Market{
		Options: o, name: "market: " + strings.Join(names, ", "), ticks: map[tickKey]tick{}, guards: map[string]*guard{},
		ages: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payments_rate_age_seconds", Help: "Age of the oldest source of a price; -1 where there is no price.",
		}, []string{"fiat", "crypto"}),
		counts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payments_rate_sources", Help: "Sources that a price is made from; 0 where there is no price.",
		}, []string{"fiat", "crypto"}),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "payments_rate_reads_total", Help: "Reads of a source of prices, by outcome: ok, partial, failed.",
		}, []string{"source", "outcome"}),
	}
	if o.Metrics != nil {
		o.Metrics.MustRegister(m.ages, m.counts, m.reads)
	}
	return m
}

// Name lists the sources.
func (m *Market) Name() string { return m.name }

// Simulated is false, because markets made the prices.
func (*Market) Simulated() bool { return false }

// Ready returns an error that names the pairs without a price.
func (m *Market) Ready() error {
	var missing []error
	for _, cur := range money.Currencies() {
		for _, symbol := range rate.Symbols() {
			if _, err := m.look(cur, symbol); err != nil {
				missing = append(missing, fmt.Errorf("%s/%s: %w", symbol, cur, err))
			}
		}
	}
	return errors.Join(missing...)
}

// Quote returns the price of a pair from memory.
func (m *Market) Quote(fiat money.Currency, asset string) (quote.Rate, error) {
	r, err := m.look(fiat, asset)
	if err != nil {
		return quote.Rate{}, rate.Unavailable(fiat, asset)
	}
	return r, nil
}

func (m *Market) look(fiat money.Currency, asset string) (quote.Rate, error) {
	t := m.table.Load()
	if t == nil || m.Now().After(t.until) {
		return quote.Rate{}, errQuorum
	}
	e, ok := t.rates[pair{fiat, asset}]
	if !ok {
		return quote.Rate{}, errQuorum
	}
	return e.rate, e.why
}

// take stores the ticks of a source. It skips and reports invalid ones.
func (m *Market) take(d rate.Driver, ticks []rate.Tick, now time.Time) error {
	var bad []error
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range ticks {
		key := tickKey{d.Name(), t.Base, t.Quote}
		if err := t.Check(); err != nil {
			bad = append(bad, fmt.Errorf("%s/%s: %w", t.Base, t.Quote, err))
			continue
		}
		next := tick{Tick: t, terms: d.Terms(), read: now, moved: now}
		if last, ok := m.ticks[key]; ok && t.Mark != "" && t.Mark == last.Mark {
			next.moved = last.moved
		}
		m.ticks[key] = next
	}
	return errors.Join(bad...)
}

// at is the time of a tick's price.
func (t tick) at() time.Time {
	if t.At.IsZero() {
		return t.read
	}
	return t.At
}

// early is how far a source's clock may be ahead.
const early = time.Minute

// fresh reports whether a tick has not expired.
func (t tick) fresh(r Rules, now time.Time) bool {
	age := now.Sub(t.at())
	return age <= t.terms.Fresh && age >= -early && (t.Mark == "" || now.Sub(t.moved) <= r.Still)
}

// Look makes a new table from the stored ticks. Run calls it every second.
func (m *Market) Look() {
	now := m.Now()
	m.mu.Lock()
	all := make([]namedTick, 0, len(m.ticks))
	for k, t := range m.ticks {
		if t.fresh(m.Rules, now) {
			all = append(all, namedTick{k.source, t})
		}
	}
	slices.SortFunc(all, func(a, b namedTick) int {
		return cmp.Or(strings.Compare(a.source, b.source), strings.Compare(a.Base, b.Base), strings.Compare(a.Quote, b.Quote))
	})
	coins := m.coins(all, now)
	fiats := map[money.Currency]leg{}
	for _, cur := range money.Currencies() {
		fiats[cur] = m.guarded(string(cur), m.Rules.fiat(cur, m.fiatVotes(cur, all, coins)), now)
	}
	m.mu.Unlock()

	t := &table{rates: map[pair]entry{}, until: now.Add(tableLife)}
	for _, cur := range money.Currencies() {
		for symbol, l := range coins {
			t.rates[pair{cur, symbol}] = m.price(cur, symbol, fiats[cur], l, now)
		}
	}
	m.table.Store(t)
	m.observe(t, now)
}

type namedTick struct {
	source string
	tick
}

// guarded passes a leg through the guard of its name.
func (m *Market) guarded(name string, l leg, now time.Time) leg {
	g := m.guards[name]
	if g == nil {
		g = &guard{}
		m.guards[name] = g
	}
	return g.pass(m.Rules, l, now)
}

// coins prices every coin in dollars. It prices USDT first, from sources that trade it against the dollar, because
// other sources price coins in USDT.
func (m *Market) coins(all []namedTick, now time.Time) map[string]leg {
	tether := m.Rules.coin(append(m.coinVotes("USDT", all, decimal.Zero), m.implied(all)...), true)
	dollars := tether.value
	out := map[string]leg{"USDT": m.guarded("USDT", tether, now)}
	for _, symbol := range rate.Symbols() {
		if symbol != "USDT" {
			out[symbol] = m.guarded(symbol, m.Rules.coin(m.coinVotes(symbol, all, dollars), rate.Stable(symbol)), now)
		}
	}
	return out
}

// coinVotes are the sources' prices of a coin in dollars. tether is the price of USDT, zero when it is unknown.
func (m *Market) coinVotes(symbol string, all []namedTick, tether decimal.Decimal) []vote {
	var votes []vote
	for _, t := range all {
		if t.Base != symbol {
			continue
		}
		switch {
		case t.Quote == "USD":
			votes = append(votes, m.vote(t, m.side(t)))
		case t.Quote == "USDT" && tether.IsPositive():
			votes = append(votes, m.vote(t, money.Down(m.side(t).Mul(tether), digits)))
		}
	}
	return votes
}

// implied are prices of USDT from sources that trade bitcoin in USDT: the lowest price of a bitcoin in dollars
// elsewhere, divided by its price there. So prices survive the failure of one exchange that trades USDT against the
// dollar.
func (m *Market) implied(all []namedTick) []vote {
	least := decimal.Zero
	for _, t := range all {
		if side := m.side(t); t.Base == "BTC" && t.Quote == "USD" && (least.IsZero() || side.LessThan(least)) {
			least = side
		}
	}
	var votes []vote
	for _, t := range all {
		if t.Base == "BTC" && t.Quote == "USDT" && t.Ask.IsPositive() && least.IsPositive() {
			votes = append(votes, m.vote(t, money.DivDown(least, t.Ask, digits)))
		}
	}
	return votes
}

// preferred is the order of preference among the markets of one source for the dollar in a currency. A source has one
// vote.
var preferred = []string{"USD", "USDT", "USDC", "BTC"}

// fiatVotes are the sources' prices of the dollar in a currency.
func (m *Market) fiatVotes(cur money.Currency, all []namedTick, coins map[string]leg) []vote {
	best := map[string]namedTick{}
	for _, t := range all {
		rank := slices.Index(preferred, t.Base)
		if t.Quote != string(cur) || rank < 0 || (t.Base != "USD" && !coins[t.Base].value.IsPositive()) {
			continue
		}
		if other, ok := best[t.source]; !ok || rank < slices.Index(preferred, other.Base) {
			best[t.source] = t
		}
	}
	var votes []vote
	for _, d := range m.Drivers {
		t, ok := best[d.Name()]
		if !ok {
			continue
		}
		value := m.side(t)
		if t.Base != "USD" {
			value = money.DivDown(value, coins[t.Base].value, digits)
		}
		votes = append(votes, m.vote(t, value))
	}
	return votes
}

// side is the price at which Causeway could sell at a source: its bid, or its one price less half a spread.
func (m *Market) side(t namedTick) decimal.Decimal {
	if t.Bid.Equal(t.Ask) {
		return money.Down(t.Bid.Mul(decimal.NewFromInt(1).Sub(m.Rules.HalfSpread)), digits)
	}
	return t.Bid
}

func (m *Market) vote(t namedTick, value decimal.Decimal) vote {
	return vote{
		source:    quote.Source{Name: t.source + " " + t.Base + "/" + t.Quote, Value: value, At: t.at().UTC()},
		reference: t.terms.Reference, read: t.read,
	}
}

// rateDigits is the precision of a rate, which is rounded down.
const rateDigits = 8

// price combines the legs and subtracts the spread.
func (m *Market) price(cur money.Currency, symbol string, f, p leg, now time.Time) entry {
	if err := errors.Join(f.why, p.why); err != nil {
		return entry{why: err}
	}
	r := quote.Rate{
		Fiat: cur, Crypto: symbol, Mid: money.Down(f.value.Mul(p.value), rateDigits), Degraded: f.degraded || p.degraded, At: now.UTC(),
		SpreadBPS: m.Spreads.of(symbol, cur),
	}
	if r.Degraded {
		r.SpreadBPS += m.Spreads.Degraded
	}
	left := decimal.NewFromInt(wholeBPS - r.SpreadBPS).Shift(-4)
	r.USD = money.Down(f.value.Mul(left), rateDigits)
	r.Value = money.Down(r.USD.Mul(p.value), rateDigits)
	for _, l := range []leg{p, f} {
		r.Excluded = append(r.Excluded, l.excluded...)
		for _, v := range l.used {
			r.Sources = append(r.Sources, v.source)
			if v.source.At.Before(r.At) {
				r.At = v.source.At
			}
		}
	}
	return entry{rate: r}
}

func (m *Market) observe(t *table, now time.Time) {
	for k, e := range t.rates {
		age, count := int64(-1), 0
		if e.why == nil {
			age, count = int64(now.Sub(e.rate.At)/time.Second), len(e.rate.Sources)
		}
		m.ages.WithLabelValues(string(k.fiat), k.crypto).Set(float64(age))
		m.counts.WithLabelValues(string(k.fiat), k.crypto).Set(float64(count))
	}
}

// Run reads every source at its own interval until ctx ends. A source that hangs or fails delays no other.
func (m *Market) Run(ctx context.Context) error {
	var busy sync.WaitGroup
	defer busy.Wait()
	for _, d := range m.Drivers {
		busy.Go(func() { m.follow(ctx, d) })
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		m.Look()
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}
