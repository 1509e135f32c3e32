package httpkit

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"causeway.internal/libs/fault"
)

// RequestIDHeader carries the id of a request in both directions.
const RequestIDHeader = "X-Request-Id"

type errorBody struct {
	Success bool      `json:"success"`
	Message string    `json:"message"`
	Error   errorPart `json:"error"`
}

type errorPart struct {
	Code      string        `json:"code"`
	Message   string        `json:"message"`
	Fields    []fault.Field `json:"fields,omitempty"`
	RequestID string        `json:"requestId"`
}

// Status is the HTTP status of a kind of fault (docs/api-contract.md#statuses).
func Status(kind fault.Kind) int {
	switch kind {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case fault.Conflict:
		return http.StatusConflict
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.UnsupportedMedia:
		return http.StatusUnsupportedMediaType
	case fault.KeyReused:
		return http.StatusUnprocessableEntity
	case fault.RateLimited:
		return http.StatusTooManyRequests
	case fault.Upstream:
		return http.StatusBadGateway
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Timeout:
		return http.StatusGatewayTimeout
	case fault.Internal:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

// retryAfterDefault is the Retry-After of a passing fault that has none of its own.
const retryAfterDefault = 5 * time.Second

// ErrorBody is the body of an error answer (docs/api-contract.md#errors).
func ErrorBody(f *fault.Error, requestID string) []byte {
	body := errorBody{Message: f.Message, Error: errorPart{Code: f.Code, Message: f.Message, Fields: f.Fields, RequestID: requestID}}
	out, err := json.Marshal(body)
	if err != nil { // strings and slices of strings always encode
		panic(err)
	}
	return out
}

// ClosedHeader marks the answer of a service that refuses because somebody has closed what the call needs. The gateway
// counts such answers apart from errors, and passes no header with this prefix on.
const ClosedHeader = "X-Causeway-Closed"

// WriteError answers with a fault in the one error shape. An error that holds no fault becomes a 500 without details;
// the caller logs it.
func WriteError(w http.ResponseWriter, requestID string, err error) {
	f := fault.As(err)
	status := Status(f.Kind)
	h := w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if f.IsClosed() {
		h.Set(ClosedHeader, "true")
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="causeway"`)
	}
	if passing := status == http.StatusTooManyRequests || status == 502 || status == 503 || status == 504; passing || f.RetryAfter > 0 {
		after := f.RetryAfter
		if after <= 0 {
			after = retryAfterDefault
		}
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	w.WriteHeader(status)
	//nolint:gosec // it is JSON
	_, _ = w.Write(ErrorBody(f, requestID)) // the caller may be gone
}

// ErrRouteUnknown is the 404 of a path that no route serves.
var ErrRouteUnknown = fault.New(fault.NotFound, "route_not_found", "No such route.")

// ErrMethodNotAllowed is the 405 of a path that serves other methods, which the Allow header names.
var ErrMethodNotAllowed = fault.New(fault.MethodNotAllowed, "method_not_allowed", "This route does not take that method.")
