// Package httpkit is the one way a service speaks HTTP: it verifies the gateway's identity, decodes and bounds input,
// runs an endpoint (go-kit) behind the same middleware everywhere, and writes answers and errors in the shapes of
// docs/api-contract.md#requests. It holds no business rule.
package httpkit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-kit/kit/endpoint"
	kithttp "github.com/go-kit/kit/transport/http"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry"
)

// BodyMax bounds a request body (docs/api-contract.md#statuses).
const BodyMax = 256 << 10

// handleMax bounds the time an endpoint may take; the gateway gives up a little later.
const handleMax = 10 * time.Second

// Server is what every endpoint of a service shares.
type Server struct {
	log      *slog.Logger
	spare    *telemetry.Sparing // of failed requests: an outage fails them all
	verifier Verifier
	nonces   once
	seconds  *prometheus.HistogramVec
	mux      *http.ServeMux
}

// NewServer makes the server of one service. The verifier's audience names the service in metrics.
func NewServer(log *slog.Logger, registry prometheus.Registerer, verifier Verifier) *Server {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "http_request_seconds",
		Help:    "Time to answer a request, by route pattern and status.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"route", "status"})
	registry.MustRegister(seconds)
	return &Server{log: log, spare: telemetry.NewSparing(log, time.Now), verifier: verifier, seconds: seconds, mux: http.NewServeMux()}
}

// Request holds what an endpoint may read of the request besides its decoded input.
type Request struct {
	Identity       Identity
	RequestID      string
	Route          string   // "POST /v1/payments": the pattern, never the path
	IdempotencyKey string   // "" when the caller sent none
	BodyHash       [32]byte // SHA-256 of the raw body

	raw    []byte          // the body
	reader context.Context // ends when the caller disconnects, and not with the time of an endpoint
	log    *slog.Logger
}

type requestKey struct{}

// From returns the request of an endpoint's context. It panics outside one, which is a defect.
func From(ctx context.Context) *Request { return ctx.Value(requestKey{}).(*Request) }

// WithRequest returns a context that carries a request, for tests of use cases that read it.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// Reader is a request type that fills itself from the input and adds problems there.
type Reader[T any] interface {
	*T
	Read(in *Input)
}

// Answer is a reply with exact bytes, such as a stored one.
//
// A Stream is written instead of Body, for at most streamMax: for answers that may be larger than memory. Its context
// ends with it or with its reader. When it fails the connection is cut, so that no reader takes half an answer for a
// whole one.
type Answer struct {
	Status int
	Body   []byte
	Header http.Header
	Stream func(ctx context.Context, w io.Writer) error
}

// streamMax bounds a streamed answer, from its first byte to its last.
const streamMax = 5 * time.Minute

// Statuser is a result with another status than 200.
type Statuser interface{ Status() int }

// Handle serves a route ("POST /v1/payments") with a use case. Input problems are answered before the use case is
// called.
func Handle[Req any, P Reader[Req], Res any](s *Server, route string, f func(context.Context, Req) (Res, error)) {
	call := func(ctx context.Context, request any) (any, error) {
		req, ok := request.(Req)
		if !ok {
			return nil, fmt.Errorf("%s: decoded a %T", route, request)
		}
		return f(ctx, req)
	}
	decode := func(_ context.Context, r *http.Request) (any, error) { return decode[Req, P](r) }
	server := kithttp.NewServer(recovered(endpoint.Endpoint(call)), decode, encode,
		kithttp.ServerErrorEncoder(func(ctx context.Context, err error, w http.ResponseWriter) { s.refuse(ctx, w, err) }))
	s.mux.Handle(route, s.wrap(route, server))
}

// ServeHTTP routes a request and answers an unknown route in the error shape.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ServeMux(s.mux, w, r, requestID(r))
}

// ServeMux runs a mux whose own 404 and 405 are answered in the error shape.
func ServeMux(mux *http.ServeMux, w http.ResponseWriter, r *http.Request, requestID string) {
	h, pattern := mux.Handler(r)
	if pattern != "" {
		mux.ServeHTTP(w, r)
		return
	}
	probe := &statusProbe{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", probe.header.Get("Allow"))
		WriteError(w, requestID, ErrMethodNotAllowed)
		return
	}
	WriteError(w, requestID, ErrRouteUnknown)
}

type statusProbe struct {
	header http.Header
	status int
}

func (p *statusProbe) Header() http.Header         { return p.header }
func (p *statusProbe) Write(b []byte) (int, error) { return len(b), nil }
func (p *statusProbe) WriteHeader(status int)      { p.status = status }

func requestID(r *http.Request) string { return r.Header.Get(RequestIDHeader) }

// wrap is the outside of every route: trace, metrics, time limit and the gateway's identity.
func (s *Server) wrap(route string, next http.Handler) http.Handler {
	method, pattern, _ := strings.Cut(route, " ")
	about := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", pattern)),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		watched := &watchedWriter{ResponseWriter: w, status: http.StatusOK}
		ctx, span := startSpan(r, route, about)
		defer func() { endSpan(span, watched.status) }()
		r = r.WithContext(ctx)
		request, err := s.authentic(watched, r, route)
		if err != nil {
			WriteError(watched, requestID(r), err)
		} else {
			id := request.Identity
			request.reader = telemetry.With(r.Context(), telemetry.RequestID, id.RequestID, telemetry.MerchantID, id.MerchantID)
			ctx, cancel := context.WithTimeout(request.reader, handleMax)
			next.ServeHTTP(watched, r.WithContext(WithRequest(ctx, request)))
			cancel()
		}
		s.seconds.WithLabelValues(route, strconv.Itoa(watched.status)).Observe(time.Since(start).Seconds())
	})
}

var errNotGateway = fault.New(fault.Unauthenticated, "identity_invalid", "This service answers only requests from its gateway.")

// authentic returns a request that the gateway signed, with its body. It reads the body once the header is verified,
// and uses up the nonce once everything else agrees.
func (s *Server) authentic(w http.ResponseWriter, r *http.Request, route string) (*Request, error) {
	refused := func(why error) (*Request, error) {
		s.log.WarnContext(r.Context(), "identity refused", "route", route, "reason", why.Error())
		return nil, errNotGateway
	}
	id, err := s.verifier.Verify(r)
	if err != nil {
		return refused(err)
	}
	w.Header().Set(RequestIDHeader, id.RequestID)
	raw, err := readBody(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	if id.bound() {
		if !bytes.Equal(sum[:], id.BodyHash) {
			return refused(errIdentityBody)
		}
		if !s.nonces.first(id.Nonce, s.verifier.Now()) {
			return refused(errIdentityUsed)
		}
	}
	return &Request{
		Identity: id, RequestID: id.RequestID, Route: route, IdempotencyKey: r.Header.Get(IdempotencyHeader), BodyHash: sum, raw: raw, log: s.log,
	}, nil
}

// startSpan continues the gateway's trace. The span is made by hand, because otelhttp records the path, and a path
// holds a payment's reference, which is a bearer secret (docs/architecture.md#secrets).
func startSpan(r *http.Request, route string, about []trace.SpanStartOption) (context.Context, trace.Span) {
	ctx := otel.GetTextMapPropagator().Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	return otel.Tracer("causeway.internal/libs/httpkit").Start(ctx, route, about...)
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

type watchedWriter struct {
	http.ResponseWriter
	status int
}

func (w *watchedWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refuse writes an error answer and logs faults of the service, with the ids that an operator needs.
func (s *Server) refuse(ctx context.Context, w http.ResponseWriter, err error) {
	req := From(ctx)
	if errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled) {
		w.WriteHeader(statusGone) // the caller has disconnected, and the service has no fault
		return
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
		s.spare.Log(ctx, level, f.Code, "request failed", "route", req.Route, "code", f.Code, "err", err)
	}
	WriteError(w, req.RequestID, err)
}

// statusGone is recorded for a caller that disconnected (nginx's 499); no caller receives it.
const statusGone = 499

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

func decode[Req any, P Reader[Req]](r *http.Request) (any, error) {
	request := From(r.Context())
	if declared := r.Header.Get("Content-Type"); declared != "" && len(request.raw) > 0 && !isJSON(declared) {
		return nil, fault.New(fault.UnsupportedMedia, "unsupported_media_type", "Send the body as application/json.")
	}
	in := &Input{request: r, raw: request.raw}
	CheckIdempotencyKey(r.Header, &in.Problems)
	var err error
	if in.body, err = parseBody(in.raw, &in.Problems); err != nil {
		return nil, err
	}
	var req Req
	P(&req).Read(in)
	if err := in.Problems.Err(); err != nil {
		return nil, err
	}
	return req, nil
}

// readBody reads the body of a request, whole and bounded. The body of a GET is not read.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil, nil
	}
	var buf bytes.Buffer
	if 0 < r.ContentLength && r.ContentLength <= BodyMax { // the gateway has read the body and sets its length
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(r.Body, BodyMax+1)); err != nil {
		return nil, fault.New(fault.Invalid, "body_unreadable", "The body could not be read.").Because(err)
	}
	if buf.Len() > BodyMax {
		return nil, fault.New(fault.TooLarge, "body_too_large", "The body is larger than %d bytes.", BodyMax)
	}
	return buf.Bytes(), nil
}

func isJSON(declared string) bool {
	if declared == "application/json" { // the usual value
		return true
	}
	media, _, err := mime.ParseMediaType(declared)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// Success is the body of a successful answer: the members of v, with "success":true before them. v must encode as a
// JSON object.
func Success(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	body := bytes.TrimSpace(buf.Bytes())
	if len(body) < 2 || body[0] != '{' {
		return nil, fmt.Errorf("encode answer: a %T is not a JSON object", v)
	}
	out := append(make([]byte, 0, len(body)+16), `{"success":true`...)
	if len(body) > 2 {
		out = append(out, ',')
	}
	return append(out, body[1:]...), nil
}

func encode(ctx context.Context, w http.ResponseWriter, response any) error {
	answer, ok := response.(Answer)
	if !ok {
		answer.Status = http.StatusOK
		if s, ok := response.(Statuser); ok {
			answer.Status = s.Status()
		}
		var err error
		if answer.Body, err = Success(response); err != nil {
			return err
		}
	}
	h := w.Header()
	for name, values := range answer.Header {
		h[name] = values
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json; charset=utf-8")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if answer.Stream != nil {
		return stream(ctx, w, answer)
	}
	w.WriteHeader(answer.Status)
	_, err := w.Write(answer.Body)
	return err
}

// streamBuffer is how much of a stream is collected before it is sent.
const streamBuffer = 32 << 10

func stream(ctx context.Context, w http.ResponseWriter, answer Answer) error {
	req := From(ctx)
	ctx, cancel := context.WithTimeout(WithRequest(req.reader, req), streamMax)
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(streamMax)) // recorders have no connection
	w.WriteHeader(answer.Status)
	buffered := bufio.NewWriterSize(w, streamBuffer)
	err := answer.Stream(ctx, buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		if ctx.Err() == nil {
			req.log.ErrorContext(ctx, "stream cut", "route", req.Route, "err", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}
