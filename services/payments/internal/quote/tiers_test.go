package quote

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

// drawTiers draws tiers that rise in their bounds. CheckTiers may refuse them.
func drawTiers(t *rapid.T) (tiers []Tier) {
	cents := func(most int64, name string) decimal.Decimal {
		return decimal.New(rapid.Int64Range(0, most).Draw(t, name), -money.FiatDigits)
	}
	edge := decimal.Zero
	for i := range rapid.IntRange(1, 5).Draw(t, "tiers") {
		tier := Tier{Flat: cents(10_000, fmt.Sprintf("flat %d", i)), BPS: decimal.New(rapid.Int64Range(0, 30_000).Draw(t, fmt.Sprintf("bps %d", i)), -bpsDigits)}
		if rapid.Bool().Draw(t, fmt.Sprintf("bounded %d", i)) {
			tier.Least = cents(20_000, fmt.Sprintf("least %d", i))
			tier.Most = decimal.Max(tier.Flat, tier.Least).Add(cents(1_000_000, fmt.Sprintf("most %d", i)))
		}
		edge = edge.Add(cents(5_000_000, fmt.Sprintf("width %d", i))).Add(dec("0.01"))
		tier.UpTo = edge
		tiers = append(tiers, tier)
	}
	tiers[len(tiers)-1].UpTo = decimal.Zero
	return tiers
}

// drawSchedule draws the first schedule of a currency or another one that operators can publish.
func drawSchedule(t *rapid.T, cur money.Currency) Schedule {
	if rapid.Bool().Draw(t, "first schedule") {
		return First(cur)
	}
	tiers := rapid.Custom(drawTiers).Draw(t, "tiers")
	for len(tiers) > 1 && checked(tiers, cur) != nil {
		tiers = tiers[1:]
	}
	if checked(tiers, cur) != nil {
		return First(cur)
	}
	return Schedule{ID: "fee_drawn", Tiers: tiers}
}

func checked(tiers []Tier, cur money.Currency) error {
	var problems fault.Problems
	CheckTiers(tiers, cur, &problems)
	return problems.Err()
}

// The first schedule of each currency is the table of docs/api-contract.md#fees. It never changes, because payments
// that it priced are converted by it years later.
func TestFirst(t *testing.T) {
	for cur, want := range map[money.Currency]string{
		money.NGN: "100000=500,1000000=1000,2000000=1500,rest=7.5bp",
		money.GHS: "1000=5,10000=10,20000=15,rest=7.5bp",
		money.KES: "10000=50,100000=100,200000=150,rest=7.5bp",
		money.ZAR: "1500=10,15000=20,30000=30,rest=10bp",
	} {
		s := First(cur)
		if got, id := TiersText(s.Tiers), "fee_"+strings.ToLower(string(cur))+"_1"; got != want || s.ID != id {
			t.Errorf("First(%s) = %s with %s, want %s with %s", cur, s.ID, got, id, want)
		}
		if err := checked(s.Tiers, cur); err != nil {
			t.Errorf("CheckTiers(%s) = %v, want no error", cur, err)
		}
	}
}

// On each side of each bound the first schedules take the fees that were compiled in before schedules were published.
func TestFirst_bounds(t *testing.T) {
	for cur, c := range map[money.Currency][]string{
		money.NGN: {"4999.99 500", "5000 500", "100000 500", "100000.01 1000", "1000000 1000", "1000000.01 1500", "2000000 1500", "2000000.01 1500.01", "3000000 2250", "50000000 37500"},
		money.GHS: {"50 5", "1000 5", "1000.01 10", "10000 10", "10000.01 15", "20000 15", "20000.01 15.01", "30000 22.5", "500000 375"},
		money.KES: {"500 50", "10000 50", "10000.01 100", "100000 100", "100000.01 150", "200000 150", "200000.01 150.01", "300000 225", "5000000 3750"},
		money.ZAR: {"100 10", "1500 10", "1500.01 20", "15000 20", "15000.01 30", "30000 30", "30000.01 30.01", "45000 45", "1000000 1000"},
	} {
		for _, line := range c {
			fiat, want, _ := strings.Cut(line, " ")
			if got := First(cur).Fee(dec(fiat)); !got.Equal(dec(want)) {
				t.Errorf("fee of %s %s = %s, want %s", fiat, cur, got, want)
			}
		}
	}
}

func TestTier_bounds(t *testing.T) {
	tiers, err := ParseTiers("rest=100+150bp>=250<=2000")
	if err != nil {
		t.Fatal(err)
	}
	s := Schedule{Tiers: tiers}
	for fiat, want := range map[string]string{
		"1": "0.1", "1000": "100", "2500": "250", "9999": "250", "10000": "250", "10000.01": "250.01", "20000": "400",
		"126666.66": "2000", "126666.67": "2000", "5000000": "2000",
	} {
		if got := s.Fee(dec(fiat)); !got.Equal(dec(want)) {
			t.Errorf("fee of %s = %s, want %s", fiat, got, want)
		}
	}
}

func TestCheckTiers_refuses(t *testing.T) {
	for text, field := range map[string]string{
		"":                             "tiers",
		"1000=5":                       "tiers[0].upTo",
		"rest=5,rest=6":                "tiers[0].upTo",
		"1000=5,1000=6,rest=7":         "tiers[1].upTo",
		"1000=5,500=6,rest=7":          "tiers[1].upTo",
		"1000.001=5,rest=7":            "tiers[0].upTo",
		"1000=5.001,rest=7":            "tiers[0].flat",
		"1000=-5,rest=7":               "tiers[0].flat",
		"rest=1000.01bp":               "tiers[0].basisPoints",
		"rest=7.555bp":                 "tiers[0].basisPoints",
		"rest=1bp>=-1":                 "tiers[0].minimum",
		"rest=1bp>=10<=9":              "tiers[0].maximum",
		"rest=10+1bp<=9":               "tiers[0].maximum",
		"1000=100.01,rest=200":         "tiers[0]",
		"1000=1+1000bp,rest=200":       "tiers[0]",
		"1000=1bp>=101,rest=200":       "tiers[0]",
		"rest=50001":                   "tiers[0]",
		"1000=50,rest=49":              "tiers[1]",
		"1000=50,2000=100bp,rest=50bp": "tiers[1]",
	} {
		var tiers []Tier
		if text != "" {
			var err error
			if tiers, err = ParseTiers(text); err != nil {
				t.Fatalf("ParseTiers(%s) = %v, want no error", text, err)
			}
		}
		f := fault.As(checked(tiers, money.GHS))
		if f.Code != "validation_failed" || f.Fields[0].Field != field {
			t.Errorf("CheckTiers(%q) = %v, want a refusal of %s", text, f, field)
		}
	}
	many, err := ParseTiers(strings.Repeat("1=0,", TiersMost) + "rest=0")
	if err != nil || checked(many, money.GHS) == nil {
		t.Errorf("CheckTiers(%d tiers) found no problem (%v), want a refusal", len(many), err)
	}
}

// The fee of any schedule that can be published is an amount of the currency, at most a tenth, rounded up, and never
// falls when the amount grows. It leaves the receiver of the least payment something.
func TestSchedule_fee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cur := rapid.SampledFrom(money.Currencies()).Draw(t, "currency")
		s := drawSchedule(t, cur)
		near := decimal.NewFromInt(rapid.Int64Range(0, 2).Draw(t, "near a bound") - 1).Shift(-money.FiatDigits)
		fiat := decimal.New(rapid.Int64Range(100, 100_000_000_00).Draw(t, "fiat"), -money.FiatDigits)
		if edge := rapid.SampledFrom(s.Tiers).Draw(t, "tier").UpTo; rapid.Bool().Draw(t, "at a bound") && edge.GreaterThan(dec("1")) {
			fiat = edge.Add(near)
		}
		fee := s.Fee(fiat)
		if fee.IsNegative() || money.Digits(fee) > money.FiatDigits || fee.GreaterThan(money.Up(fiat.Shift(-1), money.FiatDigits)) {
			t.Fatalf("fee of %s = %s, want an amount of at most a tenth", fiat, fee)
		}
		if !fiat.Sub(fee).IsPositive() {
			t.Fatalf("fee of %s = %s, want something left for the receiver", fiat, fee)
		}
		if before := s.Fee(fiat.Sub(dec("0.01"))); before.GreaterThan(fee) {
			t.Fatalf("fee of %s = %s, and of one unit less %s; want it not to fall", fiat, fee, before)
		}
		exact := decimal.Zero
		for _, tier := range s.Tiers {
			if tier.UpTo.IsZero() || fiat.LessThanOrEqual(tier.UpTo) {
				exact = decimal.Min(tier.uncapped(fiat), fiat.Shift(-1))
				break
			}
		}
		if fee.LessThan(exact) || !fee.Sub(dec("0.01")).LessThan(exact) {
			t.Fatalf("fee of %s = %s, want %s rounded up", fiat, fee, exact)
		}
	})
}

// The text of tiers reads as the same tiers.
func TestParseTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tiers := drawTiers(t)
		text := TiersText(tiers)
		read, err := ParseTiers(text)
		if err != nil || len(read) != len(tiers) {
			t.Fatalf("ParseTiers(%s) = %v, %v; want %d tiers", text, read, err, len(tiers))
		}
		for i, a := range tiers {
			b := read[i]
			if !a.UpTo.Equal(b.UpTo) || !a.Flat.Equal(b.Flat) || !a.BPS.Equal(b.BPS) || !a.Least.Equal(b.Least) || !a.Most.Equal(b.Most) {
				t.Fatalf("ParseTiers(%s) = %+v, want %+v", text, read, tiers)
			}
		}
	})
	for _, text := range []string{"", "5", "rest", "rest=", "0=5", "-1=5", "x=5", "rest=5,", "rest=bp", "rest=5<=", "rest=5<=1>=2", "1e99=5"} {
		if tiers, err := ParseTiers(text); err == nil {
			t.Errorf("ParseTiers(%q) = %+v, want an error", text, tiers)
		}
	}
}
