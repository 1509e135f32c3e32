package payout

import (
	"time"

	"causeway.internal/services/payments/internal/alert"
)

// Next decides on an observation: it returns the row after it, the next step, and the outcome for the payment. The
// caller holds the locks of payment and payout, writes the row, applies the outcome to the payment, commits, and only
// then carries out the step. Only the step that follows Claimed may send an order.
func (t Timing) Next(p Payout, o Observation, now time.Time) (Payout, Decision) {
	switch {
	case p.State == Returned:
		return p, Decision{Step: Done}
	case o.Seen == Tick, o.Seen == Hint:
		return t.look(p, o.Seen == Hint, now)
	case o.Seen == Claimed:
		return t.claim(p, now)
	case o.Seen == Withdraw:
		if p.Unsent() {
			p.State, p.NextAt = Withdrawn, time.Time{}
		}
		return p, Decision{Step: Done}
	case o.Seen == NotNow:
		if p.Unsent() || t.Resendable(p, now) {
			p.NextAt = now.Add(t.Hold)
		}
		return p, Decision{Step: Wait, Alert: o.Alert}
	case o.Seen == NoAccount && !p.Unsent(): // another worker got an answer with the name, and has sent the order
		return p, Decision{Step: Wait}
	}
	if o.Sends != 0 && max(o.Sends, 0) != p.Sends && o.doubtful() {
		return p, Decision{Step: Wait} // the answer is about a send before the last one
	}
	p.Answer, p.AnswerAt = p.said(o), now
	next, d := t.answered(p, o, now)
	if p.contradictedBy(o) {
		d.Alert = 0 // one alert, not one each day for 90 days
		if !p.Contradicted {
			next.Contradicted, d.Alert = true, alert.PayoutContradicted
		}
	}
	return next, d
}

// answered decides whether an answer of the rail may change the payout.
func (t Timing) answered(p Payout, o Observation, now time.Time) (Payout, Decision) {
	switch {
	case p.Frozen: // queried for the operator who concludes it; no answer changes its state
		return t.later(p, now), Decision{Step: Wait}
	case !p.agrees(o) && p.Concluded != "": // an operator has checked it
		return t.follow(p, now)
	case !p.agrees(o):
		p.Frozen = true
		return t.later(p, now), Decision{Step: Wait, Alert: alert.PayoutMismatch}
	case o.Seen != Success && o.Seen != Failure && o.Seen != GaveBack && (p.State == Succeeded || p.State == Failed || p.State == Withdrawn):
		if o.Seen == Unsure && p.State != Withdrawn && p.Concluded == "" {
			return t.askAgain(p, now)
		}
		return t.follow(p, now) // nothing inconclusive downgrades a conclusive answer (R8)
	}
	return t.heard(p, o, now)
}

// heard applies an answer of the rail.
func (t Timing) heard(p Payout, o Observation, now time.Time) (Payout, Decision) {
	switch o.Seen {
	case Success:
		return t.paid(p, o, now)
	case Failure, NoAccount:
		return t.failed(p, o, now)
	case GaveBack:
		return t.gaveBack(p, o, now)
	case Accepted:
		return t.accepted(p, o, now)
	case NoSuchRef:
		return t.missed(p, o, now)
	case Refused, NoFunds, NotSent:
		return t.refused(p, o, now)
	case Unsure, Tick, Hint, Claimed, Withdraw, NotNow:
	}
	return t.unsure(p, now)
}

// agrees checks that the answer is about this payout (R7). An answer with reference, amount or currency must equal the
// payout's. An answer without them, such as a timeout, agrees.
func (p Payout) agrees(o Observation) bool {
	switch o.Seen {
	case Accepted, Success, GaveBack:
		return o.Ref == p.Reference && o.Amount.Equal(p.Amount) && o.Currency == p.Currency
	case Failure:
		return o.Ref == p.Reference && (o.Amount.IsZero() || o.Amount.Equal(p.Amount)) && (o.Currency == "" || o.Currency == p.Currency)
	case Tick, Hint, Claimed, Withdraw, NoSuchRef, Unsure, Refused, NoFunds, NotSent, NotNow, NoAccount:
	}
	return true
}

// doubtful reports an answer that says something about one send only.
func (o Observation) doubtful() bool {
	return o.Seen == NoSuchRef || o.Seen == Unsure || o.Seen == Refused || o.Seen == NoFunds || o.Seen == NotSent
}

// Unsent reports a payout that has not left and may leave.
func (p Payout) Unsent() bool { return p.State == Created && !p.Frozen }

// Resendable reports whether the same reference may be sent again. Either the rail answered often enough, over long
// enough, that it does not know it (R5), or the only send was refused for lack of balance (R4) or failed before the
// wire. After the time of R6, and after the most sends, no worker sends again.
func (t Timing) Resendable(p Payout, now time.Time) bool {
	if p.State != Unknown || p.Frozen || p.Stopped || p.Sends >= t.Sends || t.overdue(p, now) {
		return false
	}
	return p.NoFloat || t.missing(p, now)
}

// missing reports that the rail does not know the reference, by the rule of R5.
func (t Timing) missing(p Payout, now time.Time) bool {
	return p.Misses >= t.Misses && !now.Before(p.SentAt.Add(t.MissWindow))
}

// overdue reports that the time of R6 has passed. It counts from the first send.
func (t Timing) overdue(p Payout, now time.Time) bool {
	first := p.FirstSentAt
	if first.IsZero() {
		first = p.SentAt
	}
	return !now.Before(first.Add(t.GiveUp))
}

// Asks reports a row that is due for a query and for nothing else, so that the worker may ask the rail without writing
// the row first.
func (t Timing) Asks(p Payout, now time.Time) bool {
	next, d := t.look(p, false, now)
	return d == Decision{Step: Query} && next == p
}

// Alone returns the row after an answer of the rail that concerns nothing but the row: a payout that has left stays
// without an outcome, or keeps the one that it has. Then the payment's lock is not needed. ok is false for every other
// answer.
func (t Timing) Alone(p Payout, o Observation, now time.Time) (next Payout, step Step, ok bool) {
	switch o.Seen {
	case Tick, Hint, Claimed, NotNow, NoAccount, Withdraw:
		return p, "", false
	case Accepted, Success, Failure, GaveBack, NoSuchRef, Unsure, Refused, NoFunds, NotSent:
	}
	next, d := t.Next(p, o, now)
	ok = !p.Unsent() && d.Outcome == None && d.Alert == 0 && (d.Step == Wait || d.Step == Done)
	return next, d.Step, ok
}

func (t Timing) look(p Payout, hint bool, now time.Time) (Payout, Decision) {
	due := !p.NextAt.IsZero() && !now.Before(p.NextAt)
	if p.Frozen {
		if due || hint {
			return p, Decision{Step: Query}
		}
		return p, Decision{Step: Wait}
	}
	switch p.State {
	case Created:
		if p.NextAt.IsZero() || due {
			return p, Decision{Step: Send}
		}
		return p, Decision{Step: Wait}
	case Sending:
		if now.Before(p.LeaseUntil) {
			p.NextAt = p.LeaseUntil
			return p, Decision{Step: Wait}
		}
		p.State, p.NextAt = Unknown, now // the worker that held the lease may have sent: query, never send
		return p, Decision{Step: Query, Outcome: IsUnknown, Alert: alert.PayoutLeaseExpired}
	case Pending, Unknown:
		if !due && !hint {
			return p, Decision{Step: Wait}
		}
		d := Decision{Step: Query}
		if !hint && t.Resendable(p, now) {
			d.Step = Send
		}
		if !p.Paged && (t.overdue(p, now) || p.Sends >= t.Sends && t.missing(p, now)) {
			p.Paged, d.Alert = true, alert.PayoutStuck
		}
		return p, d
	case Succeeded, Failed:
		if due || hint {
			return p, Decision{Step: Query}
		}
		if !p.NextAt.IsZero() {
			return p, Decision{Step: Wait}
		}
	case Withdrawn, Returned:
	}
	return p, Decision{Step: Done}
}

// claim leases the row for one send.
func (t Timing) claim(p Payout, now time.Time) (Payout, Decision) {
	if !p.Unsent() && !t.Resendable(p, now) {
		return p, Decision{Step: Wait}
	}
	if p.FirstSentAt.IsZero() {
		if p.FirstSentAt = p.SentAt; p.SentAt.IsZero() {
			p.FirstSentAt = now
		}
	}
	p.State, p.LeaseUntil, p.SentAt, p.NextAt = Sending, now.Add(t.Lease), now, now.Add(t.Lease)
	p.Sends++
	p.Polls, p.Misses, p.FirstMissAt, p.NoFloat = 0, 0, time.Time{}, false
	return p, Decision{Step: Send, Outcome: IsSending}
}

// later plans the next query.
func (t Timing) later(p Payout, now time.Time) Payout {
	gap := t.Hourly
	if p.Polls < len(t.Polls) {
		gap = t.Polls[p.Polls]
	}
	p.Polls++
	p.NextAt = now.Add(gap)
	return p
}

// follow plans the next query of a payout with an outcome: a rail may return a success days later, or contradict the
// operator who concluded it.
func (t Timing) follow(p Payout, now time.Time) (Payout, Decision) {
	p.NextAt = time.Time{}
	if p.Concluded != "" {
		return t.recheck(p, now)
	}
	if p.State == Succeeded && p.Polls < len(t.After) {
		p.NextAt = now.Add(t.After[p.Polls])
		p.Polls++
		return p, Decision{Step: Wait}
	}
	return p, Decision{Step: Done}
}

// askAgain plans the next query of a payout with an outcome after one that nobody answered. That one is none of those
// in which the rail may say that it returned the money.
func (t Timing) askAgain(p Payout, now time.Time) (Payout, Decision) {
	if now.Sub(p.DoneAt) >= t.Recheck {
		p.NextAt = time.Time{}
		return p, Decision{Step: Done}
	}
	p.NextAt = now.Add(t.Hourly)
	return p, Decision{Step: Wait}
}

func (t Timing) accepted(p Payout, o Observation, now time.Time) (Payout, Decision) {
	d := Decision{Step: Wait}
	if p.State == Created {
		d.Outcome, d.Alert, p.SentAt = IsUnknown, alert.PayoutFound, now
	}
	p.State, p.Misses, p.FirstMissAt = Pending, 0, time.Time{}
	if o.RailID != "" {
		p.RailID = o.RailID
	}
	return t.later(p, now), d
}

func (t Timing) unsure(p Payout, now time.Time) (Payout, Decision) {
	d := Decision{Step: Wait}
	switch p.State {
	case Created: // no answer to the query before the first send: query again before sending
		p.NextAt = now.Add(t.Polls[0])
		return p, d
	case Sending:
		p.State, d.Outcome = Unknown, IsUnknown
	case Pending, Unknown, Succeeded, Failed, Returned, Withdrawn:
	}
	return t.later(p, now), d
}

func (t Timing) missed(p Payout, o Observation, now time.Time) (Payout, Decision) {
	switch p.State {
	case Created:
		p.NextAt = time.Time{}
		return p, Decision{Step: Send} // the query before the first send found nothing at the rail
	case Sending:
		return p, Decision{Step: Wait} // another worker is sending
	case Pending:
		d := Decision{Step: Wait}
		if !p.Paged {
			p.Paged, d.Alert = true, alert.PayoutVanished
		}
		return t.later(p, now), d
	case Unknown, Succeeded, Failed, Returned, Withdrawn:
	}
	if p.Misses++; p.Misses == 1 {
		p.FirstMissAt = now
	}
	p = t.later(p, now)
	if p.Misses >= t.Misses {
		// Enough misses: query again as soon as the window allows the second send, not an hour later.
		if at := p.SentAt.Add(t.MissWindow); at.After(now) && at.Before(p.NextAt) {
			p.NextAt = at
		} else if !at.After(now) && p.Misses == t.Misses {
			p.NextAt = now // only once: a payment that refuses the second send must not be queried without a pause
		}
	}
	return p, Decision{Step: Wait}
}

// refused handles a definite refusal of a send. It proves that no transfer was made only for the first send: after a
// second one the earlier order may have been accepted.
func (t Timing) refused(p Payout, o Observation, now time.Time) (Payout, Decision) {
	if p.Sends != 1 || (p.State != Sending && p.State != Unknown) {
		return t.unsure(p, now)
	}
	if o.Seen == NoFunds || o.Seen == NotSent {
		d := Decision{Step: Wait}
		if o.Seen == NoFunds {
			d.Alert = alert.FloatShort
		} else {
			p.Sends-- // nothing was sent, so the next send is the first
		}
		if p.State == Sending {
			d.Outcome = IsUnknown
		}
		p.State, p.NoFloat = Unknown, true
		p = t.later(p, now)
		return p, d
	}
	return t.failed(p, o, now)
}

func (t Timing) paid(p Payout, o Observation, now time.Time) (Payout, Decision) {
	d := Decision{Step: Wait, Outcome: IsPaid}
	switch p.State {
	case Succeeded:
		return t.askAfter(o.Again, p, now)
	case Failed:
		d.Alert = alert.PayoutLateSuccess
	case Withdrawn:
		return p, Decision{Step: Done, Alert: alert.PayoutPaidUnheld}
	case Created:
		d.Alert = alert.PayoutFound
	case Sending, Pending, Unknown, Returned:
	}
	p.State, p.DoneAt, p.Reason, p.Fee, p.Polls = Succeeded, now, "", o.Fee, 0
	if o.RailID != "" {
		p.RailID = o.RailID
	}
	p, next := t.askAfter(o.Again, p, now)
	d.Step = next.Step
	return p, d
}

// askAfter plans the next query of a success after the time that the rail said, or as follow does.
func (t Timing) askAfter(said time.Duration, p Payout, now time.Time) (Payout, Decision) {
	if said <= 0 || p.Concluded != "" {
		return t.follow(p, now)
	}
	p.NextAt = now.Add(said)
	return p, Decision{Step: Wait}
}

func (t Timing) failed(p Payout, o Observation, now time.Time) (Payout, Decision) {
	switch p.State {
	case Succeeded:
		p, d := t.follow(p, now)
		d.Alert = alert.PayoutLateFailure
		return p, d
	case Failed, Withdrawn:
		return t.follow(p, now)
	case Created, Sending, Pending, Unknown, Returned:
	}
	p.State, p.DoneAt, p.Reason, p.NextAt = Failed, now, o.Reason, time.Time{}
	return p, Decision{Step: Done, Outcome: IsFailed}
}

func (t Timing) gaveBack(p Payout, o Observation, now time.Time) (Payout, Decision) {
	if p.State == Failed || p.State == Withdrawn {
		p, d := t.follow(p, now)
		d.Alert = alert.PayoutLateSuccess
		return p, d
	}
	p.State, p.DoneAt, p.Reason, p.NextAt = Returned, now, o.Reason, time.Time{}
	return p, Decision{Step: Done, Outcome: IsReturned}
}
