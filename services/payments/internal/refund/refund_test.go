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
			if slices.Contains([]TriggerName{OnApprove, OnRefuse, OnCancel}, trigger.Name) {
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
				t.Fatalf("version %d after %d, events of version %d after %d", next.Version, r.Version, next.Told, r.Told)
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

// A cancellation waits for the answer of wallets. It ends with the refund, or is too late as soon as a transaction may
// land.
func TestApply_cancel(t *testing.T) {
	for name, c := range map[string]struct {
		trigger Trigger
		state   State
		want    Cancellation
	}{
		"taken":           {Trigger{Name: OnTaken}, Signing, CancelRequested},
		"kept":            {Trigger{Name: OnTaken, Kept: true}, Signing, CancelTooLate},
		"sent":            {Trigger{Name: OnBroadcast, TxHash: "0x1"}, Sent, CancelTooLate},
		"sent, and kept":  {Trigger{Name: OnBroadcast, TxHash: "0x1", Kept: true}, Sent, CancelTooLate},
		"confirmed":       {Trigger{Name: OnFinal, TxHash: "0x1"}, Confirmed, CancelTooLate},
		"failed":          {Trigger{Name: OnFailed, Failure: "cancelled"}, Failed, CancelRequested},
		"asked for again": {Trigger{Name: OnCancel}, Approved, CancelRequested},
	} {
		asked, effects, err := Apply(Refund{State: Approved, Version: 2, Told: 1}, Trigger{Name: OnCancel}, start)
		if err != nil || len(effects) != 0 || asked.State != Approved || asked.Version != 3 || asked.Cancelled != CancelRequested {
			t.Fatalf("cancel an approved refund: got %+v, %v, %v, want it approved and its cancellation requested", asked, effects, err)
		}
		if c.trigger.Name != OnCancel {
			c.trigger.Told = 2
		}
		got, _, err := Apply(asked, c.trigger, start)
		if err != nil || got.State != c.state || got.Cancelled != c.want {
			t.Errorf("report a cancelled refund as %s: got %s, cancellation %q, %v, want %s, %q", name, got.State, got.Cancelled, err, c.state, c.want)
		}
	}
	if kept, _, err := Apply(Refund{State: Approved}, Trigger{Name: OnTaken, Kept: true, Told: 1}, start); err != nil || kept.Cancelled != "" {
		t.Errorf("report a refund as not cancelled that nobody cancels: got cancellation %q, %v, want none", kept.Cancelled, err)
	}
}
