package wallet

import (
	"math/big"
	"testing"

	"causeway.internal/libs/tenant"
)

// One endpoint alone can invent a deposit. Its merchant could withdraw real money, so the books hold what two hosts
// have, what the only host has, and what releases without witnesses have counted.
func TestBook_witnesses(t *testing.T) {
	in := func(w Witness) Deposit {
		d := deep(transfer("a", 5, 10))
		d.Mode, d.Witness = tenant.Live, w
		return d
	}
	for name, c := range map[string]struct {
		d      Deposit
		booked int64
		want   string
	}{
		"nobody has answered":               {in(WitnessPending), 0, ""},
		"two hosts have it":                 {in(WitnessConfirmed), 0, "deposit_confirmed 5"},
		"one host serves the network":       {in(WitnessAlone), 0, "deposit_confirmed 5"},
		"a host denies it":                  {in(WitnessContradicted), 0, ""},
		"a release without witnesses":       {in(""), 0, "deposit_confirmed 5"},
		"booked, and a host denies it now":  {in(WitnessContradicted), 5, "deposit_reverted 5"},
		"booked, and nobody answers now":    {in(WitnessPending), 5, ""},
		"booked, and two hosts have it now": {in(WitnessConfirmed), 5, ""},
		"denied, and it has left the chain": {gone(in(WitnessContradicted)), 5, "deposit_reverted 5"},
		"two hosts have it, not deep yet":   {func() Deposit { d := transfer("a", 5, 10); d.Witness = WitnessConfirmed; return d }(), 0, ""},
	} {
		got := ""
		if j, ok := Book(c.d, big.NewInt(c.booked), 1); ok {
			got = string(j.Event) + " " + new(big.Int).Add(j.Entries[0].Debit, j.Entries[0].Credit).String()
		}
		if got != c.want {
			t.Errorf("book a deposit, %s: got %q, want %q", name, got, c.want)
		}
	}
}

// A wallet is not confirmed by a deposit that a host denies.
func TestTake_contradicted(t *testing.T) {
	one := deep(transfer("a", 5, 10))
	one.Witness = WitnessContradicted
	w, entered := fresh().Take([]Deposit{one}, 20)
	if got := told(entered); got != "2 deposit_detected 5" {
		t.Errorf("take a deposit that a host denies: announced %q, want only that it is detected", got)
	}
	one.Witness = WitnessConfirmed
	if _, entered = w.Take([]Deposit{one}, 20); told(entered) != "3 confirmed 5" {
		t.Errorf("take it once two hosts have it: announced %q, want 3 confirmed 5", told(entered))
	}
}
