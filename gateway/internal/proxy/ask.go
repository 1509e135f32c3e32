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
	"causeway.internal/libs/id"
	"causeway.internal/libs/shard"
)

// Reply is the answer of a service to Ask.
type Reply struct {
	Status     int
	Body       []byte
	RetryAfter string // the header, as it came
	MerchantID string // whose object the answer is about, where the service says so to the gateway alone
}

// errNoCall is a programming mistake: Ask outside of any call.
var errNoCall = errors.New("proxy: ask outside of a call")

// Ask calls the service for a handler of the gateway that serves the call of ctx, in the name of that call's caller. It
// takes no further slot and no further token of a rate limit, because the call has taken both. An error is a
// *fault.Error that says the service did not answer.
func (t *Target) Ask(ctx context.Context, method, path string, body []byte) (Reply, error) {
	return t.ask(ctx, method, path, "", body)
}

// AskOnce is Ask for a POST under an Idempotency-Key: a repeated one gets the first answer again.
func (t *Target) AskOnce(ctx context.Context, path, key string, body []byte) (Reply, error) {
	return t.ask(ctx, http.MethodPost, path, key, body)
}

func (t *Target) ask(ctx context.Context, method, path, key string, body []byte) (Reply, error) {
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
		"Accept": {"application/json"}, "User-Agent": {""}, httpkit.RequestIDHeader: {c.RequestID},
	}
	if key != "" {
		r.Header.Set(httpkit.IdempotencyHeader, key)
	}
	r.Header.Set(httpkit.IdentityHeader, t.sign(r, c, body))
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
	return Reply{Status: res.StatusCode, Body: said, RetryAfter: res.Header.Get("Retry-After"), MerchantID: res.Header.Get(httpkit.MerchantHeader)}, nil
}

// Tell sends a message of the gateway itself to the service of a shard, in the name of an operator. An error says that
// the service did not accept it.
func (t *Target) Tell(ctx context.Context, to shard.Code, path string, body []byte, operator string) error {
	if to.Home() != shard.First {
		if t = t.further[to]; t == nil {
			return errNoShard
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.Scheme+"://"+t.url.Host+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	who := httpkit.Identity{
		Subject: httpkit.Operator, Operator: operator, RequestID: id.New(id.Request, t.now()), Audience: string(t.name), IssuedAt: t.now().UnixMilli(),
	}
	header, err := who.Bind(r, body).Sign(t.key)
	if err != nil {
		return err
	}
	r.Header = http.Header{
		"Accept": {"application/json"}, "User-Agent": {""}, "Content-Type": {"application/json"},
		httpkit.RequestIDHeader: {who.RequestID}, httpkit.IdentityHeader: {header},
	}
	res, err := t.proxy.Transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("call %s: %w", t.name, err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(io.LimitReader(res.Body, answerShown))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %s: %s", res.Status, said)
	}
	if err != nil {
		return fmt.Errorf("call %s: %w", t.name, err)
	}
	return nil
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
