package sweep

import (
	"errors"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Money is collected at a quiet price, or when it is old, and never above the cap. A lower price or a greater age never
// makes it wait.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price, most := rapid.Int64Range(0, 1_000).Draw(t, "price"), rapid.Int64Range(1, 1_000).Draw(t, "most")
		age, latest := rapid.Int64Range(0, 100).Draw(t, "age"), rapid.Int64Range(0, 100).Draw(t, "latest")
		p := Pace{Latest: time.Duration(latest)}
		if rapid.Bool().Draw(t, "has a quiet price") {
			p.Quiet = wei(rapid.Int64Range(0, 1_000).Draw(t, "quiet"))
		}
		quiet := p.Quiet == nil || price <= p.Quiet.Int64()
		var want error
		switch {
		case price > most:
			want = ErrDear
		case !quiet && age < latest:
			want = ErrLoud
		}
		got := p.Now(wei(price), wei(most), time.Duration(age))
		if !errors.Is(got, want) || (got == nil) != (want == nil) {
			t.Fatalf("collect at %d at the age of %d: got %v, want %v", price, age, got, want)
		}
		lower, older := rapid.Int64Range(0, price).Draw(t, "lower"), age+rapid.Int64Range(0, 100).Draw(t, "older")
		if err := p.Now(wei(lower), wei(most), time.Duration(older)); got == nil && err != nil {
			t.Fatalf("collect at the lower price %d at the age of %d: %v", lower, older, err)
		}
	})
}

// A raised fee is one that nodes take as a replacement, within the cap and the sum's worth, and pays the market as far
// as these allow. It is refused only when nodes would not take any fee within them.
func TestBatches_raise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Batches{Most: Rate(rapid.Int64Range(1_000, 500_000).Draw(t, "most"))}
		size := rapid.Int64Range(110, 7_000).Draw(t, "size")
		fee := Rate(rapid.Int64Range(1_000, 500_000).Draw(t, "rate")).Fee(size)
		now, sum := Rate(rapid.Int64Range(1_000, 500_000).Draw(t, "market")), rapid.Int64Range(1, 1e9).Draw(t, "sum")
		raised, ok := b.Raise(fee, size, sum, now)
		most, step := min(b.Most.Fee(size), sum/worthInput), fee+RelayStep.Fee(size)
		if ok != (step <= most) {
			t.Fatalf("raise %d of %d virtual bytes within %d: got %v", fee, size, most, ok)
		}
		if ok && (raised < step || RateOf(raised, size) < RateOf(fee, size) || raised < min(now.Fee(size), most)) {
			t.Fatalf("raise %d of %d virtual bytes: got %d", fee, size, raised)
		}
		if ok && raised > most {
			t.Fatalf("raise %d of %d virtual bytes: got %d, above the cap or the worth of %d", fee, size, raised, sum)
		}
	})
}

// A fee is never below its rate, and never a satoshi too much.
func TestRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate, size := Rate(rapid.Int64Range(1, 1e7).Draw(t, "rate")), rapid.Int64Range(1, 1e6).Draw(t, "size")
		fee := rate.Fee(size)
		exact := new(big.Int).Mul(wei(int64(rate)), wei(size))
		if got := new(big.Int).Mul(wei(fee), wei(rateUnit)); got.Cmp(exact) < 0 || got.Cmp(exact.Add(exact, wei(rateUnit))) >= 0 {
			t.Fatalf("the fee of %d bytes at %d is %d", size, rate, fee)
		}
		if RateOf(fee, size) < rate {
			t.Fatalf("the rate of %d for %d bytes is %d, below %d", fee, size, RateOf(fee, size), rate)
		}
	})
}

func TestBatches_ready(t *testing.T) {
	b := Batches{Most: 50_000, Least: 100_000, InputSize: 68, Pace: Pace{Quiet: wei(10_000), Latest: time.Hour}}
	if got := b.Deposit(10_000); got != 3*680 {
		t.Errorf("the smallest deposit at 10 satoshi a byte: got %d, want 2040", got)
	}
	for name, c := range map[string]struct {
		sum  int64
		now  Rate
		age  time.Duration
		want error
	}{
		"quiet and enough":   {100_000, 10_000, 0, nil},
		"too little":         {99_999, 1_000, time.Minute, ErrSmall},
		"little and old":     {5_000, 1_000, time.Hour, nil},
		"loud":               {1e8, 10_001, time.Minute, ErrLoud},
		"loud and old":       {1e8, 50_000, time.Hour, nil},
		"above the cap":      {1e8, 50_001, time.Hour, ErrDear},
		"little, old, loud":  {5_000, 50_000, time.Hour, nil},
		"little, old, dear":  {5_000, 50_001, time.Hour, ErrDear},
		"young and too dear": {1e8, 50_001, 0, ErrDear},
	} {
		if got := b.Ready(c.sum, c.now, c.age); !errors.Is(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
