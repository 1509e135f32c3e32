package payout

import (
	"errors"
	"testing"
	"time"

	"causeway.internal/services/payments/internal/alert"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

var five = decimal.NewFromInt(5)

// unknown returns a payout whose first answer was lost.
func unknown(t *testing.T, timing Timing) Payout {
	t.Helper()
	p, _ := timing.Next(fresh(), Observation{Seen: Claimed}, start)
	p, _ = timing.Next(p, Observation{Seen: Unsure, Sends: 1}, start)
	return p
}

func TestConcludeWaitsForTheSendInFlight(t *testing.T) {
	timing := LiveTiming()
	p := unknown(t, timing)
	now := start.Add(time.Minute)
	p, outcome, err := timing.Conclude(p, Failed, now)
	if !errors.Is(err, ErrOnTheWire) || outcome != None || !p.Stopped || p.State != Unknown {
		t.Fatalf("Conclude() beside a send = %+v, %s, %v; want it stopped and %v", p, outcome, err, ErrOnTheWire)
	}
	now = start.Add(11 * time.Minute)
	for range 3 {
		p, _ = timing.Next(p, Observation{Seen: NoSuchRef, Sends: 1}, now)
	}
	if p2, d := timing.Next(p, Observation{Seen: Claimed}, now); d.Step == Send || p2.Sends != 1 {
		t.Fatal("sent while an operator concludes it")
	}
	p, outcome, err = timing.Conclude(p, Failed, now)
	if err != nil || outcome != IsFailed || p.State != Failed || p.Concluded != Failed || p.NextAt.IsZero() {
		t.Fatalf("Conclude() = %+v, %s, %v; want it failed and queried again", p, outcome, err)
	}
}

func TestWhatMayBeConcluded(t *testing.T) {
	timing, late := LiveTiming(), start.Add(time.Hour)
	for _, c := range []struct {
		name         string
		state        State
		frozen       bool
		paid, failed error
	}{
		{"not sent", Created, false, ErrNotSent, ErrNotSent},
		{"found with other figures before it was sent", Created, true, nil, nil},
		{"a dead lease", Sending, false, nil, nil},
		{"accepted", Pending, false, nil, nil},
		{"unknown", Unknown, false, nil, nil},
		{"unknown and frozen", Unknown, true, nil, nil},
		{"succeeded", Succeeded, false, ErrEnded, ErrEnded},
		{"succeeded, then other figures", Succeeded, true, nil, ErrEnded},
		{"failed", Failed, false, ErrEnded, ErrEnded},
		{"failed, then paid with other figures", Failed, true, nil, nil},
		{"returned", Returned, false, ErrEnded, ErrEnded},
		{"withdrawn", Withdrawn, false, ErrEnded, ErrEnded},
	} {
		p := fresh()
		p.State, p.Frozen = c.state, c.frozen
		for as, want := range map[State]error{Succeeded: c.paid, Failed: c.failed} {
			next, outcome, err := timing.Conclude(p, as, late)
			if !errors.Is(err, want) {
				t.Errorf("%s as %s: %v, want %v", c.name, as, err, want)
				continue
			}
			tells := map[State]Outcome{Succeeded: IsPaid, Failed: IsFailed}[as]
			if p.State == as || err != nil {
				tells = None
			}
			if outcome != tells {
				t.Errorf("%s as %s tells %q, want %q", c.name, as, outcome, tells)
			}
			if err == nil && (next.State != as || next.Frozen || next.Stopped || !next.ConcludedAt.Equal(late)) {
				t.Errorf("%s as %s: %+v", c.name, as, next)
			}
		}
	}
}

func TestAsk(t *testing.T) {
	timing := LiveTiming()
	p := unknown(t, timing)
	p, _ = timing.Next(p, Observation{Seen: NoSuchRef, Sends: 1}, start)
	now := start.Add(s5)
	asked, err := Ask(p, now)
	if err != nil || asked.Misses != 1 {
		t.Fatalf("Ask() = %+v, %v; want 1 miss", asked, err)
	}
	if _, d := timing.Next(asked, Observation{Seen: Tick}, now); d.Step != Query {
		t.Errorf("Next() after Ask() = %+v, want a query", d)
	}
	sending, _ := timing.Next(fresh(), Observation{Seen: Claimed}, start)
	for want, p := range map[error]Payout{ErrNotSent: fresh(), ErrOnTheWire: sending, ErrEnded: {State: Returned}} {
		if _, err := Ask(p, now); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", p.State, err, want)
		}
	}
}

// A concluded attempt is queried for 90 days. A contradicting answer is one alert, and a reported success is recorded.
func TestConcludedIsRechecked(t *testing.T) {
	timing := LiveTiming()
	for _, c := range []struct {
		name     string
		as       State
		answers  Seen
		contrary bool
		ends     State
		outcome  Outcome
	}{
		{"paid, and the rail agrees", Succeeded, Success, false, Succeeded, None},
		{"paid, and the rail does not know it", Succeeded, NoSuchRef, false, Succeeded, None},
		{"paid, and the rail says that it failed", Succeeded, Failure, true, Succeeded, None},
		{"failed, and the rail agrees", Failed, Failure, false, Failed, None},
		{"failed, and the rail does not know it", Failed, NoSuchRef, false, Failed, None},
		{"failed, and the rail has it", Failed, Accepted, true, Failed, None},
		{"failed, and the rail paid it", Failed, Success, true, Succeeded, IsPaid},
		{"failed, and the rail paid it and took it back", Failed, GaveBack, true, Failed, None},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := start.Add(time.Hour)
			p, _, err := timing.Conclude(unknown(t, timing), c.as, now)
			if err != nil {
				t.Fatal(err)
			}
			queries, alerts, outcomes := 0, []alert.Code{}, []Outcome{}
			for !p.NextAt.IsZero() && queries < 1000 {
				now = p.NextAt
				var d Decision
				if p, d = timing.Next(p, Observation{Seen: Tick}, now); d.Step != Query {
					t.Fatalf("%+v after %d queries", d, queries)
				}
				queries++
				o := answer(p, c.answers)
				o.Sends = p.Sends
				if p, d = timing.Next(p, o, now); d.Alert != 0 {
					alerts = append(alerts, d.Alert)
				}
				if d.Outcome != None {
					outcomes = append(outcomes, d.Outcome)
				}
			}
			if age := now.Sub(p.ConcludedAt); age < 90*day || age > 91*day || queries > 120 {
				t.Errorf("asked %d times within %s", queries, age)
			}
			if p.State != c.ends || (len(outcomes) > 0) != (c.outcome != None) || len(outcomes) > 1 {
				t.Errorf("state %s, outcomes %q", p.State, outcomes)
			}
			if p.Contradicted != c.contrary || (len(alerts) == 1 && alerts[0] == alert.PayoutContradicted) != c.contrary || (len(alerts) > 0) != c.contrary {
				t.Errorf("contradicted %v, alerts %v", p.Contradicted, alerts)
			}
		})
	}
}

// An amount that an operator has checked does not freeze a payout again.
func TestConcludedIsNotFrozenAgain(t *testing.T) {
	timing := LiveTiming()
	p := unknown(t, timing)
	other := answer(p, Success)
	other.Amount = five
	p, _ = timing.Next(p, other, start)
	p, outcome, err := timing.Conclude(p, Succeeded, start.Add(time.Hour))
	if err != nil || outcome != IsPaid {
		t.Fatal(outcome, err)
	}
	p, d := timing.Next(p, other, start.Add(2*time.Hour))
	if p.Frozen || d.Alert != 0 || d.Outcome != None || p.NextAt.IsZero() {
		t.Errorf("Next() of a concluded payout = %+v, %+v; want it queried again, without an alert or an outcome", p, d)
	}
}

// For any interleaving of workers, answers, operators and time: no order leaves after an operator has stopped or
// concluded a payout, none leaves again unless the rail does not know the reference, and none after the time of R6.
func TestAnyInterleavingWithOperators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timing := LiveTiming()
		p, now := fresh(), start
		misses, refusedOnce, stopped, firstSend := 0, false, false, time.Time{}
		var wire []Observation
		see := func(o Observation) Decision {
			var d Decision
			p, d = timing.Next(p, o, now)
			return d
		}
		claim := func() {
			if see(Observation{Seen: Claimed}).Step != Send {
				return
			}
			if firstSend.IsZero() {
				firstSend = now
			}
			switch {
			case stopped:
				t.Fatal("an order left that an operator had stopped")
			case p.Sends > 1 && misses < timing.Misses && !refusedOnce:
				t.Fatalf("send %d after %d misses", p.Sends, misses)
			case !now.Before(firstSend.Add(timing.GiveUp)), p.Sends > timing.Sends:
				t.Fatalf("send %d, %s after the first", p.Sends, now.Sub(firstSend))
			}
			misses, refusedOnce = 0, false
			seen := rapid.SampledFrom([]Seen{Unsure, Refused, NoFunds, NotSent, Accepted, Success}).Draw(t, "answer to the order")
			o := answer(p, seen)
			o.Sends = p.Sends
			wire = append(wire, o)
		}
		t.Repeat(map[string]func(*rapid.T){
			"work": func(t *rapid.T) {
				switch d := see(Observation{Seen: Tick}); d.Step {
				case Query:
					o := answer(p, rapid.SampledFrom([]Seen{NoSuchRef, NoSuchRef, NoSuchRef, Unsure, Accepted, Success, Failure}).Draw(t, "answer"))
					o.Sends = max(p.Sends, BeforeFirst)
					if rapid.IntRange(0, 9).Draw(t, "other figures") == 0 {
						o.Amount = five
					}
					wire = append(wire, o)
				case Send:
					claim()
				case Wait, Done:
				}
			},
			"another": func(*rapid.T) { claim() },
			"answer": func(t *rapid.T) {
				if len(wire) == 0 {
					t.Skip("nothing is on its way")
				}
				o := wire[0]
				wire = wire[1:]
				if o.Sends == p.Sends {
					switch o.Seen {
					case NoSuchRef:
						misses++
					case NoFunds, NotSent:
						refusedOnce = true
					}
				}
				see(o)
			},
			"lose": func(*rapid.T) { wire = nil },
			"time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 60, 700, 4000, 90_000}).Draw(t, "seconds")) * time.Second)
			},
			"ask": func(*rapid.T) {
				if next, err := Ask(p, now); err == nil {
					p = next
				}
			},
			"conclude": func(t *rapid.T) {
				as := rapid.SampledFrom([]State{Succeeded, Failed}).Draw(t, "as")
				inFlight := p.State == Sending && now.Before(p.LeaseUntil)
				next, _, err := timing.Conclude(p, as, now)
				if err == nil && inFlight {
					t.Fatal("concluded while an order was on the wire")
				}
				if err == nil || errors.Is(err, ErrOnTheWire) {
					p, stopped = next, true
				}
			},
			"": func(t *rapid.T) {
				if p.Frozen && p.NextAt.IsZero() {
					t.Fatal("a frozen payout is asked about no more")
				}
				if p.Concluded != "" && p.NextAt.IsZero() && now.Before(p.ConcludedAt.Add(timing.Recheck)) && p.State != Returned {
					t.Fatalf("a concluded payout is asked about no more: %+v", p)
				}
			},
		})
	})
}
