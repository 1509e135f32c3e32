package payment

// Status is the field that merchants act on (docs/api-contract.md#payment-life).
type Status string

// The statuses.
const (
	StatusCreated     Status = "created"
	StatusPending     Status = "pending"
	StatusConfirming  Status = "confirming"
	StatusConfirmed   Status = "confirmed"
	StatusSettling    Status = "settling"
	StatusSettled     Status = "settled"
	StatusExpired     Status = "expired"
	StatusCancelled   Status = "cancelled"
	StatusNeedsReview Status = "needs_review"
	StatusRefunded    Status = "refunded"
)

// Statuses lists every status in the order of a payment's life.
func Statuses() []Status {
	return []Status{
		StatusCreated, StatusPending, StatusConfirming, StatusConfirmed, StatusSettling, StatusSettled,
		StatusExpired, StatusCancelled, StatusNeedsReview, StatusRefunded,
	}
}

// Valid reports whether s is a status. Lists filter by it.
func (s Status) Valid() bool {
	for _, known := range Statuses() {
		if s == known {
			return true
		}
	}
	return false
}

// Status is the payment's status. It is a pure function of the facets.
func (p Payment) Status() Status {
	switch {
	case p.End == Refunded:
		return StatusRefunded
	case p.Payout == PayoutSucceeded:
		return StatusSettled
	case p.Payout == PayoutFailed, p.Payout == PayoutReturned, p.Hold != NotHeld:
		return StatusNeedsReview
	case p.Payout == PayoutSending, p.Payout == PayoutUnknown:
		return StatusSettling
	case p.End == Cancelled:
		return StatusCancelled
	case p.Claim == Claimed, p.Payout == PayoutHeld && p.Attempt > 1:
		return StatusSettling // after a claim or an operator's retry, before the payout leaves
	case p.Funding == Confirmed:
		return StatusConfirmed
	case p.Funding == Seen:
		return StatusConfirming
	case p.Closed:
		return StatusExpired
	case !p.Quote.Priced():
		return StatusCreated
	}
	return StatusPending
}

// Exception is the irregularity of a payment; None is JSON null.
type Exception string

// The exceptions.
const (
	None                    Exception = ""
	ExceptionScreeningHold  Exception = "screening_hold"
	ExceptionPayoutReturned Exception = "payout_returned"
	ExceptionPayoutFailed   Exception = "payout_failed"
	ExceptionReorged        Exception = "reorged"
	ExceptionOverLimit      Exception = "over_limit"
	ExceptionUnverified     Exception = "unverified"
	ExceptionWrongAsset     Exception = "wrong_asset"
	ExceptionUnfunded       Exception = "unfunded"
	ExceptionUnderpaid      Exception = "underpaid"
	ExceptionPaidLate       Exception = "paid_late"
	ExceptionOverpaid       Exception = "overpaid"
	ExceptionUnclaimed      Exception = "unclaimed"
)

// Exceptions lists every exception in the order of precedence of docs/api-contract.md#exceptions. Answers show the
// first that applies.
func Exceptions() []Exception {
	return []Exception{
		ExceptionScreeningHold, ExceptionPayoutReturned, ExceptionPayoutFailed, ExceptionReorged, ExceptionOverLimit, ExceptionUnverified,
		ExceptionWrongAsset, ExceptionUnfunded, ExceptionUnderpaid, ExceptionPaidLate, ExceptionOverpaid, ExceptionUnclaimed,
	}
}

// Exception is the first exception that applies. It is a pure function of the facets.
func (p Payment) Exception() Exception {
	for _, e := range Exceptions() {
		if p.Has(e) {
			return e
		}
	}
	return None
}

// Has reports whether an exception applies, also when another one takes precedence.
func (p Payment) Has(e Exception) bool {
	switch e {
	case ExceptionScreeningHold:
		return p.Hold == HoldScreening
	case ExceptionPayoutReturned:
		return p.Payout == PayoutReturned
	case ExceptionPayoutFailed:
		return p.Payout == PayoutFailed
	case ExceptionReorged:
		return p.Reorged
	case ExceptionOverLimit:
		return p.Hold == HoldMaximum || p.Hold == HoldLimit
	case ExceptionUnverified:
		return p.Hold == HoldUnverified
	case ExceptionWrongAsset:
		return p.WrongAsset || p.Hold == HoldWrongAsset
	case ExceptionUnfunded:
		return p.Claim == Claimed && p.Funding != Confirmed
	case ExceptionUnderpaid:
		return p.Funding == Short || p.Underpaid || p.Hold == HoldUnderpaid
	case ExceptionPaidLate:
		return p.Timing == Late || p.Hold == HoldLate
	case ExceptionOverpaid:
		return p.Overpaid
	case ExceptionUnclaimed:
		return p.Hold == HoldUnclaimed
	case None:
	}
	return false
}

// State is a row of the transition table: the status, with settling split by whether the payment has money, and none
// for a payment that does not exist yet.
type State string

// The states that differ from every status.
const (
	StateNone     State = "none"
	StateUnfunded State = "settling_unfunded"
)

// States lists every row of the table.
func States() []State {
	return []State{
		StateNone, State(StatusCreated), State(StatusPending), State(StatusConfirming), State(StatusConfirmed), StateUnfunded,
		State(StatusSettling), State(StatusSettled), State(StatusExpired), State(StatusCancelled), State(StatusNeedsReview),
		State(StatusRefunded),
	}
}

// Status is the status of a state.
func (s State) Status() Status {
	if s == StateUnfunded {
		return StatusSettling
	}
	return Status(s)
}

// State is the row of the table that applies to the payment.
func (p Payment) State() State {
	if p.ID == "" {
		return StateNone
	}
	s := p.Status()
	if s == StatusSettling && p.Has(ExceptionUnfunded) {
		return StateUnfunded
	}
	return State(s)
}
