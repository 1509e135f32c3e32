// Package api is the merchant's side of the end-to-end tests: a client of the gateway that reads answers digit by digit
// and waits for conditions. It imports nothing of the product, so that it shares no mistake with what it checks.
package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Client calls one gateway with one credential.
type Client struct {
	Base string
	Key  string // sk_…, or an operator token for admin routes; empty calls without a credential
	HTTP *http.Client
}

// With returns the same client under another credential.
func (c *Client) With(key string) *Client {
	other := *c
	other.Key = key
	return &other
}

// Object is a JSON object to send.
type Object map[string]any

// Option changes a request before it is sent.
type Option func(*http.Request)

// Header sets a header; an empty value removes it.
func Header(name, value string) Option {
	return func(r *http.Request) {
		if value == "" {
			r.Header.Del(name)
			return
		}
		r.Header.Set(name, value)
	}
}

// Bad marks a request that breaks the contract on purpose.
func Bad(mark func(context.Context) context.Context) Option {
	return func(r *http.Request) { *r = *r.WithContext(mark(r.Context())) }
}

type onceKey struct{}

// Once is for a test that expects an answer which Call would repeat its request after.
func Once(r *http.Request) { *r = *r.WithContext(context.WithValue(r.Context(), onceKey{}, true)) }

// Answer is a response read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	root   any
	once   bool // the request is not repeated
}

// repeatsMost bounds how often Call repeats a request.
const repeatsMost = 3

// Call sends a request and fails the test when no answer comes or the answer breaks the contract. body is nil, a string
// or []byte sent as they are, or a value to encode.
//
// Call does what the API asks of its callers: a POST has an Idempotency-Key, unless an option sets or removes it, and a
// request whose answer says so is repeated with the same key after the time that the answer names.
func (c *Client) Call(t testing.TB, method, path string, body any, options ...Option) *Answer {
	t.Helper()
	if method == http.MethodPost {
		options = append([]Option{Header("Idempotency-Key", rand.Text())}, options...)
	}
	for repeats := 0; ; repeats++ {
		answer, err := c.Try(t.Context(), method, path, body, options...)
		if err != nil {
			t.Fatalf("call %s %s: %v", method, path, err)
		}
		wait, again := answer.repeat()
		if !again || repeats == repeatsMost {
			return answer
		}
		t.Logf("%s %s answers %d %s; repeat it in %v", method, path, answer.Status, answer.Body, wait)
		select {
		case <-t.Context().Done():
			return answer
		case <-time.After(wait):
		}
	}
}

// repeat tells whether the API asks for the same request again, and when: the service took too long, is not available
// for a while, or is still at work on this Idempotency-Key, which the transport may have sent twice.
func (a *Answer) repeat() (wait time.Duration, again bool) {
	seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if a.once || err != nil {
		return 0, false
	}
	code, _ := a.At("error.code")
	switch a.Status {
	case http.StatusServiceUnavailable:
		again = true
	case http.StatusGatewayTimeout:
		again = code == "upstream_timeout"
	case http.StatusConflict:
		again = code == "idempotency_in_progress"
	}
	return time.Duration(seconds) * time.Second, again
}

// Try is one request, for goroutines and for moments when the gateway may be down.
func (c *Client) Try(ctx context.Context, method, path string, body any, options ...Option) (*Answer, error) {
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case []byte:
		reader = bytes.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return nil, fmt.Errorf("encoding the body: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.Base+path, reader)
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.Key)
	}
	for _, option := range options {
		option(r)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("calling the gateway: %w", err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	answer := &Answer{Status: response.StatusCode, Header: response.Header, Body: raw}
	answer.once, _ = r.Context().Value(onceKey{}).(bool)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		if answer.root, err = decode(raw); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func decode(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", raw, err)
	}
	return root, nil
}

// Parse reads JSON that came another way, such as a callback's body.
func Parse(t testing.TB, raw []byte) *Answer {
	t.Helper()
	root, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &Answer{Body: raw, root: root}
}

// Want fails the test unless the status is one of those given.
func (a *Answer) Want(t testing.TB, status ...int) *Answer {
	t.Helper()
	for _, s := range status {
		if a.Status == s {
			return a
		}
	}
	t.Fatalf("status %d, want %v: %s", a.Status, status, a.Body)
	return nil
}

// At returns the value under a path of names joined by dots, and whether it is there. Null is a value.
func (a *Answer) At(path string) (any, bool) {
	at := a.root
	for name := range strings.SplitSeq(path, ".") {
		if list, ok := at.([]any); ok {
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(list) {
				return nil, false
			}
			at = list[i]
			continue
		}
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[name]; !ok {
			return nil, false
		}
	}
	return at, true
}

// Text returns a string; the test fails when there is none.
func (a *Answer) Text(t testing.TB, path string) string {
	t.Helper()
	value, _ := a.At(path)
	text, ok := value.(string)
	if !ok {
		t.Fatalf("%s is %v, want a string: %s", path, value, a.Body)
	}
	return text
}

// Number returns a JSON number exactly; the test fails when there is none or when it is written with an exponent.
func (a *Answer) Number(t testing.TB, path string) *big.Rat {
	t.Helper()
	value, _ := a.At(path)
	number, ok := value.(json.Number)
	if !ok {
		t.Fatalf("%s is %v, want a number: %s", path, value, a.Body)
	}
	rat, ok := new(big.Rat).SetString(number.String())
	if !ok || strings.ContainsAny(number.String(), "eE") {
		t.Fatalf("%s is %s, want plain digits", path, number)
	}
	return rat
}

// Null reports whether the path holds null.
func (a *Answer) Null(path string) bool {
	value, found := a.At(path)
	return found && value == nil
}

// Len is the length of the list at path; the test fails when there is none.
func (a *Answer) Len(t testing.TB, path string) int {
	t.Helper()
	value, _ := a.At(path)
	list, ok := value.([]any)
	if !ok {
		t.Fatalf("%s is %v, want a list: %s", path, value, a.Body)
	}
	return len(list)
}

// Keys lists the fields of the object at path, sorted; path "" is the whole answer.
func (a *Answer) Keys(t testing.TB, path string) []string {
	t.Helper()
	value := a.root
	if path != "" {
		value, _ = a.At(path)
	}
	object, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("%s is %v, want an object: %s", path, value, a.Body)
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// FieldErrors returns the fields that an error names.
func (a *Answer) FieldErrors() []string {
	value, _ := a.At("error.fields")
	list, _ := value.([]any)
	var names []string
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			name, _ := object["field"].(string)
			names = append(names, name)
		}
	}
	return names
}

// Rat reads a decimal exactly.
func Rat(text string) *big.Rat {
	rat, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("not a number: " + text)
	}
	return rat
}

// Ceil rounds up to digits after the point; Floor rounds down. Both take numbers of 0 and more.
func Ceil(x *big.Rat, digits int) *big.Rat {
	down := Floor(x, digits)
	if down.Cmp(x) == 0 {
		return down
	}
	return down.Add(down, new(big.Rat).Inv(power(digits)))
}

// Floor rounds down to digits after the point.
func Floor(x *big.Rat, digits int) *big.Rat {
	scaled := new(big.Rat).Mul(x, power(digits))
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	return new(big.Rat).Quo(new(big.Rat).SetInt(whole), power(digits))
}

// HalfUp rounds to digits after the point, halves away from zero.
func HalfUp(x *big.Rat, digits int) *big.Rat {
	half := new(big.Rat).Quo(big.NewRat(1, 2), power(digits))
	return Floor(new(big.Rat).Add(x, half), digits)
}

func power(digits int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
}

// Pauses between two questions: short at first, longer when the answer takes its time.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 400 * time.Millisecond
)

// Eventually asks until the condition holds; after the deadline it fails the test and says what it waited for.
func Eventually(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for wait := firstPause; !holds(); wait = min(wait*3/2, longestPause) {
		pause.Reset(wait)
		select {
		case <-deadline.C:
			t.Fatalf("waited %v in vain for %s", within, what)
		case <-pause.C:
		}
	}
}
