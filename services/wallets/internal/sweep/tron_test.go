package sweep

import (
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// mainnet are the rates of the main network in 2026, with a stake of 10 TRX for 100 units of energy.
func mainnet() Rates {
	return Rates{Energy: 100, Byte: 1_000, Open: 1_100_000, FreeBytes: 600, StakeOf: big.NewInt(10_000_000), EnergyOf: big.NewInt(100)}
}

func tronTerms() TronTerms {
	return TronTerms{MaxFee: 30_000_000, MaxStake: 20_000_000_000, LendSize: 350, BackSize: 350}
}

func TestNext(t *testing.T) {
	call := Call{Energy: 64_285, Size: 410}
	rich := Means{Active: true, Coins: 1_000_000_000, Lendable: 1_000_000_000_000}
	stake := mainnet().Stake(64_285)
	for name, c := range map[string]struct {
		call        Call
		at, station Means
		rent        int64
		want        Step
	}{
		"a new address gets one sun, then energy":    {call, Means{}, rich, 0, Step{Give: 1}},
		"an account is lent energy":                  {call, Means{Active: true, Coins: 1, Bandwidth: 600}, rich, 0, Step{Lend: stake}},
		"an account with energy sweeps":              {call, Means{Active: true, Bandwidth: 600, Energy: 64_285}, rich, 0, Step{FeeLimit: 6_428_500}},
		"a stake in use gives TRX":                   {call, Means{Active: true, Bandwidth: 600}, Means{Lendable: stake - 1}, 0, Step{Give: 6_428_500}},
		"rent above the burnt TRX gives TRX":         {call, Means{Active: true, Bandwidth: 600}, rich, 100_000, Step{Give: 6_428_500}},
		"a new address gets TRX to burn":             {call, Means{}, Means{}, 0, Step{Give: 6_428_500}},
		"TRX of an earlier funding is burnt":         {call, Means{Active: true, Coins: 6_428_500, Bandwidth: 600}, rich, 0, Step{FeeLimit: 6_428_500}},
		"bytes without bandwidth are paid":           {call, Means{Active: true, Coins: 6_428_500, Bandwidth: 409}, Means{}, 0, Step{Give: 410_000}},
		"a rest that is cheaper to give than lend":   {call, Means{Active: true, Coins: 6_000_000, Bandwidth: 600}, rich, 0, Step{Give: 428_500}},
		"merchants' TRX: no energy is lent":          {Call{Energy: 64_285, Size: 410, Held: true}, Means{Active: true, Bandwidth: 600}, rich, 0, Step{Give: 6_428_500}},
		"merchants' TRX: own energy does not help":   {Call{Energy: 64_285, Size: 410, Held: true}, Means{Active: true, Bandwidth: 600, Energy: 99_999}, rich, 0, Step{Give: 6_428_500}},
		"merchants' TRX: a covered limit is allowed": {Call{Energy: 64_285, Size: 410, Held: true}, Means{Active: true, Bandwidth: 600, Coins: 6_428_500}, rich, 0, Step{FeeLimit: 6_428_500}},
	} {
		terms := tronTerms()
		terms.Rent = c.rent
		got, err := terms.Next(c.call, c.at, c.station, mainnet())
		got.Cost = 0 // TestNext_cost
		if err != nil || got != c.want {
			t.Errorf("%s: the next step is %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if _, err := tronTerms().Next(Call{Energy: 300_001}, Means{}, rich, mainnet()); !errors.Is(err, ErrDear) {
		t.Errorf("a call above the cap is %v, want %v", err, ErrDear)
	}
}

// The pace judges the energy that an address lacks: its price while TRX is burnt for it, and the price of lending it.
func TestNext_cost(t *testing.T) {
	call := Call{Energy: 64_285, Size: 410}
	rich := Means{Active: true, Coins: 1_000_000_000, Bandwidth: 500, Lendable: 1_000_000_000_000}
	for name, c := range map[string]struct {
		at, station Means
		want        int64
	}{
		"TRX is given to burn":     {Means{}, Means{}, 6_428_500},
		"TRX is there to burn":     {Means{Active: true, Coins: 6_428_500, Bandwidth: 600}, Means{}, 6_428_500},
		"energy is lent":           {Means{Active: true, Bandwidth: 600}, rich, 350_000},
		"the address is opened":    {Means{}, rich, 350_000},
		"the energy is there":      {Means{Active: true, Bandwidth: 600, Energy: 64_285}, rich, 0},
		"half the energy is there": {Means{Active: true, Bandwidth: 600, Energy: 32_285}, Means{}, 3_200_000},
	} {
		if got, err := tronTerms().Next(call, c.at, c.station, mainnet()); err != nil || got.Cost != c.want {
			t.Errorf("%s: the step %+v costs %d, %v, want %d", name, got, got.Cost, err, c.want)
		}
	}
}

// The steps end with a sweep after at most two others, cost no more than burning everything, and never let a call burn
// the TRX of merchants.
func TestNext_leadsToASweep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := mainnet()
		r.Energy, r.Byte = rapid.Int64Range(1, 1_000).Draw(t, "energy price"), rapid.Int64Range(0, 2_000).Draw(t, "byte price")
		r.EnergyOf = big.NewInt(rapid.Int64Range(1, 10_000).Draw(t, "energy of the stake"))
		terms := TronTerms{MaxFee: 1 << 60, MaxStake: rapid.Int64Range(0, 1<<50).Draw(t, "most stake"), Rent: rapid.Int64Range(0, 200_000).Draw(t, "rent"), LendSize: 350, BackSize: 350}
		c := Call{Energy: rapid.Int64Range(1, 1_000_000).Draw(t, "needs"), Size: rapid.Int64Range(1, 900).Draw(t, "size"), Held: rapid.Bool().Draw(t, "held")}
		at := Means{Active: rapid.Bool().Draw(t, "active")}
		if at.Active {
			at.Coins, at.Energy, at.Bandwidth = rapid.Int64Range(0, 1<<40).Draw(t, "coins"), rapid.Int64Range(0, 1<<20).Draw(t, "has energy"), rapid.Int64Range(0, 600).Draw(t, "bandwidth")
		}
		station := Means{Active: true, Bandwidth: rapid.Int64Range(0, 1_000).Draw(t, "station's bandwidth"), Lendable: rapid.Int64Range(0, 1<<50).Draw(t, "lendable")}
		before, given := at, int64(0)
		for n := 0; ; n++ {
			step, err := terms.Next(c, at, station, r)
			if err != nil || n > 2 {
				t.Fatalf("step %d is %+v, %v", n, step, err)
			}
			positive := 0
			for _, v := range []int64{step.FeeLimit, step.Give, step.Lend} {
				if v > 0 {
					positive++
				} else if v < 0 {
					t.Fatalf("%+v has a negative member", step)
				}
			}
			if positive != 1 {
				t.Fatalf("%+v has %d positive members, want 1", step, positive)
			}
			switch {
			case step.Give > 0:
				given += step.Give
				at.Coins += step.Give
				if !at.Active {
					at.Active, at.Bandwidth = true, r.FreeBytes
				}
				continue
			case step.Lend > 0:
				if c.Held || step.Lend > station.Lendable || step.Lend > terms.MaxStake {
					t.Fatalf("lent %d of %d to %+v", step.Lend, station.Lendable, c)
				}
				at.Energy += new(big.Int).Div(new(big.Int).Mul(big.NewInt(step.Lend), r.EnergyOf), r.StakeOf).Int64()
				station.Lendable -= step.Lend
				continue
			}
			size := r.bytes(c.Size, at.Bandwidth)
			if step.FeeLimit < c.Energy*r.Energy {
				t.Fatalf("a limit of %d does not pay %d units at %d", step.FeeLimit, c.Energy, r.Energy)
			}
			if burn := max(0, c.Energy-at.Energy) * r.Energy; at.Coins < size+burn {
				t.Fatalf("sweeps with %d, needs %d", at.Coins, size+burn)
			}
			if c.Held && at.Coins < size+step.FeeLimit {
				t.Fatalf("a call that may burn %d has %d of the station's", step.FeeLimit, at.Coins)
			}
			worst := c.Energy*r.Energy + c.Size*r.Byte + 1
			if given > max(0, worst-before.Coins)+1 {
				t.Fatalf("given %d, which is more than %d", given, worst)
			}
			return
		}
	})
}

// A stake has at least the energy that it was computed for.
func TestStake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rates{StakeOf: big.NewInt(rapid.Int64Range(1, 1<<60).Draw(t, "stake")), EnergyOf: big.NewInt(rapid.Int64Range(1, 1<<60).Draw(t, "energy"))}
		want := rapid.Int64Range(0, 1<<40).Draw(t, "wanted")
		stake := r.Stake(want)
		if stake == mostSun {
			return // more than there is
		}
		if got := new(big.Int).Div(new(big.Int).Mul(big.NewInt(stake), r.EnergyOf), r.StakeOf); got.Cmp(big.NewInt(want)) < 0 || stake < leastStake {
			t.Fatalf("a stake of %d has %s units, want %d", stake, got, want)
		}
	})
}

func TestSend(t *testing.T) {
	amount := big.NewInt(40_000_000)
	if got, err := mainnet().Send(amount, 330, Means{Bandwidth: 330}, 20); err != nil || got.Cmp(amount) != 0 {
		t.Errorf("with bandwidth %s arrives, %v, want all", got, err)
	}
	if got, err := mainnet().Send(amount, 330, Means{Bandwidth: 329}, 20); err != nil || got.Int64() != 40_000_000-330_000 {
		t.Errorf("without bandwidth %s arrives, %v", got, err)
	}
	if _, err := mainnet().Send(big.NewInt(6_599_999), 330, Means{}, 20); !errors.Is(err, ErrSmall) {
		t.Errorf("a small sum is %v, want %v", err, ErrSmall)
	}
	if got := mainnet().Cost(330, Means{}, false); got != 1_430_000 {
		t.Errorf("a first payment costs %d, want 1430000", got)
	}
}
