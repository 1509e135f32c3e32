// Package payout decides the next step of one payout: send, query, wait or alert an operator, by the rules R1 to R10 of
// docs/rails.md#the-rules. It is pure: the worker passes a row, the rail's answer and the time, and carries out the
// step that Next returns. It guarantees that money never leaves twice for one reference.
package payout

import (
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/alert"
)

// State is the state of a payout.
type State string

// The states. Only succeeded, failed and returned are conclusive. Unknown means that the order was or may have been
// sent and that its outcome is not known. Withdrawn is a payout that never left because its deposit was reorged away;
// it may become created again.
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

// Conclusive reports whether the outcome of the attempt is final, except that a success may be returned.
func (s State) Conclusive() bool { return s == Succeeded || s == Failed || s == Returned }

// Reference is the name of an attempt at the rail: the payment's reference in lower case, "-" and the attempt. So a row
// that is rebuilt after a restore has the same one (R2).
func Reference(payment string, attempt int) string {
	return strings.ToLower(payment) + "-" + strconv.Itoa(attempt)
}

// Payout is one attempt to pay one receiver.
type Payout struct {
	ID            string
	PaymentID     string
	Reference     string
	Attempt       int
	Mode          tenant.Mode
	Rail          string
	Amount        decimal.Decimal
	Currency      money.Currency
	BankCode      string
	BankName      string
	AccountNumber string
	AccountName   string

	State       State
	Frozen      bool      // the rail's answer does not match the order: the state is fixed until an operator concludes it (R7)
	Stopped     bool      // an operator is about to conclude it: no further send
	LeaseUntil  time.Time // in state sending: until then a worker may be sending the order
	Sends       int       // number of sends
	FirstSentAt time.Time // time of the first send, also of one that failed before the wire; zero in rows older than the column
	SentAt      time.Time // time of the last send
	Polls       int       // queries since the last send
	NoFloat     bool      // the only send failed before the wire or for lack of balance: the same reference may be sent again
	Misses      int       // queries since the last send after which the rail did not know the reference
	FirstMissAt time.Time
	NextAt      time.Time // next look at the row; zero: never
	Paged       bool      // operators have been alerted
	Answer      string    // the rail's last answer, for operators
	AnswerAt    time.Time
	RailID      string // the rail's own id of the transfer
	Reason      string // the rail's reason of a failure
	Fee         decimal.Decimal
	CreatedAt   time.Time
	DoneAt      time.Time

	Concluded    State // succeeded or failed, set by an operator; empty when the rail set the outcome, or before it
	ConcludedAt  time.Time
	Contradicted bool // the rail has contradicted the operator

	// Written is the database's number of the transaction that wrote the row, by which a later write notices that another
	// one came first. Zero is unknown: only due payouts and saved ones have it, and no decision uses it.
	Written uint32
	// ReadAt is when the row was read or saved, by the database's clock. ReadHere is the same moment by this process's
	// clock, which may be wrong, so only the time that has passed on it counts. Payouts without Written have neither.
	ReadAt, ReadHere time.Time

	// Fields of the payment, for logs and traces. Only due payouts have them, and no decision uses them.
	MerchantID string
	Trace      string
}

// Rails are the rails of a mode with these names, or all others.
type Rails struct {
	Mode   tenant.Mode
	Names  []string
	Others bool
}

// Timing is the schedule of sends and queries.
type Timing struct {
	Lease      time.Duration   // longest time of one send
	Polls      []time.Duration // gaps between queries of an inconclusive payout
	Hourly     time.Duration   // gap after the list is used up
	GiveUp     time.Duration   // this long after the first send, operators are alerted, sends stop, and queries continue
	Sends      int             // most sends of one reference; a further one that the rules allow is an alert instead
	Misses     int             // this many answers "no such reference",
	MissWindow time.Duration   // at least this long after the last send, allow another send of the same reference (R5)
	Hold       time.Duration   // delay of a payout that may not be sent now
	After      []time.Duration // gaps between queries after a success, because a rail may return it later
	Recheck    time.Duration   // how long a payout is queried that an operator concluded, or whose rail does not answer
}

const (
	mostSends = 10
	day       = 24 * time.Hour
	recheck   = 90 * day
)

// LiveTiming is the schedule of R5 and R6.
func LiveTiming() Timing {
	const hour = time.Hour
	return Timing{
		Lease: 2 * time.Minute, Polls: []time.Duration{5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute},
		Hourly: hour, GiveUp: 72 * hour, Sends: mostSends, Hold: 10 * time.Second, Misses: 3, MissWindow: 10 * time.Minute,
		After: []time.Duration{hour, 24 * hour, 72 * hour}, Recheck: recheck,
	}
}

// TestTiming is a faster schedule for the sandbox, where every answer comes within two seconds. The simulated bank
// settles an order after a quarter of a second. It says which ones it returns, and when, so no other is asked about
// after its success. An outcome that somebody orders comes with a hint.
func TestTiming() Timing {
	const ms = time.Millisecond
	return Timing{
		Lease: 10 * time.Second, Polls: []time.Duration{300 * ms, 300 * ms, 300 * ms, 500 * ms, 500 * ms, time.Second, time.Second, 2 * time.Second},
		Hourly: 15 * time.Second, GiveUp: 72 * time.Hour, Sends: mostSends, Hold: 500 * ms, Misses: 3, MissWindow: time.Second,
		Recheck: recheck,
	}
}

// Seen is the kind of an observation.
type Seen string

// The observations. Tick says that time passed; a worker begins with it. Hint is a rail's webhook or an operator's
// request to query now. Claimed says that the worker has leased the row and is about to send. NotNow, NoAccount and
// Withdraw come from the worker too, and the others are answers of the rail.
const (
	Tick      Seen = "tick"
	Hint      Seen = "hint"
	Claimed   Seen = "claimed"
	Accepted  Seen = "accepted"   // the rail has the order and has not decided
	Success   Seen = "success"    // conclusive
	Failure   Seen = "failure"    // conclusive: nothing was paid and nothing will be
	GaveBack  Seen = "gave_back"  // conclusive: paid and returned
	NoSuchRef Seen = "no_such"    // the rail does not know the reference; one such answer proves nothing (R5)
	Unsure    Seen = "unsure"     // timeout, reset, 5xx, 408, 409, 425, 429, unreadable, duplicate reference (R3)
	Refused   Seen = "refused"    // a definite refusal of a send with no transfer made (R4)
	NoFunds   Seen = "no_funds"   // the float at the rail is too low: the same reference waits (R4)
	NotSent   Seen = "not_sent"   // the send failed before the wire
	NotNow    Seen = "not_now"    // before a send: the breaker is open, the float too low or the receiver unnamed; nothing was sent
	NoAccount Seen = "no_account" // before the first send: the bank knows no such account; nothing was sent
	Withdraw  Seen = "withdraw"   // the deposit was reorged away before the payout left
)

// BeforeFirst is Observation.Sends of an answer to a query before the first send.
const BeforeFirst = -1

// Observation is one fact that the worker learnt, with the amount and currency that the rail gave. Sends is the row's
// count when the worker sent or queried: an inconclusive answer from before the last send says nothing about that send.
type Observation struct {
	Seen     Seen
	Sends    int
	Ref      string
	Amount   decimal.Decimal
	Currency money.Currency
	RailID   string
	Reason   string
	Fee      decimal.Decimal
	Again    time.Duration // with Success: the rail may say something else after it; zero where it does not say
	Alert    alert.Code    // with NotNow: the alert for operators
}

// Step is the worker's next action.
type Step string

// The steps. Send means: claim the row (lock the payment's row, apply Sending, commit state sending with a lease), and
// only then send the order under its reference.
const (
	Wait  Step = "wait" // until NextAt
	Send  Step = "send"
	Query Step = "query"
	Done  Step = "done" // no further step without an operator or a webhook
)

// Outcome is the effect of an observation on the payment. The worker applies the trigger of the same name.
type Outcome string

// The outcomes. None changes nothing.
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
	Alert   alert.Code // to operators, 0 for none
}
