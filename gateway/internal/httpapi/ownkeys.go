package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
)

// registerOwnKeys adds the routes by which a merchant's people manage its keys of one mode.
func (a *API) registerOwnKeys(s *httpkit.Server) {
	httpkit.Handle(s, "POST /v1/keys", httpkit.ForMerchants, a.createOwn)
	httpkit.Handle(s, "GET /v1/keys", httpkit.ForMerchants, a.listOwn)
	httpkit.Handle(s, "GET /v1/keys/{id}", httpkit.ForMerchants, a.getOwn)
	httpkit.Handle(s, "PATCH /v1/keys/{id}", httpkit.ForMerchants, a.changeOwn)
	httpkit.Handle(s, "DELETE /v1/keys/{id}", httpkit.ForMerchants, a.revokeOwn)
	httpkit.Handle(s, "POST /v1/keys/{id}/rotate", httpkit.ForMerchants, a.rotateOwn)
}

type createOwnRequest struct{ order apikey.Order }

// Read implements httpkit.Reader. The registry checks the order, whose merchant and mode are the caller's.
func (c *createOwnRequest) Read(in *httpkit.Input) { c.order = orderOf(in.Body()) }

// alone is for acts that take no second operator.
func alone(*audit.Entry, idempotency.Key) (*idempotency.Answer, error) { return nil, nil }

func (a *API) createOwn(ctx context.Context, r createOwnRequest) (idempotency.Answer, error) {
	owner := httpkit.From(ctx).Owner
	r.order.MerchantID, r.order.Mode, r.order.Own = owner.MerchantID, owner.Mode, true
	var p fault.Problems
	if r.order.Check(&p, time.Now()); p.Err() != nil {
		return idempotency.Answer{}, p.Err()
	}
	if err := within(ctx, r.order.Permissions); err != nil {
		return idempotency.Answer{}, err
	}
	return a.issue(ctx, http.StatusCreated, func(i apikey.Issued) any { return keyAnswer{View(i)} }, alone,
		func(by audit.Entry, once apikey.Once) (apikey.Issued, error) {
			return a.Keys.Create(ctx, r.order, by, once)
		})
}

// within refuses permissions of a key that its maker lacks, because a person could otherwise get permissions that the
// merchant has not given them.
func within(ctx context.Context, grants []string) error {
	has := httpkit.From(ctx).Identity.Permissions
	for _, p := range apikey.Compile(grants).List() {
		if !slices.Contains(has, p) {
			return fault.New(fault.Forbidden, "permission_missing", "You lack the permission %s, so you cannot give it to a key or take a key that has it.", p)
		}
	}
	return nil
}

func (a *API) listOwn(ctx context.Context, r listRequest) (listAnswer, error) {
	owner := httpkit.From(ctx).Owner
	r.filter.MerchantID, r.filter.Mode = owner.MerchantID, owner.Mode
	return a.list(ctx, r)
}

// own is a key of the caller's merchant and mode.
func (a *API) own(ctx context.Context, id int64) (apikey.Key, error) {
	k, err := a.Keys.Get(ctx, id)
	owner := httpkit.From(ctx).Owner
	if err == nil && (k.MerchantID != owner.MerchantID || k.Mode != owner.Mode) {
		return apikey.Key{}, apikey.ErrNotFound
	}
	return k, err
}

func (a *API) getOwn(ctx context.Context, r oneRequest) (keyAnswer, error) {
	k, err := a.own(ctx, r.id)
	return keyAnswer{whole(k)}, err
}

// changeOwnKeyRequest is the body of PATCH /v1/keys/{id}.
type changeOwnKeyRequest struct {
	oneRequest
	change apikey.Change
}

// Read implements httpkit.Reader.
func (c *changeOwnKeyRequest) Read(in *httpkit.Input) {
	c.oneRequest.Read(in)
	c.change = changeOf(in.Body())
	c.change.Check(&in.Problems, time.Now())
}

func (a *API) changeOwn(ctx context.Context, r changeOwnKeyRequest) (keyAnswer, error) {
	k, err := a.own(ctx, r.id)
	if err != nil {
		return keyAnswer{}, err
	}
	if !r.change.Renames() {
		if err := within(ctx, slices.Concat(k.Permissions, r.change.Permissions)); err != nil {
			return keyAnswer{}, err
		}
	}
	k, err = a.Keys.Change(ctx, r.id, r.change, byCaller(ctx))
	if err == nil {
		a.tell(ctx, "key", k.ID)
	}
	return keyAnswer{whole(k)}, err
}

func (a *API) revokeOwn(ctx context.Context, r oneRequest) (keyAnswer, error) {
	if _, err := a.own(ctx, r.id); err != nil {
		return keyAnswer{}, err
	}
	k, err := a.Keys.Revoke(ctx, r.id, byCaller(ctx))
	if err == nil {
		a.tell(ctx, "key", k.ID)
	}
	return keyAnswer{whole(k)}, err
}

func (a *API) rotateOwn(ctx context.Context, r rotateRequest) (idempotency.Answer, error) {
	k, err := a.own(ctx, r.id)
	if err != nil {
		return idempotency.Answer{}, err
	}
	if err := within(ctx, k.Permissions); err != nil { // the new secret is shown
		return idempotency.Answer{}, err
	}
	return a.issueRotated(ctx, r, alone)
}
