package stock_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/stock"
)

// shelves records the requests.
type shelves struct {
	level    stock.Level
	others   []stock.Level
	asked    []int
	repeated []string
}

func (s *shelves) Levels(_ context.Context, of []stock.Shelf, _ time.Duration) (levels []stock.Level, err error) {
	for _, l := range append([]stock.Level{s.level}, s.others...) {
		if slices.Contains(of, l.Shelf) {
			levels = append(levels, l)
		}
	}
	return levels, nil
}

func (s *shelves) Request(_ context.Context, _ tenant.Mode, _ money.Family, count int, c change.Command) error {
	m := c.Payload.(wire.AllocateAddresses)
	if m.Count != count || c.ID == m.RequestID {
		panic("the message's id must differ from the request's, and the counts agree")
	}
	s.asked = append(s.asked, count)
	return nil
}

func (s *shelves) Repeat(_ context.Context, _ tenant.Mode, _ money.Family, c change.Command) error {
	s.repeated = append(s.repeated, c.Payload.(wire.AllocateAddresses).RequestID)
	return nil
}

func TestReplenisher(t *testing.T) {
	for name, tc := range map[string]struct {
		level    stock.Level
		asked    int
		repeated bool
	}{
		"empty":               {stock.Level{}, 1024, false},
		"half":                {stock.Level{Free: 512}, 512, false},
		"above half":          {stock.Level{Free: 513}, 0, false},
		"busy hour":           {stock.Level{Free: 2000, Peak: 500}, 3000, false},
		"very busy hour":      {stock.Level{Free: 0, Peak: 1_000_000}, wire.AllocateMax, false},
		"waits for an answer": {stock.Level{Open: &stock.Request{ID: "r", Count: 5}}, 0, false},
		"no answer comes":     {stock.Level{Open: &stock.Request{ID: "r", Count: 5, Stale: true}}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelves{level: stock.Level{Shelf: stock.Shelf{Mode: tenant.Test, Family: money.EVM}, Free: 1024}}
			gauge, now := -1, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			later := func() time.Time { now = now.Add(time.Second); return now }
			r := stock.NewReplenisher(s, map[tenant.Mode][]money.Family{tenant.Test: {money.EVM}}, 1024, later,
				func(_ tenant.Mode, _ money.Family, free int) { gauge = free })
			if name == "above half" { // not the first look
				s.level.Free = 1023
				if err := r.Look(t.Context()); err != nil || len(s.asked) != 1 {
					t.Fatalf("the first look fills up: %v %v", s.asked, err)
				}
				s.asked = nil
			}
			tc.level.Mode, tc.level.Family = tenant.Test, money.EVM
			s.level = tc.level
			if err := r.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			asked := 0
			if len(s.asked) == 1 {
				asked = s.asked[0]
			}
			if asked != tc.asked || (len(s.repeated) == 1) != tc.repeated || gauge != tc.level.Free {
				t.Errorf("asked %v, repeated %v, gauge %d", s.asked, s.repeated, gauge)
			}
		})
	}
}

// While wallets is about to answer a request, the next look is due soon: it counts what came.
func TestReplenisher_awaits(t *testing.T) {
	s := &shelves{level: stock.Level{Shelf: stock.Shelf{Mode: tenant.Test, Family: money.EVM}}}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := stock.NewReplenisher(s, map[tenant.Mode][]money.Family{tenant.Test: {money.EVM}}, 1024, func() time.Time { return now },
		func(tenant.Mode, money.Family, int) {})
	open := &stock.Request{ID: "r", Count: 1024}
	for _, step := range []struct {
		name  string
		after time.Duration
		open  *stock.Request
		free  int
		want  bool
	}{
		{"the first look asks", 0, nil, 0, true},
		{"wallets has not answered", time.Second, open, 0, true},
		{"wallets has answered", time.Second, nil, 1024, false},
		{"another look asks", time.Second, nil, 100, true},
		{"wallets does not answer", 10 * time.Second, open, 100, false},
	} {
		s.level.Open, s.level.Free, now = step.open, step.free, now.Add(step.after)
		if err := r.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.Awaits(); got != step.want {
			t.Errorf("%s: got awaits %t, want %t", step.name, got, step.want)
		}
	}
}

// A large stock is counted again only after a while that grows with it; a small one at every look.
func TestReplenisher_countsSparingly(t *testing.T) {
	s := &shelves{level: stock.Level{Shelf: stock.Shelf{Mode: tenant.Test, Family: money.EVM}, Free: 80_000, Peak: 20_000}}
	now, counted := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 0
	r := stock.NewReplenisher(s, map[tenant.Mode][]money.Family{tenant.Test: {money.EVM}}, 1024, func() time.Time { return now },
		func(tenant.Mode, money.Family, int) { counted++ })
	look := func(times int) int {
		t.Helper()
		before := counted
		for range times {
			now = now.Add(200 * time.Millisecond)
			if err := r.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return counted - before
	}
	if n := look(500); n < 4 || n > 6 {
		t.Errorf("80 000 addresses were counted %d times in 100 s", n)
	}
	s.level.Free = 800
	look(100) // until it is counted next
	if n := look(10); n != 10 {
		t.Errorf("800 addresses were counted %d times at 10 looks", n)
	}
}

// A full shelf of one family does not delay the count of another that runs empty.
func TestReplenisher_seesARushOnAnother(t *testing.T) {
	s := &shelves{
		level:  stock.Level{Shelf: stock.Shelf{Mode: tenant.Test, Family: money.EVM}, Free: 200_000, Peak: 20_000},
		others: []stock.Level{{Shelf: stock.Shelf{Mode: tenant.Test, Family: money.Tron}, Free: 1024}},
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := stock.NewReplenisher(s, map[tenant.Mode][]money.Family{tenant.Test: {money.EVM, money.Tron}}, 1024, func() time.Time { return now },
		func(tenant.Mode, money.Family, int) {})
	for s.others[0].Free > 0 { // a thousand payments a second
		if err := r.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(s.asked) > 0 {
			return
		}
		now, s.others[0].Free = now.Add(200*time.Millisecond), s.others[0].Free-200
	}
	t.Error("the stock ran out before anybody looked")
}
