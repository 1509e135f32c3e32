// Package outbound is the HTTP client that calls merchants' endpoints: one POST, bounded in time and memory, never
// redirected, never through a proxy, and never to an address that its guard refuses on the socket. It reports what
// happened as a typed result. It does not retry, sign, log or store; callers do.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"causeway.internal/libs/outbound/guard"
)

// The limits of docs/api-contract.md#webhooks and their parts by phase.
const (
	Total       = 15 * time.Second // the whole attempt, name look-up and response body included
	connect     = 3 * time.Second  // name look-up and TCP
	handshake   = 5 * time.Second
	idle        = 60 * time.Second
	idleMax     = 4096 // connections
	headerBytes = 32 << 10
	headerLines = 256
	bodyBytes   = 64 << 10 // read before the connection is given up instead of kept
	excerptOK   = 512
	excerptFail = 4 << 10
)

// Config says where a client may connect. The zero Config is the strict client for public addresses.
type Config struct {
	Policy guard.Policy
	// PerHost is how many idle connections to one host are kept for reuse; 0 means 32.
	PerHost int
	// Total shortens the whole attempt and its phases, for tests; 0 means the contract's 15 s.
	Total time.Duration
	// RootCAs and Resolver replace the system's, for tests.
	RootCAs  *x509.CertPool
	Resolver *net.Resolver
}

// Client posts to endpoints. It is safe for concurrent use; one client serves one mode, since the policy is the mode's.
//
// HTTP/1.1 is spoken by the attempt itself, on a connection that it has to itself meanwhile: its limits are deadlines of the
// socket, and nothing runs beside it. What speaks HTTP/2 goes through net/http's transport.
type Client struct {
	total  time.Duration
	dialer net.Dialer
	tls    *tls.Config
	pool   pool
	http2  *http.Transport
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
	c := &Client{
		total: cfg.Total,
		dialer: net.Dialer{
			Timeout:        min(connect, cfg.Total),
			KeepAlive:      30 * time.Second,
			Resolver:       cfg.Resolver,
			ControlContext: guard.Control(cfg.Policy), // no proxy: one would move the guard to the wrong hop
		},
		tls: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			RootCAs:            cfg.RootCAs,
			ClientSessionCache: tls.NewLRUClientSessionCache(1024),
			NextProtos:         []string{"h2", "http/1.1"},
		},
		pool: pool{perHost: cfg.PerHost, idle: map[string][]*conn{}, http2: map[string]bool{}},
	}
	c.http2 = &http.Transport{
		DialTLSContext:         c.dialHTTP2,
		IdleConnTimeout:        idle,
		MaxIdleConns:           idleMax,
		MaxIdleConnsPerHost:    cfg.PerHost,
		MaxResponseHeaderBytes: headerBytes,
		DisableCompression:     true, // what is not asked for need not be inflated: no zip bombs
		ForceAttemptHTTP2:      true,
	}
	return c
}

// Close drops idle connections, and every other one when its attempt ends; those that speak HTTP/2 once they were idle.
func (c *Client) Close() {
	c.pool.close()
	c.http2.CloseIdleConnections()
}

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

var keptHeaders = []string{"Content-Type", "Retry-After", "Date", "Server", "Location"}

// Post sends body to a URL with the given headers, once. Success is the status line of a 2xx answer inside the total time,
// whatever becomes of the body behind it: the receiver has said that it has the event. When ctx ends first, the class is
// Canceled and nothing is known.
func (c *Client) Post(ctx context.Context, to string, header http.Header, body []byte) Result {
	watch := &stopwatch{began: time.Now()}
	res := c.post(ctx, watch, to, header, body)
	res.Timing, res.Remote = watch.read()
	if res.Err != nil {
		res.Class = classify(res.Err, watch)
		if over(ctx) {
			res.Class = Canceled
		}
		return res
	}
	res.Class, res.Err = classOf(res.Status)
	return res
}

// over reports whether a context has ended. A dial knows its deadline and may end by it before the context says so.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

func (c *Client) post(ctx context.Context, watch *stopwatch, to string, header http.Header, body []byte) Result {
	r, err := newRequest(to, header, body)
	if err != nil {
		return Result{Err: &unusable{err}}
	}
	r.until = watch.began.Add(c.total)
	if c.pool.speaksHTTP2(r.origin) {
		return c.postHTTP2(ctx, watch, r, nil)
	}
	link := c.pool.take(r.origin)
	if link == nil {
		bounded, cancel := context.WithDeadline(ctx, r.until)
		socket, secure, err := c.dial(bounded, watch, r.address, r.secure)
		cancel()
		switch {
		case err != nil:
			return Result{Err: err}
		case secure != nil && secure.ConnectionState().NegotiatedProtocol == "h2":
			c.pool.learnHTTP2(r.origin)
			return c.postHTTP2(ctx, watch, r, &handed{conn: secure})
		}
		link = newConn(socket, secure)
	}
	watch.got(link.remote)
	res, reusable := link.exchange(ctx, watch, r)
	if reusable {
		c.pool.put(r.origin, link)
	} else {
		link.abort()
	}
	return res
}

// read takes what is kept of a response: little of its head, and an excerpt of its body. It says whether the body has ended.
func (res *Result) read(resp *http.Response) (ended bool) {
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
	if err == nil && resp.Body != http.NoBody {
		var more int64
		if more, err = io.Copy(io.Discard, io.LimitReader(resp.Body, int64(bodyBytes-size))); more < int64(bodyBytes-size) && err == nil {
			err = io.EOF
		}
	}
	switch {
	case err == nil:
		return resp.Body == http.NoBody
	case err == io.EOF: //nolint:errorlint // a body that ended well says io.EOF itself; a wrapped one broke off
		return true
	}
	if resp.StatusCode/100 != 2 {
		res.Err = &truncated{err}
	}
	return false
}

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
