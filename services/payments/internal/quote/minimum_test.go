package quote

import (
	"regexp"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

// Every pair has a minimum, with no more digits than a quote has.
func TestWorthwhile_namesEveryPair(t *testing.T) {
	all := Worthwhile()
	for _, n := range money.Networks() {
		for _, a := range n.Assets {
			least, ok := all[Pair{n.Name, a.Symbol}]
			if !ok || !least.IsPositive() || money.Digits(least) > a.QuoteDigits {
				t.Errorf("minimum of %s/%s = %s, want a positive amount of at most %d digits", n.Name, a.Symbol, least, a.QuoteDigits)
			}
		}
	}
}

func TestMinimums_Set(t *testing.T) {
	m := Worthwhile()
	if err := m.Set(" erc20/usdt=1.5, bitcoin/BTC=0 ,"); err != nil {
		t.Fatal(err)
	}
	if got := m[Pair{"ethereum", "USDT"}]; !got.Equal(decimal.RequireFromString("1.5")) {
		t.Errorf("ethereum/USDT %s", got)
	}
	if got := m[Pair{"bitcoin", "BTC"}]; !got.IsZero() {
		t.Errorf("bitcoin/BTC %s", got)
	}
	for _, bad := range []string{"USDT=1", "ethereum=1", "ethereum/DOGE=1", "mars/USDT=1", "ethereum/USDT=-1", "ethereum/USDT=x", "ethereum/USDT=0.0000001", "ethereum/USDT"} {
		if Worthwhile().Set(bad) == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

var named = regexp.MustCompile(`at least (\S+) \S+ on \S+, which is (\S+) NGN now`)

// A quote below the minimum is refused with both amounts. A quote of either amount is then accepted, for both values of
// chargeFrom.
func TestMinimums_Check(t *testing.T) {
	ethereum, _ := money.NetworkOf("ethereum")
	rapid.Check(t, func(t *rapid.T) {
		asset := rapid.SampledFrom(ethereum.Assets).Draw(t, "asset")
		rate := Rate{
			Fiat: money.NGN, Crypto: asset.Symbol, Value: decimal.New(rapid.Int64Range(1, 1e12).Draw(t, "rate"), -4), USD: decimal.NewFromInt(1600),
		}
		least := decimal.New(rapid.Int64Range(1, 1e6).Draw(t, "least"), -asset.QuoteDigits)
		m := Minimums{Pair{"ethereum", asset.Symbol}: least}
		ask := Ask{Asset: asset, Network: "ethereum", ChargeFrom: rapid.SampledFrom([]ChargeFrom{Fiat, Crypto}).Draw(t, "from")}
		if rapid.Bool().Draw(t, "crypto first") {
			ask.CryptoAmount = decimal.New(rapid.Int64Range(1, 2e6).Draw(t, "crypto"), -asset.QuoteDigits)
		} else {
			ask.FiatAmount = decimal.New(rapid.Int64Range(100, 1e9).Draw(t, "fiat"), -2)
		}
		q, err := ngn(ask, rate)
		if err != nil {
			t.Skip("outside the limits of the currency")
		}
		err = m.Check(ask, q)
		if (err == nil) != q.CryptoAmount.GreaterThanOrEqual(least) {
			t.Fatalf("%s against %s: %v", q.CryptoAmount, least, err)
		}
		if err == nil {
			return
		}
		f := fault.As(err)
		said := named.FindStringSubmatch(f.Message)
		field := "fiatAmount"
		if ask.CryptoAmount.IsPositive() {
			field = "cryptoAmount"
		}
		if f.Code != "amount_below_minimum" || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Field != field || said == nil || !strings.HasPrefix(f.Message, field) {
			t.Fatalf("Make() below the minimum = %+v, want amount_below_minimum of %s", f, field)
		}
		if crypto := decimal.RequireFromString(said[1]); !crypto.Equal(least) {
			t.Errorf("names %s, want %s", crypto, least)
		}
		ask.FiatAmount, ask.CryptoAmount = decimal.RequireFromString(said[2]), decimal.Decimal{}
		if q, err = ngn(ask, rate); err == nil && m.Check(ask, q) != nil {
			t.Errorf("the fiat that was named, %s, gives %s of %s", said[2], q.CryptoAmount, least)
		}
	})
}
