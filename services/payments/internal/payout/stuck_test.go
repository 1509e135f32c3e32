package payout

import (
	"testing"
	"time"

	"causeway.internal/services/payments/internal/alert"
)

// The rail lost the first answer and refuses every later order. No refusal proves anything about the first order, so
// the payout is not failed. An earlier version sent such an order 4 320 times in thirty days without an alert.
func TestStuckPayoutCallsAPersonAndIsNotSentForEver(t *testing.T) {
	for name, timing := range map[string]Timing{"live": LiveTiming(), "test": TestTiming()} {
		t.Run(name, func(t *testing.T) {
			p, now, alerts, lastSend := fresh(), start, []alert.Code{}, start
			see := func(o Observation) Decision {
				var d Decision
				if p, d = timing.Next(p, o, now); d.Alert != 0 {
					alerts = append(alerts, d.Alert)
				}
				return d
			}
			for end := start.Add(30 * 24 * time.Hour); now.Before(end); {
				d := see(Observation{Seen: Tick})
				switch d.Step {
				case Send:
					if see(Observation{Seen: Claimed}).Step != Send {
						t.Fatal("not claimed")
					}
					lastSend = now
					answer := Observation{Seen: Refused, Sends: p.Sends, Reason: "the account is closed"}
					if p.Sends == 1 {
						answer = Observation{Seen: Unsure, Sends: p.Sends}
					}
					see(answer)
				case Query:
					see(Observation{Seen: NoSuchRef, Sends: p.Sends})
				case Wait, Done:
				}
				if next := p.NextAt; next.After(now) {
					now = next
				} else {
					now = now.Add(time.Second)
				}
			}
			if p.Sends > 10 || lastSend.After(start.Add(timing.GiveUp)) {
				t.Errorf("sent %d times, last after %s", p.Sends, lastSend.Sub(start))
			}
			if len(alerts) != 1 || alerts[0] != alert.PayoutStuck {
				t.Errorf("a person was called by %v", alerts)
			}
			if p.State != Unknown || p.NextAt.IsZero() {
				t.Errorf("%s, asked next at %s", p.State, p.NextAt)
			}
		})
	}
}

// GiveUp counts from the first send. A second send does not extend it.
func TestGiveUpCountsFromTheFirstSend(t *testing.T) {
	p := walk(t, LiveTiming(), []line{
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Unsure, Unknown, Wait, IsUnknown, 0},
		{min, NoSuchRef, Unknown, Wait, None, 0},
		{min, NoSuchRef, Unknown, Wait, None, 0},
		{70 * time.Hour, NoSuchRef, Unknown, Wait, None, 0},
		{0, Tick, Unknown, Send, None, 0},
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Unsure, Unknown, Wait, IsUnknown, 0},
		{min, NoSuchRef, Unknown, Wait, None, 0},
		{min, NoSuchRef, Unknown, Wait, None, 0},
		{time.Hour, NoSuchRef, Unknown, Wait, None, 0},
		{time.Hour, Tick, Unknown, Query, None, alert.PayoutStuck}, // 72 h after the first, and two after the second
		{0, NoSuchRef, Unknown, Wait, None, 0},
		{0, Claimed, Unknown, Wait, None, 0},
		{2 * time.Hour, Tick, Unknown, Query, None, 0},
		{0, Success, Succeeded, Wait, IsPaid, 0},
	})
	if p.Sends != 2 || !p.FirstSentAt.Equal(start) {
		t.Errorf("payout = %+v, want 2 sends, the first at %s", p, start)
	}
}

// A row older than the column counts from its last send.
func TestRowWithoutAFirstSend(t *testing.T) {
	timing := LiveTiming()
	p := fresh()
	p.State, p.Sends, p.SentAt, p.NextAt = Unknown, 1, start, start
	if _, d := timing.Next(p, Observation{Seen: Tick}, start.Add(72*time.Hour)); d.Alert != alert.PayoutStuck {
		t.Errorf("Next() after 72 hours = %+v, want the alert %s", d, alert.PayoutStuck)
	}
	p.Misses = 3
	p, _ = timing.Next(p, Observation{Seen: Claimed}, start.Add(time.Hour))
	if !p.FirstSentAt.Equal(start) || p.Sends != 2 {
		t.Errorf("payout = %+v, want 2 sends, the first at %s", p, start)
	}
}

// A frozen payout is queried until an operator concludes it. The answer is stored and changes no state.
func TestFrozenIsAskedAboutAndNeverMovesByItself(t *testing.T) {
	timing := LiveTiming()
	for _, state := range []Seen{Claimed, Tick} { // frozen after a send, and before the first
		now := start
		p, _ := timing.Next(fresh(), Observation{Seen: state}, now)
		other := answer(p, Success)
		other.Amount = other.Amount.Add(other.Amount)
		p, d := timing.Next(p, other, now)
		frozen := p.State
		if !p.Frozen || d.Alert != alert.PayoutMismatch || p.NextAt.IsZero() || p.Answer != "success 318000 NGN: why" {
			t.Fatalf("Next() of another amount = %+v, %+v; want it frozen with the alert %s", p, d, alert.PayoutMismatch)
		}
		queries := 0
		for range 100 {
			now = p.NextAt
			var d Decision
			if p, d = timing.Next(p, Observation{Seen: Tick}, now); d.Step != Query || d.Alert != 0 {
				t.Fatalf("Next() of a frozen payout = %+v, want a query without an alert", d)
			}
			queries++
			for _, seen := range []Seen{Claimed, Hint, NoSuchRef, Failure, Accepted, Success} {
				p, d = timing.Next(p, answer(p, seen), now)
				if d.Outcome != None || d.Step == Send || p.State != frozen || !p.Frozen {
					t.Fatalf("Next(%s) of a frozen payout = %+v, %+v; want it to stay frozen in %s", seen, p, d, frozen)
				}
			}
		}
		if p.Answer != "success 159000 NGN: why" || !p.AnswerAt.Equal(now) || now.Sub(start) < 48*time.Hour {
			t.Errorf("%q at %s after %d queries", p.Answer, p.AnswerAt, queries)
		}
	}
}

func TestAnswersInWords(t *testing.T) {
	p := fresh()
	for want, o := range map[string]Observation{
		"unsure":                                {Seen: Unsure},
		"no_such":                               {Seen: NoSuchRef},
		"refused: the account is closed":        {Seen: Refused, Reason: "the account is closed"},
		"accepted 159000 NGN":                   {Seen: Accepted, Ref: p.Reference, Amount: p.Amount, Currency: p.Currency},
		"failure 0 NGN: declined":               {Seen: Failure, Ref: p.Reference, Currency: p.Currency, Reason: "declined"},
		"success under another reference":       {Seen: Success, Ref: "cw-other-1"},
		"success 5 GHS under another reference": {Seen: Success, Ref: "cw-other-1", Amount: five, Currency: "GHS"},
	} {
		if got := p.said(o); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
