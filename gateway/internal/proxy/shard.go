package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
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

// of is the service of a shard, nil where there is no such shard.
func (t *Target) of(in shard.Code) *Target {
	if in.Home() == shard.First {
		return t
	}
	return t.further[in]
}

// Has reports whether there is a shard with that code.
func (t *Target) Has(in shard.Code) bool { return t.of(in) != nil }

// choose reads the shard that a call names. A list of a merchant with several is never that of one of them unnamed:
// half of it would be taken for all.
func (t *Target) choose(r *http.Request, c *Call) error {
	if !c.Route.Chooses {
		return nil
	}
	text := r.URL.Query().Get(route.ShardParameter)
	k := c.Caller.Key
	switch in, err := shard.Parse(text); {
	case text == "" && k.Moved():
		return fault.New(fault.Invalid, "shard_missing", "Your payments are in several shards. Name one: shard=%s.", listed(k.Shards()))
	case text == "":
	case err != nil || t.of(in) == nil || (k != nil && !slices.Contains(k.Shards(), in)):
		return fault.New(fault.Invalid, "shard_unknown", "There is no such shard.")
	default:
		c.shard = in
	}
	return nil
}

func listed(shards []shard.Code) string {
	var texts []string
	for _, in := range shards {
		texts = append(texts, string(in))
	}
	return strings.Join(texts, ", ")
}

// at is the target of the shard that a call belongs to: that which the caller names, else of the object that the call
// names, else of its key's merchant, else the first. A name with the code of no shard is of no object. The target of
// the merchant, or the first, says so as of any unknown name. A merchant whose shard is missing in the table gets no
// other.
func (t *Target) at(ctx context.Context, c *Call) (*Target, *fault.Error) {
	if t.further == nil {
		return t, nil
	}
	if c.shard != "" {
		return t.present(ctx, c, c.shard)
	}
	if in, ok := id.ShardOf(c.object); ok {
		if found := t.of(in); found != nil {
			return found, nil
		}
	}
	if c.Caller.Key == nil {
		return t, nil
	}
	return t.present(ctx, c, c.Caller.Key.Shard)
}

// present is the target of a shard that must be in the table.
func (t *Target) present(ctx context.Context, c *Call, in shard.Code) (*Target, *fault.Error) {
	if found := t.of(in); found != nil {
		return found, nil
	}
	t.metrics.upstreamFailed(t.name, "down")
	t.spare.Log(c.lines(ctx), slog.LevelError, "shard", "upstream request failed", "route", c.Route.Name(), "shard", string(in),
		"reason", "down", "err", errNoShard)
	return nil, errDown
}

var errWhole = fault.New(fault.Conflict, "merchant_in_shards",
	"Your payments are in several shards, which cannot have this setting. Ask the operator.")

// spread serves what concerns all shards of a merchant whose new payments have moved. It reports whether it answered;
// otherwise the call goes on to one of them.
func (t *Target) spread(out *answer, r *http.Request, c *Call, body []byte) (answered bool, err error) {
	switch {
	case t.further == nil || !c.Caller.Key.Moved():
		return false, nil
	case c.Route.Whole:
		return true, errWhole
	case c.Route.Makes:
		c.shard = c.Caller.Key.Newest()
		return t.earlier(out, r, c, body)
	case c.Route.Merges != nil:
		return true, t.merge(out, r, c)
	case c.Route.Carries:
		return true, t.carried(out, r, c, body)
	}
	return false, nil
}

// earlier asks the merchant's earlier shards before the newest one makes a payment. One that has the answer of the
// Idempotency-Key, or a payment with the merchant's reference, answers for all. The others give both away
// (docs/decisions/0025-shards.md). Without their answer no payment is made.
func (t *Target) earlier(out *answer, r *http.Request, c *Call, body []byte) (answered bool, err error) {
	key := r.Header.Get(httpkit.IdempotencyHeader)
	for _, in := range c.Caller.Key.Earlier(member(body, "merchantReference") != "", key != "") {
		found, fail := t.present(r.Context(), c, in)
		if fail != nil {
			return true, fail
		}
		reply, err := found.exchange(r.Context(), c, question{method: http.MethodPost, path: r.URL.RequestURI(), key: key, body: body, elsewhere: true})
		if err != nil {
			return true, err
		}
		if reply.Status != http.StatusNoContent {
			reply.passOn(out)
			return true, nil
		}
	}
	return false, nil
}

// page is what merge reads of a list.
type page struct {
	Limit      int     `json:"limit"`
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

// merge answers a page of a list over the merchant's shards: each gives a page from the same cursor, and the newest
// objects of all are the page. Ids sort by time whatever their shard, so no object is on two pages or on none.
func (t *Target) merge(out *answer, r *http.Request, c *Call) error {
	type object struct {
		id  string
		raw json.RawMessage
	}
	var all []object
	var whole page
	for _, in := range c.Caller.Key.Shards() {
		found, fail := t.present(r.Context(), c, in)
		if fail != nil {
			return fail
		}
		reply, err := found.exchange(r.Context(), c, question{method: http.MethodGet, path: r.URL.RequestURI(), elsewhere: true})
		if err != nil {
			return err
		}
		if reply.Status != http.StatusOK {
			reply.passOn(out)
			return nil
		}
		var members map[string]json.RawMessage
		var part page
		var objects []json.RawMessage
		var ids []string
		err = json.Unmarshal(reply.Body, &members)
		if members["ids"] != nil {
			err = errors.Join(err, json.Unmarshal(members["ids"], &ids))
		}
		if err = errors.Join(err, json.Unmarshal(members["pagination"], &part), json.Unmarshal(members[c.Route.Merges.Member], &objects)); err != nil {
			return errFailed.Because(fmt.Errorf("read the list of the shard %s: %w", in, err))
		}
		whole.Limit, whole.HasMore = part.Limit, whole.HasMore || part.HasMore
		for i, raw := range objects {
			var named struct {
				ID string `json:"id"`
			}
			if i < len(ids) { // the objects themselves do not show theirs
				named.ID = ids[i]
			} else if json.Unmarshal(raw, &named) != nil || named.ID == "" {
				return errFailed.Because(fmt.Errorf("read the list of the shard %s: an object without an id", in))
			}
			all = append(all, object{named.ID, raw})
		}
	}
	slices.SortFunc(all, func(a, b object) int { return cmp.Compare(b.id, a.id) })
	if len(all) > whole.Limit {
		all, whole.HasMore = all[:whole.Limit], true
	}
	if whole.HasMore && len(all) > 0 {
		next := c.Route.Merges.Cursor(all[len(all)-1].id)
		whole.NextCursor = &next
	}
	raws := make([][]byte, len(all))
	for i, o := range all {
		raws[i] = o.raw
	}
	pagination, err := json.Marshal(whole)
	if err != nil {
		return fmt.Errorf("encode a page: %w", err)
	}
	text := slices.Concat([]byte(`{"success":true,"`+c.Route.Merges.Member+`":[`), bytes.Join(raws, []byte(",")), []byte(`],"pagination":`), pagination, []byte("}"))
	Reply{Status: http.StatusOK, Body: text, Header: http.Header{"Content-Type": {"application/json"}}}.passOn(out)
	return nil
}

// carried answers a call that makes a signing secret once all shards of the merchant have it. If one does not, a
// repeated call with the same Idempotency-Key brings it there.
func (t *Target) carried(out *answer, r *http.Request, c *Call, body []byte) error {
	k := c.Caller.Key
	home, fail := t.present(r.Context(), c, k.Shard)
	if fail != nil {
		return fail
	}
	reply, err := home.exchange(r.Context(), c, question{
		method: r.Method, path: r.URL.RequestURI(), key: r.Header.Get(httpkit.IdempotencyHeader), body: body,
	})
	if err == nil && reply.Status == http.StatusOK {
		if err = t.CarrySecrets(r.Context(), Shop{k.Shard, k.MerchantID, k.Mode}, k.Moves...); err != nil {
			err = errFailed.Because(err)
		}
	}
	if err != nil {
		return err
	}
	reply.passOn(out)
	return nil
}

// Shop is a merchant in a mode and a shard.
type Shop struct {
	Shard      shard.Code
	MerchantID string
	Mode       tenant.Mode
}

// CarrySecrets makes the signing secrets of a merchant in some shards those that it has in its home.
func (t *Target) CarrySecrets(ctx context.Context, home Shop, to ...shard.Code) error {
	const path = "/v1/admin/merchants/secrets"
	var kept struct {
		Secrets []json.RawMessage `json:"secrets"`
	}
	query := "?merchantId=" + url.QueryEscape(home.MerchantID) + "&mode=" + string(home.Mode)
	said, err := t.call(ctx, home.Shard, operated("gateway"), http.MethodGet, path+query, nil)
	if err == nil {
		err = json.Unmarshal(said, &kept)
	}
	if err != nil {
		return fmt.Errorf("read the signing secrets in the shard %s: %w", home.Shard.Home(), err)
	}
	for _, in := range to {
		for _, secret := range kept.Secrets {
			if _, err := t.call(ctx, in, operated("gateway"), http.MethodPost, path, secret); err != nil {
				return fmt.Errorf("bring a signing secret to the shard %s: %w", in, err)
			}
		}
	}
	return nil
}

// Read reads a path of a service of a shard in the name of a merchant, for a command.
func (t *Target) Read(ctx context.Context, of Shop, path string) ([]byte, error) {
	who := httpkit.Identity{
		Subject: httpkit.Merchant, MerchantID: of.MerchantID, Mode: of.Mode, Permissions: apikey.Compile([]string{"*"}).List(),
	}
	return t.call(ctx, of.Shard, who, http.MethodGet, path, nil)
}

// Alone lets a command call the service of a target, outside of a proxy.
func (t *Target) Alone(name route.Upstream, log *slog.Logger) *Target {
	t.prepare(name, log, nil, time.Now)
	for _, further := range t.further {
		further.prepare(name, log, nil, time.Now)
	}
	return t
}

// passOn answers a call with the reply of a service.
func (r Reply) passOn(out *answer) {
	for _, name := range []string{"Content-Type", "Location", "Link", "Retry-After", idempotency.ReplayedHeader} {
		if values := r.Header.Values(name); len(values) > 0 {
			out.Header()[name] = values
		}
	}
	out.WriteHeader(r.Status)
	_, _ = out.Write(r.Body) // the caller may be gone
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
