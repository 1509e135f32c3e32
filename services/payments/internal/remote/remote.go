// Package remote is the HTTP client of the drivers that read prices and send payouts. Each exchange is bounded in time
// and bytes and follows no redirect. Its errors contain no URL and no header, which may hold references and keys. It
// does not retry, because an error of a payout may mean that the money has left; the driver decides.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds that no caller widens.
const (
	connect   = 3 * time.Second
	idle      = 60 * time.Second
	headBytes = 32 << 10
)

// ErrTooLarge is an answer with more bytes than the client reads.
var ErrTooLarge = errors.New("the answer is too large")

var errRedirected = errors.New("redirected")

// Options of a client.
type Options struct {
	Base    string        // http or https, without a trailing slash
	Timeout time.Duration // of one exchange, name look-up and body included
	Most    int64         // bytes of a body
	Header  http.Header   // sent with every request
}

// Client talks to one outside party. It is safe for concurrent use.
type Client struct {
	base   string
	most   int64
	header http.Header
	http   *http.Client
}

// New checks the base URL and makes a client.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.Base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("is not an http or https URL without credentials and query")
	}
	return &Client{
		base: strings.TrimRight(o.Base, "/"), most: o.Most, header: o.Header,
		http: &http.Client{
			Timeout:       o.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirected },
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: min(connect, o.Timeout)}).DialContext,
				TLSHandshakeTimeout: o.Timeout, ResponseHeaderTimeout: o.Timeout, IdleConnTimeout: idle, MaxIdleConnsPerHost: 8,
				MaxResponseHeaderBytes: headBytes, ForceAttemptHTTP2: true,
			},
		},
	}, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Answer is a complete answer of any status.
type Answer struct {
	Status int
	Body   []byte
}

// OK reports a status of 2xx.
func (a Answer) OK() bool { return a.Status/100 == 2 }

// Get reads a path.
func (c *Client) Get(ctx context.Context, path string, query url.Values) (Answer, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.do(ctx, http.MethodGet, path, nil)
}

// Post sends body as JSON to a path, once.
func (c *Client) Post(ctx context.Context, path string, body any) (Answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return Answer{}, fmt.Errorf("encode the request: %w", err)
	}
	return c.do(ctx, http.MethodPost, path, raw)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, errors.New("build the request")
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "Causeway/1") // some servers refuse a client without a name
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{}, bare(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, c.most+1))
	switch {
	case err != nil:
		return Answer{Status: res.StatusCode}, fmt.Errorf("read the answer: %w", bare(err))
	case int64(len(raw)) > c.most:
		return Answer{Status: res.StatusCode}, ErrTooLarge
	}
	return Answer{Status: res.StatusCode, Body: raw}, nil
}

// bare removes the URL from an error.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
