// Package httpapi serves the dispatcher's HTTP API: signing secrets, registered endpoints, deliveries, replays and
// events (docs/api-contract.md#webhooks). The gateway has checked the permission webhook:manage; this package checks
// whose request it is.
package httpapi

import (
	"context"
	"time"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// Opener opens the bodies of events (libs/wire, StatusChanged) and the excerpts of answers that are kept sealed.
type Opener interface {
	Open(body []byte, place string) ([]byte, error)
}

// Parts are what the routes are served with. CheckURL says whether a URL may be registered in a mode and returns it as
// it is dialled; its error is a phrase that follows the field's name. Unopened is called for each event that is left
// out of a list because it does not open.
type Parts struct {
	Secrets   *app.Secrets
	Endpoints *app.Endpoints
	Log       app.Log
	Replays   app.Replays
	Operated  app.Operated
	Processes func(context.Context) (presence.Answer, error)
	TakeIn    func(context.Context, app.DeadMessage) error // takes a dead message in; permanent where it is refused again
	Bodies    Opener
	Shard     shard.Code // of new replays
	CheckURL  func(mode tenant.Mode, raw string) (string, error)
	Unopened  func(ctx context.Context, merchantID, eventID string, err error)
	Now       func() time.Time
}

// Routes adds every route of the service.
func Routes(s *httpkit.Server, p Parts) {
	api := &api{p}
	httpkit.Handle[nothing](s, "GET /v1/webhooks/secret", httpkit.ForMerchants, api.show)
	httpkit.Handle[rotation](s, "POST /v1/webhooks/secret/rotate", httpkit.ForMerchants, api.rotate)
	httpkit.Handle[page](s, "GET /v1/webhooks/endpoints", httpkit.ForMerchants, api.listEndpoints)
	httpkit.Handle[endpointInput](s, "POST /v1/webhooks/endpoints", httpkit.ForMerchants, api.createEndpoint)
	httpkit.Handle[one](s, "GET /v1/webhooks/endpoints/{id}", httpkit.ForMerchants, api.getEndpoint)
	httpkit.Handle[endpointPatch](s, "PATCH /v1/webhooks/endpoints/{id}", httpkit.ForMerchants, api.changeEndpoint)
	httpkit.Handle[one](s, "DELETE /v1/webhooks/endpoints/{id}", httpkit.ForMerchants, api.deleteEndpoint)
	httpkit.Handle[one](s, "POST /v1/webhooks/endpoints/{id}/test", httpkit.ForMerchants, api.testEndpoint)
	httpkit.Handle[one](s, "GET /v1/webhooks/endpoints/{id}/secret", httpkit.ForMerchants, api.endpointSecret)
	httpkit.Handle[rotation](s, "POST /v1/webhooks/endpoints/{id}/secret/rotate", httpkit.ForMerchants, api.rotateEndpoint)
	httpkit.Handle[rotation](s, "POST /v1/webhooks/endpoints/{id}/rotate", httpkit.ForMerchants, api.rotateEndpoint)
	httpkit.Handle[deliveryPage](s, "GET /v1/webhooks/deliveries", httpkit.ForMerchants, api.listDeliveries)
	httpkit.Handle[one](s, "GET /v1/webhooks/deliveries/{id}", httpkit.ForMerchants, api.getDelivery)
	httpkit.Handle[one](s, "POST /v1/webhooks/deliveries/{id}/retry", httpkit.ForMerchants, api.retryDelivery)
	httpkit.Handle[replayInput](s, "POST /v1/webhooks/replays", httpkit.ForMerchants, api.createReplay)
	httpkit.Handle[one](s, "GET /v1/webhooks/replays/{id}", httpkit.ForMerchants, api.getReplay)
	httpkit.Handle[one](s, "POST /v1/webhooks/replays/{id}/pause", httpkit.ForMerchants, api.pauseReplay)
	httpkit.Handle[one](s, "POST /v1/webhooks/replays/{id}/resume", httpkit.ForMerchants, api.resumeReplay)
	httpkit.Handle[eventPage](s, "GET /v1/events", httpkit.ForMerchants, api.listEvents)
	operate(s, api)
	carrySecrets(s, api)
}

type api struct{ Parts }

// nothing is the input of requests that need none; a body is ignored.
type nothing struct{}

// Read implements httpkit.Reader.
func (*nothing) Read(*httpkit.Input) {}

// secretView is the answer: the secret that signs first and, while a rotation is under way, until when the one before
// it signs too.
type secretView struct {
	Secret    string        `json:"secret,omitempty"`
	CreatedAt string        `json:"createdAt"`
	Previous  *previousView `json:"previous"`
}

type previousView struct {
	ExpiresAt string `json:"expiresAt"`
}

// owner is the merchant of a request. The service is the same to all keys of a merchant.
func owner(ctx context.Context) tenant.Owner { return httpkit.From(ctx).Owner.WithoutKey() }

// secretOwner is the merchant of a request as the owner of the secret that signs callbackUrl deliveries.
func secretOwner(ctx context.Context) app.SecretOwner { return app.SecretOwnerOf(owner(ctx), "") }

func (a *api) show(ctx context.Context, _ nothing) (secretView, error) {
	return a.secretOf(ctx, secretOwner(ctx))
}

func (a *api) secretOf(ctx context.Context, o app.SecretOwner) (secretView, error) {
	valid, err := a.Secrets.Get(ctx, o)
	if err != nil {
		return secretView{}, err
	}
	view := secretView{Secret: valid[0].Text, CreatedAt: timestamp.Text(valid[0].CreatedAt)}
	if len(valid) > 1 {
		view.Previous = &previousView{ExpiresAt: timestamp.Text(valid[1].ExpiresAt)}
	}
	return view, nil
}

// rotation is the input of a rotation; id is the endpoint's, or nothing.
type rotation struct {
	id     string
	revoke bool
}

// Read implements httpkit.Reader.
func (r *rotation) Read(in *httpkit.Input) {
	r.id = pathID(in)
	r.revoke, _ = in.Body().Bool("revokePrevious")
}

func (a *api) rotate(ctx context.Context, in rotation) (idempotency.Answer, error) {
	return a.rotateOf(ctx, secretOwner(ctx), in.revoke)
}

func (a *api) rotateOf(ctx context.Context, o app.SecretOwner, revoke bool) (idempotency.Answer, error) {
	return a.Secrets.Rotate(ctx, o, revoke, httpkit.From(ctx).Key(), func(s app.Secret) (full, public []byte, err error) {
		return render(s, revoke)
	})
}

// render gives the answer to a rotation, with the secret and, for replays after it is erased, without.
func render(s app.Secret, revoked bool) (full, public []byte, err error) {
	view := secretView{Secret: s.Text, CreatedAt: timestamp.Text(s.CreatedAt)}
	if !revoked {
		view.Previous = &previousView{ExpiresAt: timestamp.Text(s.CreatedAt.Add(app.Overlap))}
	}
	if full, err = httpkit.Success(view); err != nil {
		return nil, nil, err
	}
	view.Secret = ""
	public, err = httpkit.Success(view)
	return full, public, err
}
