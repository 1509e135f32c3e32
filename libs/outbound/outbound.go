// Package outbound is the HTTP client that calls merchants' endpoints: one POST, bounded in time and memory, never
// redirected, never through a proxy, and never to an address that its guard refuses on the socket. It reports what
// happened as a typed result. It does not retry, sign, log or store; callers do.
package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"causeway.internal/libs/outbound/guard"
)

// The limits of docs/api-contract.md#webhooks and their parts by phase.
const (
	Total     = 15 * time.Second // the whole attempt, name look-up and response body included
	connect   = 3 * time.Second  // name look-up and TCP
	handshake = 5 * time.Second
	idle      = 60 * time.Second
	idleMax   = 4096 // connections
	// hostConns times Config.PerHost connections to one host may be open: the dispatcher has three pools, each with
	// PerHost attempts. The transport goes on with dials whose attempts have ended, so their number has no other bound.
	hostConns   = 3
	headerBytes = 32 << 10 // heads of 1xx responses included; it bounds their lines too, each of which costs the parser 200 bytes
	bodyBytes   = 64 << 10 // read before the connection is given up instead of kept
	excerptOK   = 512
	excerptFail = 4 << 10
)

// Config says where a client may connect. The zero Config is the strict client for public addresses.
type Config struct {
	Policy guard.Policy
	// PerHost is how many idle connections to one host are kept for reuse; 0 means 32. At most three times as many are
	// open, those that are still being dialled included.
	PerHost int
	// Total shortens the whole attempt, its phases and pings, for tests; 0 means the contract's 15 s.
	Total time.Duration
	// RootCAs and Resolver replace the system's, for tests.
	RootCAs  *x509.CertPool
	Resolver *net.Resolver
}

// Client posts to endpoints. It is safe for concurrent use; one client serves one mode, since the policy is the mode's.
type Client struct {
	total     time.Duration
	transport *http.Transport
}

// New makes a client.
func New(cfg Config) *Client {
	if cfg.Total <= 0 || cfg.Total > Total {
		cfg.Total = Total
	}
	if cfg.PerHost <= 0 {
		cfg.PerHost = 32
	}
	if cfg.Resolver == nil {
		cfg.Resolver = &net.Resolver{PreferGo: true} // libc resolvers read 0x7f.1 and bare decimals as addresses
	}
	dialer := &net.Dialer{
		Timeout:        min(connect, cfg.Total),
		KeepAlive:      30 * time.Second,
		Resolver:       cfg.Resolver,
		ControlContext: guard.Control(cfg.Policy),
	}
	return &Client{total: cfg.Total, transport: &http.Transport{
		Proxy: nil, // a proxy would move the guard to the wrong hop
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return readable{c}, nil
		},
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs, ClientSessionCache: tls.NewLRUClientSessionCache(1024)},
		TLSHandshakeTimeout:    min(handshake, cfg.Total),
		IdleConnTimeout:        idle,
		MaxIdleConns:           idleMax,
		MaxIdleConnsPerHost:    cfg.PerHost,
		MaxConnsPerHost:        hostConns * cfg.PerHost,
		MaxResponseHeaderBytes: headerBytes,
		DisableCompression:     true, // a body that is not inflated is no zip bomb
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: cfg.Total * 2 / 3, PingTimeout: cfg.Total / 3},
	}}
}

// readable is a connection on which a lost peer is noticed by reading alone. A server may answer and close before it
// has read the request; without this, the failed write would end the attempt before its answer is read.
type readable struct{ net.Conn }

// Write implements net.Conn.
func (c readable) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	// The transport closes the connection under a write of its own once it has the answer, and may then return that
	// write's error instead of the answer.
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) {
		return len(p), nil
	}
	return n, err
}

// Close drops idle connections. A busy one is dropped when its attempt ends, or, where it speaks HTTP/2, when it has
// been idle for a minute.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Timing splits the latency of one attempt. Phases that a reused connection skips are zero. Wait runs from the written
// request to the first byte of the response.
type Timing struct {
	DNS, Connect, TLS, Wait, Total time.Duration
}

// Result is what one attempt came to. Err is nil exactly when Class is OK; it may name addresses and is for operators.
type Result struct {
	Class   Class
	Status  int         // 0 when no response head arrived
	Header  http.Header // content-type, retry-after, date, server and location only
	Excerpt []byte      // the first 4 KiB of the body, 512 bytes of a 2xx; any bytes
	Remote  netip.AddrPort
	Timing  Timing
	Err     error
}

// Post sends body to a URL with the given headers, once, or twice where the server closed the kept connection that it
// was sent on, or refused it unprocessed over HTTP/2. Success is the status line of a 2xx answer inside the total time,
// whatever becomes of the body behind it: the receiver has said that it has the event. When ctx ends first, the class
// is Canceled and nothing is known.
func (c *Client) Post(ctx context.Context, to string, header http.Header, body []byte) Result {
	if ended(ctx) {
		return Result{Class: Canceled, Err: context.Canceled}
	}
	watch := &stopwatch{began: time.Now()}
	res := c.post(ctx, watch, to, header, body)
	res.Timing, res.Remote = watch.read()
	if res.Err != nil {
		res.Class = classify(res.Err, watch)
		if ended(ctx) {
			res.Class = Canceled
		}
		return res
	}
	res.Class, res.Err = classOf(res.Status)
	return res
}

// ended reports whether a context has ended. A dial knows its deadline and may end by it before the context says so.
func ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// framing are the headers that a caller may not set: they say where a request goes and ends.
var framing = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Trailer"}

func (c *Client) post(ctx context.Context, watch *stopwatch, to string, header http.Header, body []byte) (res Result) {
	ctx, cancel := context.WithDeadline(ctx, watch.began.Add(c.total))
	defer cancel()
	req, err := newRequest(watch.attach(ctx), to, header, body)
	if err != nil {
		return Result{Err: &unusable{err}}
	}
	resp, err := c.transport.RoundTrip(req) // below http.Client, so nothing can follow a redirect
	if err != nil {
		return Result{Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // reads of such a body know no deadline
		_ = resp.Body.Close()
		resp.Body = http.NoBody
	}
	res.read(resp)
	return res
}

func newRequest(ctx context.Context, to string, header http.Header, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if req.URL.Hostname() == "" {
		return nil, errors.New("the URL names no host") // a dial takes none for this machine
	}
	req.URL.RawQuery = strings.ReplaceAll(req.URL.RawQuery, " ", "%20")
	for name, values := range header {
		if slices.ContainsFunc(framing, func(own string) bool { return strings.EqualFold(own, name) }) {
			return nil, fmt.Errorf("the header %q may not be set", name)
		}
		req.Header[name] = values
	}
	if user := req.URL.User; user != nil && header.Get("Authorization") == "" {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	if len(body) > 0 { // the transport repeats a request without a body as often as it likes
		// Not sent: it lets the transport repeat the request when the server had closed a kept connection. Receivers know
		// repeats by the event's id.
		req.Header["Idempotency-Key"] = nil
		req.GetBody = once(req.GetBody)
	}
	return req, nil
}

// once lets the transport repeat a request once: it asks for the body again each time that it does.
func once(body func() (io.ReadCloser, error)) func() (io.ReadCloser, error) {
	asked := false
	return func() (io.ReadCloser, error) {
		if asked {
			return nil, io.ErrUnexpectedEOF
		}
		asked = true
		return body()
	}
}

// read takes what is kept of a response: little of its head, and an excerpt of its body. A body that is read to its end
// leaves the connection to the next attempt.
func (res *Result) read(resp *http.Response) {
	res.Status, res.Header = resp.StatusCode, kept(resp.Header)
	resp.Header = nil // it may be large, and the body slow
	size := excerptFail
	if resp.StatusCode/100 == 2 {
		size = excerptOK
	}
	if n := resp.ContentLength; n >= 0 && n < int64(size) {
		size = int(n)
	}
	excerpt := make([]byte, size)
	n, err := fill(resp.Body, excerpt)
	res.Excerpt = excerpt[:n:n]
	if err == nil {
		_, err = io.CopyN(io.Discard, resp.Body, int64(bodyBytes-size))
	}
	if err != nil && err != io.EOF && resp.StatusCode/100 != 2 { //nolint:errorlint // a body that broke off wraps it
		res.Err = &truncated{err}
	}
}

var keptHeaders = []string{"Content-Type", "Retry-After", "Date", "Server", "Location"}

func kept(h http.Header) http.Header {
	out := make(http.Header, len(keptHeaders))
	for _, name := range keptHeaders {
		if values := h[name]; len(values) > 0 && values[0] != "" {
			values[0] = values[0][:min(len(values[0]), 1024)]
			out[name] = values[:1:1]
		}
	}
	return out
}

// fill reads until buf is full or the body ends. Unlike io.ReadFull it keeps a body that ended (io.EOF) apart from one
// that broke off (io.ErrUnexpectedEOF).
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}
