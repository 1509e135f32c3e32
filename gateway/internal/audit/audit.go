// Package audit names what operators did. An entry is written in the transaction of the act itself and fails with it
// (docs/operators.md); this package only describes entries, the store writes them.
package audit

import (
	"time"

	"causeway.internal/libs/approval"
)

// Record is an entry as it stands in the audit.
type Record struct {
	Entry
	ID int64
	At time.Time
}

// Filter narrows a list of records, newest first. Before and BeforeID are the record that a page ends above.
type Filter struct {
	Actor    string
	Act      string
	Object   string
	From, To time.Time // zero is no bound; To is exclusive
	Before   time.Time
	BeforeID int64
	Limit    int
}

// Entry is one act. It never holds a secret, nor a payment's reference, which is a bearer secret
// (docs/architecture.md#secrets).
type Entry struct {
	Actor     string // operator:<name of the token> or cli:<user>
	Act       Act
	Object    string // what it was done to: key:12
	RequestID string
	ClientIP  string            // "" when there is none
	Detail    map[string]string // small facts that matter later

	// Confirms is the request of another operator that the act carries out, and uses up; nil without one.
	Confirms *approval.Request
}

// Act is what was done.
type Act string

// The acts.
const (
	KeyCreated Act = "key.created"
	KeyChanged Act = "key.changed"
	KeyRotated Act = "key.rotated"
	KeyRevoked Act = "key.revoked"
	KeyAdopted Act = "key.adopted"

	MasterRotated Act = "master.rotated"

	TokenMade    Act = "operator_token.made"
	TokenRotated Act = "operator_token.rotated"
	TokenRevoked Act = "operator_token.revoked"

	ApprovalRequested Act = "approval.requested"
)
