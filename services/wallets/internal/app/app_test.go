package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/wallet"
)

// shelf is Book and Simulator in memory.
type shelf struct {
	granted   []wallet.Request
	sources   []derivation.Source
	waiting   []wallet.Request
	simulated []wallet.Simulated
	owner     map[string]tenant.Mode
	used      []wire.UsedAddress
	err       error
}

func (s *shelf) Allocate(_ context.Context, _ string, r wallet.Request, source derivation.Source) error {
	s.granted, s.sources = append(s.granted, r), append(s.sources, source)
	return s.err
}

func (s *shelf) Waiting(context.Context) ([]wallet.Request, error) { return s.waiting, s.err }

func (s *shelf) NoteTraces(_ context.Context, used []wire.UsedAddress) error {
	s.used = append(s.used, used...)
	return s.err
}

func (s *shelf) Simulate(_ context.Context, _ []string, deposits []wallet.Simulated) error {
	s.simulated = append(s.simulated, deposits...)
	return s.err
}

func (s *shelf) NotOfTest(_ context.Context, addresses []wallet.Spelling) (places []int, err error) {
	for n, a := range addresses {
		if s.owner[a.Test] != tenant.Test || s.owner[a.Live] == tenant.Live {
			places = append(places, n)
		}
	}
	return places, s.err
}

const (
	ours    = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
	liveOne = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
)

func newApp(s *shelf, taken *[]string) *App {
	return New(s, s, Settings{
		Sources: keys.Sources{tenant.Test: {money.Solana: derivation.NewSandbox()}, tenant.Live: {}},
		Nets:    map[tenant.Mode]address.Net{tenant.Test: address.Testnet, tenant.Live: address.Mainnet},
		Depths:  wallet.DefaultDepths(), Most: 100, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Taken: func(n string) { *taken = append(*taken, n) },
	})
}

// Only valid traces are kept, and a message is bounded.
func TestNoteTraces(t *testing.T) {
	s := &shelf{}
	a := newApp(s, nil)
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	told := []wire.UsedAddress{{Address: "a", Trace: "no trace"}, {Address: "b", Trace: good}, {Address: "c", Trace: good[:53] + "00"}}
	if err := a.NoteTraces(t.Context(), told); err != nil || len(s.used) != 1 || s.used[0].Address != "b" {
		t.Errorf("note traces: got %v, %v, want that of b alone", s.used, err)
	}
	if err := a.NoteTraces(t.Context(), make([]wire.UsedAddress, wire.AddressesMax+1)); !fault.IsPermanent(err) {
		t.Errorf("a message without bounds: %v", err)
	}
	if s.err = errors.New("no database"); a.NoteTraces(t.Context(), told) == nil {
		t.Error("the message would be lost")
	}
}

func TestAllocate(t *testing.T) {
	good := wallet.Request{ID: "r", Mode: tenant.Test, Family: money.Solana, Count: 100}
	for name, c := range map[string]struct {
		change func(*wallet.Request)
		ok     bool
	}{
		"as it should be": {func(*wallet.Request) {}, true},
		"no id":           {func(r *wallet.Request) { r.ID = "" }, false},
		"long id":         {func(r *wallet.Request) { r.ID = strings.Repeat("x", 201) }, false},
		"none":            {func(r *wallet.Request) { r.Count = 0 }, false},
		"negative":        {func(r *wallet.Request) { r.Count = -1 }, false},
		"too many":        {func(r *wallet.Request) { r.Count = 101 }, false},
		"no mode":         {func(r *wallet.Request) { r.Mode = "" }, false},
		"unknown family":  {func(r *wallet.Request) { r.Family = "doge" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := &shelf{}, good
			c.change(&r)
			err := newApp(s, new([]string)).Allocate(t.Context(), "m", r)
			if (err == nil) != c.ok || (err != nil && !fault.IsPermanent(err)) || (len(s.granted) == 1) != c.ok {
				t.Errorf("%v, granted %v", err, s.granted)
			}
		})
	}
	t.Run("without a key", func(t *testing.T) {
		s, r := &shelf{}, good
		r.Mode = tenant.Live
		if err := newApp(s, new([]string)).Allocate(t.Context(), "m", r); err != nil || s.sources[0] != nil {
			t.Errorf("%v, %v: a request without a key is kept, not refused", err, s.sources)
		}
	})
	t.Run("faults of the store", func(t *testing.T) {
		s := &shelf{err: wallet.ErrOtherRequest}
		if err := newApp(s, new([]string)).Allocate(t.Context(), "m", good); !fault.IsPermanent(err) {
			t.Errorf("%v: no retry cures a reused id", err)
		}
		s.err = errors.New("database away")
		if err := newApp(s, new([]string)).Allocate(t.Context(), "m", good); err == nil || fault.IsPermanent(err) {
			t.Errorf("%v: must be tried again", err)
		}
	})
}

func TestGrantWaiting(t *testing.T) {
	s := &shelf{waiting: []wallet.Request{{ID: "a", Mode: tenant.Live, Family: money.Solana, Count: 1}, {ID: "b", Mode: tenant.Test, Family: money.Solana, Count: 1}}}
	if err := newApp(s, new([]string)).GrantWaiting(t.Context()); err != nil || len(s.granted) != 1 || s.granted[0].ID != "b" {
		t.Errorf("grant what waits: got %v, %v, want b alone", s.granted, err)
	}
}

func TestSimulate(t *testing.T) {
	owner := map[string]tenant.Mode{ours: tenant.Test, liveOne: tenant.Live}
	good := Simulate{RequestID: "r1", Address: ours, Network: "ethereum", Asset: "USDT", Amount: "1500000"}
	for name, c := range map[string]struct {
		change func(*Simulate)
		ok     bool
	}{
		"as it should be":      {func(*Simulate) {}, true},
		"alias and lower case": {func(s *Simulate) { s.Network, s.Asset, s.Address = "ERC20", "usdt", strings.ToLower(ours) }, true},
		"wrong known network":  {func(s *Simulate) { s.Network, s.Asset = "base", "ETH" }, true},
		"a live address":       {func(s *Simulate) { s.Address = liveOne }, false},
		"an unknown address":   {func(s *Simulate) { s.Address = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb" }, false},
		"no address":           {func(s *Simulate) { s.Address = "nobody" }, false},
		"of another family":    {func(s *Simulate) { s.Network, s.Asset = "tron", "USDT" }, false},
		"unknown network":      {func(s *Simulate) { s.Network = "dogecoin" }, false},
		"unlisted pair":        {func(s *Simulate) { s.Network = "base" }, false},
		"nothing":              {func(s *Simulate) { s.Amount = "0" }, false},
		"negative":             {func(s *Simulate) { s.Amount = "-5" }, false},
		"signed":               {func(s *Simulate) { s.Amount = "+5" }, false},
		"fraction":             {func(s *Simulate) { s.Amount = "1.5" }, false},
		"not a number":         {func(s *Simulate) { s.Amount = "many" }, false},
		"empty":                {func(s *Simulate) { s.Amount = "" }, false},
		"beyond 256 bits":      {func(s *Simulate) { s.Amount = strings.Repeat("9", 79) }, false},
		"negative depth":       {func(s *Simulate) { s.Confirmations = -1 }, false},
		"no id":                {func(s *Simulate) { s.RequestID = "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, taken, req := &shelf{owner: owner}, []string{}, good
			c.change(&req)
			err := newApp(s, &taken).Simulate(t.Context(), []string{"m"}, []Simulate{req})
			if (err == nil) != c.ok || (err != nil && !fault.IsPermanent(err)) || (len(s.simulated) == 1) != c.ok || (len(taken) == 1) != c.ok {
				t.Fatalf("simulate a deposit: got %v, %v, %v, want success %t", err, s.simulated, taken, c.ok)
			}
		})
	}
	s, taken := &shelf{owner: owner}, []string{}
	a := newApp(s, &taken)
	for range 2 {
		if err := a.Simulate(t.Context(), []string{"m"}, []Simulate{good}); err != nil {
			t.Fatal(err)
		}
	}
	foreign := good
	foreign.Address = liveOne
	if err := a.Simulate(t.Context(), []string{"m", "n"}, []Simulate{good, foreign}); !fault.IsPermanent(err) || len(s.simulated) != 2 {
		t.Errorf("simulate a pack with a live address: got %v and %d deposits, want none of the pack", err, len(s.simulated))
	}
	d := s.simulated[0]
	if d.TxHash != s.simulated[1].TxHash || len(d.TxHash) != 66 || d.Confirmations != 12 || d.Contract == "" || d.Sender == "" || d.Amount.String() != "1500000" {
		t.Errorf("simulate a deposit twice: got %+v", d)
	}
}
