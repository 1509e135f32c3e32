// Package proxy serves every request in the same order (request id, bounds, route, caller, gates, upstream) and gives
// every refusal the error shape of docs/api-contract.md#errors. It holds no key, no limit and no business rule; it
// calls the packages that do, forwards bytes unchanged, and reports.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry"
)

// Call is one request. RequestID, Route, IP and Caller are set in that order.
type Call struct {
	RequestID string
	Route     *route.Route
	Caller    identity.Caller
	Quota     Quota // set by gates

	shard  shard.Code // that the caller or the gateway names; "" leaves it to the object and the merchant
	object string     // by which the path or the body names what the call is about; its shard answers
	proved bool       // the caller's signature
	closed bool       // the service refused because somebody has closed what the call needs
	body   []byte     // as it is sent to the service
	done   []func(status int)
	memory share         // the memory that the body takes
	reader *http.Request // set for a caller that accepts pages, on a route that has them
	span   trace.SpanContext
}

// lines is ctx for the log lines about a call, with the ids that they carry.
func (c *Call) lines(ctx context.Context) context.Context {
	merchant := ""
	if c.Caller.Key != nil {
		merchant = c.Caller.Key.MerchantID
	}
	return telemetry.With(trace.ContextWithSpanContext(ctx, c.span), telemetry.RequestID, c.RequestID, telemetry.MerchantID, merchant)
}

// Party is the unit of limits: a key, a person, an operator or, without any, an address.
type Party struct {
	key      int64
	person   string
	operator string
	network  netip.Addr
}

// Party is the party of a call. An unproved signature counts for the address, because anybody may have sent it.
func (c *Call) Party() Party {
	switch {
	case c.Caller.Person != nil && c.Caller.Key != nil:
		return Party{person: c.Caller.Person.User}
	case c.Caller.Key != nil && (c.Caller.Signature == nil || c.proved):
		return Party{key: c.Caller.Key.ID}
	case c.Caller.Operator != "":
		return Party{operator: c.Caller.Operator}
	}
	return Party{network: identity.Network(c.Caller.IP)}
}

// Gate may refuse a call once its caller is known; rate limits and load shedding are gates. A gate that admits a call
// may return a function that receives the status of its answer.
type Gate interface {
	Admit(ctx context.Context, c *Call) (done func(status int), err error)
}

// Callers resolves who is calling.
type Callers interface {
	Resolve(ctx context.Context, rt *route.Route, h http.Header, ip netip.Addr) (identity.Caller, error)
	Prove(c *identity.Caller, rt *route.Route, r *http.Request, body []byte) error
}

// Replays remembers signed requests. Once returns an error when the same request was admitted before, unless it may be
// repeated; once is the Idempotency-Key whose stored answer would be returned.
type Replays interface {
	Once(ctx context.Context, s *identity.Signature, once string) error
}

// Options are the parts and bounds of a proxy.
type Options struct {
	Router    *route.Router
	Callers   Callers
	Replays   Replays // of signed requests; with nil only signed reads are admitted
	Addresses identity.Proxies
	Targets   map[route.Upstream]*Target
	Gates     []Gate
	Slots     Gate                                                         // the last gate: from the whole body to the whole answer in memory; may be nil
	Long      Gate                                                         // replaces Slots for streamed answers, left at their end; may be nil
	Live      Gate                                                         // replaces Slots for events that a browser listens to, left at their end; may be nil
	LeastPace int                                                          // least bytes a second of such an answer's reader; 0 is leastPace
	CallTime  time.Duration                                                // bounds one call from the first byte to the last; 0 is callTimeMax
	BodyTime  time.Duration                                                // bounds the sending of a body; 0 is bodyTimeMax
	WriteTime time.Duration                                                // bounds the taking of an answer; 0 is writeTimeMax
	HeldMax   int                                                          // bytes that all bodies, and all answers, may take while they wait; 0 is heldAllMax
	Page      func(w http.ResponseWriter, r *http.Request, f *fault.Error) // refuses a call on a page's route to a person; nil is JSON for all
	TLS       bool                                                         // the public URL is https: tell browsers to stay there
	Telemetry *telemetry.Telemetry
	Now       func() time.Time
}

// Proxy is the gateway's public handler.
type Proxy struct {
	Options
	log     *slog.Logger
	spare   *telemetry.Sparing // for refused requests: an outage refuses them all
	metrics *metrics
	spans   map[*route.Route][]trace.SpanStartOption

	bodies, answers *budget
}

// New makes a proxy. Every upstream that the table names must have a target.
func New(o Options) (*Proxy, error) {
	for _, rt := range o.Router.Routes() {
		if o.Targets[rt.Upstream] == nil {
			return nil, fmt.Errorf("route %s: no target for %s", rt.Name(), rt.Upstream)
		}
	}
	if o.CallTime == 0 {
		o.CallTime = callTimeMax
	}
	if o.BodyTime == 0 {
		o.BodyTime = bodyTimeMax
	}
	if o.WriteTime == 0 {
		o.WriteTime = writeTimeMax
	}
	if o.HeldMax == 0 {
		o.HeldMax = heldAllMax
	}
	if o.LeastPace == 0 {
		o.LeastPace = leastPace
	}
	m, err := newMetrics(o.Telemetry.Registry, o.Router)
	if err != nil {
		return nil, err
	}
	for name, t := range o.Targets {
		if t.name != "" {
			return nil, fmt.Errorf("one target for %s and %s", t.name, name)
		}
		t.prepare(name, o.Telemetry.Log, m, o.Now)
		for code, further := range t.further {
			further.prepare(name, o.Telemetry.Log.With("shard", string(code)), m, o.Now)
		}
	}
	spans := map[*route.Route][]trace.SpanStartOption{}
	for _, rt := range o.Router.Routes() {
		spans[rt] = []trace.SpanStartOption{
			trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", rt.Method), attribute.String("http.route", rt.Pattern)),
		}
	}
	p := &Proxy{Options: o, log: o.Telemetry.Log, spare: telemetry.NewSparing(o.Telemetry.Log, o.Now), metrics: m, spans: spans}
	p.bodies, p.answers = newBudget(o.HeldMax), newBudget(o.HeldMax)
	return p, nil
}

// callTimeMax is how long a call may take. Services give up a little earlier (httpkit). Sending a body and taking an
// answer have separate bounds, because the caller determines them.
const (
	callTimeMax  = 12 * time.Second
	longTime     = 310 * time.Second // of a route that streams; services give up a little earlier
	bodyTimeMax  = 5 * time.Second
	writeTimeMax = 10 * time.Second
	leastPace    = 16 << 10
)

type callKey struct{}

// KeyOf returns the key that authenticated the call of a context, nil when there is none.
func KeyOf(ctx context.Context) *apikey.Key {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c.Caller.Key
	}
	return nil
}

// ServeHTTP serves one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := p.Now()
	c := &Call{RequestID: requestID(r.Header, start)}
	out := &answer{ResponseWriter: w, requestID: c.RequestID, tls: p.TLS, writeMax: p.WriteTime}
	defer out.release()
	defer p.finish(r.Context(), out, c, start)

	if err := bounds(r); err != nil {
		p.refuse(out, c, err)
		return
	}
	place := p.Router.Match(r.URL.EscapedPath())
	if place == nil {
		if accepts := r.Header.Get("Accept"); strings.Contains(accepts, "text/html") && !strings.HasPrefix(r.URL.Path, "/v1/") {
			c.reader = r // a person who followed a wrong link
		}
		p.refuse(out, c, httpkit.ErrRouteUnknown)
		return
	}
	if r.Method == http.MethodOptions {
		p.options(out, r, place)
		return
	}
	if c.Route = place.Route(r.Method); c.Route == nil {
		out.Header().Set("Allow", place.Allow)
		p.refuse(out, c, httpkit.ErrMethodNotAllowed)
		return
	}
	defer c.memory.leave()
	c.object = c.Route.Object(r.URL.EscapedPath())
	if c.Route.Page && strings.Contains(r.Header.Get("Accept"), "text/html") {
		c.reader = r
	}
	if away := c.Route.Away; away != "" && strings.EqualFold((&url.URL{Host: r.Host}).Hostname(), away) {
		p.refuse(out, c, httpkit.ErrRouteUnknown)
		return
	}
	out.open, out.browser = c.Route.Public(), c.Route.Browser
	callTime := p.CallTime
	if c.Route.Long || c.Route.Live {
		callTime, out.writeMax = longTime, longTime
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTime)
	defer cancel()
	ctx, span := p.span(ctx, c.Route)
	c.span = span.SpanContext()
	defer func() { endSpan(span, out.status) }()
	if err := p.pass(out, r.WithContext(context.WithValue(ctx, callKey{}, c)), c); err != nil {
		p.refuse(out, c, err)
	}
}

// pass takes a call on a known route through identity and gates to its target.
func (p *Proxy) pass(out *answer, r *http.Request, c *Call) (err error) {
	if c.Caller, err = p.Callers.Resolve(r.Context(), c.Route, r.Header, p.Addresses.Client(r)); err != nil {
		return err
	}
	unproved := c.Caller.Unproved()
	var body []byte
	if unproved { // before the gates: a caller that knows only the public id must not use up the limits of the key
		if body, err = p.readBody(out, r, c); err != nil {
			return err
		}
		if err = p.Callers.Prove(&c.Caller, c.Route, r, body); err != nil {
			return err
		}
		c.proved = true
	}
	if err = p.admit(out, r, c); err != nil {
		return err
	}
	if !unproved {
		if body, err = p.readBody(out, r, c); err != nil {
			return err
		}
	}
	if err = unambiguous(r, c.Route); err != nil {
		return err
	}
	switch name := c.Route.Member; {
	case name == "":
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		c.object = r.URL.Query().Get(name)
	default:
		c.object = member(body, name)
	}
	if err = p.Targets[c.Route.Upstream].choose(r, c); err != nil {
		return err
	}
	if c.Route.Static {
		p.Targets[c.Route.Upstream].serve(out, r, c, body)
		return nil
	}
	if err := p.ask(out, r, c, body); err != nil {
		return err
	}
	if err := out.send(); err != nil {
		panic(http.ErrAbortHandler) // the caller was too slow or is gone
	}
	return nil
}

// admit takes a call through the gates.
func (p *Proxy) admit(out *answer, r *http.Request, c *Call) error {
	for _, g := range p.Gates {
		done, err := g.Admit(r.Context(), c)
		out.quota = c.Quota
		if err != nil {
			return err
		}
		if done != nil {
			c.done = append(c.done, done)
		}
	}
	return nil
}

var errNoReplays = errors.New("proxy: signed requests are not remembered")

// once admits a signed request one time. Reads may be repeated; Idempotency-Key counts on POST alone.
func (p *Proxy) once(r *http.Request, c *Call) error {
	if c.Caller.Signature == nil || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if p.Replays == nil {
		return errNoReplays
	}
	key := ""
	if r.Method == http.MethodPost {
		key = r.Header.Get(httpkit.IdempotencyHeader)
	}
	return p.Replays.Once(r.Context(), c.Caller.Signature, key)
}

// ask has the target answer a call while it holds a slot. A slow caller holds none: the body is whole before, and the
// answer is in memory after. A streamed answer holds a slot of the long ones until the reader has taken it, and the
// reader must keep a pace. An answer that turns out to be long changes to such a slot then.
func (p *Proxy) ask(out *answer, r *http.Request, c *Call, body []byte) error {
	leave := func(int) {}
	defer func() { leave(out.status) }()
	enter := func(g Gate) error {
		if g == nil {
			return nil
		}
		left, err := g.Admit(r.Context(), c)
		if left != nil {
			leave = left
		}
		return err
	}
	slots := p.Slots
	switch {
	case c.Route.Long:
		slots = p.Long
	case c.Route.Live:
		slots = p.Live
	}
	if err := enter(slots); err != nil {
		return err
	}
	if err := p.once(r, c); err != nil { // last, so that a request that was refused before may be repeated unchanged
		return err
	}
	pace := newPace(p.LeastPace, p.WriteTime)
	if c.Route.Long || c.Route.Live {
		out.pace = pace
	} else {
		out.hold(p.answers.share(c), func() error {
			leave(out.status)
			leave, out.pace = func(int) {}, pace
			return enter(p.Long)
		})
	}
	return p.serve(out, r, c, body)
}

// serve has the target answer a call. An answer that outgrew its slot and found no other is dropped and refused.
func (p *Proxy) serve(out *answer, r *http.Request, c *Call, body []byte) (err error) {
	defer func() {
		if out.refused != nil {
			_ = recover() // the target could not write
			out.drop()
			err = out.refused
		}
	}()
	p.Targets[c.Route.Upstream].serve(out, r, c, body)
	return nil
}

// refuse answers a call in the error shape.
func (p *Proxy) refuse(out *answer, c *Call, err error) {
	if out.wrote {
		panic(http.ErrAbortHandler) // half an answer is sent, so the connection is cut
	}
	if errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler) // the caller has disconnected
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errTimeout.Because(err)
	}
	if f := fault.As(err); httpkit.Status(f.Kind) >= http.StatusInternalServerError {
		p.spare.Log(c.lines(context.Background()), slog.LevelError, f.Code, "request refused", "route", routeName(c.Route), "code", f.Code, "err", err)
	}
	if c.reader != nil && p.Page != nil {
		c.reader.Header.Set(httpkit.RequestIDHeader, c.RequestID)
		p.Page(out, c.reader, fault.As(err))
		return
	}
	httpkit.WriteError(out, c.RequestID, err)
}

// finish is the last step of every call: it turns panics into answers and counts metrics.
func (p *Proxy) finish(ctx context.Context, out *answer, c *Call, start time.Time) {
	aborted := false
	if cause := recover(); cause != nil {
		if cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares this very value
			p.log.ErrorContext(c.lines(ctx), "panic recovered", "route", routeName(c.Route), "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
		}
		if out.held && cause != http.ErrAbortHandler { //nolint:errorlint // as above
			out.drop()
		}
		if aborted = out.wrote || cause == http.ErrAbortHandler; !aborted { //nolint:errorlint // as above
			httpkit.WriteError(out, c.RequestID, errPanic)
		}
	}
	if out.cut {
		p.metrics.cut.Inc()
		p.spare.Log(c.lines(ctx), slog.LevelInfo, "reader_cut", "answer cut: its reader is too slow", "route", routeName(c.Route))
	}
	status := out.status
	if aborted && !out.wrote {
		status = statusGone
	}
	for _, done := range c.done {
		done(status)
	}
	p.metrics.observe(c, status, p.Now().Sub(start))
	if c.Caller.Operator != "" {
		p.log.InfoContext(c.lines(ctx), "operator request", "route", routeName(c.Route), "status", status, "operator", c.Caller.Operator,
			"console", c.Caller.Person != nil)
	} else if p.log.Enabled(ctx, slog.LevelDebug) {
		p.log.DebugContext(c.lines(ctx), "request", "route", routeName(c.Route), "status", status)
	}
	if aborted {
		panic(http.ErrAbortHandler)
	}
}

// statusGone counts calls whose caller disconnected before the answer.
const statusGone = 499

var errPanic = errors.New("panic")

func routeName(r *route.Route) string {
	if r == nil {
		return "none"
	}
	return r.Name()
}

// span starts the server span of a call. otelhttp would record the path, and with it payment references, which are
// bearer secrets. A trace context from the public is not continued.
func (p *Proxy) span(ctx context.Context, rt *route.Route) (context.Context, trace.Span) {
	return p.Telemetry.Tracer.Start(ctx, rt.Name(), p.spans[rt]...)
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

// Bounds of a request's headers, which are checked before the caller is resolved.
const (
	headerBytesMax = 16 << 10
	headerCountMax = 64
	urlBytesMax    = 4 << 10
)

var (
	errHeaders = fault.New(fault.Invalid, "headers_too_large", "The request's headers are too many or too large.")
	errURL     = fault.New(fault.Invalid, "url_too_long", "The request's URL is longer than %d bytes.", urlBytesMax)
	errBody    = fault.New(fault.TooLarge, "body_too_large", "The body is larger than %d bytes.", httpkit.BodyMax)
	errSlow    = fault.New(fault.Invalid, "body_too_slow", "The body did not arrive in time.")
	errBroken  = fault.New(fault.Invalid, "body_unreadable", "The body could not be read.")
)

func bounds(r *http.Request) error {
	if len(r.RequestURI) > urlBytesMax {
		return errURL
	}
	size, count := 0, 0
	for name, values := range r.Header {
		for _, v := range values {
			count++
			size += len(name) + len(v)
		}
	}
	if size > headerBytesMax || count > headerCountMax {
		return errHeaders
	}
	return nil
}

// readBody reads a whole body, at most httpkit.BodyMax bytes within BodyTime, before the call takes a slot and the
// service is called. So a slow or oversized sender occupies only its own connection, and a request can be sent again on
// a fresh one.
func (p *Proxy) readBody(out *answer, r *http.Request, c *Call) ([]byte, error) {
	if r.ContentLength > httpkit.BodyMax {
		return nil, unread(out, r, errBody)
	}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil, nil
	}
	conn := http.NewResponseController(out)
	_ = conn.SetReadDeadline(time.Now().Add(p.BodyTime)) // recorders have no connection
	body, err := p.collect(r, c)
	switch {
	case errors.Is(err, errBudgetSpent):
		return nil, unread(out, r, errBudgetSpent)
	case err != nil:
		out.Header().Set("Connection", "close")
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errSlow.Because(err)
		}
		return nil, errBroken.Because(err)
	case len(body) > httpkit.BodyMax:
		return nil, unread(out, r, errBody)
	}
	_ = conn.SetReadDeadline(time.Time{}) // else it would cancel the call while the service works
	return body, nil
}

// These bound the rest of a refused body that is discarded, and the time for it. Closing at once would reset the
// connection, and a caller that is still sending would see the reset instead of the refusal.
const (
	drainMax  = 1 << 20
	drainTime = time.Second
)

// unread refuses a body and ends the connection, which carries nothing but the rest of that body. A caller that sent
// Expect: 100-continue has sent nothing, and reading would invite it to.
func unread(out *answer, r *http.Request, refusal error) error {
	out.Header().Set("Connection", "close")
	if r.Header.Get("Expect") == "" {
		_ = http.NewResponseController(out).SetReadDeadline(time.Now().Add(drainTime)) // recorders have no connection
		_, _ = io.CopyN(io.Discard, r.Body, drainMax)                                  // as much as arrives
	}
	return refusal
}

// bodyAtOnce is how much memory a body gets before its first byte.
const bodyAtOnce = 4 << 10

// requestID returns the caller's X-Request-Id if it is well formed (1 to 64 of A-Z a-z 0-9 . _ : -), else a new one.
func requestID(h http.Header, now time.Time) string {
	if values := h[httpkit.RequestIDHeader]; len(values) == 1 && wellFormed(values[0]) {
		return values[0]
	}
	return id.New(id.Request, now)
}

func wellFormed(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}
