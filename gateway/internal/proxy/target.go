package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/person"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry"
)

// Target answers the routes of one upstream: a service at a URL, or a handler of the gateway. Either receives an
// identity that is signed for it alone.
type Target struct {
	url     *url.URL
	handler http.Handler
	key     []byte
	further map[shard.Code]*Target // of the service's other shards; nil for what is one for all shards

	name    route.Upstream
	proxy   *httputil.ReverseProxy
	log     *slog.Logger
	spare   *telemetry.Sparing
	metrics *metrics
	now     func() time.Time
}

// Service makes a target of a service. The key signs identities that only it verifies.
func Service(base string, key []byte) (*Target, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || (u.Path != "" && u.Path != "/") {
		return nil, fmt.Errorf("upstream URL %q: want http(s)://host:port", base)
	}
	return &Target{url: u, key: key}, nil
}

// Local makes a target of a handler in this process.
func Local(h http.Handler, key []byte) *Target { return &Target{handler: h, key: key} }

// Bounds of the connections to one service. Idle ones are closed here before the service closes them (lifecycle keeps
// them two minutes), so that no request is sent into a closing connection.
const (
	dialMax     = 2 * time.Second
	connsMax    = 512
	idleMax     = 256
	idleTimeout = 45 * time.Second
	responseMax = 64 << 10 // header bytes of a response
)

// prepare is called once by New.
func (t *Target) prepare(name route.Upstream, log *slog.Logger, m *metrics, now func() time.Time) {
	t.name, t.log, t.metrics, t.now = name, log.With("upstream", string(name)), m, now
	t.spare = telemetry.NewSparing(t.log, now)
	if t.url == nil {
		return
	}
	t.proxy = &httputil.ReverseProxy{
		Rewrite: t.rewrite,
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: dialMax, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:    dialMax,
			ResponseHeaderTimeout:  callTimeMax,
			IdleConnTimeout:        idleTimeout,
			MaxConnsPerHost:        connsMax,
			MaxIdleConns:           idleMax,
			MaxIdleConnsPerHost:    idleMax,
			MaxResponseHeaderBytes: responseMax,
			DisableCompression:     true, // answers pass byte for byte
		},
		ModifyResponse: t.inspect,
		ErrorHandler:   t.failed,
		ErrorLog:       slog.NewLogLogger(t.log.Handler(), slog.LevelDebug),
		BufferPool:     buffers{},
	}
}

// Close ends the idle connections of a target.
func (t *Target) Close() {
	for _, further := range t.further {
		further.Close()
	}
	if t.proxy == nil {
		return
	}
	if tr, ok := t.proxy.Transport.(*http.Transport); ok {
		tr.CloseIdleConnections()
	}
}

// sign makes the header with the identity of a call for this target.
func (t *Target) sign(r *http.Request, c *Call, body []byte) string {
	return t.signed(t.identity(r, c, body))
}

// identity is that of a call for this target, bound to the request as it is sent there.
func (t *Target) identity(r *http.Request, c *Call, body []byte) httpkit.Identity {
	who := httpkit.Identity{
		Subject: c.Caller.Subject, Operator: c.Caller.Operator, RequestID: c.RequestID, Audience: string(t.name), IssuedAt: t.now().UnixMilli(),
	}.Bind(r, body)
	if c.Caller.IP.IsValid() {
		who.ClientIP = c.Caller.IP.String()
	}
	if k := c.Caller.Key; k != nil {
		who.MerchantID, who.KeyID, who.Mode, who.Permissions = k.MerchantID, k.ID, k.Mode, k.Effective
		if t.name == route.Wallets { // payments has them already, because payers fulfil requests without a key
			who.Networks = k.Merchant.Networks
		}
	}
	if p := c.Caller.Person; p != nil {
		who.Door, who.User, who.Person, who.Approver = p.Door, p.User, p.Name, c.Caller.Approver
	}
	return who
}

func (t *Target) signed(who httpkit.Identity) string {
	header, err := who.Sign(t.key)
	if err != nil { // strings and numbers always encode
		panic(err)
	}
	return header
}

// serve passes a call to the target. The body has been read already.
func (t *Target) serve(out *answer, r *http.Request, c *Call, body []byte) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		body = nil // not read any more
	}
	if answered, err := t.spread(out, r, c, body); answered {
		if err != nil {
			httpkit.WriteError(out, c.RequestID, err)
		}
		return
	}
	t, err := t.at(r.Context(), c)
	if err != nil {
		httpkit.WriteError(out, c.RequestID, err)
		return
	}
	if t.handler != nil {
		local := r.Clone(r.Context())
		local.Header = forwarded(r, c)
		local.Header.Set(httpkit.IdentityHeader, t.sign(local, c, body))
		local.Body = io.NopCloser(bytes.NewReader(body))
		local.ContentLength = int64(len(body))
		t.handler.ServeHTTP(out, local)
		return
	}
	if len(body) == 0 {
		r.Body, r.ContentLength = http.NoBody, 0
	} else {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	r.TransferEncoding = nil
	c.body = body
	t.proxy.ServeHTTP(out, r)
}

// rewrite turns a call into the request to the service.
func (t *Target) rewrite(pr *httputil.ProxyRequest) {
	c, ok := pr.In.Context().Value(callKey{}).(*Call)
	if !ok {
		panic("proxy: a request without a call")
	}
	pr.Out.URL.Scheme, pr.Out.URL.Host = t.url.Scheme, t.url.Host
	pr.Out.URL.ForceQuery = false
	pr.Out.Host = ""
	if c.Route.Browser {
		pr.Out.Host = pr.In.Host // which a console compares with the origin of a form
	}
	if pr.Out.GetBody = pr.In.GetBody; pr.In.GetBody != nil {
		if body, err := pr.In.GetBody(); err == nil { // from memory, so that it leaves in one write with the headers
			pr.Out.Body = body
		}
	}
	pr.Out.Header = forwarded(pr.In, c)
	pr.Out.Header[httpkit.IdentityHeader] = []string{t.sign(pr.Out, c, c.body)}
	otel.GetTextMapPropagator().Inject(pr.Out.Context(), propagation.HeaderCarrier(pr.Out.Header))
}

// passed are the headers of a caller that services see. It lists what passes, not what does not, so that no spelling of
// an identity header, no credential, no cookie and no hop-by-hop header passes.
var passed = []string{"Accept", "Accept-Language", "Content-Type", httpkit.IdempotencyHeader, "If-None-Match", "User-Agent"}

// browsing are the further headers that a console sees, besides its own cookies.
var browsing = []string{"Last-Event-Id", "Origin", "Referer", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-User"}

// withheld are the headers that never pass, not even on routes that pass all others.
var withheld = []string{
	"Authorization", "X-Api-Key", "X-Timestamp", "X-Signature", "Cookie", "Forwarded", "X-Real-Ip",
	"Traceparent", "Tracestate", "Baggage", "Accept-Encoding",
	"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Authorization",
	"Proxy-Authenticate", "Content-Length", "Expect",
}

// forwarded builds the headers of the request to the target.
func forwarded(in *http.Request, c *Call) http.Header {
	var h http.Header
	if c.Route.AnyHeaders {
		h = in.Header.Clone()
		for name := range h {
			plain := textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
			if strings.HasPrefix(plain, "X-Causeway-") || strings.HasPrefix(plain, "X-Forwarded-") {
				delete(h, name)
			}
		}
		for _, listed := range in.Header["Connection"] { // names of further hop-by-hop headers (RFC 9110 §7.6.1)
			for name := range strings.SplitSeq(listed, ",") {
				h.Del(strings.TrimSpace(name))
			}
		}
		for _, name := range withheld {
			delete(h, name)
		}
	} else {
		h = make(http.Header, len(passed)+3)
		names := passed
		if c.Route.Browser {
			names = slices.Concat(passed, browsing)
		}
		for _, name := range names {
			if v := in.Header[name]; len(v) > 0 {
				h[name] = v
			}
		}
		if kept := cookies(in, c.Route); kept != "" {
			h["Cookie"] = []string{kept}
		}
	}
	if approval := in.Header[passkey.Header]; c.Caller.Approver != nil && len(approval) == 1 {
		h[passkey.Header] = approval
	}
	if len(h["User-Agent"]) == 0 {
		h["User-Agent"] = []string{""} // else net/http sends its own name
	}
	h[httpkit.RequestIDHeader] = []string{c.RequestID}
	return h
}

// doors are the consoles by upstream.
var doors = map[route.Upstream]person.Door{route.Console: person.Merchant, route.ConsoleOperators: person.Operator}

// cookies are those of a request that its console sees: its own, and the language of the reader. Both consoles may have
// one host, and neither may have the sessions of the other.
func cookies(in *http.Request, to *route.Route) string {
	door, ok := doors[to.Upstream]
	if !ok || !to.Browser {
		return ""
	}
	var kept []string
	for _, line := range in.Header["Cookie"] {
		for one := range strings.SplitSeq(line, ";") {
			name, _, _ := strings.Cut(one, "=")
			if name = strings.TrimSpace(name); name == "language" || door.Owns(name) {
				kept = append(kept, strings.TrimSpace(one))
			}
		}
	}
	return strings.Join(kept, "; ")
}

// The answers when a service does not.
var (
	errDown = fault.New(fault.Unavailable, "upstream_unavailable",
		"This part of the service is not available right now. Try again shortly.").After(2 * time.Second)
	errFailed = fault.New(fault.Upstream, "upstream_failed",
		"The service broke off before it answered. Try again with the same Idempotency-Key.").After(time.Second)
	errTimeout = fault.New(fault.Timeout, "upstream_timeout",
		"The service took too long. Try again with the same Idempotency-Key.").After(2 * time.Second)
)

// errOwn marks an answer that shows a fault between the service and the gateway.
var errOwn = errors.New("the service refused the gateway itself, or its answer is not in the error shape")

// inspect checks an answer before it is passed on. A service that refuses the gateway's own identity, or that fails
// with something other than JSON, has not answered the caller.
func (t *Target) inspect(res *http.Response) error {
	c, ok := res.Request.Context().Value(callKey{}).(*Call)
	browser := ok && c.Route.Browser
	if res.StatusCode >= http.StatusBadRequest && !browser && res.Request.Method != http.MethodHead {
		media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
		if err != nil || media != "application/json" {
			return fmt.Errorf("status %d: %w", res.StatusCode, errOwn)
		}
	}
	if res.StatusCode == http.StatusUnauthorized {
		// The other routes require a credential of their own, and answer 401 without it.
		if ok && !c.Route.AnyHeaders && (!c.Route.Names || c.Route.Access != route.Open) {
			return fmt.Errorf("status %d: %w", res.StatusCode, errOwn)
		}
	}
	if ok {
		c.closed = isClosed(res)
	}
	for name := range res.Header {
		if strings.HasPrefix(name, "X-Causeway-") || strings.HasPrefix(name, "Access-Control-") {
			delete(res.Header, name)
		}
	}
	res.Header.Del("Server")
	res.Header.Del(httpkit.RequestIDHeader) // answer.stamp sets it
	return nil
}

// isClosed reports whether the service refused because somebody has closed what the call needs.
func isClosed(res *http.Response) bool {
	return res.StatusCode == http.StatusServiceUnavailable && res.Header.Get(httpkit.ClosedHeader) != ""
}

// failed answers a call whose service did not.
func (t *Target) failed(w http.ResponseWriter, r *http.Request, err error) {
	c, ok := r.Context().Value(callKey{}).(*Call)
	if !ok {
		panic(err)
	}
	if errors.Is(err, context.Canceled) {
		t.metrics.upstreamFailed(t.name, "caller_gone")
		panic(http.ErrAbortHandler) // the caller has disconnected
	}
	answer, reason := reasonOf(err)
	t.metrics.upstreamFailed(t.name, reason)
	t.spare.Log(c.lines(r.Context()), slog.LevelWarn, reason, "upstream request failed", "route", c.Route.Name(), "reason", reason, "err", err)
	httpkit.WriteError(w, c.RequestID, answer)
}

// reasonOf maps a service's failure to the caller's error and the reason that is counted.
func reasonOf(err error) (answer *fault.Error, reason string) {
	var dial *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errTimeout, "timeout"
	case errors.As(err, &dial) && dial.Op == "dial":
		return errDown, "down"
	case isTimeout(err):
		return errTimeout, "timeout"
	}
	return errFailed, "failed"
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// buffers lends the buffers that response bodies are copied through.
type buffers struct{}

const bufferBytes = 16 << 10

var bufferPool = sync.Pool{New: func() any { b := make([]byte, bufferBytes); return &b }}

// Get implements httputil.BufferPool.
func (buffers) Get() []byte {
	b, ok := bufferPool.Get().(*[]byte)
	if !ok {
		return make([]byte, bufferBytes)
	}
	return *b
}

// Put implements httputil.BufferPool.
func (buffers) Put(b []byte) { bufferPool.Put(&b) }
