// Package approval holds the one rule by which two operators do what one may not: the first one's request is kept, and another
// operator confirms it by sending the same within its life. The package only judges. A service keeps requests and carries out
// what is confirmed.
package approval

import (
	"bytes"
	"strings"
	"time"

	"causeway.internal/libs/fault"
)

// Life is how long a request waits for the second operator. Stores compare it with the database's clock.
const Life = 24 * time.Hour

// Request is what one operator asks for. An object has at most one open request; a newer one takes its place.
type Request struct {
	Object   string
	Version  int64 // of the object as the operator saw it
	Action   string
	Digest   []byte // of everything that is asked for
	Operator string
	Reason   string
	At       time.Time // when it was asked for
}

// The refusals of a second operator's word.
var (
	ErrSamePerson = fault.New(fault.Conflict, "second_operator_required",
		"You have asked for this already. Another operator has to confirm it.")
	ErrOutdated = fault.New(fault.Conflict, "approval_outdated",
		"This has changed since the other operator asked. The request is withdrawn; look again and ask anew.")
)

// Confirms reports whether by confirms the open request, which may be nil. Without an error and unconfirmed, by is a new
// request. After ErrOutdated the open request has to be removed. A person is one person whatever the token and however the
// name is written.
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

// Joined puts the reason of the first operator behind that of the second.
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
	expires := now.Add(Life).UTC().Format("2006-01-02T15:04:05.000Z")
	return View{"waiting_for_second_operator", by.Action, by.Operator, expires}
}
