package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
)

// Reply is the answer of a service to Ask.
type Reply struct {
	Status     int
	Body       []byte
	RetryAfter string // the header, as it came
}

// errNoCall is a programming mistake: Ask outside of any call.
var errNoCall = errors.New("proxy: ask outside of a call")

// Ask calls the service for a handler of the gateway that serves the call of ctx, in the name of that call's caller. It
// takes no further slot and no further token of a rate limit, because the call has taken both. An error is a
// *fault.Error that says the service did not answer.
func (t *Target) Ask(ctx context.Context, method, path string, body []byte) (Reply, error) {
	c, ok := ctx.Value(callKey{}).(*Call)
	if !ok || t.proxy == nil {
		return Reply{}, errNoCall
	}
	t, fail := t.at(ctx, c)
	if fail != nil {
		return Reply{}, fail
	}
	r, err := http.NewRequestWithContext(ctx, method, t.url.Scheme+"://"+t.url.Host+path, bytes.NewReader(body))
	if err != nil {
		return Reply{}, fmt.Errorf("make a request: %w", err)
	}
	r.Header = http.Header{
		"Accept": {"application/json"}, "User-Agent": {""}, httpkit.RequestIDHeader: {c.RequestID}, httpkit.IdentityHeader: {t.sign(r, c, body)},
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := t.proxy.Transport.RoundTrip(r)
	if err != nil {
		return Reply{}, t.silent(ctx, c, err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(io.LimitReader(res.Body, heldMax+1))
	if err != nil {
		return Reply{}, t.silent(ctx, c, err)
	}
	if len(said) > heldMax || res.StatusCode == http.StatusUnauthorized {
		return Reply{}, t.silent(ctx, c, errOwn)
	}
	c.closed = isClosed(res)
	return Reply{Status: res.StatusCode, Body: said, RetryAfter: res.Header.Get("Retry-After")}, nil
}

// silent logs and counts a request without an answer and returns the caller's error.
func (t *Target) silent(ctx context.Context, c *Call, err error) *fault.Error {
	answer, reason := reasonOf(err)
	t.metrics.upstreamFailed(t.name, reason)
	t.log.WarnContext(c.lines(ctx), "upstream request failed", "route", c.Route.Name(), "reason", reason, "err", err)
	return answer
}
