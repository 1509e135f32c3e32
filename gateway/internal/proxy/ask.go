package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/shard"
)

// Reply is the answer of a service to Ask.
type Reply struct {
	Status     int
	Body       []byte
	RetryAfter string // the header, as it came
	Header     http.Header
	MerchantID string // whose object the answer is about, where the service says so to the gateway alone
}

// errNoCall is a programming mistake: Ask outside of any call.
var errNoCall = errors.New("proxy: ask outside of a call")

// Ask calls the service for a handler of the gateway that serves the call of ctx, in the name of that call's caller. It
// takes no further slot and no further token of a rate limit, because the call has taken both. An error is a
// *fault.Error that says the service did not answer.
func (t *Target) Ask(ctx context.Context, method, path string, body []byte) (Reply, error) {
	return t.ask(ctx, question{method: method, path: path, body: body})
}

// AskOnce is Ask for a POST under an Idempotency-Key: a repeated one gets the first answer again.
func (t *Target) AskOnce(ctx context.Context, path, key string, body []byte) (Reply, error) {
	return t.ask(ctx, question{method: http.MethodPost, path: path, key: key, body: body})
}

// question is what the gateway asks a service within a call.
type question struct {
	method, path, key string // the last is the Idempotency-Key
	body              []byte
	elsewhere         bool // another shard makes the object
}

func (t *Target) ask(ctx context.Context, q question) (Reply, error) {
	c, ok := ctx.Value(callKey{}).(*Call)
	if !ok || t.proxy == nil {
		return Reply{}, errNoCall
	}
	t, fail := t.at(ctx, c)
	if fail != nil {
		return Reply{}, fail
	}
	return t.exchange(ctx, c, q)
}

// exchange asks this very target, whichever shard the call belongs to.
func (t *Target) exchange(ctx context.Context, c *Call, q question) (Reply, error) {
	if !strings.HasPrefix(q.path, "/") { // it would name another host
		return Reply{}, fmt.Errorf("make a request: the path %q does not begin with a slash", q.path)
	}
	target := t.url.Scheme + "://" + t.url.Host + q.path
	r, err := http.NewRequestWithContext(ctx, q.method, target, bytes.NewReader(q.body)) //nolint:gosec // the host is the service's
	if err != nil {
		return Reply{}, fmt.Errorf("make a request: %w", err)
	}
	r.Header = http.Header{
		"Accept": {"application/json"}, "User-Agent": {""}, httpkit.RequestIDHeader: {c.RequestID},
	}
	if q.key != "" {
		r.Header.Set(httpkit.IdempotencyHeader, q.key)
	}
	who := t.identity(r, c, q.body)
	who.Elsewhere = q.elsewhere
	r.Header.Set(httpkit.IdentityHeader, t.signed(who))
	if len(q.body) > 0 {
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
	return Reply{
		Status: res.StatusCode, Body: said, RetryAfter: res.Header.Get("Retry-After"), Header: res.Header, MerchantID: res.Header.Get(httpkit.MerchantHeader),
	}, nil
}

// operated is the identity of an operator who calls without a request of somebody.
func operated(operator string) httpkit.Identity {
	return httpkit.Identity{Subject: httpkit.Operator, Operator: operator}
}

// Tell sends a message of the gateway itself to the service of a shard, in the name of an operator. An error says that
// the service did not accept it.
func (t *Target) Tell(ctx context.Context, to shard.Code, path string, body []byte, operator string) error {
	_, err := t.call(ctx, to, operated(operator), http.MethodPost, path, body)
	return err
}

// call calls the service of a shard outside of any call of somebody, and returns the body of a 200.
func (t *Target) call(ctx context.Context, to shard.Code, who httpkit.Identity, method, path string, body []byte) ([]byte, error) {
	if t = t.of(to); t == nil {
		return nil, errNoShard
	}
	r, err := http.NewRequestWithContext(ctx, method, t.url.Scheme+"://"+t.url.Host+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	who.RequestID, who.Audience, who.IssuedAt = id.New(id.Request, t.now()), string(t.name), t.now().UnixMilli()
	header, err := who.Bind(r, body).Sign(t.key)
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Accept": {"application/json"}, "User-Agent": {""}, "Content-Type": {"application/json"},
		httpkit.RequestIDHeader: {who.RequestID}, httpkit.IdentityHeader: {header},
	}
	res, err := t.proxy.Transport.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", t.name, err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(io.LimitReader(res.Body, heldMax))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %s: %s", res.Status, said[:min(len(said), answerShown)])
	}
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", t.name, err)
	}
	return said, nil
}

// answerShown is how much of a refusal a log shows.
const answerShown = 1 << 10

// silent logs and counts a request without an answer and returns the caller's error.
func (t *Target) silent(ctx context.Context, c *Call, err error) *fault.Error {
	answer, reason := reasonOf(err)
	t.metrics.upstreamFailed(t.name, reason)
	t.log.WarnContext(c.lines(ctx), "upstream request failed", "route", c.Route.Name(), "reason", reason, "err", err)
	return answer
}
