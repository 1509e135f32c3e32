package refund_test

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	. "causeway.internal/services/payments/internal/refund"
)

var start = time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)

func TestTableIsTotal(t *testing.T) {
	table := Transitions()
	for _, s := range States() {
		if len(table[s]) != len(TriggerNames()) {
			t.Errorf("%s has %d triggers, want %d", s, len(table[s]), len(TriggerNames()))
		}
		for _, name := range TriggerNames() {
			_, _, err := Apply(Refund{State: s}, Trigger{Name: name}, start)
			if cell := table[s][name]; cell.Taken != (err == nil) {
				t.Errorf("%s in %s gives %v, the table says taken %t", name, s, err, cell.Taken)
			}
			if err != nil && fault.As(err).Kind != fault.Conflict {
				t.Errorf("%s in %s gives %v, want a conflict", name, s, err)
			}
		}
	}
}

// The money of a refund is held, has left, or was given back, whatever the order of messages. The books follow the
// effects, each at most once.
func TestApply_anyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Refund{ID: "rfd_1", State: Requested, Version: 1}
		held, gone := true, false
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			trigger := Trigger{
				Name: rapid.SampledFrom(TriggerNames()).Draw(t, "trigger"), Told: rapid.Int64Range(0, 9).Draw(t, "told"),
				TxHash: "0x1", Fee: decimal.New(1, -3), Failure: "reverted", Approval: Automatic,
			}
			if trigger.Name == OnApprove || trigger.Name == OnRefuse {
				trigger.Told = 0
			} else if trigger.Told == 0 {
				trigger.Told = 1
			}
			next, effects, err := Apply(r, trigger, start)
			if err != nil || trigger.Told != 0 && trigger.Told <= r.Told {
				if next.Version != r.Version || len(effects) != 0 {
					t.Fatalf("%s, which is refused or old, gives version %d and effects %v", trigger.Name, next.Version, effects)
				}
				continue
			}
			for _, e := range effects {
				switch {
				case e == Book && held && !gone:
					gone = true
				case e == Reverse && gone:
					gone = false
				case e == GiveBack && held && !gone:
					held = false
				default:
					t.Fatalf("%s in %s books %s with held %t, gone %t", trigger.Name, r.State, e, held, gone)
				}
			}
			if next.Version != r.Version+1 || next.Told < r.Told {
				t.Fatalf("version %d after %d, told %d after %d", next.Version, r.Version, next.Told, r.Told)
			}
			if r = next; gone != (r.State == Confirmed) || held == (r.State == Failed) || r.ConfirmedAt.IsZero() == (r.State == Confirmed) {
				t.Fatalf("%s with held %t, gone %t, confirmed at %s", r.State, held, gone, r.ConfirmedAt)
			}
		}
	})
}

// A message that was overtaken by a newer one changes nothing, and a newer one may skip states.
func TestApply_overtaken(t *testing.T) {
	r := Refund{State: Approved, Version: 2}
	r, effects, err := Apply(r, Trigger{Name: OnFinal, TxHash: "0x1", Told: 3}, start)
	if err != nil || r.State != Confirmed || !slices.Equal(effects, []Effect{Book}) {
		t.Fatalf("final of an approved refund gives %s, %v, %v, want confirmed, booked", r.State, effects, err)
	}
	for told := range int64(4) {
		again, effects, err := Apply(r, Trigger{Name: OnBroadcast, TxHash: "0x0", Told: max(told, 1)}, start)
		if err != nil || again.State != Confirmed || again.Version != r.Version || len(effects) != 0 {
			t.Errorf("message %d after message 3 gives %s, %v, %v, want no change", told, again.State, effects, err)
		}
	}
	if r, effects, err = Apply(r, Trigger{Name: OnReorged, TxHash: "0x2", Told: 4}, start); err != nil || r.State != Sent || r.TxHash != "0x2" ||
		!slices.Equal(effects, []Effect{Reverse}) {
		t.Errorf("a reorganisation gives %s %s, %v, %v, want sent 0x2, reversed", r.State, r.TxHash, effects, err)
	}
}
