// Package audit names the acts of operators. The store writes an entry in the transaction of its act, which fails with
// it (docs/operators.md).
package audit

import (
	"time"

	"causeway.internal/libs/approval"
)

// Record is an entry as the audit holds it.
type Record struct {
	Entry
	ID int64
	At time.Time
}

// Filter narrows a list of records, newest first. The page holds records before Before and BeforeID.
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
	Actor     string // operator:<name>, person:<name>, key:<id> or cli:<user>
	Act       Act
	Object    string // the object of the act: key:12
	RequestID string
	ClientIP  string            // "" when there is none
	Detail    map[string]string // further facts

	// Door and User are of a person who calls through a console.
	Door, User string

	// Confirms is the request of another operator that the act uses up; nil without one.
	Confirms *approval.Request
}

// Add adds the console and the account of a person to the further facts.
func (e Entry) Add(detail map[string]string) {
	if e.Door != "" {
		detail["door"], detail["user"] = e.Door, e.User
	}
}

// Act is the name of an act.
type Act string

// The acts.
const (
	KeyCreated Act = "key.created"
	KeyChanged Act = "key.changed"
	KeyRotated Act = "key.rotated"
	KeyRevoked Act = "key.revoked"
	KeyAdopted Act = "key.adopted"

	MerchantCreated   Act = "merchant.created"
	MerchantChanged   Act = "merchant.changed"
	MerchantApproved  Act = "merchant.approved"
	MerchantSuspended Act = "merchant.suspended"
	MerchantResumed   Act = "merchant.resumed"
	MerchantMoved     Act = "merchant.moved"
	MerchantTold      Act = "merchant.told"

	MasterRotated Act = "master.rotated"

	TokenMade    Act = "operator_token.made"
	TokenRotated Act = "operator_token.rotated"
	TokenRevoked Act = "operator_token.revoked"

	PasskeyAdded   Act = "operator_passkey.added"
	PasskeyRevoked Act = "operator_passkey.revoked"

	ApprovalRequested Act = "approval.requested"
)
