package httpapi

import (
	"context"
	"math"
	"net/url"
	"strconv"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

func operate(s *httpkit.Server, a *api) {
	httpkit.Handle[nothing](s, "GET /v1/admin/health/callback-dispatcher", httpkit.ForOperators, func(ctx context.Context, _ nothing) (presence.Answer, error) {
		return a.Processes(ctx)
	})
	httpkit.Handle[operatedPage](s, "GET /v1/admin/deliveries", httpkit.ForOperators, a.allDeliveries)
	httpkit.Handle[decision](s, "POST /v1/admin/deliveries/{id}/retry", httpkit.ForOperators, a.retryAny)
	httpkit.Handle[gravePage](s, "GET /v1/admin/dead-messages", httpkit.ForOperators, a.graves)
	httpkit.Handle[decision](s, "POST /v1/admin/dead-messages/{id}/replay", httpkit.ForOperators, a.raise)
}

const (
	merchantMost = 50
	reasonMost   = 1000
)

// operatedPage is a page of deliveries of any merchant. Each way to read it has an index: a merchant's, an object's, or
// all that were given up.
type operatedPage struct {
	deliveryPage
	owner tenant.Owner
}

// Read implements httpkit.Reader.
func (p *operatedPage) Read(in *httpkit.Input) {
	p.deliveryPage.Read(in)
	p.owner = tenant.Owner{
		MerchantID: in.QueryText("merchantId", merchantMost), Mode: tenant.Mode(in.QueryOneOf("mode", string(tenant.Live), string(tenant.Test))),
	}
	switch {
	case p.owner.MerchantID != "":
		if p.owner.Mode == "" {
			p.owner.Mode = tenant.Live
		}
	case p.filter.ObjectID != "":
	case p.filter.Status == "":
		p.filter.Status = "exhausted"
	case p.filter.Status != "exhausted":
		in.Problems.Add("status", "must be exhausted without merchantId and objectId")
	}
}

type operatedView struct {
	ID         string       `json:"id"`
	MerchantID string       `json:"merchantId"`
	Mode       tenant.Mode  `json:"mode"`
	EventID    string       `json:"eventId"`
	EndpointID *string      `json:"endpointId"`
	URL        string       `json:"url"`
	Type       string       `json:"type"`
	ObjectID   string       `json:"objectId"`
	Sequence   int64        `json:"sequence"`
	Status     string       `json:"status"`
	Attempts   int          `json:"attemptCount"`
	NextAt     *string      `json:"nextAttemptAt"`
	CreatedAt  string       `json:"createdAt"`
	FinishedAt *string      `json:"finishedAt"`
	Last       *lastAttempt `json:"lastAttempt"`
}

// lastAttempt has no excerpt: the endpoint's answer is its merchant's.
type lastAttempt struct {
	Number int    `json:"number"`
	At     string `json:"at"`
	Class  string `json:"class"`
	Status *int   `json:"status"`
}

type operatedAnswer struct {
	Deliveries []operatedView `json:"deliveries"`
	Pagination pagination     `json:"pagination"`
}

// withoutSecrets is an address without what may hold a merchant's secret: its query, and the user and password of a
// test endpoint.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery = nil, "", false
	return u.String()
}

func (a *api) allDeliveries(ctx context.Context, p operatedPage) (out operatedAnswer, err error) {
	list, err := a.Operated.AllDeliveries(ctx, p.owner, p.filter, p.limit+1)
	if err != nil {
		return out, err
	}
	out.Pagination.Limit = p.limit
	if len(list) > p.limit {
		list = list[:p.limit]
		out.Pagination.more(list[p.limit-1].ID)
	}
	out.Deliveries = make([]operatedView, len(list))
	for i, v := range list {
		address := withoutSecrets(v.URL)
		one := operatedView{
			ID: v.ID, MerchantID: v.Owner.MerchantID, Mode: v.Owner.Mode, EventID: v.EventID, URL: address, Type: v.Type, ObjectID: v.ObjectID, Sequence: v.Sequence,
			Status: v.Status, Attempts: v.Made, NextAt: orNull(v.NextAt), CreatedAt: timestamp.Text(v.CreatedAt), FinishedAt: orNull(v.DoneAt),
		}
		if v.EndpointID != "" {
			one.EndpointID = &v.EndpointID
		}
		if n := len(v.Attempts); n > 0 {
			t := v.Attempts[n-1]
			one.Last = &lastAttempt{Number: t.Number, At: timestamp.Text(t.At), Class: t.Class}
			if t.Status != 0 {
				one.Last.Status = &t.Status
			}
		}
		out.Deliveries[i] = one
	}
	return out, nil
}

// decision is an operator's order about one object, with its reason.
type decision struct {
	id, number, reason string
	problems           fault.Problems
}

// Read implements httpkit.Reader.
func (d *decision) Read(in *httpkit.Input) {
	d.id, d.number, d.reason = pathID(in), in.Path("id"), in.Body().RequiredText("reason", reasonMost)
	d.problems = in.Deferred()
}

func (d *decision) by(ctx context.Context, name, object string) app.Act {
	return app.Act{Operator: httpkit.From(ctx).Identity.Operator, Act: name, Object: object, Reason: d.reason}
}

func (a *api) retryAny(ctx context.Context, in decision) (idempotency.Answer, error) {
	if err := in.problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	return a.Operated.RetryAny(ctx, in.id, in.by(ctx, "delivery.retry", in.id), httpkit.From(ctx).Key(), func(string) ([]byte, error) {
		return httpkit.Success(struct {
			Delivery retryAnswer `json:"delivery"`
		}{retryAnswer{in.id, "retrying"}})
	})
}

type gravePage struct {
	limit  int
	before int64
}

// Read implements httpkit.Reader.
func (p *gravePage) Read(in *httpkit.Input) {
	p.limit, p.before = in.QueryInt("limit", pageDefault, 1, pageMost), math.MaxInt64
	if place := readCursor(in); place != "" {
		n, err := strconv.ParseInt(place, 10, 64)
		if err != nil {
			in.Problems.Add("cursor", "is not a cursor of this list")
		}
		p.before = n
	}
}

type graveView struct {
	ID        string `json:"id"`
	At        string `json:"at"`
	MessageID string `json:"messageId"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
}

type gravesAnswer struct {
	Messages   []graveView `json:"messages"`
	Pagination pagination  `json:"pagination"`
}

func (a *api) graves(ctx context.Context, p gravePage) (out gravesAnswer, err error) {
	list, err := a.Operated.Graves(ctx, p.before, p.limit+1)
	if err != nil {
		return out, err
	}
	out.Pagination.Limit = p.limit
	if len(list) > p.limit {
		list = list[:p.limit]
		out.Pagination.more(strconv.FormatInt(list[p.limit-1].ID, 10))
	}
	out.Messages = make([]graveView, len(list))
	for i, m := range list {
		out.Messages[i] = graveView{strconv.FormatInt(m.ID, 10), timestamp.Text(m.At), m.MessageID, m.Name, m.Reason}
	}
	return out, nil
}

func (a *api) raise(ctx context.Context, in decision) (idempotency.Answer, error) {
	if err := in.problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	n, err := strconv.ParseInt(in.number, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != in.number {
		return idempotency.Answer{}, app.ErrDeadUnknown
	}
	return a.Operated.Raise(ctx, n, in.by(ctx, "dead.replay", in.number), httpkit.From(ctx).Key(), a.TakeIn, func() ([]byte, error) {
		return httpkit.Success(struct {
			ID string `json:"id"`
		}{in.number})
	})
}
