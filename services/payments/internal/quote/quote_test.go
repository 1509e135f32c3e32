package quote

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func asset(t interface{ Fatalf(string, ...any) }, network, symbol string) money.Asset {
	n, _ := money.NetworkOf(network)
	a, ok := n.Asset(symbol)
	if !ok {
		t.Fatalf("%s on %s", symbol, network)
	}
	return a
}

func usdt(value string) Rate {
	return Rate{Fiat: money.NGN, Crypto: "USDT", Value: dec(value), USD: dec(value), At: time.Unix(0, 0)}
}

// ngn prices an ask in NGN by the first schedule.
func ngn(ask Ask, rate Rate) (Quote, error) {
	ask.Currency = money.NGN
	return First(money.NGN).Make(ask, DefaultLimits()[money.NGN], rate)
}

func TestFees(t *testing.T) {
	for _, c := range []struct {
		cur       money.Currency
		fiat, fee string
	}{
		{money.NGN, "100000", "500"},
		{money.NGN, "100000.01", "1000"},
		{money.NGN, "1000000", "1000"},
		{money.NGN, "2000000", "1500"},
		{money.NGN, "2000000.01", "1500.01"},
		{money.NGN, "50000000", "37500"},
		{money.NGN, "5000", "500"},
		{money.NGN, "4999.99", "500"},
		{money.NGN, "1", "0.1"},
		{money.NGN, "1.01", "0.11"},
		{money.GHS, "1000", "5"},
		{money.GHS, "20000.01", "15.01"},
		{money.KES, "200001", "150.01"},
		{money.ZAR, "1500.01", "20"},
		{money.ZAR, "30001", "30.01"},
	} {
		if fee := First(c.cur).Fee(dec(c.fiat)); !fee.Equal(dec(c.fee)) {
			t.Errorf("fee of %s %s is %s, want %s", c.fiat, c.cur, fee, c.fee)
		}
	}
}

// The worked numbers of the documentation.
func TestExamples(t *testing.T) {
	a := asset(t, "tron", "USDT")
	for name, c := range map[string]struct {
		ask                               Ask
		crypto, fiat, payout, fee, usd, f string
	}{
		"fiat first, fee from fiat":     {Ask{FiatAmount: dec("160000"), ChargeFrom: Fiat}, "100", "160000", "159000", "1000", "100", "0.63"},
		"fiat first, fee from crypto":   {Ask{FiatAmount: dec("160000"), ChargeFrom: Crypto}, "100.625", "160000", "160000", "1000", "100", "0.63"},
		"crypto first, fee from fiat":   {Ask{CryptoAmount: dec("100"), ChargeFrom: Fiat}, "100", "160000", "159000", "1000", "100", "0.63"},
		"crypto first, fee from crypto": {Ask{CryptoAmount: dec("100"), ChargeFrom: Crypto}, "100", "159000", "159000", "1000", "99.38", "0.63"},
		"payer rounds up":               {Ask{FiatAmount: dec("100"), ChargeFrom: Fiat}, "0.0625", "100", "90", "10", "0.06", "0.01"},
		"gross in the gap between two fees": {
			Ask{CryptoAmount: dec("62.9375"), ChargeFrom: Crypto}, "62.9375", "100200", "100200", "500", "62.63", "0.31",
		},
	} {
		c.ask.Asset, c.ask.Network = a, "tron"
		q, err := ngn(c.ask, usdt("1600"))
		if err != nil {
			t.Errorf("Make(%s) = %v, want no error", name, err)
			continue
		}
		for what, pair := range map[string][2]string{
			"crypto": {q.CryptoAmount.String(), c.crypto}, "fiat": {q.FiatAmount.String(), c.fiat}, "payout": {q.PayoutAmount.String(), c.payout},
			"fee": {q.Charge.Fiat.String(), c.fee}, "usd": {q.TransactionUSD.String(), c.usd}, "fee in usd": {q.Charge.USD.String(), c.f},
		} {
			if !dec(pair[0]).Equal(dec(pair[1])) {
				t.Errorf("%s: %s is %s, want %s", name, what, pair[0], pair[1])
			}
		}
	}
}

func TestRangeIsRefusedNamingBothLimits(t *testing.T) {
	a := asset(t, "tron", "USDT")
	for _, ask := range []Ask{
		{FiatAmount: dec("0.99")},
		{FiatAmount: dec("50000000.01")},
		{CryptoAmount: dec("0.0001")},
		{CryptoAmount: dec("31300")},
		{CryptoAmount: dec("1000000000000000")},
	} {
		for _, from := range []ChargeFrom{Fiat, Crypto} {
			ask.Asset, ask.ChargeFrom = a, from
			_, err := ngn(ask, usdt("1600"))
			f := fault.As(err)
			if f.Code != OutOfRange || !strings.Contains(f.Message, "1.00") || !strings.Contains(f.Message, "50000000.00") {
				t.Errorf("Make(%+v) = %v, want %s with the bounds 1.00 and 50000000.00", ask, err, OutOfRange)
			}
		}
	}
}

func TestNoRateNoPrice(t *testing.T) {
	_, err := ngn(Ask{Asset: asset(t, "tron", "USDT"), FiatAmount: dec("100"), ChargeFrom: Fiat}, Rate{})
	if !fault.Is(err, "rate_unavailable") {
		t.Fatal(err)
	}
}

type pricing struct {
	schedule Schedule
	bounds   Bounds
	ask      Ask
	rate     Rate
}

func drawPricing(t *rapid.T) pricing {
	cur := rapid.SampledFrom(money.Currencies()).Draw(t, "currency")
	n := rapid.SampledFrom(money.Networks()).Draw(t, "network")
	a := rapid.SampledFrom(n.Assets).Draw(t, "asset")
	value := decimal.New(rapid.Int64Range(1, 1<<50).Draw(t, "rate"), -rapid.Int32Range(0, 8).Draw(t, "rate digits"))
	usd := decimal.New(rapid.Int64Range(1, 1<<30).Draw(t, "usd leg"), -rapid.Int32Range(0, 4).Draw(t, "usd digits"))
	return pricing{
		drawSchedule(t, cur), DefaultLimits()[cur],
		Ask{Currency: cur, Asset: a, Network: n.Name, ChargeFrom: rapid.SampledFrom([]ChargeFrom{Fiat, Crypto}).Draw(t, "charge from")},
		Rate{Fiat: cur, Crypto: a.Symbol, Value: value, USD: usd},
	}
}

// The identities of docs/api-contract.md#charge-and-payout for fiat-first, exactly.
func TestFiatFirstIdentities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPricing(t)
		most := p.bounds.Max.Shift(money.FiatDigits).IntPart()
		p.ask.FiatAmount = decimal.New(rapid.Int64Range(100, most).Draw(t, "minor"), -money.FiatDigits)
		q, err := p.schedule.Make(p.ask, p.bounds, p.rate)
		if err != nil {
			t.Fatal(err)
		}
		fee := q.Charge.Fiat
		if !q.FiatAmount.Equal(p.ask.FiatAmount) {
			t.Fatalf("fiatAmount is not the one sent: %s", q.FiatAmount)
		}
		owed := q.FiatAmount
		if p.ask.ChargeFrom == Fiat {
			if !q.PayoutAmount.Equal(q.FiatAmount.Sub(fee)) {
				t.Fatalf("payout %s is not %s − %s", q.PayoutAmount, q.FiatAmount, fee)
			}
		} else {
			if !q.PayoutAmount.Equal(q.FiatAmount) {
				t.Fatalf("payout %s is not %s", q.PayoutAmount, q.FiatAmount)
			}
			owed = owed.Add(fee)
		}
		isCeil(t, q.CryptoAmount, owed, p.rate.Value, p.ask.Asset.QuoteDigits)
		feeRules(t, q)
		if !q.PayoutAmount.IsPositive() || money.Digits(q.PayoutAmount) > money.FiatDigits {
			t.Fatalf("payout %s", q.PayoutAmount)
		}
	})
}

// isCeil checks c = ceil(owed/rate) at the given digits without dividing: c·rate ≥ owed and one unit less is not
// enough.
func isCeil(t *rapid.T, c, owed, rate decimal.Decimal, digits int32) {
	if money.Digits(c) > digits || c.Mul(rate).LessThan(owed) {
		t.Fatalf("%s at %s does not pay %s", c, rate, owed)
	}
	if less := c.Sub(decimal.New(1, -digits)); !less.Mul(rate).LessThan(owed) {
		t.Fatalf("%s at %s is more than %s needs", c, rate, owed)
	}
}

func feeRules(t *rapid.T, q Quote) {
	limit := money.Up(q.FiatAmount.Shift(-1), money.FiatDigits)
	if q.Charge.Fiat.IsNegative() || q.Charge.Fiat.GreaterThan(limit) || money.Digits(q.Charge.Fiat) > money.FiatDigits {
		t.Fatalf("fee %s of %s", q.Charge.Fiat, q.FiatAmount)
	}
	if money.Digits(q.Charge.USD) > 2 || money.Digits(q.TransactionUSD) > 2 || money.Digits(q.Charge.Crypto) > 8 {
		t.Fatalf("digits of %+v", q.Charge)
	}
}

// Crypto-first: the quote has the asked amount, and the payout is never worth more than it.
func TestCryptoFirstIdentities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPricing(t)
		digits := min(p.ask.Asset.Decimals, 8)
		p.ask.CryptoAmount = decimal.New(rapid.Int64Range(1, 1<<50).Draw(t, "crypto"), -digits)
		gross := money.Down(p.ask.CryptoAmount.Mul(p.rate.Value), money.FiatDigits)
		q, err := p.schedule.Make(p.ask, p.bounds, p.rate)
		if err != nil {
			if !fault.Is(err, OutOfRange) {
				t.Fatal(err)
			}
			if b := p.bounds; gross.GreaterThanOrEqual(b.Min.Mul(dec("1.2"))) && gross.LessThanOrEqual(b.Max) {
				t.Fatalf("gross %s is refused: %v", gross, err)
			}
			return
		}
		if !q.CryptoAmount.Equal(p.ask.CryptoAmount) {
			t.Fatalf("cryptoAmount %s, asked %s", q.CryptoAmount, p.ask.CryptoAmount)
		}
		if !q.PayoutAmount.Add(q.Charge.Fiat).Equal(gross) {
			t.Fatalf("payout %s and fee %s are not the gross %s", q.PayoutAmount, q.Charge.Fiat, gross)
		}
		if p.ask.ChargeFrom == Fiat && (!q.FiatAmount.Equal(gross) || !q.Charge.Fiat.Equal(p.schedule.Fee(gross))) {
			t.Fatalf("fiatAmount %s, fee %s of gross %s", q.FiatAmount, q.Charge.Fiat, gross)
		}
		if p.ask.ChargeFrom == Crypto {
			cryptoNet(t, p.schedule, gross, q)
		}
		feeRules(t, q)
	})
}

// cryptoNet checks the fee of crypto-first from crypto: it is the fee of fiatAmount; if two fit the smaller, if none
// the lower one of the step that the gross falls into.
func cryptoNet(t *rapid.T, s Schedule, gross decimal.Decimal, q Quote) {
	if !q.FiatAmount.Equal(q.PayoutAmount) {
		t.Fatalf("fiatAmount %s, payout %s", q.FiatAmount, q.PayoutAmount)
	}
	own := s.Fee(q.FiatAmount)
	if q.Charge.Fiat.Equal(own) {
		return
	}
	if q.Charge.Fiat.GreaterThan(own) {
		t.Fatalf("fee %s of %s is more than its own %s", q.Charge.Fiat, q.FiatAmount, own)
	}
	if f := gross.Sub(own); s.Fee(f).Equal(own) {
		t.Fatalf("fee %s fits gross %s, but %s was taken", own, gross, q.Charge.Fiat)
	}
	// None fits: the fee is that of an amount just below.
	for f, n := q.FiatAmount, 0; n < 2000; f, n = f.Sub(dec("0.01")), n+1 {
		if s.Fee(f).Equal(q.Charge.Fiat) {
			return
		}
	}
	if fee := s.Fee(s.edgeWithin(gross)); !fee.Equal(q.Charge.Fiat) {
		t.Fatalf("fee %s of %s is that of no amount below", q.Charge.Fiat, q.FiatAmount)
	}
}

// edgeWithin is the largest bound of a tier that does not exceed the gross together with its fee.
func (s Schedule) edgeWithin(gross decimal.Decimal) decimal.Decimal {
	edge := dec("0.01")
	for _, t := range s.Tiers {
		if t.UpTo.IsPositive() && t.UpTo.Add(s.Fee(t.UpTo)).LessThanOrEqual(gross) {
			edge = t.UpTo
		}
	}
	return edge
}

// For small tables with steps up and down, every amount is tried: net returns the best one.
func TestNetAgainstEveryAmount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Schedule
		edge := int64(0)
		for range rapid.IntRange(0, 3).Draw(t, "tiers") {
			edge += rapid.Int64Range(1, 5).Draw(t, "width")
			s.Tiers = append(s.Tiers, Tier{UpTo: decimal.NewFromInt(edge), Flat: decimal.New(rapid.Int64Range(0, 150).Draw(t, "flat"), -2)})
		}
		s.Tiers = append(s.Tiers, Tier{Flat: decimal.New(rapid.Int64Range(0, 50).Draw(t, "last"), -2), BPS: decimal.NewFromInt(rapid.Int64Range(0, 500).Draw(t, "bps"))})
		gross := decimal.New(rapid.Int64Range(2, 2500).Draw(t, "gross"), -2)
		fiat, fee := s.net(gross)
		var fits, near decimal.Decimal
		for f := dec("0.01"); f.LessThanOrEqual(gross); f = f.Add(dec("0.01")) {
			switch sum := f.Add(s.Fee(f)); {
			case sum.Equal(gross):
				fits = f // the largest amount that fits has the smallest fee
			case sum.LessThan(gross):
				near = f
			}
		}
		if fits.IsPositive() {
			if !fiat.Equal(fits) || !fee.Equal(s.Fee(fits)) {
				t.Fatalf("gross %s: fiat %s fee %s, but %s with %s fits", gross, fiat, fee, fits, s.Fee(fits))
			}
			return
		}
		if !fee.Equal(s.Fee(near)) || !fiat.Add(fee).Equal(gross) {
			t.Fatalf("gross %s: fiat %s fee %s, nearest is %s with %s", gross, fiat, fee, near, s.Fee(near))
		}
	})
}

func TestShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := decimal.New(rapid.Int64Range(1, 1<<40).Draw(t, "amount"), -2)
		whole := decimal.New(rapid.Int64Range(1, 1<<50).Draw(t, "whole"), -8)
		part := decimal.New(rapid.Int64Range(1, 1<<50).Draw(t, "part"), -8)
		got := Share(amount, part, whole)
		if got.Mul(whole).GreaterThan(amount.Mul(part)) || !got.Add(dec("0.01")).Mul(whole).GreaterThan(amount.Mul(part)) {
			t.Fatalf("share of %s for %s of %s is %s", amount, part, whole, got)
		}
	})
	if !Share(dec("1"), dec("1"), decimal.Zero).IsZero() {
		t.Error("a share of nothing")
	}
}

func TestDrift(t *testing.T) {
	r := usdt("1600")
	for now, want := range map[string]bool{"1600": true, "1616": true, "1584": true, "1616.01": false, "1583.99": false, "0": false, "-1600": false} {
		if r.Drift(dec(now), dec("0.01")) != want {
			t.Errorf("rate %s within 1 %% of 1600: want %v", now, want)
		}
	}
}

func FuzzMake(f *testing.F) {
	f.Add("160000", "", "1600", "1600", true)
	f.Add("", "0.00000001", "150000000", "1600", false)
	f.Add("1e15", "", "0.00000001", "1e-8", true)
	f.Fuzz(func(t *testing.T, fiat, crypto, rate, usd string, fromFiat bool) {
		parse := func(s string) decimal.Decimal {
			d, err := money.Parse(s)
			if err != nil || d.IsNegative() || d.GreaterThan(money.Max) || money.Digits(d) > 8 {
				return decimal.Zero
			}
			return d
		}
		ask := Ask{Asset: asset(t, "bsc", "USDT"), Network: "bsc", FiatAmount: money.Down(parse(fiat), 2), ChargeFrom: Crypto}
		if fromFiat {
			ask.ChargeFrom = Fiat
		}
		if !ask.FiatAmount.IsPositive() {
			ask.CryptoAmount = parse(crypto)
		}
		q, err := ngn(ask, Rate{Value: parse(rate), USD: parse(usd)})
		if err != nil {
			return
		}
		if !q.CryptoAmount.IsPositive() || !q.PayoutAmount.IsPositive() || q.PayoutAmount.GreaterThan(q.FiatAmount) {
			t.Fatalf("Make() = %+v, want positive amounts and a payout of at most the fiat amount", q)
		}
		if got := q.CryptoAmount.Mul(q.Rate.Value); got.LessThan(q.PayoutAmount) {
			t.Fatalf("pays out %s for %s", q.PayoutAmount, got)
		}
	})
}
