// Package fault is the one vocabulary of errors that reach a caller. A fault carries a stable code, a message that is
// safe to show, and a kind that the HTTP edge maps to a status (docs/api-contract.md#statuses). It knows nothing of
// HTTP, SQL or messages, so every layer may import it.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the sort of a refusal. The HTTP edge maps each kind to exactly one status.
type Kind int

// The kinds, in the order of their HTTP status.
const (
	Internal         Kind = iota // 500: a defect of the service; the message is never shown
	Invalid                      // 400: the request breaks a rule, or the state refuses it and the contract says 400
	Unauthenticated              // 401: no key, or an invalid one
	Forbidden                    // 403: the key lacks a permission
	NotFound                     // 404: unknown, malformed or another merchant's
	Conflict                     // 409: the state refuses it now
	TooLarge                     // 413: body over the limit
	UnsupportedMedia             // 415: a declared type other than JSON
	KeyReused                    // 422: idempotency key with another body
	RateLimited                  // 429: too many requests
	Upstream                     // 502: a dependency answered with nonsense
	Unavailable                  // 503: try again later
	Timeout                      // 504: a dependency did not answer in time
	MethodNotAllowed             // 405: the path exists, the method does not
)

// Field is one broken rule of a validated body: the path of the field in the request and what is wrong with it.
type Field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is a refusal that may be shown to the caller. Code is stable snake_case; Message is a full sentence or the
// fixed text of docs/api-contract.md#fixed-texts. RetryAfter is sent with every 429 and 5xx that passes by waiting.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Fields     []Field
	RetryAfter time.Duration
	closed     bool
	cause      error
}

// Error joins the message with its cause for the operator's log; callers are shown Message alone.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Code + ": " + e.Message + ": " + e.cause.Error()
	}
	return e.Code + ": " + e.Message
}

// Unwrap returns the cause, which is for logs and errors.Is and never for the caller.
func (e *Error) Unwrap() error { return e.cause }

// Because returns a copy of the fault with its cause, for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// After returns a copy of the fault with a time to try again.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Closed returns a copy of the fault that says: somebody has closed what the call needs, or an alert of its own reports
// it. Such a refusal is no error of the system (docs/objectives.md).
func (e *Error) Closed() *Error {
	c := *e
	c.closed = true
	return &c
}

// IsClosed reports whether Closed marked the fault.
func (e *Error) IsClosed() bool { return e.closed }

// New makes a fault of the given kind.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// As finds the fault in an error chain; an error without one becomes Internal and is not shown.
func As(err error) *Error {
	if f, ok := errors.AsType[*Error](err); ok {
		return f
	}
	return (&Error{Kind: Internal, Code: "internal", Message: "Something went wrong on our side. Quote the request id when you contact support."}).Because(err)
}

// Is reports whether the error chain holds a fault with this code.
func Is(err error, code string) bool {
	f, ok := errors.AsType[*Error](err)
	return ok && f.Code == code
}

// Problems collects every broken rule of one request, so that the caller sees them all at once.
type Problems struct {
	fields []Field
	text   string
}

// Add records a broken rule of a field. The first message for a field wins.
func (p *Problems) Add(field, format string, args ...any) {
	for _, f := range p.fields {
		if f.Field == field {
			return
		}
	}
	p.fields = append(p.fields, Field{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Say sets the top message, for the fixed texts of docs/api-contract.md#fixed-texts.
func (p *Problems) Say(text string) { p.text = text }

// Err is nil without problems, else one Invalid fault with code validation_failed.
func (p *Problems) Err() error {
	if len(p.fields) == 0 && p.text == "" {
		return nil
	}
	text := p.text
	if text == "" {
		text = p.fields[0].Field + ": " + p.fields[0].Message
	}
	return &Error{Kind: Invalid, Code: "validation_failed", Message: text, Fields: p.fields}
}

// Permanent marks an error of a message handler that no retry can cure, such as a payload that does not parse. Only
// these move a message to a dead queue; any other error is retried (docs/architecture.md#inbox).
func Permanent(err error) error { return permanent{err} }

type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// IsPermanent reports whether the error was marked by Permanent.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[permanent](err)
	return ok
}
