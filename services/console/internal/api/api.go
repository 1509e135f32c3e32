// Package api calls the gateway's API as the person who is signed in. Every request carries a short-lived assertion
// (libs/person), so permissions, limits, audit and idempotency are those of the API. Answers are decoded into the small
// structs of the pages; numbers stay text (json.Number).
package api

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"causeway.internal/libs/person"
)

const (
	answerMax = 8 << 20
	timeout   = 15 * time.Second
)

// Gateway has the API's address and the key of this door.
type Gateway struct {
	base string
	key  ed25519.PrivateKey
	http *http.Client
	now  func() time.Time
}

// New makes a client of the gateway at a base URL.
func New(base string, key ed25519.PrivateKey, now func() time.Time) *Gateway {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = 64, 128
	return &Gateway{
		base: strings.TrimRight(base, "/"), key: key, now: now,
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// As returns the API as a person sees it.
func (g *Gateway) As(who person.Assertion) Person { return Person{gateway: g, who: who} }

// Person calls the API in the name of one person.
type Person struct {
	gateway *Gateway
	who     person.Assertion
}

// Who is the person.
func (p Person) Who() person.Assertion { return p.who }

// Error is a refusal of the API.
type Error struct {
	Status     int
	Code       string  `json:"code"`
	Message    string  `json:"message"`
	Fields     []Field `json:"fields"`
	RequestID  string  `json:"requestId"`
	RetryAfter string  `json:"-"`
}

// Field is a fault of one member of a request.
type Field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("the API answers %d %s: %s", e.Status, e.Code, e.Message)
}

// Is reports whether an error is a refusal with this code.
func Is(err error, code string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// Call is one request.
type Call struct {
	Method string
	Path   string // escaped, below the base URL; see Path
	Query  url.Values
	Body   any    // encoded as JSON; nil sends none
	Key    string // the Idempotency-Key, "" for none
	Header http.Header
}

// Path joins the segments of a path and escapes each: Path("v1", "payments", reference).
func Path(segments ...string) string {
	var out strings.Builder
	for _, s := range segments {
		out.WriteByte('/')
		out.WriteString(url.PathEscape(s))
	}
	return out.String()
}

// Get reads a path into a value.
func (p Person) Get(ctx context.Context, path string, query url.Values, into any) error {
	return p.Do(ctx, Call{Method: http.MethodGet, Path: path, Query: query}, into)
}

// Post sends a body under an Idempotency-Key and reads the answer into a value, which may be nil.
func (p Person) Post(ctx context.Context, path, key string, body, into any) error {
	return p.Do(ctx, Call{Method: http.MethodPost, Path: path, Body: body, Key: key}, into)
}

// Do sends a request and reads the JSON of its answer into a value, which may be nil.
func (p Person) Do(ctx context.Context, c Call, into any) error {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	answer, err := p.send(ctx, c)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, answerMax+1))
	if err == nil && len(raw) > answerMax {
		err = errTooLong
	}
	if err != nil {
		return fmt.Errorf("read the API's answer: %w", err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return refusal(answer, raw)
	}
	if into == nil || len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("read the API's answer: %w", err)
	}
	return nil
}

// Open sends a GET and returns the answer as it is, to pass it on, such as an export. The caller closes it.
func (p Person) Open(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	answer, err := p.send(ctx, Call{Method: http.MethodGet, Path: path, Query: query})
	if err != nil || answer.StatusCode < http.StatusMultipleChoices {
		return answer, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, answerMax))
	if err != nil {
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	return nil, refusal(answer, raw)
}

var errTooLong = errors.New("too long")

// TooLong reports whether an answer was longer than a page may show.
func TooLong(err error) bool { return errors.Is(err, errTooLong) }

func (p Person) send(ctx context.Context, c Call) (*http.Response, error) {
	var body []byte
	if c.Body != nil {
		var err error
		if body, err = json.Marshal(c.Body); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	target := p.gateway.base + c.Path
	if len(c.Query) > 0 {
		target += "?" + c.Query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, c.Method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	for name, values := range c.Header {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		r.Header.Set("Idempotency-Key", c.Key)
	}
	otel.GetTextMapPropagator().Inject(ctx, propagation.HeaderCarrier(r.Header))
	token, err := p.who.Bind(r, body, p.gateway.now()).Sign(p.gateway.key)
	if err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := p.gateway.http.Do(r)
	if err != nil {
		return nil, &Error{Status: http.StatusBadGateway, Code: "gateway_unreachable", Message: "The API does not answer. Try again in a moment."}
	}
	return answer, nil
}

func refusal(answer *http.Response, raw []byte) error {
	var body struct{ Error Error }
	if json.Unmarshal(raw, &body) != nil || body.Error.Code == "" {
		body.Error = Error{Code: "unexpected", Message: "The API gave an answer that the console does not understand."}
	}
	body.Error.Status, body.Error.RetryAfter = answer.StatusCode, answer.Header.Get("Retry-After")
	return &body.Error
}
