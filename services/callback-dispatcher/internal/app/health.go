package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// Health says when a merchant is warned of a failing endpoint and when the endpoint is disabled: after so long
// without a success, and so many failures over a span of so long, because one bad night of few events is no reason.
type Health struct {
	Warn     []time.Duration
	Disable  time.Duration
	Failures int
	Span     time.Duration
}

// StandardHealth is what reference practice asks for: warnings after 1 h, 24 h and 4 days, the end after 5 days.
var StandardHealth = Health{
	Warn: []time.Duration{time.Hour, 24 * time.Hour, 4 * 24 * time.Hour}, Disable: 5 * 24 * time.Hour, Failures: 20, Span: 12 * time.Hour,
}

// Ailing is an endpoint that fails, or that was disabled and whose merchant has no event about that yet.
type Ailing struct {
	Endpoint Endpoint
	Sequence int64         // events about it so far
	Failing  time.Duration // since its last success
	Failures int
	Span     time.Duration // from the first of them to the last
	Warned   int           // warnings given
}

// Verdict says what is to be done about an ailing endpoint: warned counts the warnings given then.
func (h Health) Verdict(a Ailing) (warned int, disable bool) {
	if a.Endpoint.Enabled && a.Failing >= h.Disable && a.Failures >= h.Failures && a.Span >= h.Span {
		return a.Warned, true
	}
	warned = a.Warned
	for n, after := range h.Warn {
		if a.Endpoint.Enabled && a.Failing >= after {
			warned = max(warned, n+1)
		}
	}
	return warned, false
}

// The types of events about endpoints (libs/wire).
const (
	typeFailing  = "webhook.endpoint_failing"
	typeDisabled = "webhook.endpoint_disabled"
	typeTest     = "webhook.test"
)

type endpointNotice struct {
	ID        string       `json:"id"`
	Type      string       `json:"type"`
	CreatedAt string       `json:"createdAt"`
	Mode      tenant.Mode  `json:"mode"`
	Data      endpointData `json:"data"`
}

type endpointData struct {
	Endpoint endpointState `json:"endpoint"`
}

type endpointState struct {
	ID             string  `json:"id"`
	URL            string  `json:"url"`
	Sequence       int64   `json:"sequence"`
	Enabled        bool    `json:"enabled"`
	DisabledReason *string `json:"disabledReason"`
	FailingSince   *string `json:"failingSince"`
}

// notice makes an event about an endpoint, to be delivered to the given ones.
func notice(kind string, e Endpoint, sequence int64, to []Endpoint, now time.Time) (Arrival, error) {
	ev := Event{
		ID: id.Beside(id.Event, e.ID, now), Type: kind, MerchantID: e.MerchantID, Mode: e.Mode, ObjectID: e.ID, Sequence: sequence, OccurredAt: now,
	}
	state := endpointState{ID: e.ID, URL: e.URL, Sequence: sequence, Enabled: e.Enabled, FailingSince: timestamp.OrNull(e.FailingSince)}
	if e.DisabledReason != "" {
		state.DisabledReason = &e.DisabledReason
	}
	body, err := json.Marshal(endpointNotice{ID: ev.ID, Type: kind, CreatedAt: timestamp.Text(now), Mode: e.Mode, Data: endpointData{state}})
	if err != nil {
		return Arrival{}, fmt.Errorf("encode an event about an endpoint: %w", err)
	}
	ev.Body = body
	a := Arrival{Event: ev}
	for _, p := range to {
		a.Deliveries = append(a.Deliveries, delivery.Delivery{
			ID: id.Beside(id.Delivery, p.ID, now), EventID: ev.ID, MerchantID: e.MerchantID, Mode: e.Mode, EndpointID: p.ID, Target: p.ID, URL: p.URL,
			Type: kind, ObjectID: e.ID, Sequence: sequence, Body: body,
		})
		a.Leased = append(a.Leased, false)
	}
	return a, nil
}

// Ward finds ailing endpoints and writes what follows: the new state and the event about it in one commit.
type Ward interface {
	// Ailing calls judge for each endpoint that has failed for at least this long or was disabled untold, and writes what
	// it answers. others are the merchant's endpoints.
	Ailing(ctx context.Context, failing time.Duration, judge func(a Ailing, others []Endpoint) (Remedy, error)) error
}

// Remedy is what is written for an ailing endpoint; without an arrival the merchant gets no event.
type Remedy struct {
	Warned  int
	Disable bool
	Event   *Arrival
}

// Look warns merchants of failing endpoints and disables those that have failed for too long. Call it every few
// seconds.
func (h Health) Look(ctx context.Context, w Ward, now func() time.Time) error {
	return w.Ailing(ctx, min(h.Warn[0], h.Disable), func(a Ailing, others []Endpoint) (r Remedy, err error) {
		var disable bool
		r.Warned, disable = h.Verdict(a)
		kind := typeFailing
		switch {
		case disable:
			kind, r.Disable = typeDisabled, true
			a.Endpoint.Enabled, a.Endpoint.DisabledReason = false, DisabledFailing
		case !a.Endpoint.Enabled:
			kind = typeDisabled
		case r.Warned == a.Warned:
			return r, nil
		}
		var to []Endpoint
		for _, p := range others {
			if p.ID != a.Endpoint.ID && p.Enabled && !p.Earlier && p.Matches(kind) {
				to = append(to, p)
			}
		}
		event, err := notice(kind, a.Endpoint, a.Sequence+1, to, now())
		r.Event = &event
		return r, err
	})
}
