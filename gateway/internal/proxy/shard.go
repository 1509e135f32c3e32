package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/shard"
)

// Sharded makes the target of a service that every shard has for itself, out of that of the first shard and those of
// the others.
func Sharded(first *Target, further map[shard.Code]*Target) *Target {
	if further == nil {
		further = map[shard.Code]*Target{}
	}
	return &Target{url: first.url, handler: first.handler, key: first.key, further: further}
}

var errNoShard = errors.New("the merchant's shard is not in SHARDS")

// at is the target of the shard that a call belongs to: of the object that it names, else of its key's merchant, else
// the first. A name with the code of no shard is of no object. The target of the merchant, or the first, says so as of
// any unknown name. A merchant whose shard is missing in the table gets no other.
func (t *Target) at(ctx context.Context, c *Call) (*Target, *fault.Error) {
	if t.further == nil {
		return t, nil
	}
	if in, ok := id.ShardOf(c.object); ok {
		if in == shard.First {
			return t, nil
		}
		if found := t.further[in]; found != nil {
			return found, nil
		}
	}
	if c.Caller.Key == nil || c.Caller.Key.Shard.Home() == shard.First {
		return t, nil
	}
	if found := t.further[c.Caller.Key.Shard]; found != nil {
		return found, nil
	}
	t.metrics.upstreamFailed(t.name, "down")
	t.spare.Log(c.lines(ctx), slog.LevelError, "shard", "upstream request failed", "route", c.Route.Name(), "shard", string(c.Caller.Key.Shard),
		"reason", "down", "err", errNoShard)
	return nil, errDown
}

// member is the text of a member of a body, "" where the body has none: then the service refuses the body, or needs
// none.
func member(body []byte, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &members) != nil || json.Unmarshal(members[name], &text) != nil {
		return ""
	}
	return text
}
