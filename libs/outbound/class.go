package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"

	"causeway.internal/libs/outbound/guard"
)

// Class names how an attempt ended. The values are stored and shown to merchants; they are stable.
type Class string

// The classes.
const (
	OK              Class = "ok"
	ClientError     Class = "http_4xx"
	ServerError     Class = "http_5xx"
	Throttled       Class = "throttled" // 429
	Gone            Class = "gone"      // 410: the endpoint asks for no more
	Redirect        Class = "redirect"
	TimeoutConnect  Class = "timeout_connect"
	TimeoutResponse Class = "timeout_response"
	DNS             Class = "dns"
	Refused         Class = "refused"
	Reset           Class = "reset"
	TLS             Class = "tls"
	Blocked         Class = "blocked_ssrf" // the guard refused the address: terminal
	Malformed       Class = "malformed"    // no HTTP, or a response head over 32 KiB
	Internal        Class = "internal"     // our side: an unusable URL, no sockets left
	Canceled        Class = "canceled"     // the caller stopped; no attempt is counted
)

// StatusError is the error of a response that is no success.
type StatusError struct{ Status int }

// Error names the status.
func (e *StatusError) Error() string { return fmt.Sprintf("the endpoint answered %d", e.Status) }

// unusable is a request that could not be built.
type unusable struct{ err error }

func (e *unusable) Error() string { return "build request: " + e.err.Error() }
func (e *unusable) Unwrap() error { return e.err }

// truncated is a response whose body broke off.
type truncated struct{ err error }

func (e *truncated) Error() string { return "read response body: " + e.err.Error() }
func (e *truncated) Unwrap() error { return e.err }

func classOf(status int) (Class, error) {
	switch {
	case status/100 == 2:
		return OK, nil
	case status/100 == 3:
		return Redirect, &StatusError{status}
	case status == http.StatusTooManyRequests:
		return Throttled, &StatusError{status}
	case status == http.StatusGone:
		return Gone, &StatusError{status}
	case status/100 == 4:
		return ClientError, &StatusError{status}
	default:
		return ServerError, &StatusError{status}
	}
}

// classify goes from the surest sign to the vaguest; texts are never read. The stopwatch tells the phases apart where
// one error type serves several.
func classify(err error, w *stopwatch) Class {
	switch {
	case is[*guard.Blocked](err):
		return Blocked
	case is[*unusable](err):
		return Internal
	case is[*net.DNSError](err):
		return DNS
	case timedOut(err):
		if w.connected() {
			return TimeoutResponse
		}
		return TimeoutConnect
	case isTLS(err):
		return TLS
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Refused
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EADDRNOTAVAIL):
		return Internal
	case is[*truncated](err), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), is[*net.OpError](err):
		return Reset
	case w.answered():
		return Malformed
	case w.connected():
		return Reset
	default:
		return Internal
	}
}

func timedOut(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func isTLS(err error) bool {
	return is[*tls.CertificateVerificationError](err) || is[tls.RecordHeaderError](err) || is[tls.AlertError](err) ||
		is[x509.UnknownAuthorityError](err) || is[x509.HostnameError](err) || is[x509.CertificateInvalidError](err) ||
		opIs(err, "remote error") || opIs(err, "local error") || errors.Is(err, http.ErrSchemeMismatch)
}

// opIs reads the operation of a net.OpError: crypto/tls wraps alerts of either side in one of its own two.
func opIs(err error, op string) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == op
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
