// Package contract holds every HTTP exchange of a test against the published OpenAPI document and against the rules
// that docs/api-contract.md#errors sets for all answers: the shape of errors and the request id. It knows nothing of
// what a test is about.
package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// Contract is a loaded document. It is safe for concurrent use.
type Contract struct {
	router routers.Router
	events map[string]*openapi3.Schema // by type
	turns  chan struct{}               // as many checks at a time as there are processors
}

// Load reads and checks the document at path.
func Load(path string) (*Contract, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	return Parse(raw)
}

// Parse checks a document. Its servers are ignored: what matters is the path.
func Parse(raw []byte) (*Contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, fmt.Errorf("parsing the OpenAPI document: %w", err)
	}
	doc.Servers = nil
	for _, item := range doc.Paths.Map() {
		item.Servers = nil
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("checking the OpenAPI document: %w", err)
	}
	c := &Contract{router: router, events: map[string]*openapi3.Schema{}, turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
	for _, hook := range doc.Webhooks {
		envelope := hook.Post.RequestBody.Value.Content.Get("application/json").Schema.Value
		for _, kind := range envelope.Properties["type"].Value.Enum {
			c.events[fmt.Sprint(kind)] = envelope
		}
	}
	return c, nil
}

// EventError is an event that broke the contract.
type EventError struct{ Problem error }

func (e *EventError) Error() string { return "the event breaks the document: " + e.Problem.Error() }
func (e *EventError) Unwrap() error { return e.Problem }

// Event holds the body of a webhook against the schema of its type and returns an *EventError when it breaks it.
func (c *Contract) Event(body []byte) error {
	var event any
	if err := json.Unmarshal(body, &event); err != nil {
		return &EventError{Problem: err}
	}
	object, _ := event.(map[string]any)
	kind, _ := object["type"].(string)
	schema := c.events[kind]
	if schema == nil {
		return &EventError{Problem: fmt.Errorf("no webhook has the type %q", kind)}
	}
	c.turns <- struct{}{}
	defer func() { <-c.turns }()
	if err := schema.VisitJSON(event, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors()); err != nil {
		return &EventError{Problem: fmt.Errorf("%w: %s", err, shorten(body))}
	}
	return nil
}

// Find returns the path of a file of the repository, looking upwards from the working directory.
func Find(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return filepath.Join(dir, name), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the repository: no go.work above the working directory")
		}
		dir = parent
	}
}

type badRequestKey struct{}

// WithBadRequest marks a request that breaks the contract on purpose; only its answer is held against the document.
func WithBadRequest(ctx context.Context) context.Context {
	return context.WithValue(ctx, badRequestKey{}, true)
}

type breachKey struct{}

// WithBreach is WithBadRequest, and tells in breach how the request breaks the document, if it does.
func WithBreach(ctx context.Context, breach *error) context.Context {
	return context.WithValue(WithBadRequest(ctx), breachKey{}, breach)
}

// Violation is an exchange that broke the contract.
type Violation struct {
	Exchange string
	Problem  error
}

func (v *Violation) Error() string { return v.Exchange + ": " + v.Problem.Error() }
func (v *Violation) Unwrap() error { return v.Problem }

// Transport checks every exchange made through next and fails the request with a *Violation when it breaks the
// contract.
func (c *Contract) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{contract: c, next: next}
}

type transport struct {
	contract *Contract
	next     http.RoundTripper
}

// RoundTrip sends the request, reads the whole answer and checks both.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := drain(r.Body)
	if err != nil {
		return nil, err
	}
	outgoing := r.Clone(r.Context())
	outgoing.Body = body(sent)
	response, err := t.next.RoundTrip(outgoing)
	if err != nil {
		return nil, err
	}
	received, err := drain(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = body(received)
	r.Body = body(sent)
	// A check computes for milliseconds. Hundreds at once would starve what keeps time: connections and the webhook
	// receiver.
	t.contract.turns <- struct{}{}
	problem := t.contract.check(r, sent, response, received)
	<-t.contract.turns
	if problem != nil {
		return nil, &Violation{Exchange: fmt.Sprintf("%s %s -> %d %s", r.Method, r.URL.Path, response.StatusCode, shorten(received)), Problem: problem}
	}
	response.Body = body(received)
	return response, nil
}

func (c *Contract) check(r *http.Request, sent []byte, response *http.Response, received []byte) error {
	problems := []error{checkRequestID(response, received)}
	route, params, err := c.find(r)
	page := err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") // which the document must name
	switch {
	case page:
	case response.StatusCode >= 400:
		problems = append(problems, checkError(response, received))
	default:
		problems = append(problems, checkSuccess(response, received))
	}
	if err != nil {
		if response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusMethodNotAllowed {
			problems = append(problems, fmt.Errorf("the route is not in the document: %w", err))
		}
		return errors.Join(problems...)
	}
	options := &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: true, SkipSettingDefaults: true,
	}
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: options}
	breach, asked := r.Context().Value(breachKey{}).(*error)
	if asked {
		r.Body = body(supplied(sent))
	}
	if bad := r.Context().Value(badRequestKey{}) != nil; !bad || asked {
		err := openapi3filter.ValidateRequest(r.Context(), input)
		r.Body = body(sent)
		switch {
		case asked:
			*breach = err
		case err != nil:
			problems = append(problems, fmt.Errorf("the request breaks the document: %w", err))
		}
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header, Options: options,
	}
	answer.SetBodyBytes(received)
	if err := openapi3filter.ValidateResponse(r.Context(), answer); err != nil {
		problems = append(problems, fmt.Errorf("the answer breaks the document: %w", err))
	}
	return errors.Join(problems...)
}

// supplied is a JSON body without the members that are "", which count as not supplied
// (docs/api-contract.md#validation). No schema can say so of every optional string.
func supplied(sent []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(sent))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() || !drop(value) {
		return sent
	}
	left, err := json.Marshal(value)
	if err != nil {
		return sent
	}
	return left
}

// drop removes the members that are "" and reports whether there were any.
func drop(value any) (dropped bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if member == "" {
				delete(value, name)
				dropped = true
				continue
			}
			dropped = drop(member) || dropped
		}
	case []any:
		for _, item := range value {
			dropped = drop(item) || dropped
		}
	}
	return dropped
}

// find is the operation of a request. A slash that is part of a parameter divides no path.
func (c *Contract) find(r *http.Request) (*routers.Route, map[string]string, error) {
	escaped := *r
	escaped.URL = &url.URL{Path: r.URL.EscapedPath()}
	route, params, err := c.router.FindRoute(&escaped)
	for name, value := range params {
		if plain, err := url.PathUnescape(value); err == nil {
			params[name] = plain
		}
	}
	return route, params, err
}

// init lets the answers that are no data be texts.
func init() {
	for _, kind := range []string{"text/html", "text/css", "text/javascript", "image/svg+xml", "image/png"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.FileBodyDecoder)
	}
}

var codePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// checkError holds an error to the one shape of docs/api-contract.md#errors.
func checkError(response *http.Response, received []byte) error {
	var e struct {
		Success *bool   `json:"success"`
		Message *string `json:"message"`
		Error   *struct {
			Code      string  `json:"code"`
			Message   string  `json:"message"`
			RequestID string  `json:"requestId"`
			Fields    []field `json:"fields"`
		} `json:"error"`
	}
	if response.Request != nil && response.Request.Method == http.MethodHead {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(received))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return fmt.Errorf("the error is not in the one shape: %w", err)
	}
	switch {
	case e.Success == nil || *e.Success:
		return errors.New("an error without success false")
	case e.Message == nil || *e.Message == "" || e.Error == nil || e.Error.Message != *e.Message:
		return errors.New("an error whose two messages differ or are empty")
	case !codePattern.MatchString(e.Error.Code):
		return fmt.Errorf("the code %q is not snake_case", e.Error.Code)
	case e.Error.RequestID != response.Header.Get("X-Request-Id") && response.Header.Get("Idempotent-Replayed") == "": // a replay names the first request
		return fmt.Errorf("requestId %q is not the header's %q", e.Error.RequestID, response.Header.Get("X-Request-Id"))
	case !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json"):
		return fmt.Errorf("an error of type %q", response.Header.Get("Content-Type"))
	}
	for _, f := range e.Error.Fields {
		if f.Field == "" || f.Message == "" {
			return fmt.Errorf("a field error without field or message: %+v", e.Error.Fields)
		}
	}
	return checkSecrets(received)
}

type field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

var leak = regexp.MustCompile(`(?i)SQLSTATE|\bpgx\b|goroutine |panic:|\.go:\d+|127\.0\.0\.1|localhost|\bpq:|\bamqps?\b`)

// checkSecrets finds what no answer may show: errors of the database, stacks, internal hosts.
func checkSecrets(received []byte) error {
	if found := leak.Find(received); found != nil {
		return fmt.Errorf("the error leaks %q", found)
	}
	return nil
}

// checkSuccess wants success true in every JSON object.
func checkSuccess(response *http.Response, received []byte) error {
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") || len(received) == 0 {
		return nil
	}
	var e struct {
		Success *bool `json:"success"`
	}
	if err := json.Unmarshal(received, &e); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	if e.Success == nil || !*e.Success {
		return errors.New("a success without success true")
	}
	return nil
}

func checkRequestID(response *http.Response, _ []byte) error {
	if id := response.Header.Get("X-Request-Id"); id == "" || len(id) > 128 {
		return fmt.Errorf("X-Request-Id is %q", id)
	}
	return nil
}

func drain(r io.ReadCloser) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, 16<<20))
	if err != nil {
		return nil, fmt.Errorf("reading a body: %w", err)
	}
	return raw, nil
}

func body(raw []byte) io.ReadCloser {
	if len(raw) == 0 {
		return http.NoBody
	}
	return io.NopCloser(bytes.NewReader(raw))
}

func shorten(raw []byte) string {
	if len(raw) > 1500 {
		return string(raw[:1500]) + "…"
	}
	return string(raw)
}
