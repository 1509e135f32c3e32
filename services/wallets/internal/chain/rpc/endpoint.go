package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of one call.
const (
	answerMost  = 128 << 20 // bytes of the largest answer
	smallAnswer = 64 << 10  // reserved for an answer of unknown length
	coolFirst   = time.Second
	coolMost    = 15 * time.Second // the longest rest without a provider's request
	askedMost   = time.Minute      // the longest rest that a provider may request
)

// Endpoint is one provider of a chain.
type Endpoint struct {
	Name   string // host and place in the list: the path may hold an access key
	host   string
	url    string
	client *http.Client
	header map[string]string
	slots  chan struct{} // calls in flight; further ones wait
	pace   *pace

	mu       sync.Mutex
	verified bool
	failures int
	until    time.Time // not used before
}

// NodeError is an error that the node itself answered.
type NodeError struct {
	Code    int
	Message string
}

func (e *NodeError) Error() string {
	return fmt.Sprintf("node answers error %d: %.200s", e.Code, e.Message)
}

// statusError is an HTTP status other than 200. It may carry the provider's request for a pause.
type statusError struct {
	status int
	wait   time.Duration
}

func (e *statusError) Error() string {
	return fmt.Sprintf("HTTP status %d %s", e.status, http.StatusText(e.status))
}

// Refused reports that a node has answered and does not serve the call: an error of its own, or a refusing status. A
// retry is useless.
func Refused(err error) bool {
	if _, ok := errors.AsType[*NodeError](err); ok {
		return true
	}
	status, ok := errors.AsType[*statusError](err)
	return ok && status.status >= 400 && status.status < 500 && status.status != http.StatusRequestTimeout && status.status != http.StatusTooManyRequests
}

// silent marks a failure below the answer: no connection, no time left, a body that was cut.
type silent struct{ error }

func (e silent) Unwrap() error { return e.error }

// newEndpoints checks the URLs and makes a client for each.
func newEndpoints(cfg Config) ([]*Endpoint, error) {
	if len(cfg.URLs) == 0 {
		return nil, errors.New("no RPC URL")
	}
	atOnce := cfg.AtOnce
	if atOnce <= 0 {
		atOnce = defaultAtOnce
	}
	out := make([]*Endpoint, len(cfg.URLs))
	for i, text := range cfg.URLs {
		u, err := url.Parse(text)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("RPC URL %d is not an http or https URL", i+1) // the URL is omitted: it may hold a key
		}
		transport := &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: atOnce, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: cfg.Timeout, ResponseHeaderTimeout: cfg.Timeout, ForceAttemptHTTP2: true,
		}
		out[i] = &Endpoint{
			host: u.Hostname(), url: strings.TrimRight(text, "/"), Name: fmt.Sprintf("%d (%s)", i+1, u.Hostname()),
			client: &http.Client{
				Transport: transport, Timeout: cfg.Timeout,
				CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirected") },
			},
			header: cfg.Headers, slots: make(chan struct{}, atOnce), pace: newPace(cfg.PerSecond),
		}
	}
	return out, nil
}

// Call makes one JSON-RPC call and returns the raw result.
func (e *Endpoint) Call(ctx context.Context, method string, params ...any) ([]byte, error) {
	if params == nil {
		params = []any{}
	}
	answer, err := e.exchange(ctx, "", map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	var result []byte
	if err == nil {
		result, err = Unwrap(answer)
	}
	return result, e.named(method, err)
}

// Post sends a JSON object to a path below the endpoint's URL and returns the raw answer.
func (e *Endpoint) Post(ctx context.Context, path string, body any) ([]byte, error) {
	answer, err := e.exchange(ctx, path, body)
	return answer, e.named(path, err)
}

// named adds the call and the endpoint to an error, without the URL.
func (e *Endpoint) named(what string, err error) error {
	if err == nil {
		return nil
	}
	if u, ok := errors.AsType[*url.Error](err); ok { // its text holds the URL
		err = silent{u.Err}
	}
	return fmt.Errorf("%s at endpoint %s: %w", what, e.Name, err)
}

func (e *Endpoint) exchange(ctx context.Context, path string, content any) ([]byte, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return nil, silent{ctx.Err()}
	}
	if err := e.pace.wait(ctx); err != nil {
		return nil, silent{err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range e.header {
		req.Header.Set(name, value)
	}
	res, err := e.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return readAll(res)
}

// readAll reads the body. A node may answer errors with another status than 200; such a body without a JSON object is
// the failure of a proxy in between.
func readAll(res *http.Response) ([]byte, error) {
	size := int64(smallAnswer)
	if res.ContentLength > 0 {
		size = min(res.ContentLength+1, answerMost)
	}
	failed := &statusError{status: res.StatusCode, wait: retryAfter(res)}
	if res.StatusCode != http.StatusOK && (res.StatusCode != http.StatusInternalServerError || res.Header.Get("Content-Type") != "application/json") {
		return nil, failed
	}
	buffer := bytes.NewBuffer(make([]byte, 0, size))
	n, err := buffer.ReadFrom(io.LimitReader(res.Body, answerMost+1))
	switch {
	case err != nil:
		return nil, silent{err}
	case n > answerMost:
		return nil, fmt.Errorf("answer is larger than %d MiB", answerMost>>20)
	case res.StatusCode == http.StatusOK:
		return buffer.Bytes(), nil
	}
	var node *NodeError
	if _, err := Unwrap(buffer.Bytes()); errors.As(err, &node) { // Bitcoin Core answers JSON-RPC errors with 500
		return nil, node
	}
	return nil, failed
}

// Unwrap returns the result of a JSON-RPC answer.
func Unwrap(answer []byte) ([]byte, error) {
	r := NewReader(answer)
	var result []byte
	var failed *NodeError
	err := r.Object(func(name []byte) error {
		value, err := r.Raw()
		if err != nil {
			return err
		}
		switch string(name) {
		case "result":
			result = value
		case "error":
			if string(value) != "null" {
				failed = &NodeError{}
				if err := json.Unmarshal(value, failed); err != nil {
					return fmt.Errorf("reading the node's error: %w", err)
				}
			}
		}
		return nil
	})
	if err == nil {
		err = r.End()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading a JSON-RPC answer: %w", err)
	case failed != nil:
		return nil, failed
	case result == nil:
		return nil, errors.New("JSON-RPC answer without a result")
	}
	return result, nil
}

func retryAfter(res *http.Response) time.Duration {
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, askedMost)
}

// failed notes a failure: the endpoint is checked again before its next use. After the second in a row it rests for a
// growing time, or for the requested one. failed reports whether this was the first in a row.
func (e *Endpoint) failed(err error, now time.Time) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var wait time.Duration
	if e.failures > 0 {
		wait = min(coolFirst<<min(e.failures-1, 10), coolMost)
	}
	var status *statusError
	if errors.As(err, &status) && status.wait > 0 {
		wait = status.wait
	}
	e.failures, e.verified, e.until = e.failures+1, false, now.Add(wait)
	return e.failures == 1
}

func (e *Endpoint) succeeded() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures, e.until = 0, time.Time{}
}

func (e *Endpoint) resting(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return now.Before(e.until)
}

func (e *Endpoint) isVerified() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.verified
}

func (e *Endpoint) setVerified() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.verified = true
}

// pace limits the calls that begin in a second.
type pace struct {
	every time.Duration
	mu    sync.Mutex
	next  time.Time
}

func newPace(perSecond int) *pace {
	if perSecond <= 0 {
		return &pace{}
	}
	return &pace{every: time.Second / time.Duration(perSecond)}
}

// wait blocks until the caller's turn.
func (p *pace) wait(ctx context.Context) error {
	if p.every == 0 {
		return nil
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	mine := p.next
	p.next = p.next.Add(p.every)
	p.mu.Unlock()
	t := time.NewTimer(time.Until(mine))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
