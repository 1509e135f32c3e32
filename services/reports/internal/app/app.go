// Package app holds the use cases of reports: file, look up, show, change, and the operators' views. It decides who may
// do what in which order. The pure package holds the rules of a report, the store the rows and the callers HTTP. It may
// import no driver, no SQL and no transport.
package app

import (
	"context"
	"log/slog"
	"time"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/limit"
	"causeway.internal/services/reports/internal/report"
)

// The statuses of stored answers, which are HTTP's.
const (
	statusOK      = 200
	statusCreated = 201
)

// Event is a webhook event with the exact body that will be signed and sent.
type Event struct {
	ID         string
	Type       string
	Report     report.Report
	OccurredAt time.Time
	Body       []byte
}

// Role is the role of an address in a report.
type Role string

// The roles of an address.
const (
	Fraudster Role = "fraudster"
	Reporter  Role = "reporter"
)

// Source is one key's filings on one address: the unit by which floods are counted. Address is in the form of
// report.AddressKey.
type Source struct {
	Role    Role
	Address string
}

// Opening is what the store reads before a report is filed.
type Opening struct {
	ID      int64
	Used    bool                // another report has the reference
	Now     time.Time           // by the database's clock, in whole milliseconds
	Filed   []int64             // by each source in the current hour
	Window  time.Time           // start of that hour
	Earlier *idempotency.Answer // stored under the request's key
}

// Newborn is a report to be inserted, with the rows that belong to it.
type Newborn struct {
	Report  report.Report
	Sources []Source
	Window  time.Time
	Event   Event
	Key     idempotency.Key
	Answer  idempotency.Answer
}

// Filing stores new reports.
type Filing interface {
	// Open draws an id and the time, counts the key's filings on each source in this hour, and looks for an earlier
	// answer of the key and for a report that has the reference.
	Open(ctx context.Context, o tenant.Owner, reference string, sources []Source, k idempotency.Key) (Opening, error)
	// Insert writes a report in one transaction. ErrReferenceUsed asks for another try with another reference;
	// idempotency.ErrTaken means that a request with the same key won.
	Insert(ctx context.Context, n Newborn) error
	// Refuse records that a key was refused on a source.
	Refuse(ctx context.Context, o tenant.Owner, s Source, window, now time.Time) error
	// Replay is the stored answer of a key.
	Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error)
	// Settled is the stored answer of a key that another request holds; a 409 while that one is still running.
	Settled(ctx context.Context, k idempotency.Key) (idempotency.Answer, error)
}

// Page is one page of a look-up.
type Page struct {
	Reports []report.Report
	Total   int64
	More    bool
}

// Reading reads reports. It sees only rows of the given modes.
type Reading interface {
	Lookup(ctx context.Context, modes []tenant.Mode, l report.Lookup) (Page, error)
	Find(ctx context.Context, modes []tenant.Mode, reference string) (report.Report, error)
	// Own lists a merchant's reports; one more than the limit when there are more.
	Own(ctx context.Context, o tenant.Owner, q report.Own) ([]report.Report, error)
}

// Decision is the result of a change: the row, and its event.
type Decision struct {
	Report report.Report
	Event  Event
}

// Changing changes reports.
type Changing interface {
	// Change locks a report of an owner, calls decide for the change, and writes it with its history, counts, event and
	// signal. decide may run more than once and may not wait; now is the database's clock.
	Change(ctx context.Context, o tenant.Owner, requestID, reference string, decide func(r report.Report, now time.Time) (Decision, error)) error
}

// Accused holds the figures of an address in one mode. A mode without any report on it has zero everywhere.
type Accused struct {
	Mode      tenant.Mode
	Against   report.Counts // reports that name it as the fraudster's
	Reporters int64         // distinct ones among those
	Merchants int64         // distinct ones whose keys filed those
	Convicted int64         // distinct merchants with a resolved fraud report against it: the fraud signal
	FirstAt   time.Time
	LastAt    time.Time
	FiledFrom report.Counts // reports that name it as the reporter's own
	Sources   []SourceView  // the keys that filed most, fifty at most
	Address   string        // as report.AddressKey has it
	Confirmed bool          // an operator has confirmed the reports: payments blocks the address
	Judged    *Judged       // the last decision; nil before any
	Version   int64         // of the last signal to payments; it grows with each conviction and each decision
}

// Judged is an operator's decision about an address, with its time.
type Judged struct {
	Operator, Reason string
	At               time.Time
}

// Judgement is an operator's decision about an accused address: whether payments must block it.
type Judgement struct {
	Mode      tenant.Mode
	Address   string // as report.AddressKey has it
	Confirmed bool
	Operator  string
	Reason    string
	RequestID string
}

// Ruling is the result of a judgement: the decision, unless it waits for another operator.
type Ruling struct {
	Judgement Judgement
	Waits     *approval.Request // kept in place of the decision
	Outdated  bool              // the earlier request ends without a decision
}

// Suspects asks for a page of accused addresses: confirmed ones, or those that wait for a decision. An address waits
// when more merchants have a resolved fraud report against it than at the last decision, and at least Merchants.
type Suspects struct {
	Modes     []tenant.Mode
	Confirmed bool
	Merchants int64
	Limit     int
	After     *SuspectsAfter
}

// SuspectsAfter is where a page of suspects begins.
type SuspectsAfter struct {
	Merchants int64
	Mode      tenant.Mode
	Address   string
}

// SourceView is one key's filings on one address as operators see them.
type SourceView struct {
	Mode       tenant.Mode
	Source     Source
	KeyID      int64
	MerchantID string
	Reports    int64
	LastHour   int64 // in the current hour
	Refused    int64
	RefusedAt  time.Time
	FirstAt    time.Time
	LastAt     time.Time
}

// FloodsAfter is where a page of floods begins.
type FloodsAfter struct {
	At time.Time
	Source
	Mode  tenant.Mode
	KeyID int64
}

// Oversight reads what operators see and writes what they decide.
type Oversight interface {
	// Suspects lists addresses, the most accused first; one more than the limit when there are more.
	Suspects(ctx context.Context, q Suspects) ([]Accused, error)
	// Judge locks an address, calls rule, and writes the decision, with the signal to payments, or the request that
	// waits; once for a key, with its answer. A decision ends the open request. It is a conflict when no resolved fraud
	// report names the address. rule gets the open request, nil without one, and may not wait.
	Judge(ctx context.Context, j Judgement, k idempotency.Key, rule func(Accused, *approval.Request) (Ruling, error),
		answer func(Accused, *approval.Request) (idempotency.Answer, error)) (idempotency.Answer, error)
	Accused(ctx context.Context, modes []tenant.Mode, address string) ([]Accused, error)
	// Floods lists the sources that were refused, the last refused first; one more than limit when there are more.
	Floods(ctx context.Context, modes []tenant.Mode, limit int, after *FloodsAfter) ([]SourceView, error)
}

// Backlog reports whether so many messages wait that new work must be refused.
type Backlog interface {
	Full(ctx context.Context) error
}

// Refusals counts refusals by reason: lookup, guess or flood.
type Refusals func(reason string)

// Deps are the dependencies of the use cases.
type Deps struct {
	Filing       Filing
	Reading      Reading
	Changing     Changing
	Oversight    Oversight
	Backlog      Backlog
	PublicModes  []tenant.Mode // what public look-ups may see
	MarkedSince  time.Time     // a report filed before may name a gift without the mark
	Lookups      *limit.Table  // by subject
	Guesses      *limit.Table  // by address of the caller
	SkipLoopback bool          // the caller's address does not count when it is this machine
	Merchants    int64         // that make an accused address wait for an operator
	FloodPerHour int64         // filings of one key on one address; 0 is no limit
	NewReference func() string
	Refused      Refusals
	Log          *slog.Logger
}

// App is the use cases. It is safe for concurrent use.
type App struct{ Deps }

// New makes the use cases.
func New(d Deps) *App { return &App{Deps: d} }

// The refusals, in the words of docs/api-contract.md#fixed-texts where it has any.
var (
	ErrNotFound      = fault.New(fault.NotFound, "report_not_found", "Report not found")
	ErrBadReference  = fault.New(fault.Invalid, "invalid_report_id", "Invalid report ID format")
	ErrReferenceUsed = fault.New(fault.Unavailable, "busy", "No report id could be made. Try again shortly.")
	ErrNotAccused    = fault.New(fault.Conflict, "not_accused", "No resolved fraud report names this address.")
)
