package app_test

import (
	"context"
	"testing"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
)

// shelves remembers what was asked for.
type shelves struct {
	level    app.StockLevel
	asked    []int
	repeated []string
}

func (s *shelves) Levels(context.Context, time.Duration) ([]app.StockLevel, error) {
	return []app.StockLevel{s.level}, nil
}

func (s *shelves) Request(_ context.Context, _ payment.Mode, _ money.Family, count int, c app.Command) error {
	m := c.Payload.(wire.AllocateAddresses)
	if m.Count != count || c.ID == m.RequestID {
		panic("the message's id must differ from the request's, and the counts agree")
	}
	s.asked = append(s.asked, count)
	return nil
}

func (s *shelves) Repeat(_ context.Context, _ payment.Mode, _ money.Family, c app.Command) error {
	s.repeated = append(s.repeated, c.Payload.(wire.AllocateAddresses).RequestID)
	return nil
}

func (s *shelves) Fill(context.Context, string, wire.AddressesAllocated) error { return nil }

func TestReplenisher(t *testing.T) {
	for name, tc := range map[string]struct {
		level    app.StockLevel
		asked    int
		repeated bool
	}{
		"empty":               {app.StockLevel{}, 1024, false},
		"half":                {app.StockLevel{Free: 512}, 512, false},
		"above half":          {app.StockLevel{Free: 513}, 0, false},
		"busy hour":           {app.StockLevel{Free: 2000, Peak: 500}, 3000, false},
		"very busy hour":      {app.StockLevel{Free: 0, Peak: 1_000_000}, wire.AllocateMax, false},
		"waits for an answer": {app.StockLevel{Open: &app.StockRequest{ID: "r", Count: 5}}, 0, false},
		"no answer comes":     {app.StockLevel{Open: &app.StockRequest{ID: "r", Count: 5, Stale: true}}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelves{level: app.StockLevel{Mode: payment.Test, Family: money.EVM, Free: 1024}}
			gauge := -1
			r := app.NewReplenisher(s, map[payment.Mode][]money.Family{payment.Test: {money.EVM}}, 1024, time.Now,
				func(_ payment.Mode, _ money.Family, free int) { gauge = free })
			if name == "above half" { // not the first look
				s.level.Free = 1023
				if err := r.Look(t.Context()); err != nil || len(s.asked) != 1 {
					t.Fatalf("the first look fills up: %v %v", s.asked, err)
				}
				s.asked = nil
			}
			tc.level.Mode, tc.level.Family = payment.Test, money.EVM
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
