// Package app holds the dispatcher's use cases: taking events in, sending what is due in bounded lanes, recording
// what came of it, and keeping signing secrets. It knows the rules of package delivery and its own small interfaces;
// it never sees SQL, HTTP or the broker.
package app

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// Event is one event as it came in.
type Event struct {
	ID          string
	Type        string
	MerchantID  string
	Mode        tenant.Mode
	ObjectID    string
	Sequence    int64
	CallbackURL string
	OccurredAt  time.Time
	Trace       string
	Body        []byte
	Token       []byte // sealed settlementToken
}

// Owner is the merchant of the event.
func (e Event) Owner() tenant.Owner { return tenant.Owner{MerchantID: e.MerchantID, Mode: e.Mode} }

// Arrival is an event with the deliveries it asks for. Leased says per delivery that a lane has room for it here, so
// the row may be written as leased and sent without being claimed.
type Arrival struct {
	Event      Event
	Deliveries []delivery.Delivery
	Leased     []bool
}

// Placed is where the commit left one delivery of an arrival.
type Placed int

// The places.
const (
	Duplicate Placed = iota // the event was here before: nothing was written
	Queued                  // in the table, to be claimed
	Waiting                 // in the table, behind the first attempt of the sequence before it
	Leased                  // leased to this process: send it
)

// Result is one attempt to be recorded.
type Result struct {
	AttemptID [16]byte
	Delivery  delivery.Delivery
	Number    int
	Outcome   delivery.Outcome
	Verdict   delivery.Verdict
	// Uncounted says that no attempt was made, for a reason of this process: nothing is logged, the delivery is due
	// again after the verdict's delay.
	Uncounted bool
	// Trips says that too many of the target's attempts failed of late: its breaker opens.
	Trips bool
}

// Inbound writes arrivals: all in one commit, each event once. The answer has one list per arrival, one place per
// delivery; each delivery that was written learns when it was accepted.
type Inbound interface {
	Accept(ctx context.Context, arrivals []Arrival) ([][]Placed, error)
	// Poison reports whether an error of Accept is caused by the data itself, so that no retry cures it.
	Poison(err error) bool
}

// Queue hands out due deliveries under this process's lease.
type Queue interface {
	// Claim leases up to limit due deliveries, oldest first, of other targets than these, at most perTarget of each.
	Claim(ctx context.Context, full []string, limit, perTarget int) ([]delivery.Delivery, error)
	// Advance makes those waiting deliveries of these lines due whose predecessor has had its first attempt, and says how
	// many they were.
	Advance(ctx context.Context, lines []Line) (freed int, err error)
	// Unblock does the same for some of all deliveries that wait, those behind a place.
	Unblock(ctx context.Context, behind Place) (Look, error)
	// Well says which of these targets have no open breaker.
	Well(ctx context.Context, targets []string) ([]string, error)
	// Old lists the deliveries that have been leased to this process for longer than any statement may take.
	Old(ctx context.Context) (ids []string, err error)
	// Release makes leased deliveries due again, with no attempt counted.
	Release(ctx context.Context, ids []string) error
}

// Line is the deliveries of one object's events to one target. Their first attempts are made in order.
type Line struct{ Target, ObjectID string }

// Place is one among the deliveries that wait, which stand in the order in which they will be due. The zero Place is
// before all.
type Place struct {
	DueAt time.Time
	ID    string
}

// Look is what Unblock has found.
type Look struct {
	Freed int
	Waits bool  // some waited when it began, of whatever process, held by another or not
	Next  Place // where to go on: the zero Place when the look came to the end
}

// Breaker says after how many failures in a row a target gets single probes only, of how many attempts within a minute
// half must have failed for the same, and when the first probe is made; each next one waits twice as long, up to
// ProbeWaitMax.
type Breaker struct {
	Failures int
	Sample   int
	Wait     time.Duration
}

// ProbeWaitMax is where the wait between probes stops growing; the function dispatcher_claim has it too. Deliveries
// that are overdue leave within a minute of their target's return, so it is less than that.
const ProbeWaitMax = 45 * time.Second

// Target is a target whose breaker is open, or one that is well again.
type Target struct {
	Name string
	Open bool
}

// Ledger records attempts: the log row, the new state and the health of the targets in one commit. A result
// that was recorded before changes nothing, though the delivery may have been brought back since. It names the targets
// whose breaker is open now, or has just been closed.
type Ledger interface {
	Record(ctx context.Context, results []Result, b Breaker) ([]Target, error)
}

// ErrStopped is Sender's word for an attempt that was cut short by the process itself: nothing is known of it.
var ErrStopped = errors.New("the attempt was stopped")

// ErrUnopened is Sender's word for an event whose body or token does not open, because a key is missing or wrong.
var ErrUnopened = errors.New("the event cannot be opened")

// Sender makes one attempt. An error means that none was made or that nothing is known of it; everything that the
// endpoint did is an outcome.
type Sender interface {
	Send(ctx context.Context, d delivery.Delivery) (delivery.Outcome, error)
}

// Membership says who holds the leases of this process. Join returns once it may lease; Keep runs until ctx ends and
// calls lost whenever others have taken its leases over, and share with how many processes there are; Leave gives all
// of them back.
type Membership interface {
	Join(ctx context.Context) error
	Keep(ctx context.Context, lost func(), share func(processes int)) error
	Leave(ctx context.Context) error
}

// Observer counts what happens.
type Observer interface {
	Accepted(events, duplicates int)
	Attempted(r Result)
	Recorded(batch int)
	Unopened()
}
