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
	"sync"
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

// As returns the API as a person sees it, for one visit.
func (g *Gateway) As(who person.Assertion) Person {
	return Person{gateway: g, who: who, read: &answers{by: map[string]answer{}}}
}

// Person calls the API in the name of one person, for one visit. It reads each address once: a page and the version of
// what it shows come from the same answers. A change forgets what was read.
type Person struct {
	gateway *Gateway
	who     person.Assertion
	read    *answers
}

// answer is an answer that has arrived whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// answers are those to the GETs of a visit, by address.
type answers struct {
	mu sync.Mutex
	by map[string]answer
}

func (a *answers) find(address string) (answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.by[address]
	return known, ok
}

// keep remembers the answer to a GET. Any other request forgets all.
func (a *answers) keep(c Call, got answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.Method == http.MethodGet {
		a.by[c.address()] = got
		return
	}
	clear(a.by)
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

// address is the path with the query.
func (c Call) address() string {
	if len(c.Query) == 0 {
		return c.Path
	}
	return c.Path + "?" + c.Query.Encode()
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
	got, known := p.read.find(c.address())
	if !known || c.Method != http.MethodGet {
		var err error
		if got, err = p.whole(ctx, c); err != nil {
			return err
		}
	}
	if got.status >= http.StatusMultipleChoices {
		return got.refusal()
	}
	if into == nil || len(got.body) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(got.body))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("read the API's answer: %w", err)
	}
	return nil
}

// whole sends a request and reads its answer to the end.
func (p Person) whole(ctx context.Context, c Call) (answer, error) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	response, err := p.send(ctx, c)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, answerMax+1))
	if err == nil && len(raw) > answerMax {
		err = errTooLong
	}
	if err != nil {
		return answer{}, fmt.Errorf("read the API's answer: %w", err)
	}
	got := answer{response.StatusCode, response.Header, raw}
	p.read.keep(c, got)
	return got, nil
}

// Open sends a GET and returns the answer as it is, to pass it on, such as an export. The caller closes it.
func (p Person) Open(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	response, err := p.send(ctx, Call{Method: http.MethodGet, Path: path, Query: query})
	if err != nil || response.StatusCode < http.StatusMultipleChoices {
		return response, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	return nil, answer{response.StatusCode, response.Header, raw}.refusal()
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
	r, err := http.NewRequestWithContext(ctx, c.Method, p.gateway.base+c.address(), bytes.NewReader(body))
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
	response, err := p.gateway.http.Do(r)
	if err != nil {
		return nil, &Error{Status: http.StatusBadGateway, Code: "gateway_unreachable", Message: "The API does not answer. Try again in a moment."}
	}
	return response, nil
}

func (a answer) refusal() error {
	var body struct{ Error Error }
	if json.Unmarshal(a.body, &body) != nil || body.Error.Code == "" {
		body.Error = Error{Code: "unexpected", Message: "The API gave an answer that the console does not understand."}
	}
	body.Error.Status, body.Error.RetryAfter = a.status, a.header.Get("Retry-After")
	return &body.Error
}
