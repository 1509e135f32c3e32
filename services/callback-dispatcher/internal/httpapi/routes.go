// Package httpapi serves the dispatcher's HTTP API: the signing secret of a merchant and mode (contract.md §7). The
// gateway has checked the permission webhook:manage; this package checks whose request it is.
package httpapi

import (
	"context"
	"net/http"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// Secrets is what the API needs of the use cases.
type Secrets interface {
	Get(ctx context.Context, o app.Owner) ([]app.Secret, error)
	Rotate(ctx context.Context, o app.Owner, k app.Key, render app.Rendering) (body []byte, replayed bool, err error)
}

// Routes adds every route of the service.
func Routes(s *httpkit.Server, secrets Secrets) {
	api := &api{secrets: secrets}
	httpkit.Handle[nothing](s, "GET /v1/webhooks/secret", api.show)
	httpkit.Handle[nothing](s, "POST /v1/webhooks/secret/rotate", api.rotate)
}

type api struct{ secrets Secrets }

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

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func owner(r *httpkit.Request) (app.Owner, error) {
	id := r.Identity
	if id.Subject != httpkit.Merchant || id.MerchantID == "" || id.Mode == "" {
		return app.Owner{}, fault.New(fault.Forbidden, "merchant_required", "Only a merchant's key may manage webhooks.")
	}
	return app.Owner{MerchantID: id.MerchantID, Mode: string(id.Mode)}, nil
}

func (a *api) show(ctx context.Context, _ nothing) (secretView, error) {
	o, err := owner(httpkit.From(ctx))
	if err != nil {
		return secretView{}, err
	}
	valid, err := a.secrets.Get(ctx, o)
	if err != nil {
		return secretView{}, err
	}
	view := secretView{Secret: valid[0].Text, CreatedAt: stamp(valid[0].CreatedAt)}
	if len(valid) > 1 {
		view.Previous = &previousView{ExpiresAt: stamp(valid[1].ExpiresAt)}
	}
	return view, nil
}

func (a *api) rotate(ctx context.Context, _ nothing) (httpkit.Answer, error) {
	r := httpkit.From(ctx)
	o, err := owner(r)
	if err != nil {
		return httpkit.Answer{}, err
	}
	k := app.Key{Scope: idempotency.Scope(o.MerchantID, o.Mode, r.Route), Key: r.IdempotencyKey, Hash: r.BodyHash}
	body, replayed, err := a.secrets.Rotate(ctx, o, k, render)
	if err != nil {
		return httpkit.Answer{}, err
	}
	answer := httpkit.Answer{Status: http.StatusOK, Body: body}
	if replayed {
		answer.Header = http.Header{idempotency.ReplayedHeader: {"true"}}
	}
	return answer, nil
}

// render gives the answer to a rotation, with the secret and, for replays after it is erased, without.
func render(s app.Secret) (full, public []byte, err error) {
	view := secretView{Secret: s.Text, CreatedAt: stamp(s.CreatedAt), Previous: &previousView{ExpiresAt: stamp(s.CreatedAt.Add(app.Overlap))}}
	if full, err = httpkit.Success(view); err != nil {
		return nil, nil, err
	}
	view.Secret = ""
	public, err = httpkit.Success(view)
	return full, public, err
}
