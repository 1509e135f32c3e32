package payout

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/alert"
)

var start = time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)

func fresh() Payout {
	return Payout{
		ID: "pyo_1", PaymentID: "pay_1", Reference: Reference("CW-ABCDEFGHJKMN", 1), Attempt: 1, Rail: "sim",
		Amount: decimal.RequireFromString("159000"), Currency: money.NGN, State: Created,
	}
}

// answer is an observation with the payout's own reference, amount and currency.
func answer(p Payout, s Seen) Observation {
	return Observation{Seen: s, Ref: p.Reference, Amount: p.Amount, Currency: p.Currency, RailID: "r1", Reason: "why"}
}

func TestReferenceCarriesPaymentAndAttempt(t *testing.T) {
	if got := Reference("CW-ABCDEFGHJKMN", 2); got != "cw-abcdefghjkmn-2" {
		t.Errorf("Reference() = %s, want cw-abcdefghjkmn-2", got)
	}
}

// script walks one payout through observations and checks each state, step and outcome.
type line struct {
	after   time.Duration // since the last line
	see     Seen
	state   State
	step    Step
	outcome Outcome
	alert   alert.Code
}

func walk(t *testing.T, timing Timing, lines []line) Payout {
	t.Helper()
	p, now := fresh(), start
	for i, l := range lines {
		now = now.Add(l.after)
		o := answer(p, l.see)
		var d Decision
		p, d = timing.Next(p, o, now)
		if p.State != l.state || d.Step != l.step || d.Outcome != l.outcome || d.Alert != l.alert {
			t.Fatalf("line %d %s: state %s, %+v; want %+v", i+1, l.see, p.State, d, l)
		}
	}
	return p
}

const (
	s5  = 5 * time.Second
	min = time.Minute
)

func TestStraightToSuccess(t *testing.T) {
	p := walk(t, LiveTiming(), []line{
		{0, Tick, Created, Send, None, 0},
		{0, Claimed, Sending, Send, IsSending, 0},
		{s5, Accepted, Pending, Wait, None, 0},
		{0, Tick, Pending, Wait, None, 0},
		{s5, Tick, Pending, Query, None, 0},
		{0, Accepted, Pending, Wait, None, 0},
		{15 * time.Second, Tick, Pending, Query, None, 0},
		{0, Success, Succeeded, Wait, IsPaid, 0},
		{min, Tick, Succeeded, Wait, None, 0},
		{time.Hour, Tick, Succeeded, Query, None, 0},
		{0, Success, Succeeded, Wait, None, 0},
		{24 * time.Hour, Tick, Succeeded, Query, None, 0},
		{0, Unsure, Succeeded, Wait, None, 0},
		{time.Hour, Tick, Succeeded, Query, None, 0},
		{0, Success, Succeeded, Wait, None, 0},
		{72 * time.Hour, Tick, Succeeded, Query, None, 0},
		{0, Success, Succeeded, Done, None, 0},
		{time.Hour, Tick, Succeeded, Done, None, 0},
	})
	if p.Sends != 1 || p.RailID != "r1" || p.DoneAt.IsZero() {
		t.Errorf("payout = %+v, want 1 send, the rail's id r1 and the time of its end", p)
	}
}

// A query that is due is all that a worker does with a payout that has left: no field of the row changes before it. A
// payout that may be sent, whose lease has ended, or that operators must hear of is written first.
func TestAsks(t *testing.T) {
	timing := LiveTiming()
	sent, _ := timing.Next(fresh(), answer(fresh(), Claimed), start)
	pending, _ := timing.Next(sent, answer(sent, Accepted), start)
	lost, _ := timing.Next(sent, Observation{Seen: Unsure, Sends: 1}, start)
	missed := lost
	for range 3 {
		missed, _ = timing.Next(missed, Observation{Seen: NoSuchRef, Sends: 1}, start)
	}
	paid, _ := timing.Next(pending, answer(pending, Success), start)
	frozen := pending
	frozen.Frozen = true
	for _, c := range []struct {
		name string
		p    Payout
		at   time.Duration
		want bool
	}{
		{"not sent", fresh(), 0, false},
		{"being sent", sent, time.Second, false},
		{"its lease has ended", sent, time.Hour, false},
		{"accepted, not due", pending, time.Second, false},
		{"accepted", pending, s5, true},
		{"unknown", lost, s5, true},
		{"unknown to the rail, to be sent again", missed, time.Hour, false},
		{"accepted, without an outcome for too long", pending, timing.GiveUp, false},
		{"paid", paid, time.Hour, true},
		{"frozen", frozen, s5, true},
	} {
		if got := timing.Asks(c.p, start.Add(c.at)); got != c.want {
			t.Errorf("Asks() of a payout that is %s = %v, want %v", c.name, got, c.want)
		}
	}
}

// An answer concerns the row alone only where Next has neither an outcome nor an alert and sends nothing.
func TestAlone(t *testing.T) {
	timing := LiveTiming()
	sent, _ := timing.Next(fresh(), answer(fresh(), Claimed), start)
	pending, _ := timing.Next(sent, answer(sent, Accepted), start)
	paid, _ := timing.Next(pending, answer(pending, Success), start)
	other := answer(pending, Accepted)
	other.Amount = five
	for _, c := range []struct {
		name  string
		p     Payout
		o     Observation
		want  bool
		state State
	}{
		{"the order is accepted", sent, answer(sent, Accepted), true, Pending},
		{"the order got no answer", sent, Observation{Seen: Unsure, Sends: 1}, false, ""},
		{"it is still pending", pending, answer(pending, Accepted), true, Pending},
		{"no answer", pending, Observation{Seen: Unsure, Sends: 1}, true, Pending},
		{"it is paid", pending, answer(pending, Success), false, ""},
		{"it failed", pending, answer(pending, Failure), false, ""},
		{"it vanished", pending, Observation{Seen: NoSuchRef, Sends: 1}, false, ""},
		{"another amount", pending, other, false, ""},
		{"it is still paid", paid, answer(paid, Success), true, Succeeded},
		{"it is given back", paid, answer(paid, GaveBack), false, ""},
		{"not sent, and the rail does not know it", fresh(), Observation{Seen: NoSuchRef, Sends: BeforeFirst}, false, ""},
		{"time passed", pending, Observation{Seen: Tick}, false, ""},
		{"it may not leave now", sent, Observation{Seen: NotNow}, false, ""},
	} {
		want, _ := timing.Next(c.p, c.o, start.Add(min))
		next, _, ok := timing.Alone(c.p, c.o, start.Add(min))
		if ok != c.want || ok && (next != want || next.State != c.state) {
			t.Errorf("Alone() where %s = %+v, %v; want %+v, %v", c.name, next, ok, want, c.want)
		}
	}
}

// A rail that is down when it is asked about a success may have returned the money: it is asked until it answers.
func TestReturnAfterUnansweredQueries(t *testing.T) {
	lines := []line{{0, Claimed, Sending, Send, IsSending, 0}, {s5, Success, Succeeded, Wait, IsPaid, 0}}
	for range 10 {
		lines = append(lines, line{time.Hour, Tick, Succeeded, Query, None, 0}, line{0, Unsure, Succeeded, Wait, None, 0})
	}
	lines = append(lines, line{time.Hour, Tick, Succeeded, Query, None, 0}, line{0, GaveBack, Returned, Done, IsReturned, 0})
	walk(t, LiveTiming(), lines)
}

// A rail that says when it may say something else about a success is asked then.
func TestAskedWhenTheRailSays(t *testing.T) {
	for _, timing := range []Timing{LiveTiming(), TestTiming()} {
		p, _ := timing.Next(fresh(), Observation{Seen: Claimed}, start)
		seen := answer(p, Success)
		seen.Again = min
		for range 2 { // the first answer is the success, the second repeats it
			next, d := timing.Next(p, seen, start)
			if p = next; p.State != Succeeded || d.Step != Wait || !p.NextAt.Equal(start.Add(min)) {
				t.Errorf("a success that the rail may change after a minute: %s, %s, next query after %s, want a minute", p.State, d.Step, p.NextAt.Sub(start))
			}
		}
		if p, d := timing.Next(p, answer(p, GaveBack), start.Add(min)); p.State != Returned || d.Outcome != IsReturned {
			t.Errorf("after its return it is %s with the outcome %q, want returned", p.State, d.Outcome)
		}
	}
}

// Nobody asks for ever.
func TestUnansweredQueriesEnd(t *testing.T) {
	p := walk(t, LiveTiming(), []line{
		{0, Claimed, Sending, Send, IsSending, 0},
		{s5, Success, Succeeded, Wait, IsPaid, 0},
		{90 * 24 * time.Hour, Tick, Succeeded, Query, None, 0},
		{0, Unsure, Succeeded, Done, None, 0},
	})
	if !p.NextAt.IsZero() {
		t.Errorf("the next query is at %s, want none after 90 days", p.NextAt)
	}
}

func TestR3DoubtIsUnknownAndOnlyQueried(t *testing.T) {
	lines := []line{{0, Claimed, Sending, Send, IsSending, 0}, {min, Unsure, Unknown, Wait, IsUnknown, 0}}
	for range 20 {
		lines = append(lines, line{2 * time.Hour, Tick, Unknown, Query, None, 0}, line{0, Unsure, Unknown, Wait, None, 0})
	}
	lines = append(lines, line{40 * time.Hour, Tick, Unknown, Query, None, alert.PayoutStuck}, line{0, Success, Succeeded, Wait, IsPaid, 0})
	walk(t, LiveTiming(), lines)
}

func TestDeadLeaseIsUnknownNeverSentAgain(t *testing.T) {
	walk(t, LiveTiming(), []line{
		{0, Claimed, Sending, Send, IsSending, 0},
		{min, Tick, Sending, Wait, None, 0},
		{0, Claimed, Sending, Wait, None, 0},
		{min, Tick, Unknown, Query, IsUnknown, alert.PayoutLeaseExpired},
		{0, Claimed, Unknown, Wait, None, 0},
		{0, Success, Succeeded, Wait, IsPaid, 0},
	})
}

func TestR5SameReferenceAgainOnlyAfterThreeMissesOverTenMinutes(t *testing.T) {
	p := walk(t, LiveTiming(), []line{
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Unsure, Unknown, Wait, IsUnknown, 0},
		{s5, Tick, Unknown, Query, None, 0},
		{0, NoSuchRef, Unknown, Wait, None, 0},
		{15 * time.Second, Tick, Unknown, Query, None, 0},
		{0, NoSuchRef, Unknown, Wait, None, 0},
		{min, Tick, Unknown, Query, None, 0},
		{0, NoSuchRef, Unknown, Wait, None, 0}, // three misses, 80 seconds
		{0, Claimed, Unknown, Wait, None, 0},
		{5 * min, Hint, Unknown, Query, None, 0},
		{0, NoSuchRef, Unknown, Wait, None, 0},
		{4 * min, Tick, Unknown, Send, None, 0}, // more than ten minutes
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Success, Succeeded, Wait, IsPaid, 0},
	})
	if p.Sends != 2 || p.Reference != fresh().Reference {
		t.Errorf("payout = %+v, want 2 sends under the reference %s", p, fresh().Reference)
	}
}

func TestAcceptedThenVanishedIsNeverSentAgain(t *testing.T) {
	lines := []line{{0, Claimed, Sending, Send, IsSending, 0}, {0, Accepted, Pending, Wait, None, 0}, {min, NoSuchRef, Pending, Wait, None, alert.PayoutVanished}}
	for range 10 {
		lines = append(lines, line{2 * time.Hour, Tick, Pending, Query, None, 0}, line{0, NoSuchRef, Pending, Wait, None, 0})
	}
	walk(t, LiveTiming(), lines)
}

func TestR4DefiniteRefusal(t *testing.T) {
	p := walk(t, LiveTiming(), []line{{0, Claimed, Sending, Send, IsSending, 0}, {0, Refused, Failed, Done, IsFailed, 0}})
	if p.Reason != "why" {
		t.Errorf("reason %q", p.Reason)
	}
	walk(t, LiveTiming(), []line{ // after a second send a refusal proves nothing about the first
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Unsure, Unknown, Wait, IsUnknown, 0},
		{min, NoSuchRef, Unknown, Wait, None, 0},
		{min, NoSuchRef, Unknown, Wait, None, 0},
		{10 * min, NoSuchRef, Unknown, Wait, None, 0},
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Refused, Unknown, Wait, IsUnknown, 0},
	})
	p = walk(t, LiveTiming(), []line{
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, NoFunds, Unknown, Wait, IsUnknown, alert.FloatShort},
		{s5, Tick, Unknown, Send, None, 0},
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Accepted, Pending, Wait, None, 0},
	})
	if p.Sends != 2 {
		t.Errorf("%d sends", p.Sends)
	}
}

func TestR7MismatchFreezes(t *testing.T) {
	for name, spoil := range map[string]func(*Observation){
		"reference": func(o *Observation) { o.Ref = "cw-other-1" },
		"amount":    func(o *Observation) { o.Amount = o.Amount.Add(decimal.New(1, -2)) },
		"currency":  func(o *Observation) { o.Currency = money.GHS },
	} {
		for _, see := range []Seen{Success, Accepted, Failure, GaveBack} {
			p, _ := LiveTiming().Next(fresh(), answer(fresh(), Claimed), start)
			o := answer(p, see)
			spoil(&o)
			p, d := LiveTiming().Next(p, o, start)
			if !p.Frozen || d.Outcome != None || d.Alert != alert.PayoutMismatch {
				t.Errorf("%s with another %s: %+v %+v", see, name, p, d)
			}
			if _, d = LiveTiming().Next(p, answer(p, Success), start); d.Outcome != None {
				t.Errorf("a frozen payout moved: %+v", d)
			}
		}
	}
}

func TestR8LateAnswers(t *testing.T) {
	walk(t, LiveTiming(), []line{
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Success, Succeeded, Wait, IsPaid, 0},
		{0, Accepted, Succeeded, Wait, None, 0},
		{0, NoSuchRef, Succeeded, Wait, None, 0},
		{0, Failure, Succeeded, Done, None, alert.PayoutLateFailure},
		{0, GaveBack, Returned, Done, IsReturned, 0},
		{0, Success, Returned, Done, None, 0},
	})
	walk(t, LiveTiming(), []line{
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Failure, Failed, Done, IsFailed, 0},
		{0, Hint, Failed, Query, None, 0},
		{0, Success, Succeeded, Wait, IsPaid, alert.PayoutLateSuccess},
	})
}

func TestWithdrawnBeforeItLeft(t *testing.T) {
	walk(t, LiveTiming(), []line{
		{0, Withdraw, Withdrawn, Done, None, 0},
		{0, Tick, Withdrawn, Done, None, 0},
		{0, Claimed, Withdrawn, Wait, None, 0},
		{0, Success, Withdrawn, Done, None, alert.PayoutPaidUnheld},
	})
	walk(t, LiveTiming(), []line{{0, Claimed, Sending, Send, IsSending, 0}, {0, Withdraw, Sending, Done, None, 0}})
}

func TestAskedBeforeTheFirstSend(t *testing.T) {
	walk(t, LiveTiming(), []line{{0, NoSuchRef, Created, Send, None, 0}})
	walk(t, LiveTiming(), []line{{0, Unsure, Created, Wait, None, 0}, {0, Tick, Created, Wait, None, 0}, {s5, Tick, Created, Send, None, 0}})
	walk(t, LiveTiming(), []line{{0, Success, Succeeded, Wait, IsPaid, alert.PayoutFound}})
	walk(t, LiveTiming(), []line{{0, Accepted, Pending, Wait, IsUnknown, alert.PayoutFound}})
	p, _ := LiveTiming().Next(fresh(), answer(fresh(), Claimed), start)
	p, _ = LiveTiming().Next(p, Observation{Seen: Unsure}, start)
	for range 5 {
		p, _ = LiveTiming().Next(p, Observation{Seen: NoSuchRef, Sends: BeforeFirst}, start.Add(min))
	}
	if p.Misses != 0 {
		t.Errorf("answers from before the first send are %d misses", p.Misses)
	}
}

// This rail makes a transfer for every order that reaches it, duplicates too, loses orders and answers, and answers
// late. For any interleaving of workers, crashes and time, it gets one order at a time, and no second one after the
// first arrived.
func TestAnyInterleavingPaysAtMostOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timing := LiveTiming()
		p, now := fresh(), start
		made, verdict := 0, Accepted
		outcomes := map[Outcome]int{}
		see := func(o Observation) Decision {
			before := p
			var d Decision
			p, d = timing.Next(p, o, now)
			outcomes[d.Outcome]++
			if p.Reference != before.Reference || !p.Amount.Equal(before.Amount) {
				t.Fatal("the order changed")
			}
			if before.State.Conclusive() && !p.State.Conclusive() {
				t.Fatalf("%s became %s", before.State, p.State)
			}
			return d
		}
		var wire []Observation // answers in transit, in any order
		t.Repeat(map[string]func(*rapid.T){
			"work": func(t *rapid.T) { // any worker reads the row
				switch d := see(Observation{Seen: Tick}); d.Step {
				case Query:
					o := Observation{Seen: NoSuchRef}
					if made > 0 {
						o = answer(p, verdict)
					}
					o.Sends = p.Sends
					wire = append(wire, o)
				case Send:
					if see(Observation{Seen: Claimed}).Step != Send || rapid.Bool().Draw(t, "dies before it sends") {
						return
					}
					if rapid.Bool().Draw(t, "reaches the bank") {
						made++
					}
					wire = append(wire, Observation{Seen: Unsure})
				case Wait, Done:
				}
			},
			"answer": func(t *rapid.T) {
				if len(wire) == 0 {
					t.Skip("nothing is on its way")
				}
				i := rapid.IntRange(0, len(wire)-1).Draw(t, "which")
				o := wire[i]
				wire = append(wire[:i:i], wire[i+1:]...)
				see(o)
			},
			"lose": func(*rapid.T) { wire = nil },
			"time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "seconds")) * time.Second)
			},
			"decide":  func(t *rapid.T) { verdict = rapid.SampledFrom([]Seen{Accepted, Success, Success}).Draw(t, "verdict") },
			"hint":    func(*rapid.T) { see(Observation{Seen: Hint}) },
			"another": func(*rapid.T) { see(Observation{Seen: Claimed}) }, // a second worker that believes to be the first, and dies
			"": func(t *rapid.T) {
				if made > 1 || outcomes[IsPaid] > 1 || outcomes[IsPaid] > made {
					t.Fatalf("paid %d times, reported %d times", made, outcomes[IsPaid])
				}
			},
		})
	})
}

func TestAnswersFromBeforeTheLastSendAreNoMisses(t *testing.T) {
	timing, now := LiveTiming(), start
	p, _ := timing.Next(fresh(), Observation{Seen: Claimed}, now)
	p, _ = timing.Next(p, Observation{Seen: Unsure}, now)
	stale := Observation{Seen: NoSuchRef, Sends: p.Sends}
	now = now.Add(11 * min)
	for range 3 {
		p, _ = timing.Next(p, stale, now)
	}
	p, d := timing.Next(p, Observation{Seen: Claimed}, now)
	if d.Step != Send || p.Sends != 2 {
		t.Fatalf("Next(claimed) = %+v, %+v; want a second send", p, d)
	}
	p, _ = timing.Next(p, Observation{Seen: Unsure}, now)
	now = now.Add(11 * min)
	for range 5 {
		p, _ = timing.Next(p, stale, now)
	}
	if p.Misses != 0 || timing.Resendable(p, now) {
		t.Fatalf("a third send after answers about the first: %+v", p)
	}
}

// An order that failed before the wire was not sent. The same reference is sent again without a query, any number of
// times, and the first order that leaves counts as the first send.
func TestR4NotSentGoesAgain(t *testing.T) {
	p := walk(t, LiveTiming(), []line{
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, NotSent, Unknown, Wait, IsUnknown, 0},
		{s5, Tick, Unknown, Send, None, 0},
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, NotSent, Unknown, Wait, IsUnknown, 0},
		{s5, Tick, Unknown, Send, None, 0},
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Accepted, Pending, Wait, None, 0},
	})
	if p.Sends != 1 || p.Reference != fresh().Reference {
		t.Errorf("payout = %+v, want 1 send under the reference %s", p, fresh().Reference)
	}
	walk(t, LiveTiming(), []line{ // an unsent order does not make an earlier, possibly accepted one unsent
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, Unsure, Unknown, Wait, IsUnknown, 0},
		{min, NoSuchRef, Unknown, Wait, None, 0},
		{min, NoSuchRef, Unknown, Wait, None, 0},
		{10 * min, NoSuchRef, Unknown, Wait, None, 0},
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, NotSent, Unknown, Wait, IsUnknown, 0},
		{s5, Tick, Unknown, Query, None, 0},
	})
}

// An account that the bank does not know ends a payout that has not left. Of an order that has left it says nothing.
func TestNext_noAccount(t *testing.T) {
	walk(t, LiveTiming(), []line{
		{0, NoAccount, Failed, Done, IsFailed, 0},
	})
	walk(t, LiveTiming(), []line{
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, NoAccount, Sending, Wait, None, 0},
		{0, Accepted, Pending, Wait, None, 0},
		{0, NoAccount, Pending, Wait, None, 0},
		{s5, Tick, Pending, Query, None, 0},
		{0, Unsure, Pending, Wait, None, 0},
		{0, Success, Succeeded, Wait, IsPaid, 0},
		{0, NoAccount, Succeeded, Wait, None, 0},
	})
}

// An open breaker, a low float or a missing name delays only a payout that has not left or may leave again.
func TestR10NotNow(t *testing.T) {
	walk(t, LiveTiming(), []line{
		{0, NotNow, Created, Wait, None, 0},
		{s5, Tick, Created, Wait, None, 0},
		{s5, Tick, Created, Send, None, 0},
		{0, Claimed, Sending, Send, IsSending, 0},
		{0, NotNow, Sending, Wait, None, 0},
		{0, Accepted, Pending, Wait, None, 0},
		{0, NotNow, Pending, Wait, None, 0},
		{s5, Tick, Pending, Query, None, 0},
	})
}
