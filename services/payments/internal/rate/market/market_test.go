package market

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/testkit/venue"
	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/rate/binance"
	"causeway.internal/services/payments/internal/rate/coinbase"
	"causeway.internal/services/payments/internal/rate/erapi"
	"causeway.internal/services/payments/internal/rate/kraken"
	"causeway.internal/services/payments/internal/rate/luno"
	"causeway.internal/services/payments/internal/rate/paycrest"
	"causeway.internal/services/payments/internal/rate/quidax"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// rig is a market over the documented sources with a clock that the test sets.
type rig struct {
	t      *testing.T
	server *venue.Server
	*Market

	mu  sync.Mutex
	off time.Duration
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.off)
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, server: venue.Start(t)}
	spreads, err := ParseSpreads("stable=50;coin=100;degraded=100;USDT/NGN=60")
	if err != nil {
		t.Fatal(err)
	}
	r.Market = New(Options{Drivers: all(t, r.server), Spreads: spreads, Rules: Defaults(), Now: r.now, Log: slog.New(slog.DiscardHandler)})
	return r
}

func all(t *testing.T, server *venue.Server) []rate.Driver {
	var out []rate.Driver
	for source, f := range map[string]func(string) (rate.Driver, error){
		venue.Binance: binance.New, venue.Coinbase: coinbase.New, venue.CoinbaseFX: coinbase.NewReference, venue.Kraken: kraken.New,
		venue.Quidax: quidax.New, venue.Luno: luno.New, venue.Paycrest: paycrest.New, venue.ERAPI: erapi.New,
	} {
		d, err := f(server.Base(source))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// poll reads every source once and looks.
func (r *rig) poll() *rig {
	var busy sync.WaitGroup
	for _, d := range r.Drivers {
		busy.Go(func() { _ = r.read(r.t.Context(), d) })
	}
	busy.Wait()
	r.Look()
	return r
}

func (r *rig) pass(d time.Duration) *rig {
	r.mu.Lock()
	r.off += d
	r.mu.Unlock()
	for _, source := range venue.Sources() {
		r.server.Lag(source, -r.off)
	}
	return r
}

// want checks that a pair has a price, or the reason for which it has none.
func (r *rig) want(pair string, reason error) {
	r.t.Helper()
	symbol, cur, _ := strings.Cut(pair, "/")
	_, err := r.look(money.Currency(cur), symbol)
	if (reason == nil) != (err == nil) || !errors.Is(err, reason) {
		r.t.Errorf("%s: %v, want %v", pair, err, reason)
	}
	if _, refused := r.Quote(money.Currency(cur), symbol); reason != nil {
		if f := fault.As(refused); f.Code != "rate_unavailable" || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
			r.t.Errorf("%s is refused with %+v", pair, f)
		}
	}
}

// Every currency reaches its quorum from these sources, for every coin, and prices follow from the legs.
func TestMarket_everyPairHasAPrice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want("USDT/NGN", errQuorum) // before the first read
	if err := r.poll().Ready(); err != nil {
		t.Fatal(err)
	}
	for _, cur := range money.Currencies() {
		for _, symbol := range rate.Symbols() {
			q, err := r.Quote(cur, symbol)
			if err != nil {
				t.Fatal(err)
			}
			if q.Degraded || len(q.Sources) < 4 || q.SpreadBPS < 50 || q.At.IsZero() || q.Fiat != cur || q.Crypto != symbol {
				t.Errorf("Quote(%s, %s) = %+v, want at least 4 sources and a spread of 50 points", cur, symbol, q)
			}
			if q.Value.GreaterThan(q.Mid) || !q.Value.IsPositive() || !q.USD.IsPositive() {
				t.Errorf("%s/%s: value %s, mid %s, dollar %s", symbol, cur, q.Value, q.Mid, q.USD)
			}
			for _, s := range q.Sources {
				if s.Name == "" || !s.Value.IsPositive() || s.At.IsZero() {
					t.Errorf("%s/%s: provenance %+v", symbol, cur, s)
				}
			}
		}
	}
	q, _ := r.Quote(money.NGN, "USDT")
	// Both sell a USDT for 1600; a USDT is worth 1.0001; the spread of the pair is 60 basis points.
	if got := q.Value.Round(2).String(); got != "1590.4" || q.SpreadBPS != 60 {
		t.Errorf("USDT/NGN is %s with a spread of %d", q.Value, q.SpreadBPS)
	}
	if len(q.Excluded) != 2 { // the two reference rates bound the naira and do not vote
		t.Errorf("excluded: %+v", q.Excluded)
	}
	if r.Simulated() || !strings.Contains(r.Name(), "quidax") {
		t.Errorf("named %s", r.Name())
	}
}

// Prices are taken at the bid, one number for both sides loses half a spread, and all of it is exact.
func TestMarket_sides(t *testing.T) {
	t.Parallel()
	r := newRig(t).poll()
	zar, err := r.look(money.ZAR, "BTC")
	if err != nil {
		t.Fatal(err)
	}
	// Luno's USDT/ZAR over USDT/USD, and the two reference rates less 25 basis points: 17.955, 17.955, 18.0081991…
	want := map[string]string{"luno USDT/ZAR": "18.008199180081", "open.er-api USD/ZAR": "17.955", "coinbase-fx USD/ZAR": "17.955"}
	for _, s := range zar.Sources {
		if w, ok := want[s.Name]; ok && !s.Value.Equal(dec(w)) {
			t.Errorf("%s is %s, want %s", s.Name, s.Value, w)
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing %v in %+v", want, zar.Sources)
	}
	if !zar.USD.Equal(dec("17.77545")) { // the median 17.955 less 1 %
		t.Errorf("the dollar leg is %s", zar.USD)
	}
}

func TestMarket_withoutQuorumThereIsNoPrice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.server.Break(venue.Kraken, venue.Status500)
	r.poll()
	r.want("BTC/NGN", nil)       // Binance and Coinbase
	r.want("USDT/NGN", nil)      // Coinbase, and the price of bitcoin in USDT and in dollars
	r.want("TRX/NGN", errQuorum) // Binance alone
	r.server.Break(venue.Coinbase, venue.Slow)
	r.pass(2 * time.Minute)
	r.server.Break(venue.Kraken, venue.Fine)
	r.poll().want("BTC/NGN", nil)
	r.want("TRX/NGN", nil)
	r.want("USDT/NGN", nil)
	r.server.Break(venue.Binance, venue.Truncated)
	r.pass(2*time.Minute).poll().want("BTC/NGN", errQuorum)
}

func TestMarket_oneMarketWithinTheBandIsDegraded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.server.Break(venue.Paycrest, venue.Page)
	r.poll()
	q, err := r.Quote(money.NGN, "USDT")
	if err != nil || !q.Degraded || q.SpreadBPS != 160 {
		t.Errorf("Quote(NGN, USDT) = %+v, %v; want it degraded at 160 points", q, err)
	}
	r.server.Break(venue.ERAPI, venue.Page)
	r.server.Break(venue.CoinbaseFX, venue.Page)
	alone := newRig(t)
	for _, source := range []string{venue.Paycrest, venue.ERAPI, venue.CoinbaseFX} {
		alone.server.Break(source, venue.Refusal)
	}
	alone.poll().want("USDT/NGN", errQuorum)
}

// With reference rates only, the price is degraded. For the naira they do not vote.
func TestMarket_referenceRates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, source := range []string{venue.Paycrest, venue.Luno, venue.Quidax} {
		r.server.Break(source, venue.Status429)
	}
	r.poll()
	for _, cur := range []money.Currency{money.GHS, money.KES, money.ZAR} {
		if q, err := r.Quote(cur, "BTC"); err != nil || !q.Degraded {
			t.Errorf("Quote(%s, BTC) = %+v, %v; want it degraded", cur, q, err)
		}
	}
	r.want("BTC/NGN", errQuorum)
}

func TestMarket_outliersAndDisagreement(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.server.Price("binance BTC/USDT", "99999")
	r.poll()
	q, err := r.Quote(money.NGN, "BTC")
	if err != nil || len(q.Excluded) == 0 || q.Excluded[0].Name != "binance BTC/USDT" || q.Excluded[0].Why != "outlier" {
		t.Errorf("Quote(NGN, BTC) excludes %+v, %v; want binance as an outlier", q.Excluded, err)
	}
	if !q.UnitUSD().Sub(dec("93750")).Abs().LessThan(dec("0.01")) {
		t.Errorf("a bitcoin is worth %s", q.UnitUSD())
	}
	r = newRig(t)
	r.server.Price("quidax USDT/NGN", "1500")
	r.poll().want("USDT/NGN", errDisagree) // two that disagree make no price
	r = newRig(t)
	r.server.Price("coinbase BTC/USD", "80000")
	r.server.Price("kraken BTC/USD", "110000")
	r.poll().want("BTC/NGN", errDisagree) // three far apart make no median
}

func TestMarket_band(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.server.Price("USDT/NGN", "1900")
	r.poll().want("USDT/NGN", errBand)
}

func TestMarket_peg(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.server.Price("USDC/USD", "0.97")
	r.server.Price("USDC/USDT", "0.97")
	r.poll().want("USDC/NGN", errPeg)
	r.want("USDT/NGN", nil)
	r.want("BTC/NGN", nil)
	r = newRig(t)
	r.server.Price("USDT/USD", "0.95")
	r.poll().want("USDT/KES", errPeg)
	r.want("BTC/KES", nil) // in dollars at two exchanges, and the shilling by its reference rates
}

func TestMarket_freshness(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.server.Lag(venue.Quidax, 4*time.Minute) // a source with old times is stale at once
	r.server.Break(venue.Paycrest, venue.Refusal)
	r.poll().want("USDT/NGN", errQuorum)

	r = newRig(t).poll()
	r.want("USDT/NGN", nil)
	r.pass(11*time.Second).want("USDT/NGN", errQuorum) // no look: the table has expired
	r.Look()
	r.want("USDT/NGN", nil)
	r.pass(time.Minute).Look()
	r.want("USDT/NGN", errQuorum) // coin prices expire after a minute
	r.want("BTC/ZAR", errQuorum)
	r.poll().want("BTC/ZAR", nil)
}

// A source whose book does not change for ten minutes is dead, even if it answers.
func TestMarket_aBookThatStandsStillIsDead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := &scripted{name: "still", ticks: []rate.Tick{{Base: "BTC", Quote: "USD", Bid: dec("1"), Ask: dec("1.01"), Mark: "same"}}}
	for range 12 {
		if err := r.read(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Minute)
	}
	_ = r.read(t.Context(), d)
	if r.ticks[tickKey{"still", "BTC", "USD"}].fresh(r.Rules, r.now()) {
		t.Error("a dead book counts")
	}
	d.ticks[0].Mark = "moved"
	_ = r.read(t.Context(), d)
	if !r.ticks[tickKey{"still", "BTC", "USD"}].fresh(r.Rules, r.now()) {
		t.Error("a living book does not count")
	}
}

func TestMarket_jumpIsConfirmedByTwoFurtherReads(t *testing.T) {
	t.Parallel()
	r := newRig(t).poll()
	r.server.Price("BTC/USD", "104000")
	r.server.Price("BTC/USDT", "103990")
	r.pass(5*time.Second).poll().want("BTC/NGN", errJump)
	r.want("ETH/NGN", nil)
	r.Look()
	r.Look()
	r.want("BTC/NGN", errJump) // another look at the same data confirms nothing
	r.pass(5*time.Second).poll().want("BTC/NGN", errJump)
	r.pass(5*time.Second).poll().want("BTC/NGN", nil)
	r.server.Price("BTC/USD", "93750") // a short spike
	r.server.Price("BTC/USDT", "93741")
	r.pass(5*time.Second).poll().want("BTC/NGN", errJump)
	r.server.Price("BTC/USD", "104000")
	r.server.Price("BTC/USDT", "103990")
	r.pass(5*time.Second).poll().want("BTC/NGN", nil)
}

// scripted is a source whose answers the test sets.
type scripted struct {
	name  string
	ticks []rate.Tick
	fetch func(context.Context) error
}

func (s *scripted) Name() string { return s.name }

func (*scripted) Terms() rate.Terms {
	return rate.Terms{Every: 10 * time.Millisecond, Fresh: time.Minute}
}

func (s *scripted) Fetch(ctx context.Context) ([]rate.Tick, error) {
	if s.fetch != nil {
		return s.ticks, s.fetch(ctx)
	}
	return s.ticks, nil
}

// Run survives a source that panics and one that hangs, and reads the others. A quote makes no call. Run ends with its
// context.
func TestMarket_run(t *testing.T) {
	t.Parallel()
	server := venue.Start(t)
	server.Break(venue.Luno, venue.Slow)
	drivers := append(all(t, server), &scripted{name: "panics", fetch: func(context.Context) error { panic("a defect") }})
	registry := prometheus.NewRegistry()
	m := New(Options{Drivers: drivers, Rules: Defaults(), Now: time.Now, Log: slog.New(slog.DiscardHandler), Metrics: registry})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	for began := time.Now(); m.Ready() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("Ready() after a minute = %v, want no error", m.Ready())
		}
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Run does not end")
	}
	reads := map[string]int{}
	for _, s := range venue.Sources() {
		reads[s] = server.Reads(s)
	}
	for range 1000 {
		if _, err := m.Quote(money.NGN, "BTC"); err != nil {
			t.Fatal(err)
		}
	}
	for s, n := range reads {
		if server.Reads(s) != n {
			t.Errorf("a quote asked %s", s)
		}
	}
	pairs := len(money.Currencies()) * len(rate.Symbols())
	families, err := registry.Gather()
	for _, f := range families {
		if name := f.GetName(); name != "payments_rate_reads_total" && len(f.GetMetric()) != pairs {
			t.Errorf("%s has %d of %d pairs", name, len(f.GetMetric()), pairs)
		}
	}
	if err != nil || len(families) != 3 {
		t.Errorf("%d metrics, %v", len(families), err)
	}
}

func TestParseSpreads(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "stable=10; coin=20": true, "BTC/ZAR=0": true, "BTC/USD=1": false, "DOGE/NGN=5": false, "stable": false, "coin=-1": false,
		"coin=2001": false, "coin=1.5": false, "all=5": false,
	} {
		if _, err := ParseSpreads(text); (err == nil) != ok {
			t.Errorf("ParseSpreads(%q) = %v, want it accepted: %t", text, err, ok)
		}
	}
	s, _ := ParseSpreads("coin=20;BTC/ZAR=3")
	if s.of("BTC", money.ZAR) != 3 || s.of("BTC", money.NGN) != 20 || s.of("USDC", money.NGN) != 75 || s.Degraded != 100 {
		t.Errorf("ParseSpreads() = %+v, want 3 of BTC/ZAR, 20 of BTC/NGN, 75 of USDC/NGN and 100 degraded", s)
	}
}

// One wrong source among four or more does not move the price beyond those of the others. Two sources are never
// averaged.
func TestCombine_oneLiar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := decimal.NewFromInt(rapid.Int64Range(1, 1_000_000).Draw(t, "price"))
		tolerance := dec("0.005")
		var votes []vote
		low, high := base, base
		for range rapid.IntRange(3, 6).Draw(t, "honest") {
			v := base.Mul(dec("1").Add(decimal.New(rapid.Int64Range(-10, 10).Draw(t, "noise"), -4)))
			low, high = decimal.Min(low, v), decimal.Max(high, v)
			votes = append(votes, word(v))
		}
		votes = append(votes, word(base.Mul(decimal.New(rapid.Int64Range(1, 10_000).Draw(t, "lie"), -2))))
		l := combine(votes, tolerance)
		if l.why != nil || l.value.LessThan(low) || l.value.GreaterThan(high) {
			t.Fatalf("%s of %v, honest from %s to %s: %v", l.value, votes, low, high, l.why)
		}
	})
}

func word(v decimal.Decimal) (out vote) {
	out.source.Value = v
	return out
}
