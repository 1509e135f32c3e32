package payout

import (
	"errors"
	"time"
)

// The reasons why an operator's decision about a payout is refused.
var (
	ErrOnTheWire = errors.New("an order of the payout may be on the wire")
	ErrEnded     = errors.New("the payout has its outcome")
	ErrNotSent   = errors.New("the payout has not left")
)

// Ask makes a sent payout due, so that a worker queries its rail now.
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

// Conclude ends an attempt by an operator's decision: as is succeeded or failed. The caller holds the locks of payment
// and payout, so no worker can claim the row meanwhile. With ErrOnTheWire the returned row is stopped and must be
// written: no further order is sent, and the last one has arrived, or never will, when its lease ends.
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
	case p.State == as: // a frozen payout keeps its outcome and is released
	case as == Succeeded:
		outcome, p.Reason = IsPaid, ""
	case as == Failed:
		outcome, p.Reason = IsFailed, "an operator concluded that it was not made"
	}
	p.State, p.Frozen, p.Stopped, p.Paged = as, false, false, false
	p.Concluded, p.ConcludedAt, p.DoneAt = as, now, now
	p, _ = t.recheck(p, now)
	return p, outcome, nil
}

// concludable reports whether an operator may decide the outcome. No operator can take back a success.
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

// recheck plans the next query of a payout that an operator concluded: hourly for a day, then daily until Recheck ends.
func (t Timing) recheck(p Payout, now time.Time) (Payout, Decision) {
	age := now.Sub(p.ConcludedAt)
	if age >= t.Recheck {
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

// contradictedBy reports an answer that contradicts the operator who concluded the payout. An unknown reference
// contradicts nothing (R5).
func (p Payout) contradictedBy(o Observation) bool {
	switch o.Seen {
	case Accepted, Success, GaveBack:
		return p.Concluded == Failed
	case Failure:
		return p.Concluded == Succeeded
	case Tick, Hint, Claimed, Withdraw, NoSuchRef, Unsure, Refused, NoFunds, NotSent, NotNow, NoAccount:
	}
	return false
}

// said describes an answer for operators, with its amount and a note when its reference differs.
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
