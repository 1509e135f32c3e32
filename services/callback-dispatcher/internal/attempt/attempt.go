// Package attempt makes one attempt at a delivery: it fetches the signing keys, signs, posts through libs/outbound and
// puts what happened into the terms of package delivery. It retries nothing and stores nothing.
package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"causeway.internal/libs/outbound"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// UserAgent is the name that endpoints see (docs/api-contract.md#webhooks).
const UserAgent = "Causeway-Webhooks/1"

const detailMax = 500

// Opener opens settlement tokens and bodies (libs/wire, StatusChanged).
type Opener interface {
	Open(sealed []byte, place string) ([]byte, error)
}

// Sealer opens bodies, and seals what an endpoint answers to them.
type Sealer interface {
	Opener
	Seal(plain []byte, place string) []byte
}

var errNoTokenKeys = errors.New("SETTLEMENT_TOKEN_KEYS is not set, so a settlement token cannot be opened")

// Sender makes attempts. It is safe for concurrent use.
type Sender struct {
	tokens  Opener // nil without keys
	bodies  Sealer
	keys    *app.Secrets
	clients map[tenant.Mode]*outbound.Client // by mode
	tracer  trace.Tracer
	now     func() time.Time
}

// New makes a sender with one client per mode, because the address policy is the mode's. tokens may be nil: then events
// with a settlement token wait.
func New(keys *app.Secrets, tokens Opener, bodies Sealer, clients map[tenant.Mode]*outbound.Client, tracer trace.Tracer, now func() time.Time) *Sender {
	return &Sender{keys: keys, tokens: tokens, bodies: bodies, clients: clients, tracer: tracer, now: now}
}

// Send implements app.Sender.
func (s *Sender) Send(ctx context.Context, d delivery.Delivery) (delivery.Outcome, error) {
	ctx, span := s.span(ctx, d)
	defer span.End()
	client := s.clients[d.Mode]
	if client == nil {
		return delivery.Outcome{}, fmt.Errorf("no client for mode %q", d.Mode)
	}
	keys, generation, err := s.keys.Signing(ctx, app.SecretOwner{MerchantID: d.MerchantID, Mode: d.Mode, EndpointID: d.EndpointID, Earlier: d.Earlier()})
	if err != nil {
		if ctx.Err() != nil {
			return delivery.Outcome{}, app.ErrStopped
		}
		return delivery.Outcome{}, fmt.Errorf("find the signing keys: %w", err)
	}
	if d.Body, err = s.body(d); err != nil {
		return delivery.Outcome{}, err
	}
	at := s.now()
	// The trace context stays inside: a merchant learns only what is documented.
	res := client.Post(ctx, d.URL, header(keys, d, at), d.Body)
	if res.Class == outbound.Canceled {
		return delivery.Outcome{}, app.ErrStopped
	}
	if span.IsRecording() {
		span.SetAttributes(attribute.String("webhook.class", string(res.Class)), attribute.Int("http.response.status_code", res.Status))
		if res.Err != nil {
			span.SetStatus(codes.Error, string(res.Class))
		}
	}
	return s.outcome(d, res, at, generation), nil
}

// body is what is signed and sent: the stored bytes, opened, with the settlement token in the place of the first
// mask. No text that a merchant chose comes before that place.
func (s *Sender) body(d delivery.Delivery) ([]byte, error) {
	plain, err := s.bodies.Open(d.Body, wire.BodyPlace(d.EventID))
	if err != nil {
		return nil, fmt.Errorf("open the body: %w: %w", app.ErrUnopened, err)
	}
	if len(d.Token) == 0 {
		return plain, nil
	}
	if s.tokens == nil {
		return nil, fmt.Errorf("%w: %w", app.ErrUnopened, errNoTokenKeys)
	}
	token, err := s.tokens.Open(d.Token, wire.TokenPlace(d.EventID))
	if err != nil {
		return nil, fmt.Errorf("open the settlement token: %w: %w", app.ErrUnopened, err)
	}
	quoted, err := json.Marshal(string(token))
	if err != nil {
		return nil, fmt.Errorf("write the settlement token: %w", err)
	}
	const name = `"settlementToken":`
	return bytes.Replace(plain, []byte(wire.TokenMask), append([]byte(name), quoted...), 1), nil
}

// header builds the request's headers. The names go out as written, in lower case as Standard Webhooks has them.
func header(keys []*delivery.Key, d delivery.Delivery, at time.Time) http.Header {
	values := []string{"application/json", UserAgent, d.EventID, strconv.FormatInt(at.Unix(), 10), delivery.Sign(keys, d.EventID, at, d.Body)}
	return http.Header{
		"Content-Type":      values[0:1:1],
		"User-Agent":        values[1:2:2],
		"webhook-id":        values[2:3:3],
		"webhook-timestamp": values[3:4:4],
		"webhook-signature": values[4:5:5],
	}
}

func (s *Sender) outcome(d delivery.Delivery, res outbound.Result, at time.Time, generation int) delivery.Outcome {
	o := delivery.Outcome{
		At: at, Class: string(res.Class), Status: res.Status, Generation: generation, Headers: "{}",
		DNS: res.Timing.DNS, Connect: res.Timing.Connect, TLS: res.Timing.TLS, Wait: res.Timing.Wait, Total: res.Timing.Total,
	}
	if len(res.Excerpt) > 0 { // it may repeat the event
		o.Excerpt = s.bodies.Seal(res.Excerpt, app.ExcerptPlace(d.ID))
	}
	if res.Remote.IsValid() {
		o.Remote = res.Remote.String()
	}
	if wish := res.Header.Get("Retry-After"); wish != "" {
		o.RetryAfter = retryAfter(wish, s.now())
	}
	if len(res.Header) > 0 {
		o.Headers = text(res.Header)
	}
	if res.Err != nil {
		o.Detail = clean(res.Err.Error(), detailMax)
	}
	return o
}

// shown are the headers of an answer that are kept, with their names in its text.
var shown = [...]struct{ header, name string }{
	{"Content-Type", `"content-type":`},
	{"Date", `"date":`},
	{"Location", `"location":`},
	{"Retry-After", `"retry-after":`},
	{"Server", `"server":`},
}

// text renders the kept headers as JSON; their values are an endpoint's and may hold any byte.
func text(h http.Header) string {
	out := append(make([]byte, 0, 128), '{')
	for _, t := range shown {
		value := clean(h.Get(t.header), 1024)
		if value == "" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = quote(append(out, t.name...), value)
	}
	return string(append(out, '}'))
}

func quote(out []byte, value string) []byte {
	for _, c := range []byte(value) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(value) // a text always encodes
			return append(out, quoted...)
		}
	}
	return append(append(append(out, '"'), value...), '"')
}

// clean makes any bytes fit for a text column: valid UTF-8, no NUL, bounded.
func clean(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// retryAfter reads seconds or an HTTP date; anything else is no wish.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		const most = int64(7 * 24 * time.Hour / time.Second)
		return time.Duration(max(0, min(seconds, most))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// span continues the trace that the event came from for its first attempt. A later one, which may be days away,
// starts a trace of its own that points back. Where nobody recorded the event's, there is no span.
func (s *Sender) span(ctx context.Context, d delivery.Delivery) (context.Context, trace.Span) {
	origin := telemetry.SpanContext(d.Trace)
	if !origin.IsSampled() {
		return ctx, noop.Span{}
	}
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("webhook.delivery_id", d.ID), attribute.String("webhook.event_id", d.EventID),
			attribute.String("webhook.type", d.Type), attribute.Int("webhook.attempt", d.Attempts+1)),
	}
	if d.Attempts == 0 && d.Trigger == delivery.Auto {
		return s.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, origin), "webhook attempt", options...)
	}
	return s.tracer.Start(ctx, "webhook attempt", append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: origin}))...)
}
