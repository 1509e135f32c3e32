// Package httpapi holds the routes that the gateway answers itself: merchants, keys and the audit, for operators, and
// for merchants about themselves. It translates between JSON and the registries, which hold the rules.
package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/gateway/internal/operator"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
)

// Answers finds the stored answers of earlier requests.
type Answers interface {
	Earlier(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error)
	Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, error)
}

// Audit reads the audit.
type Audit interface {
	Acts(ctx context.Context, f audit.Filter) (acts []audit.Record, more bool, err error)
}

// API holds the dependencies of the routes.
type API struct {
	Keys      *apikey.Registry
	Merchants *merchant.Registry
	Answers   Answers
	Audit     Audit
	Tokens    *operator.Registry
	Passkeys  *operator.Passkeys
	Two       bool // acts on live keys and operators' tokens take two operators
	Requests  Requests
	Payments  Ask
	Wallets   Ask
	Consoles  map[string]Ask // those that there are, by name
	Ring      *keyring.Ring
	Caller    func(ctx context.Context) *apikey.Key // the key that authenticated a call
	Log       *slog.Logger
	Processes func(ctx context.Context) (presence.Answer, error)
}

// Register adds the routes to a server.
func (a *API) Register(s *httpkit.Server) {
	httpkit.Handle(s, "GET /v1/me", httpkit.ForMerchants, a.me)
	httpkit.Handle(s, "GET /v1/balances", httpkit.ForMerchants, a.balances)
	httpkit.Handle(s, "GET /v1/admin/audit", httpkit.ForOperators, a.acts)
	httpkit.Handle(s, "PATCH /v1/admin/keys/{id}", httpkit.ForOperators, a.change)
	httpkit.Handle(s, "POST /v1/admin/keys/{id}/rotate", httpkit.ForOperators, a.rotate)
	httpkit.Handle(s, "POST /v1/admin/keys", httpkit.ForOperators, a.create)
	httpkit.Handle(s, "GET /v1/admin/keys", httpkit.ForOperators, a.list)
	httpkit.Handle(s, "GET /v1/admin/keys/{id}", httpkit.ForOperators, a.get)
	httpkit.Handle(s, "DELETE /v1/admin/keys/{id}", httpkit.ForOperators, a.revoke)
	httpkit.Handle(s, "GET /v1/admin/operators", httpkit.ForOperators, a.listTokens)
	httpkit.Handle(s, "POST /v1/admin/operators", httpkit.ForOperators, a.makeToken)
	httpkit.Handle(s, "POST /v1/admin/operators/{id}/rotate", httpkit.ForOperators, a.rotateToken)
	httpkit.Handle(s, "DELETE /v1/admin/operators/{id}", httpkit.ForOperators, a.revokeToken)
	httpkit.Handle(s, "GET /v1/admin/health/gateway", httpkit.ForOperators, func(ctx context.Context, _ healthRequest) (presence.Answer, error) {
		return a.Processes(ctx)
	})
	a.registerConsoles(s)
	a.registerPasskeys(s)
	a.registerMerchants(s)
	a.registerOwnKeys(s)
}

// healthRequest asks for the processes of the gateway.
type healthRequest struct{}

// Read implements httpkit.Reader.
func (*healthRequest) Read(*httpkit.Input) {}

// KeyView is a key as operators see it. Only the answer to its creation has Secret.
type KeyView struct {
	ID          int64       `json:"id"`
	PublicKey   string      `json:"publicKey"`
	Secret      string      `json:"secret,omitempty"`
	MerchantID  string      `json:"merchantId"`
	Name        string      `json:"name"`
	Mode        tenant.Mode `json:"mode"`
	Permissions []string    `json:"permissions"`
	Tier        string      `json:"tier"`
	CreatedAt   *string     `json:"createdAt"`
	ExpiresAt   *string     `json:"expiresAt"`
	*KeyMoreView
}

// KeyMoreView has the fields that reading a key adds to the answer to its creation (docs/api-contract.md#keys).
type KeyMoreView struct {
	Kind         string   `json:"kind,omitempty"` // of a console key
	AllowedCIDRs []string `json:"allowedCidrs"`
	RevokedAt    *string  `json:"revokedAt"`
	LastUsedAt   *string  `json:"lastUsedAt"`
}

// View shows a new key with its secret.
func View(i apikey.Issued) KeyView {
	v := brief(i.Key)
	v.Secret = i.Secret
	return v
}

func brief(k apikey.Key) KeyView {
	return KeyView{
		ID: k.ID, PublicKey: k.PublicKey, MerchantID: k.MerchantID, Name: k.Name, Mode: k.Mode,
		Permissions: k.Permissions, Tier: string(k.Tier), CreatedAt: timestamp.OrNull(k.CreatedAt), ExpiresAt: timestamp.OrNull(k.ExpiresAt),
	}
}

func whole(k apikey.Key) KeyView {
	v := brief(k)
	v.KeyMoreView = &KeyMoreView{AllowedCIDRs: make([]string, 0, len(k.AllowedCIDRs)), RevokedAt: timestamp.OrNull(k.RevokedAt), LastUsedAt: timestamp.OrNull(k.LastUsedAt)}
	if k.Kind == apikey.KindConsole {
		v.Kind = k.Kind
	}
	for _, p := range k.AllowedCIDRs {
		v.AllowedCIDRs = append(v.AllowedCIDRs, p.String())
	}
	return v
}

// createRequest is the body of POST /v1/admin/keys.
type createRequest struct{ order apikey.Order }

// Read implements httpkit.Reader. It reports unreadable fields; the registry reports missing ones and those out of
// range.
func (c *createRequest) Read(in *httpkit.Input) {
	b := in.Body()
	c.order = orderOf(b)
	c.order.MerchantID, c.order.Mode, c.order.Tier = b.RequiredText("merchantId", 50), tenant.Mode(b.RequiredText("mode", 10)), apikey.Tier(b.Text("tier", 20))
	c.order.Check(&in.Problems, time.Now())
}

// orderOf reads the members of a new key that operators and merchants set.
func orderOf(b *httpkit.Body) apikey.Order {
	o := apikey.Order{Name: b.RequiredText("name", 100), Permissions: b.Texts("permissions", 32, 50), AllowedCIDRs: networks(b)}
	if text := b.Text("expiresAt", 40); text != "" {
		o.ExpiresAt = moment(b, text)
	}
	return o
}

func networks(b *httpkit.Body) (out []netip.Prefix) {
	for i, text := range b.Texts("allowedCidrs", 64, 50) {
		p, err := identity.ParsePrefix(text)
		if err != nil {
			b.Problem("allowedCidrs["+strconv.Itoa(i)+"]", "must be a network such as 203.0.113.0/24, or an address")
			continue
		}
		out = append(out, p)
	}
	return out
}

func moment(b *httpkit.Body, text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		b.Problem("expiresAt", "must be an ISO 8601 time such as 2027-01-31T00:00:00.000Z")
	}
	return at
}

type keyAnswer struct {
	Key KeyView `json:"key"`
}

func (a *API) create(ctx context.Context, r createRequest) (idempotency.Answer, error) {
	second := func(by *audit.Entry, once idempotency.Key) (*idempotency.Answer, error) {
		if r.order.Mode != tenant.Live {
			return nil, nil
		}
		if err := a.Keys.MayHaveKey(ctx, r.order.MerchantID, r.order.Mode); err != nil { // before anybody asks for another operator
			return nil, err
		}
		return a.seconded(ctx, by, approval.Request{Action: makeKey}, r.order, once)
	}
	return a.issue(ctx, http.StatusCreated, func(i apikey.Issued) any { return keyAnswer{View(i)} }, second,
		func(by audit.Entry, once apikey.Once) (apikey.Issued, error) {
			return a.Keys.Create(ctx, r.order, by, once)
		})
}

// issue answers with a new secret, once per Idempotency-Key. show makes the answer, also for a key without its secret.
// second asks for a second operator if the act takes two.
func (a *API) issue(ctx context.Context, status int, show func(apikey.Issued) any,
	second func(by *audit.Entry, once idempotency.Key) (*idempotency.Answer, error), act func(by audit.Entry, once apikey.Once) (apikey.Issued, error),
) (idempotency.Answer, error) {
	once := apikey.Once{Key: httpkit.From(ctx).Key()}
	earlier, found, err := a.Answers.Earlier(ctx, once.Key)
	if err != nil {
		return idempotency.Answer{}, err
	}
	if found {
		return a.again(earlier, once.Key), nil
	}
	once.Answer = func(i apikey.Issued) (idempotency.Answer, error) { return a.keep(i, status, show, once.Key) }
	by := byCaller(ctx)
	if waits, err := second(&by, once.Key); err != nil || waits != nil {
		return orNone(waits), err
	}
	issued, err := act(by, once)
	if idempotency.IsTaken(err) {
		if earlier, err = a.Answers.Replay(ctx, once.Key); err != nil {
			return idempotency.Answer{}, err
		}
		return a.again(earlier, once.Key), nil
	}
	if err != nil {
		return idempotency.Answer{}, err
	}
	a.tell(ctx, "key", issued.Key.ID)
	body, err := httpkit.Success(show(issued))
	return idempotency.Answer{Status: status, Body: body}, err
}

// keep makes the two stored forms of an answer: one without the secret, and one with it, which is sealed and lasts as
// long as the answer may be repeated.
func (a *API) keep(i apikey.Issued, status int, show func(apikey.Issued) any, k idempotency.Key) (idempotency.Answer, error) {
	with, err := httpkit.Success(show(i))
	if err != nil {
		return idempotency.Answer{}, err
	}
	without, err := httpkit.Success(show(apikey.Issued{Key: i.Key}))
	if err != nil {
		return idempotency.Answer{}, err
	}
	return idempotency.Answer{Status: status, Body: without, Secret: a.Ring.Seal(with, place(k))}, nil
}

// again returns a stored answer, with its secret as long as that is stored.
func (a *API) again(stored idempotency.Answer, k idempotency.Key) idempotency.Answer {
	if len(stored.Secret) > 0 {
		if plain, err := a.Ring.Open(stored.Secret, place(k)); err == nil {
			stored.Body = plain
		}
	}
	return stored
}

func place(k idempotency.Key) string { return "answer/" + k.Scope + "/" + k.Key }

type listRequest struct{ filter apikey.Filter }

// Read implements httpkit.Reader.
func (l *listRequest) Read(in *httpkit.Input) {
	l.filter = apikey.Filter{
		MerchantID: in.QueryText("merchantId", 50), Mode: tenant.Mode(in.QueryOneOf("mode", "live", "test")), Limit: in.QueryInt("limit", 50, 1, 100),
	}
	if text := in.Query("cursor"); text != "" {
		before, err := readCursor(text)
		if err != nil {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		l.filter.Before = before
	}
}

type pagination struct {
	Limit      int     `json:"limit"`
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

type listAnswer struct {
	Keys       []KeyView  `json:"keys"`
	Pagination pagination `json:"pagination"`
}

func (a *API) list(ctx context.Context, r listRequest) (listAnswer, error) {
	keys, more, err := a.Keys.List(ctx, r.filter)
	if err != nil {
		return listAnswer{}, err
	}
	out := listAnswer{Keys: make([]KeyView, 0, len(keys)), Pagination: pagination{Limit: r.filter.Limit, HasMore: more}}
	for _, k := range keys {
		out.Keys = append(out.Keys, whole(k))
	}
	if more {
		c := cursor(keys[len(keys)-1].ID)
		out.Pagination.NextCursor = &c
	}
	return out, nil
}

func cursor(id int64) string {
	return base64.RawURLEncoding.EncodeToString(strconv.AppendInt([]byte("k"), id, 36))
}

var errCursor = errors.New("not a cursor")

func readCursor(text string) (int64, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 2 || raw[0] != 'k' {
		return 0, errCursor
	}
	id, err := strconv.ParseInt(string(raw[1:]), 36, 64)
	if err != nil || id <= 0 {
		return 0, errCursor
	}
	return id, nil
}

// oneRequest names a key in the path. An id that is not a number, or not in its usual form, gets the answer of an
// unknown one: the path is part of the scope of an Idempotency-Key.
type oneRequest struct{ id int64 }

// Read implements httpkit.Reader.
func (o *oneRequest) Read(in *httpkit.Input) {
	text := in.Path("id")
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(id, 10) == text {
		o.id = id
	}
}

func (a *API) get(ctx context.Context, r oneRequest) (keyAnswer, error) {
	k, err := a.Keys.Get(ctx, r.id)
	return keyAnswer{whole(k)}, err
}

func (a *API) revoke(ctx context.Context, r oneRequest) (keyAnswer, error) {
	k, err := a.Keys.Revoke(ctx, r.id, byOperator(ctx))
	if err == nil {
		a.tell(ctx, "key", k.ID)
	}
	return keyAnswer{whole(k)}, err
}

// tell logs an act on a key or a token. The audit has it too, but the log survives a restore of the audit's database.
func (a *API) tell(ctx context.Context, what string, id int64) {
	r := httpkit.From(ctx)
	if r.Identity.Operator == "" {
		a.Log.InfoContext(ctx, "merchant act recorded", "route", r.Route, what, id, "actor", byCaller(ctx).Actor)
		return
	}
	a.Log.InfoContext(ctx, "operator act recorded", "route", r.Route, what, id, "operator", r.Identity.Operator)
}

// byOperator begins the audit entry of an operator's act.
func byOperator(ctx context.Context) audit.Entry {
	r := httpkit.From(ctx)
	return audit.Entry{
		Actor: "operator:" + r.Identity.Operator, RequestID: r.RequestID, ClientIP: r.Identity.ClientIP,
		Door: string(r.Identity.Door), User: r.Identity.User,
	}
}

// byCaller begins the audit entry of an act of an operator or of a merchant.
func byCaller(ctx context.Context) audit.Entry {
	r := httpkit.From(ctx)
	if r.Identity.Operator != "" {
		return byOperator(ctx)
	}
	by := audit.Entry{Actor: "key:" + strconv.FormatInt(r.Owner.KeyID, 10), RequestID: r.RequestID, Door: string(r.Identity.Door), User: r.Identity.User}
	if r.Identity.Door != "" {
		by.Actor, by.ClientIP = "person:"+r.Identity.Person, r.Identity.ClientIP
	}
	return by
}
