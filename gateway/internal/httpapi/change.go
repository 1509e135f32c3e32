package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
)

// changeRequest is the body of PATCH /v1/admin/keys/{id}. A missing field stays as it is; expiresAt "never" and an
// empty allowedCidrs remove a bound.
type changeRequest struct {
	oneRequest
	change apikey.Change
}

const never = "never"

// Read implements httpkit.Reader.
func (c *changeRequest) Read(in *httpkit.Input) {
	c.oneRequest.Read(in)
	b := in.Body()
	c.change = changeOf(b)
	if b.Sent("tier") {
		tier := apikey.Tier(b.Text("tier", 20))
		c.change.Tier = &tier
	}
	c.change.Check(&in.Problems, time.Now())
}

// changeOf reads the changes of a key by operators and merchants.
func changeOf(b *httpkit.Body) (c apikey.Change) {
	if b.Sent("name") {
		name := b.Text("name", 100)
		c.Name = &name
	}
	if b.Sent("permissions") {
		if c.Permissions = b.Texts("permissions", 32, 50); c.Permissions == nil {
			c.Permissions = []string{} // unreadable or empty: both are refused
		}
	}
	if b.Sent("allowedCidrs") {
		list := networks(b)
		if list == nil {
			list = []netip.Prefix{}
		}
		c.AllowedCIDRs = &list
	}
	if text := b.Text("expiresAt", 40); text != "" {
		var at time.Time
		if text != never {
			at = moment(b, text)
		}
		c.ExpiresAt = &at
	}
	return c
}

func (a *API) change(ctx context.Context, r changeRequest) (idempotency.Answer, error) {
	by := byOperator(ctx)
	if !r.change.Renames() {
		waits, err := a.secondedOf(ctx, &by, r.id, changeKey, r.change, idempotency.Key{})
		if err != nil || waits != nil {
			return orNone(waits), err
		}
	}
	k, err := a.Keys.Change(ctx, r.id, r.change, by)
	if err != nil {
		return idempotency.Answer{}, err
	}
	a.tell(ctx, "key", k.ID)
	body, err := httpkit.Success(keyAnswer{whole(k)})
	return idempotency.Answer{Status: http.StatusOK, Body: body}, err
}

// secondedOf is seconded for an act on an existing key; an act on a test key takes one operator.
func (a *API) secondedOf(ctx context.Context, by *audit.Entry, id int64, action string, order any, once idempotency.Key) (*idempotency.Answer, error) {
	k, err := a.Keys.Get(ctx, id)
	if err != nil || k.Mode != tenant.Live {
		return nil, err
	}
	object := "key:" + strconv.FormatInt(id, 10)
	return a.seconded(ctx, by, approval.Request{Object: object, Version: k.Version(), Action: action}, order, once)
}

// rotateRequest is the body of POST /v1/admin/keys/{id}/rotate, which may be empty.
type rotateRequest struct {
	oneRequest
	overlap time.Duration
}

// overlapDefault is the number of minutes for which the old secret stays valid.
const overlapDefault = 24 * 60

// Read implements httpkit.Reader.
func (r *rotateRequest) Read(in *httpkit.Input) {
	r.oneRequest.Read(in)
	minutes, sent := in.Body().Int("overlapMinutes", 0, int64(apikey.OverlapMax/time.Minute))
	if !sent {
		minutes = overlapDefault
	}
	r.overlap = time.Duration(minutes) * time.Minute
}

type rotateAnswer struct {
	Key            KeyView `json:"key"`
	OverlapMinutes int64   `json:"overlapMinutes"`
}

func (a *API) rotate(ctx context.Context, r rotateRequest) (idempotency.Answer, error) {
	return a.issueRotated(ctx, r, func(by *audit.Entry, once idempotency.Key) (*idempotency.Answer, error) {
		return a.secondedOf(ctx, by, r.id, rotateKey, r.order(), once)
	})
}

func (r rotateRequest) order() apikey.Rotation { return apikey.Rotation{ID: r.id, Overlap: r.overlap} }

func (a *API) issueRotated(ctx context.Context, r rotateRequest, second func(by *audit.Entry, once idempotency.Key) (*idempotency.Answer, error)) (idempotency.Answer, error) {
	show := func(i apikey.Issued) any { return rotateAnswer{View(i), int64(r.overlap / time.Minute)} }
	return a.issue(ctx, http.StatusOK, show, second, func(by audit.Entry, once apikey.Once) (apikey.Issued, error) {
		return a.Keys.Rotate(ctx, r.order(), by, once)
	})
}

type noRequest struct{}

// Read implements httpkit.Reader.
func (*noRequest) Read(*httpkit.Input) {}

// meAnswer is the part of a key that its holder may read.
type meAnswer struct {
	Key struct {
		ID           int64       `json:"id"`
		PublicKey    string      `json:"publicKey"`
		Name         string      `json:"name"`
		Mode         tenant.Mode `json:"mode"`
		CreatedAt    *string     `json:"createdAt"`
		ExpiresAt    *string     `json:"expiresAt"`
		AllowedCIDRs []string    `json:"allowedCidrs"`
	} `json:"key"`
	Merchant struct {
		ID string `json:"id"`
	} `json:"merchant"`
	Permissions []string `json:"permissions"`
	Limits      struct {
		Tier      string `json:"tier"`
		PerSecond *int   `json:"perSecond"`
		Burst     *int   `json:"burst"`
	} `json:"limits"`
}

// me answers from memory with the key that authenticated the call.
func (a *API) me(ctx context.Context, _ noRequest) (out meAnswer, err error) {
	k := a.Caller(ctx)
	if k == nil {
		return out, httpkit.ErrNoMerchant
	}
	v := whole(*k)
	out.Key.ID, out.Key.PublicKey, out.Key.Name, out.Key.Mode = v.ID, v.PublicKey, v.Name, v.Mode
	out.Key.CreatedAt, out.Key.ExpiresAt, out.Key.AllowedCIDRs = v.CreatedAt, v.ExpiresAt, v.AllowedCIDRs
	out.Merchant.ID, out.Permissions, out.Limits.Tier = k.MerchantID, k.Effective, v.Tier
	if perSecond, burst := k.Tier.Rate(); burst > 0 {
		out.Limits.PerSecond, out.Limits.Burst = &perSecond, &burst
	}
	return out, nil
}
