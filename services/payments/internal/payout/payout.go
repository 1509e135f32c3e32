// Package payout decides what to do with one payout: send, query, wait or call a person, by the rules R1 to R10 of
// docs/rails.md#the-rules. It is pure: the worker shows it a row, what the rail said and the time, and carries out the
// step it names. Its one promise is that money never leaves twice for one reference.
package payout

import (
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// State is how far a payout has come.
type State string

// The states. Only succeeded, failed and returned are conclusive; unknown means that we sent or may have sent and do
// not know. Withdrawn is a payout that never left because its deposit was reorged away; it may become created again.
const (
	Created   State = "created"
	Sending   State = "sending"
	Pending   State = "pending"
	Unknown   State = "unknown"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Returned  State = "returned"
	Withdrawn State = "withdrawn"
)

// States lists every state.
func States() []State {
	return []State{Created, Sending, Pending, Unknown, Succeeded, Failed, Returned, Withdrawn}
}

// Conclusive reports whether the rail has said its last word on the attempt, except that a success may be returned.
func (s State) Conclusive() bool { return s == Succeeded || s == Failed || s == Returned }

// Reference is the rail's name for an attempt: the payment's reference in lower case, "-" and the attempt, so that even
// a row rebuilt after a restore carries the same one (R2).
func Reference(payment string, attempt int) string {
	return strings.ToLower(payment) + "-" + strconv.Itoa(attempt)
}

// Payout is one attempt to pay one receiver.
type Payout struct {
	ID            string
	PaymentID     string
	Reference     string
	Attempt       int
	Mode          string
	Rail          string
	Amount        decimal.Decimal
	Currency      money.Currency
	BankCode      string
	BankName      string
	AccountNumber string
	AccountName   string

	State       State
	Frozen      bool      // the rail's answer does not match ours: nothing moves before a person has concluded it (R7)
	Stopped     bool      // an operator is about to conclude it: nothing is sent any more
	LeaseUntil  time.Time // of sending: while it lives somebody is on the wire
	Sends       int       // how often the order was put on the wire
	FirstSentAt time.Time // the first of them, also one that was not put on the wire; zero in rows that are older than the column
	SentAt      time.Time // the last of them
	Polls       int       // queries since the last send
	NoFloat     bool      // the only send got nowhere, for lack of our balance or before the wire: the same reference may go again
	Misses      int       // of them, answers that the reference does not exist
	FirstMissAt time.Time
	NextAt      time.Time // when to look again; zero: never
	Paged       bool      // a person has been called
	Answer      string    // the rail's last answer, for people
	AnswerAt    time.Time
	RailID      string // the rail's own name for the transfer
	Reason      string // why it failed, as the rail said it
	Fee         decimal.Decimal
	CreatedAt   time.Time
	DoneAt      time.Time

	Concluded    State // succeeded or failed by an operator's word; empty: by the rail's, or not yet
	ConcludedAt  time.Time
	Contradicted bool // the rail has since said otherwise

	// Of its payment, where a payout is due: for what is told about it, and for no decision.
	MerchantID string
	Trace      string
}

// Timing is when to ask again.
type Timing struct {
	Lease      time.Duration   // how long one send may be on the wire
	Polls      []time.Duration // gaps between queries of an inconclusive payout
	Hourly     time.Duration   // gap after the list is used up
	GiveUp     time.Duration   // since the first send: then a person is called, nothing is sent by itself, and polling goes on
	Sends      int             // so many sends of one reference; a next one that the rules allow calls a person instead
	Misses     int             // so many "no such reference"
	MissWindow time.Duration   // over at least this long since the last send allow a second send of the same reference (R5)
	Hold       time.Duration   // how long a payout waits that may not be sent now
	After      []time.Duration // gaps between queries after a success, because a rail may return it later
	Watch      time.Duration   // so long a payout is asked about that an operator concluded
}

const (
	mostSends = 10
	day       = 24 * time.Hour
	watch     = 90 * day
)

// LiveTiming is R5 and R6.
func LiveTiming() Timing {
	const hour = time.Hour
	return Timing{
		Lease: 2 * time.Minute, Polls: []time.Duration{5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute},
		Hourly: hour, GiveUp: 72 * hour, Sends: mostSends, Hold: 10 * time.Second, Misses: 3, MissWindow: 10 * time.Minute,
		After: []time.Duration{hour, 24 * hour, 72 * hour}, Watch: watch,
	}
}

// TestTiming is the same compressed for the sandbox, where every answer comes within two seconds.
func TestTiming() Timing {
	const ms = time.Millisecond
	return Timing{
		Lease: 10 * time.Second, Polls: []time.Duration{150 * ms, 150 * ms, 300 * ms, 300 * ms, 500 * ms, 500 * ms, time.Second, time.Second, 2 * time.Second},
		Hourly: 15 * time.Second, GiveUp: 72 * time.Hour, Sends: mostSends, Hold: 500 * ms, Misses: 3, MissWindow: time.Second,
		After: []time.Duration{500 * ms, time.Second, 2 * time.Second}, Watch: watch,
	}
}

// Seen is what the worker learnt.
type Seen string

// The observations. Tick is only time passing, which is how a row is first looked at; Claimed is the worker's own word
// that it has leased the row and is about to send; the others are answers of the rail, and Hint is a rail's webhook or
// an operator asking to look now.
const (
	Tick      Seen = "tick"
	Hint      Seen = "hint"
	Claimed   Seen = "claimed"
	Accepted  Seen = "accepted"  // the rail has it and has not decided
	Success   Seen = "success"   // conclusive
	Failure   Seen = "failure"   // conclusive: nothing was paid and nothing will be
	GaveBack  Seen = "gave_back" // conclusive: paid and returned
	NoSuchRef Seen = "no_such"   // the rail does not know the reference, which is no proof by itself (R5)
	Unsure    Seen = "unsure"    // timeout, reset, 5xx, 408, 409, 425, 429, unreadable, duplicate reference (R3)
	Refused   Seen = "refused"   // a definite refusal of a send with no transfer made (R4)
	NoFunds   Seen = "no_funds"  // our float at the rail is short: the same reference waits (R4)
	NotSent   Seen = "not_sent"  // a send that did not get as far as the wire
	NotNow    Seen = "not_now"   // before a send: the rail's breaker is open or our float is short; nothing was sent
	Withdraw  Seen = "withdraw"  // the deposit was reorged away before the payout left
)

// BeforeFirst is Observation.Sends of an answer that was asked for before the first send.
const BeforeFirst = -1

// Observation is one thing the worker learnt, with the rail's figures where there were any. Sends is the row's own count
// when the worker sent or asked: an inconclusive answer from before the last send says nothing about that send.
type Observation struct {
	Seen     Seen
	Sends    int
	Ref      string
	Amount   decimal.Decimal
	Currency money.Currency
	RailID   string
	Reason   string
	Fee      decimal.Decimal
	Alert    string // of NotNow: what an operator is to be told
}

// Step is what the worker has to do now.
type Step string

// The steps. Send means: claim the row (the payment's row is locked, Sending applied, state sending with a lease
// committed) and only then put the order on the wire under its reference.
const (
	Wait  Step = "wait" // until NextAt
	Send  Step = "send"
	Query Step = "query"
	Done  Step = "done" // nothing will happen any more by itself
)

// Outcome is what an observation means for the payment; the worker applies the trigger of the same name.
type Outcome string

// The outcomes. None: nothing to tell the payment.
const (
	None       Outcome = ""
	IsSending  Outcome = "sending"
	IsUnknown  Outcome = "unknown"
	IsPaid     Outcome = "succeeded"
	IsFailed   Outcome = "failed"
	IsReturned Outcome = "returned"
)

// Decision is the result of Next.
type Decision struct {
	Step    Step
	Outcome Outcome
	Alert   string // stable code of what an operator must be told, "" for nothing
}
