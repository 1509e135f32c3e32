// Package approval holds the one rule of acts that take two operators: the first one's request is kept, and another
// operator confirms it by sending the same within its life. The package only judges. A service keeps requests and
// executes confirmed ones.
package approval

import (
	"bytes"
	"strings"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/timestamp"
)

// Life is how long a request waits for the second operator. Stores compare it with the database's clock.
const Life = 24 * time.Hour

// Request is an operator's request. An object has at most one open request; a newer one replaces it.
type Request struct {
	Object   string
	Version  int64 // of the object as the operator saw it
	Action   string
	Digest   []byte // of all fields of the request
	Operator string
	Reason   string
	At       time.Time // time of the request
}

// The refusals of a confirmation.
var (
	ErrSamePerson = fault.New(fault.Conflict, "second_operator_required",
		"You have asked for this already. Another operator has to confirm it.")
	ErrOutdated = fault.New(fault.Conflict, "approval_outdated",
		"This has changed since the other operator asked. The request is withdrawn; look again and ask anew.")
)

// Confirms reports whether by confirms the open request, which may be nil. Without an error and unconfirmed, by is a
// new request. After ErrOutdated the caller must remove the open request. A person is the same with any token and any
// spelling of the name.
func (by Request) Confirms(open *Request) (bool, error) {
	if open == nil || open.Action != by.Action {
		return false, nil
	}
	same := open.Version == by.Version && bytes.Equal(open.Digest, by.Digest)
	switch {
	case strings.EqualFold(open.Operator, by.Operator):
		if same {
			return false, ErrSamePerson
		}
		return false, nil
	case open.Version != by.Version:
		return false, ErrOutdated
	}
	return same, nil
}

// Joined appends the reason of the first operator to that of the second.
func (by Request) Joined(second string) string {
	return strings.TrimSpace(second + " (asked for by " + by.Operator + ": " + by.Reason + ")")
}

// View is the part of an answer that says that a second operator has to confirm.
type View struct {
	Status      string `json:"status"`
	Action      string `json:"action"`
	RequestedBy string `json:"requestedBy"`
	ExpiresAt   string `json:"expiresAt"`
}

// Waiting is the view of a request that was made now.
func (by Request) Waiting(now time.Time) View {
	expires := timestamp.Text(now.Add(Life))
	return View{"waiting_for_second_operator", by.Action, by.Operator, expires}
}
