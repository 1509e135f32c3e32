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
					t.Errorf("%s/%s: %+v", a.Symbol, cur, r)
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
			t.Errorf("%v: %s %v", pair, r.Value, err)
		}
	}
}

func TestUnknownPairIsRefused(t *testing.T) {
	_, err := New(time.Now).Quote(money.NGN, "DOGE")
	f := fault.As(err)
	if f.Code != "rate_unavailable" || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("%+v", f)
	}
}

func TestSaysThatItIsNoMarket(t *testing.T) {
	var a rate.Aggregator = New(time.Now)
	if !a.Simulated() || !strings.Contains(a.Name(), "fixed") || a.Ready() != nil {
		t.Errorf("%s", a.Name())
	}
}
