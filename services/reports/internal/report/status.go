package report

import (
	"slices"
	"time"

	"causeway.internal/libs/fault"
)

// Status is the status of a report (docs/api-contract.md#reports).
type Status string

// The statuses.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Resolved   Status = "resolved"
	Dismissed  Status = "dismissed"
)

// Statuses lists the statuses in the order of gateway/openapi.yaml.
func Statuses() []Status { return []Status{Pending, Processing, Resolved, Dismissed} }

// IsStatus reports whether a word is one of Statuses.
func IsStatus(word string) bool { return slices.Contains(Statuses(), Status(word)) }

// next is the table of docs/api-contract.md#reports: the statuses that may follow each status.
var next = map[Status][]Status{
	Pending:    {Processing, Dismissed},
	Processing: {Resolved, Dismissed},
	Resolved:   nil,
	Dismissed:  nil,
}

// CanBecome reports whether the table has the move.
func (s Status) CanBecome(to Status) bool { return slices.Contains(next[s], to) }

// Final reports whether no status follows: the report has been examined.
func (s Status) Final() bool { return len(next[s]) == 0 }

// Change is a merchant's change to its report. Nil texts stay as they are.
type Change struct {
	To        Status
	Confirmer *string
	Notes     *string
}

// Apply moves the report, or refuses with a 409. now is the time of the change.
func (r Report) Apply(c Change, now time.Time) (Report, error) {
	if !r.Status.CanBecome(c.To) {
		return r, fault.New(fault.Conflict, "transition_refused", "A report that is %s cannot become %s.", r.Status, c.To)
	}
	r.Status = c.To
	if c.Confirmer != nil {
		r.Confirmer = *c.Confirmer
	}
	if c.Notes != nil {
		r.Notes = *c.Notes
	}
	r.Version++
	r.Sequence++
	r.UpdatedAt = now
	if r.UpdatedAt.Before(r.CreatedAt) {
		r.UpdatedAt = r.CreatedAt
	}
	return r, nil
}
