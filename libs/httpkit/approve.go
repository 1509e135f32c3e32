package httpkit

import (
	"net/http"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/person"
)

// Refusals of a change through the operators' console.
var (
	ErrApprovalRequired = fault.New(fault.Forbidden, "approval_required", "This change needs the approval of your passkey.")
	ErrApprovalInvalid  = fault.New(fault.Forbidden, "approval_invalid", "The approval is not one of this change by a passkey of yours. Approve it again.")
)

// approved reports why a request is a change through the operators' console that the operator has not approved. An
// approval serves one request of this process.
func (r *Request) approved(now time.Time) error {
	if r.Identity.Door != person.Operator || r.http.Method == http.MethodGet || r.http.Method == http.MethodHead {
		return nil
	}
	values := r.http.Header.Values(passkey.Header)
	if len(values) != 1 || r.Identity.Approver == nil || len(r.Identity.Approver.Keys) == 0 {
		return ErrApprovalRequired
	}
	given, err := passkey.Parse(values[0])
	if err != nil {
		return ErrApprovalInvalid.Because(err)
	}
	change := passkey.Change{
		Operator: r.Identity.Operator, Method: r.http.Method, Path: r.http.URL.RequestURI(), Body: r.raw, IdempotencyKey: r.http.Header.Get(IdempotencyHeader),
	}
	err = given.Verify(change, r.Identity.Approver.Site, r.Identity.Approver.Keys, now)
	if err != nil {
		r.log.Warn("approval refused", "route", r.Route, "operator", r.Identity.Operator, "reason", err.Error())
		return ErrApprovalInvalid.Because(err)
	}
	change.At = time.UnixMilli(given.At)
	if !r.approvals.First(string(change.Challenge()), now) {
		return ErrApprovalInvalid
	}
	return nil
}
