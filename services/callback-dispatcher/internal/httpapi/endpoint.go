package httpapi

import (
	"context"
	"slices"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

const (
	pageDefault = 50
	pageMost    = 100
	urlMost     = 2048
	describeMax = 200
)

// one is the input of requests about one object; a body is ignored.
type one struct{ id string }

// Read implements httpkit.Reader. A text without the shape of an id is answered like an unknown id.
func (o *one) Read(in *httpkit.Input) { o.id = pathID(in) }

func pathID(in *httpkit.Input) string {
	if text := in.Path("id"); id.IsObject(text) {
		return text
	}
	return ""
}

// page is the input of a list.
type page struct {
	limit int
	after string
}

// Read implements httpkit.Reader.
func (p *page) Read(in *httpkit.Input) {
	p.limit = in.QueryInt("limit", pageDefault, 1, pageMost)
	p.after = readCursor(in)
}

type endpointInput struct {
	url, description string
	types            []string
	enabled          bool
}

// Read implements httpkit.Reader. The rules for a URL depend on the key's mode, so it is checked later.
func (e *endpointInput) Read(in *httpkit.Input) {
	b := in.Body()
	e.url = b.RequiredText("url", urlMost)
	e.description = b.Text("description", describeMax)
	e.types = readTypes(b)
	e.enabled = true
	if on, ok := b.Bool("enabled"); ok {
		e.enabled = on
	}
}

type endpointPatch struct {
	id                                   string
	url, description                     string
	types                                []string
	enabled                              bool
	hasDescription, hasTypes, hasEnabled bool
}

// Read implements httpkit.Reader.
func (e *endpointPatch) Read(in *httpkit.Input) {
	e.id = pathID(in)
	b := in.Body()
	e.url = b.Text("url", urlMost)
	e.description, e.hasDescription = b.Text("description", describeMax), b.Sent("description")
	e.types, e.hasTypes = readTypes(b), b.Sent("types")
	e.enabled, e.hasEnabled = b.Bool("enabled")
}

func readTypes(b *httpkit.Body) []string {
	types := b.Texts("types", len(wire.EventTypes()), urlMost)
	for _, t := range types {
		if !wire.IsEventType(t) {
			b.Problem("types", "%q is not an event type", t)
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

type endpointView struct {
	ID             string   `json:"id"`
	URL            string   `json:"url"`
	Description    string   `json:"description"`
	Types          []string `json:"types"`
	Enabled        bool     `json:"enabled"`
	DisabledReason *string  `json:"disabledReason"`
	DisabledAt     *string  `json:"disabledAt"`
	FailingSince   *string  `json:"failingSince"`
	CreatedAt      string   `json:"createdAt"`
	UpdatedAt      string   `json:"updatedAt"`
}

func viewEndpoint(e app.Endpoint) endpointView {
	v := endpointView{
		ID: e.ID, URL: e.URL, Description: e.Description, Types: e.Types, Enabled: e.Enabled, DisabledAt: timestamp.OrNull(e.DisabledAt),
		FailingSince: timestamp.OrNull(e.FailingSince), CreatedAt: timestamp.Text(e.CreatedAt), UpdatedAt: timestamp.Text(e.UpdatedAt),
	}
	if v.Types == nil {
		v.Types = []string{}
	}
	if e.DisabledReason != "" {
		v.DisabledReason = &e.DisabledReason
	}
	return v
}

type endpointAnswer struct {
	Endpoint endpointView `json:"endpoint"`
}

type endpointsAnswer struct {
	Endpoints  []endpointView `json:"endpoints"`
	Pagination pagination     `json:"pagination"`
}

func (a *api) listEndpoints(ctx context.Context, p page) (out endpointsAnswer, err error) {
	list, err := a.Endpoints.List(ctx, owner(ctx), p.after, p.limit+1)
	if err != nil {
		return out, err
	}
	out.Pagination.Limit = p.limit
	if len(list) > p.limit {
		list = list[:p.limit]
		out.Pagination.more(list[p.limit-1].ID)
	}
	out.Endpoints = make([]endpointView, len(list))
	for i, e := range list {
		out.Endpoints[i] = viewEndpoint(e)
	}
	return out, nil
}

func (a *api) getEndpoint(ctx context.Context, in one) (endpointAnswer, error) {
	e, err := a.Endpoints.Get(ctx, owner(ctx), in.id)
	return endpointAnswer{viewEndpoint(e)}, err
}

func (a *api) createEndpoint(ctx context.Context, in endpointInput) (idempotency.Answer, error) {
	o := owner(ctx)
	url, err := a.check(o, in.url)
	if err != nil {
		return idempotency.Answer{}, err
	}
	e := app.Endpoint{MerchantID: o.MerchantID, Mode: o.Mode, URL: url, Description: in.description, Types: in.types, Enabled: in.enabled}
	if e.Types == nil {
		e.Types = []string{}
	}
	return a.Endpoints.Create(ctx, e, httpkit.From(ctx).Key(), func(e app.Endpoint) ([]byte, error) {
		return httpkit.Success(endpointAnswer{viewEndpoint(e)})
	})
}

// check returns the URL as it is dialled, or a fault that names the field.
func (a *api) check(o tenant.Owner, raw string) (string, error) {
	u, err := a.CheckURL(o.Mode, raw)
	if err == nil {
		return u, nil
	}
	var p fault.Problems
	p.Add("url", "%s", err.Error())
	return "", p.Err()
}

func (a *api) changeEndpoint(ctx context.Context, in endpointPatch) (endpointAnswer, error) {
	o := owner(ctx)
	if in.url != "" {
		url, err := a.check(o, in.url)
		if err != nil {
			return endpointAnswer{}, err
		}
		in.url = url
	}
	e, err := a.Endpoints.Change(ctx, o, in.id, in.apply)
	return endpointAnswer{viewEndpoint(e)}, err
}

func (e endpointPatch) apply(old app.Endpoint) app.Endpoint {
	if e.url != "" {
		old.URL = e.url
	}
	if e.hasDescription {
		old.Description = e.description
	}
	if e.hasTypes {
		old.Types = append([]string{}, e.types...)
	}
	if e.hasEnabled {
		old.Enabled = e.enabled
	}
	return old
}

type deletedAnswer struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

func (a *api) deleteEndpoint(ctx context.Context, in one) (deletedAnswer, error) {
	return deletedAnswer{in.id, true}, a.Endpoints.Delete(ctx, owner(ctx), in.id)
}

func (a *api) testEndpoint(ctx context.Context, in one) (idempotency.Answer, error) {
	return a.Endpoints.Test(ctx, owner(ctx), in.id, httpkit.From(ctx).Key(), func(v app.DeliveryView) ([]byte, error) {
		return httpkit.Success(deliveryAnswer{a.viewDelivery(v)})
	})
}

// ofEndpoint is the owner of an endpoint's secret, if the endpoint is the caller's.
func (a *api) ofEndpoint(ctx context.Context, id string) (app.SecretOwner, error) {
	o := owner(ctx)
	_, err := a.Endpoints.Get(ctx, o, id)
	return app.SecretOwnerOf(o, id), err
}

func (a *api) endpointSecret(ctx context.Context, in one) (secretView, error) {
	o, err := a.ofEndpoint(ctx, in.id)
	if err != nil {
		return secretView{}, err
	}
	return a.secretOf(ctx, o)
}

func (a *api) rotateEndpoint(ctx context.Context, in rotation) (idempotency.Answer, error) {
	o, err := a.ofEndpoint(ctx, in.id)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.rotateOf(ctx, o, in.revoke)
}
