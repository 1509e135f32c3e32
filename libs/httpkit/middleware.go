package httpkit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/telemetry"
)

// traced continues the gateway's trace. The span is made by hand, because otelhttp records the path, and a path holds a
// payment's reference, which is a bearer secret (docs/architecture.md#secrets).
func traced(route string) endpoint.Middleware {
	method, pattern, _ := strings.Cut(route, " ")
	about := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", pattern)),
	}
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			ctx = otel.GetTextMapPropagator().Extract(ctx, propagation.HeaderCarrier(From(ctx).http.Header))
			ctx, span := otel.Tracer("causeway.internal/libs/httpkit").Start(ctx, route, about...)
			response, err := next(ctx, request)
			if answer, ok := streamed(response); ok {
				return answer.then(func(error) { endSpan(span, answer.Status) }), nil
			}
			endSpan(span, statusOf(response, err))
			return response, err
		}
	}
}

func endSpan(span trace.Span, status int) {
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// measured counts the answers of a route by status, and their time. It does not count a stream that was cut.
func measured(route string, seconds *prometheus.HistogramVec) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			start := time.Now()
			response, err := next(ctx, request)
			status := statusOf(response, err)
			observe := func() { seconds.WithLabelValues(route, strconv.Itoa(status)).Observe(time.Since(start).Seconds()) }
			if answer, ok := streamed(response); ok {
				return answer.then(func(cut error) {
					if cut == nil {
						observe()
					}
				}), nil
			}
			observe()
			return response, err
		}
	}
}

// statusOf is the HTTP status of an answer or an error.
func statusOf(response any, err error) int {
	if errors.Is(err, errGone) {
		return statusGone
	}
	if answer, ok := response.(Answer); ok && err == nil {
		return answer.Status
	}
	return Status(fault.As(err).Kind)
}

func streamed(response any) (Answer, bool) {
	answer, ok := response.(Answer)
	return answer, ok && answer.Stream != nil
}

// then calls done once the stream of an answer has been written or cut. A panic cuts it too.
func (a Answer) then(done func(cut error)) Answer {
	stream := a.Stream
	a.Stream = func(ctx context.Context, w io.Writer) error {
		err := http.ErrAbortHandler
		defer func() { done(err) }()
		err = stream(ctx, w)
		return err
	}
	return a
}

var errNotGateway = fault.New(fault.Unauthenticated, "identity_invalid", "This service answers only requests from its gateway.")

// authenticated lets only requests pass that the gateway signed, and reads their bodies. It reads a body once the
// header is verified, and uses up the nonce once everything else agrees.
func (s *Server) authenticated(next endpoint.Endpoint) endpoint.Endpoint {
	return func(ctx context.Context, request any) (any, error) {
		r := From(ctx)
		refused := func(why error) (any, error) {
			s.log.WarnContext(ctx, "identity refused", "route", r.Route, "reason", why.Error())
			return nil, errNotGateway
		}
		id, err := s.verifier.Verify(r.http)
		if err != nil {
			return refused(err)
		}
		r.Identity, r.RequestID = id, id.RequestID
		if r.raw, err = readBody(r.http); err != nil {
			return nil, err
		}
		r.hash = sha256.Sum256(r.raw)
		if id.bound() {
			if !bytes.Equal(r.hash[:], id.BodyHash) {
				return refused(errIdentityBody)
			}
			if !s.nonces.First(id.Nonce, s.verifier.Now()) {
				return refused(errIdentityUsed)
			}
		}
		r.reader = telemetry.With(ctx, telemetry.RequestID, id.RequestID, telemetry.MerchantID, id.MerchantID)
		return next(r.reader, request)
	}
}

// bounded ends the context of an endpoint after handleMax.
func bounded(next endpoint.Endpoint) endpoint.Endpoint {
	return func(ctx context.Context, request any) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, handleMax)
		defer cancel()
		return next(ctx, request)
	}
}

// errGone replaces the error of a caller that disconnected; the service has no fault. Its status is nginx's, and no
// caller receives it.
var errGone = errors.New("the caller has disconnected")

const statusGone = 499

// reported makes the errors of an endpoint into those that a caller may see, and logs faults of the service with the
// ids that an operator needs.
func (s *Server) reported(next endpoint.Endpoint) endpoint.Endpoint {
	return func(ctx context.Context, request any) (any, error) {
		response, err := next(ctx, request)
		if err == nil {
			return response, nil
		}
		if errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled) {
			return nil, errGone
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fault.New(fault.Timeout, "timeout", "The request took too long. Try again with the same Idempotency-Key.").Because(err)
		}
		err = outage(err)
		if f := fault.As(err); Status(f.Kind) >= http.StatusInternalServerError {
			level := slog.LevelError
			if errors.Unwrap(f) == nil {
				level = slog.LevelInfo // refused on purpose, such as a closed mode
			}
			s.spare.Log(ctx, level, f.Code, "request failed", "route", From(ctx).Route, "code", f.Code, "err", err)
		}
		return nil, err
	}
}

// idempotent checks the Idempotency-Key, whose fault is shown together with those of the input, and marks an answer
// that was stored for the key.
func idempotent(next endpoint.Endpoint) endpoint.Endpoint {
	return func(ctx context.Context, request any) (any, error) {
		r := From(ctx)
		CheckIdempotencyKey(r.http.Header, &r.problems)
		response, err := next(ctx, request)
		stored, ok := response.(idempotency.Answer)
		if err != nil || !ok {
			return response, err
		}
		answer := Answer{Status: stored.Status, Body: stored.Body, Header: stored.Header}
		if stored.Replayed {
			answer.Header = http.Header{idempotency.ReplayedHeader: {"true"}}
			maps.Copy(answer.Header, stored.Header)
		}
		return answer, nil
	}
}

// recovered turns a panic into an error, so that one defect costs one request.
func recovered(next endpoint.Endpoint) endpoint.Endpoint {
	return func(ctx context.Context, request any) (response any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		return next(ctx, request)
	}
}
