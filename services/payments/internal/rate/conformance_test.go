package rate_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

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

// drivers lists every driver with the pairs that it must find in the documented answers. A new driver is one line here.
var drivers = []struct {
	source string
	make   func(base string) (rate.Driver, error)
	pairs  map[string]string // pair: bid
	timed  bool              // the source has its own time
	offer  bool              // one side only
}{
	{venue.Binance, binance.New, map[string]string{
		"BTC/USDT": "93741", "ETH/USDT": "3199.7", "BNB/USDT": "899.9", "POL/USDT": "0.25", "TRX/USDT": "0.3", "SOL/USDT": "159.98", "USDC/USDT": "0.9999",
	}, false, false},
	{venue.Coinbase, coinbase.New, map[string]string{
		"BTC/USD": "93750", "ETH/USD": "3200", "SOL/USD": "160", "BNB/USD": "900", "POL/USD": "0.25", "USDT/USD": "1.0001",
	}, true, false},
	{venue.CoinbaseFX, coinbase.NewReference, map[string]string{"USD/NGN": "1550", "USD/GHS": "12.52", "USD/KES": "130", "USD/ZAR": "18"}, false, false},
	{venue.Kraken, kraken.New, map[string]string{
		"BTC/USD": "93750", "ETH/USD": "3200", "SOL/USD": "160", "BNB/USD": "900", "POL/USD": "0.25", "TRX/USD": "0.3", "USDT/USD": "1.0001", "USDC/USD": "1",
	}, false, false},
	{venue.Quidax, quidax.New, map[string]string{"USDT/NGN": "1600"}, true, false},
	{venue.Luno, luno.New, map[string]string{"USDT/ZAR": "18.01", "BTC/ZAR": "1687500"}, true, false},
	{venue.Paycrest, paycrest.New, map[string]string{"USDT/NGN": "1600", "USDT/GHS": "12.5", "USDT/KES": "129.8"}, false, true},
	{venue.ERAPI, erapi.New, map[string]string{"USD/NGN": "1550", "USD/GHS": "12.52", "USD/KES": "130", "USD/ZAR": "18"}, true, false},
}

func TestDriver_readsTheDocumentedAnswer(t *testing.T) {
	t.Parallel()
	server := venue.Start(t)
	for _, c := range drivers {
		d, err := c.make(server.Base(c.source))
		if err != nil {
			t.Fatal(err)
		}
		if d.Name() != c.source || d.Terms().Every <= 0 || d.Terms().Fresh < 2*d.Terms().Every {
			t.Errorf("%s: called %s, terms %+v", c.source, d.Name(), d.Terms())
		}
		ticks, err := d.Fetch(t.Context())
		if err != nil {
			t.Errorf("Fetch of %s = %v, want no error", c.source, err)
		}
		found := map[string]bool{}
		for _, tick := range ticks {
			pair := tick.Base + "/" + tick.Quote
			found[pair] = true
			if err := tick.Check(); err != nil || tick.Bid.String() != c.pairs[pair] {
				t.Errorf("%s: %s is %s/%s, want %q: %v", c.source, pair, tick.Bid, tick.Ask, c.pairs[pair], err)
			}
			if tick.At.IsZero() == c.timed || tick.Ask.IsZero() != c.offer {
				t.Errorf("%s: %s at %s, ask %s", c.source, pair, tick.At, tick.Ask)
			}
			if c.timed && time.Since(tick.At).Abs() > time.Minute {
				t.Errorf("%s: %s is of %s", c.source, pair, tick.At)
			}
		}
		if len(found) != len(c.pairs) {
			t.Errorf("%s: found %v, want %v", c.source, found, c.pairs)
		}
	}
}

// For any answer of a source, no driver returns an invalid price, hangs or panics.
func TestDriver_makesNoPriceOfAFault(t *testing.T) {
	t.Parallel()
	for _, c := range drivers {
		for _, fault := range venue.Faults() {
			t.Run(c.source+" "+string(fault), func(t *testing.T) {
				t.Parallel()
				server := venue.Start(t)
				server.Break(c.source, fault)
				d, err := c.make(server.Base(c.source))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if fault == venue.Slow {
					ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
				}
				defer cancel()
				began := time.Now()
				ticks, _ := d.Fetch(ctx)
				if fault == venue.Slow && time.Since(began) > 5*time.Second {
					t.Errorf("took %s", time.Since(began))
				}
				for _, tick := range ticks {
					if tick.Check() == nil {
						t.Errorf("%s/%s is %s", tick.Base, tick.Quote, tick.Bid)
					}
				}
			})
		}
	}
}

// One broken row does not lose the others.
func TestDriver_oneBrokenRow(t *testing.T) {
	t.Parallel()
	server := venue.Start(t)
	for source, c := range map[string]struct {
		pair string
		make func(string) (rate.Driver, error)
		left int
	}{
		venue.Kraken: {"BTC/USD", kraken.New, 7}, venue.Binance: {"BTC/USDT", binance.New, 6}, venue.Luno: {"BTC/ZAR", luno.New, 1},
		venue.Coinbase: {"BTC/USD", coinbase.New, 5}, venue.CoinbaseFX: {"USD/KES", coinbase.NewReference, 3},
	} {
		server.Price(source+" "+c.pair, "NaN")
		d, err := c.make(server.Base(source))
		if err != nil {
			t.Fatal(err)
		}
		ticks, _ := d.Fetch(t.Context())
		good := 0
		for _, tick := range ticks {
			if tick.Check() == nil {
				good++
			}
		}
		if good != c.left {
			t.Errorf("%s: %d good ticks beside a broken one, want %d", source, good, c.left)
		}
	}
}

func TestDriver_refusesAnAddressThatIsNone(t *testing.T) {
	t.Parallel()
	for _, c := range drivers {
		for _, base := range []string{"", "binance", "ftp://x", "https://user:secret@x", "https://x?key=1"} {
			if _, err := c.make(base); err == nil {
				t.Errorf("%s: %q is taken", c.source, base)
			}
		}
	}
}
