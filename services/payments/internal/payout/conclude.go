package payout

import (
	"errors"
	"time"
)

// Why an operator's word about a payout is refused.
var (
	ErrOnTheWire = errors.New("an order of the payout may be on the wire")
	ErrEnded     = errors.New("the payout has its outcome")
	ErrNotSent   = errors.New("the payout has not left")
)

// Ask makes a payout due that has left, so that its rail is asked about it now.
func Ask(p Payout, now time.Time) (Payout, error) {
	switch {
	case p.Unsent():
		return p, ErrNotSent
	case p.State == Returned, p.State == Withdrawn:
		return p, ErrEnded
	case p.State == Sending && now.Before(p.LeaseUntil):
		return p, ErrOnTheWire
	}
	p.NextAt = now
	return p, nil
}

// Conclude ends an attempt by an operator's word: as is succeeded or failed. Whoever calls it holds the locks of payment and
// payout, so no worker can claim the row meanwhile. With ErrOnTheWire the row comes back stopped and has to be written:
// nothing is sent any more, and what was sent last has arrived, or never will, once its lease is over.
func (t Timing) Conclude(p Payout, as State, now time.Time) (Payout, Outcome, error) {
	switch {
	case p.Unsent():
		return p, None, ErrNotSent
	case !p.concludable(as):
		return p, None, ErrEnded
	}
	p.Stopped = true
	if now.Before(p.LeaseUntil) {
		return p, None, ErrOnTheWire
	}
	outcome := None
	switch {
	case p.State == as: // a frozen one, which is only freed
	case as == Succeeded:
		outcome, p.Reason = IsPaid, ""
	case as == Failed:
		outcome, p.Reason = IsFailed, "an operator concluded that it was not made"
	}
	p.State, p.Frozen, p.Stopped, p.Paged = as, false, false, false
	p.Concluded, p.ConcludedAt, p.DoneAt = as, now, now
	p, _ = t.watch(p, now)
	return p, outcome, nil
}

// concludable reports whether a person may decide the outcome. A success is never taken back: what was paid was paid.
func (p Payout) concludable(as State) bool {
	switch p.State {
	case Sending, Pending, Unknown:
		return true
	case Created, Failed:
		return p.Frozen
	case Succeeded:
		return p.Frozen && as == Succeeded
	case Returned, Withdrawn:
	}
	return false
}

// watch plans the next look at a payout that an operator concluded: hourly for a day, and daily until its time is over.
func (t Timing) watch(p Payout, now time.Time) (Payout, Decision) {
	age := now.Sub(p.ConcludedAt)
	if age >= t.Watch {
		p.NextAt = time.Time{}
		return p, Decision{Step: Done}
	}
	gap := t.Hourly
	if age >= day {
		gap = day
	}
	p.NextAt = now.Add(gap)
	return p, Decision{Step: Wait}
}

// contradictedBy reports an answer that says otherwise than the operator who concluded the payout. A reference that the
// rail does not know is no answer (R5).
func (p Payout) contradictedBy(o Observation) bool {
	switch o.Seen {
	case Accepted, Success, GaveBack:
		return p.Concluded == Failed
	case Failure:
		return p.Concluded == Succeeded
	case Tick, Hint, Claimed, Withdraw, NoSuchRef, Unsure, Refused, NoFunds, NotSent, NotNow:
	}
	return false
}

// said is an answer in words, with the figures that it carried and whether they are ours.
func (p Payout) said(o Observation) string {
	text := string(o.Seen)
	if !o.Amount.IsZero() || o.Currency != "" {
		text += " " + o.Amount.String() + " " + string(o.Currency)
	}
	if o.Ref != "" && o.Ref != p.Reference {
		text += " under another reference"
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}
