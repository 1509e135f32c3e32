package fixed

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/rate"
)

func TestEveryPairHasAPriceWithOneDollarLeg(t *testing.T) {
	at := time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)
	table := New(func() time.Time { return at })
	for _, n := range money.Networks() {
		for _, a := range n.Assets {
			for _, cur := range money.Currencies() {
				r, err := table.Quote(cur, a.Symbol)
				if err != nil {
					t.Fatal(err)
				}
				usdt, _ := table.Quote(cur, "USDT")
				if !r.USD.Equal(usdt.Value) || !r.At.Equal(at) || len(r.Sources) != 1 || !strings.Contains(r.Sources[0].Name, "test") {
					t.Errorf("Quote(%s, %s) = %+v, want 1 source for tests, the time %s and the dollar at %s", cur, a.Symbol, r, at, usdt.Value)
				}
				if a.Stable && !r.UnitUSD().Equal(decimal.NewFromInt(1)) {
					t.Errorf("%s is worth %s USD", a.Symbol, r.UnitUSD())
				}
			}
		}
	}
	for pair, want := range map[[2]string]int64{{"USDT", "NGN"}: 1600, {"BTC", "NGN"}: 150_000_000} {
		r, err := table.Quote(money.Currency(pair[1]), pair[0])
		if err != nil || !r.Value.Equal(decimal.NewFromInt(want)) {
			t.Errorf("Quote of %v = %s, %v; want %d", pair, r.Value, err, want)
		}
	}
}

func TestUnknownPairIsRefused(t *testing.T) {
	_, err := New(time.Now).Quote(money.NGN, "DOGE")
	f := fault.As(err)
	if f.Code != "rate_unavailable" || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("Quote(NGN, DOGE) = %+v, want rate_unavailable with a time to try again", f)
	}
}

func TestSaysThatItIsNoMarket(t *testing.T) {
	var a rate.Aggregator = New(time.Now)
	if !a.Simulated() || !strings.Contains(a.Name(), "fixed") || a.Ready() != nil {
		t.Errorf("%s: simulated %t, ready %v; want a simulated source named fixed that is ready", a.Name(), a.Simulated(), a.Ready())
	}
}
