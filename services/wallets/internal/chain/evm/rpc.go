package evm

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
	"sync"
	"time"
)

// Bounds of one call.
const (
	answerMost   = 128 << 20 // bytes of the largest block or log answer that is read at all
	smallAnswer  = 64 << 10  // what is reserved for an answer of unknown length
	coolFirst    = time.Second
	coolMost     = 15 * time.Second // the longest rest that we choose
	askedMost    = time.Minute      // the longest rest that a provider may ask for
	idlePerPoint = 16
)

// endpoint is one JSON-RPC provider of the chain.
type endpoint struct {
	url    string
	name   string // host and place in the list: the path may hold an access key
	client *http.Client

	mu       sync.Mutex
	verified bool
	failures int
	until    time.Time // left alone until then
}

// rpcError is an error that the node itself answered.
type rpcError struct {
	Code    int
	Message string
}

func (e *rpcError) Error() string {
	return fmt.Sprintf("node answers error %d: %.200s", e.Code, e.Message)
}

// coolError asks to leave the endpoint alone for a while.
type coolError struct {
	status int
	wait   time.Duration
}

func (e *coolError) Error() string {
	return fmt.Sprintf("HTTP status %d %s", e.status, http.StatusText(e.status))
}

// newEndpoints checks the URLs and makes a client for each.
func newEndpoints(urls []string, timeout time.Duration) ([]*endpoint, error) {
	if len(urls) == 0 {
		return nil, errors.New("no RPC URL")
	}
	out := make([]*endpoint, len(urls))
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("RPC URL %d is not an http or https URL", i+1) // it is not shown: it may hold a key
		}
		transport := &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: idlePerPoint, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout, ForceAttemptHTTP2: true,
		}
		out[i] = &endpoint{
			url: text, name: fmt.Sprintf("%d (%s)", i+1, u.Hostname()),
			client: &http.Client{
				Transport: transport, Timeout: timeout,
				CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirected") },
			},
		}
	}
	return out, nil
}

// call makes one JSON-RPC call and returns the raw result.
func (e *endpoint) call(ctx context.Context, method string, params ...any) ([]byte, error) {
	result, err := e.exchange(ctx, method, params)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // its text holds the URL
			err = u.Err
		}
		return nil, fmt.Errorf("%s at endpoint %s: %w", method, e.name, err)
	}
	return result, nil
}

func (e *endpoint) exchange(ctx context.Context, method string, params []any) ([]byte, error) {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, &coolError{status: res.StatusCode, wait: retryAfter(res)}
	}
	answer, err := readAll(res)
	if err != nil {
		return nil, err
	}
	return decodeAnswer(answer)
}

func readAll(res *http.Response) ([]byte, error) {
	size := int64(smallAnswer)
	if res.ContentLength > 0 {
		size = min(res.ContentLength+1, answerMost)
	}
	buffer := bytes.NewBuffer(make([]byte, 0, size))
	n, err := buffer.ReadFrom(io.LimitReader(res.Body, answerMost+1))
	if err != nil {
		return nil, err
	}
	if n > answerMost {
		return nil, fmt.Errorf("answer is larger than %d MiB", answerMost>>20)
	}
	return buffer.Bytes(), nil
}

// decodeAnswer takes the envelope off a JSON-RPC answer.
func decodeAnswer(answer []byte) ([]byte, error) {
	r := &reader{b: answer}
	var result []byte
	var failed *rpcError
	err := r.object(func(name []byte) error {
		start := r.i
		if err := r.skip(); err != nil {
			return err
		}
		switch value := bytes.TrimSpace(answer[start:r.i]); string(name) {
		case "result":
			result = value
		case "error":
			if string(value) != "null" {
				failed = &rpcError{}
				if err := json.Unmarshal(value, failed); err != nil {
					return fmt.Errorf("reading the node's error: %w", err)
				}
			}
		}
		return nil
	})
	if err == nil {
		err = r.end()
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

// failed notes a failure: the endpoint is checked again before its next use. After the second in a row it is left alone
// for a growing while, or for as long as it asked.
func (e *endpoint) failed(err error, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var wait time.Duration
	if e.failures > 0 {
		wait = min(coolFirst<<min(e.failures-1, 10), coolMost)
	}
	var cool *coolError
	if errors.As(err, &cool) && cool.wait > 0 {
		wait = cool.wait
	}
	e.failures, e.verified, e.until = e.failures+1, false, now.Add(wait)
}

func (e *endpoint) succeeded() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures, e.until = 0, time.Time{}
}

func (e *endpoint) resting(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return now.Before(e.until)
}

func (e *endpoint) isVerified() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.verified
}

func (e *endpoint) setVerified() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.verified = true
}
