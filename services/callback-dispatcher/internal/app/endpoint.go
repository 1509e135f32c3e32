package app

import (
	"context"
	"slices"
	"sync"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

// Endpoint is a URL that a merchant registered for the events of one mode.
type Endpoint struct {
	ID             string
	MerchantID     string
	Mode           tenant.Mode
	URL            string
	Description    string
	Types          []string // none means all; see Matches
	Enabled        bool
	DisabledReason string // "" while enabled
	DisabledAt     time.Time
	FailingSince   time.Time // zero while it is well
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Earlier        bool // a URL at which it was lately: see EarlierFor
}

// EarlierFor is how long the events that warn of money that may leave also go to the URL at which a live endpoint was
// before it was moved, disabled or deleted: two holds of a new account or address.
const EarlierFor = 48 * time.Hour

// The reasons why an endpoint is disabled.
const (
	DisabledByMerchant = "merchant"
	DisabledGone       = "gone"
	DisabledFailing    = "failing"
)

// Owner is the merchant of the endpoint.
func (e *Endpoint) Owner() tenant.Owner { return tenant.Owner{MerchantID: e.MerchantID, Mode: e.Mode} }

// Matches reports whether the endpoint gets events of this type: those that it asked for, and in live mode those that
// warn of money that may leave.
func (e *Endpoint) Matches(kind string) bool {
	if e.Earlier {
		return wire.IsGuarding(kind)
	}
	return len(e.Types) == 0 || slices.Contains(e.Types, kind) || e.Mode == tenant.Live && wire.IsGuarding(kind)
}

// EndpointTTL is how long the list of a merchant's endpoints is used from memory. A change is answered only after
// this time, so a merchant that has the answer sees every later event go where the change says, whichever replica
// takes it in.
const EndpointTTL = time.Second

const cachedLists = 20_000

// Registry reads the endpoints of many merchants at once: an owner without any has no entry.
type Registry interface {
	Registered(ctx context.Context, owners []tenant.Owner) (map[tenant.Owner][]Endpoint, error)
}

// directory keeps the endpoints that events go to in memory for EndpointTTL.
type directory struct {
	registry Registry
	now      func() time.Time

	mu    sync.Mutex
	lists map[tenant.Owner]listed
}

type listed struct {
	at        time.Time
	endpoints []Endpoint
}

// of returns the endpoints of every owner; those that are not fresh are read in one go.
func (d *directory) of(ctx context.Context, owners map[tenant.Owner][]Endpoint) error {
	now := d.now()
	var missing []tenant.Owner
	d.mu.Lock()
	for o := range owners {
		if l, ok := d.lists[o]; ok && now.Sub(l.at) < EndpointTTL {
			owners[o] = l.endpoints
		} else {
			missing = append(missing, o)
		}
	}
	d.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	found, err := d.registry.Registered(ctx, missing)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.lists) > cachedLists {
		clear(d.lists)
	}
	for _, o := range missing {
		owners[o] = found[o]
		d.lists[o] = listed{now, found[o]}
	}
	return nil
}

// EndpointsMax bounds the endpoints of a merchant in each mode.
const EndpointsMax = 100

// EndpointStore keeps endpoints. Every method looks among the owner's endpoints alone.
type EndpointStore interface {
	Endpoints(ctx context.Context, o tenant.Owner, after string, limit int) ([]Endpoint, error)
	Endpoint(ctx context.Context, o tenant.Owner, id string) (Endpoint, error)
	AddEndpoint(ctx context.Context, e Endpoint, most int, k idempotency.Key, body []byte) (idempotency.Answer, error)
	ChangeEndpoint(ctx context.Context, o tenant.Owner, id string, change func(Endpoint) Endpoint) (Endpoint, error)
	DeleteEndpoint(ctx context.Context, o tenant.Owner, id string) error
	// Test stores an event for the endpoint alone and its delivery, and the answer that body makes of the delivery's id.
	Test(ctx context.Context, o tenant.Owner, id string, k idempotency.Key, make func(e Endpoint, sequence int64) (Arrival, []byte, error)) (idempotency.Answer, error)
}

// Endpoints are the use cases of registered endpoints. Every change is answered EndpointTTL after its commit.
type Endpoints struct {
	store EndpointStore
	log   Log
	shard shard.Code
	now   func() time.Time
	tests waiters
}

// NewEndpoints makes the use cases.
func NewEndpoints(store EndpointStore, log Log, in shard.Code, now func() time.Time) *Endpoints {
	return &Endpoints{store: store, log: log, shard: in, now: now, tests: waiters{of: map[tenant.Owner]int{}}}
}

// List returns a page of the owner's endpoints, in the order of their ids.
func (u *Endpoints) List(ctx context.Context, o tenant.Owner, after string, limit int) ([]Endpoint, error) {
	return u.store.Endpoints(ctx, o, after, limit)
}

// Get returns one endpoint of the owner.
func (u *Endpoints) Get(ctx context.Context, o tenant.Owner, id string) (Endpoint, error) {
	return u.store.Endpoint(ctx, o, id)
}

// Create registers an endpoint; render makes the answer that is stored for the request's key.
func (u *Endpoints) Create(ctx context.Context, e Endpoint, k idempotency.Key, render func(Endpoint) ([]byte, error)) (idempotency.Answer, error) {
	now := u.now().UTC().Truncate(time.Millisecond)
	e.ID, e.CreatedAt, e.UpdatedAt = id.Placed(id.Endpoint, u.shard, now), now, now
	if !e.Enabled {
		e.DisabledReason, e.DisabledAt = DisabledByMerchant, now
	}
	body, err := render(e)
	if err != nil {
		return idempotency.Answer{}, err
	}
	a, err := u.store.AddEndpoint(ctx, e, EndpointsMax, k, body)
	if err == nil && !a.Replayed && !pause(ctx, EndpointTTL) {
		err = ctx.Err()
	}
	return a, err
}

// Change replaces fields of an endpoint. Enabling it sends what was held.
func (u *Endpoints) Change(ctx context.Context, o tenant.Owner, id string, change func(Endpoint) Endpoint) (Endpoint, error) {
	e, err := u.store.ChangeEndpoint(ctx, o, id, change)
	if err == nil && !pause(ctx, EndpointTTL) {
		err = ctx.Err()
	}
	return e, err
}

// Delete takes an endpoint away; what was not delivered yet ends.
func (u *Endpoints) Delete(ctx context.Context, o tenant.Owner, id string) error {
	err := u.store.DeleteEndpoint(ctx, o, id)
	if err == nil && !pause(ctx, EndpointTTL) {
		err = ctx.Err()
	}
	return err
}

const (
	testWait  = 6 * time.Second
	testLook  = 100 * time.Millisecond
	testsMost = 4 // of a merchant's mode that wait in this process
)

// waiters counts the requests of each owner that wait for a test. Without a bound one merchant with an endpoint that
// hangs would hold all requests that the gateway gives to a process.
type waiters struct {
	mu sync.Mutex
	of map[tenant.Owner]int
}

func (w *waiters) enter(o tenant.Owner) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[o] >= testsMost {
		return false
	}
	w.of[o]++
	return true
}

func (w *waiters) leave(o tenant.Owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[o]--; w.of[o] == 0 {
		delete(w.of, o)
	}
}

// Test sends a test event to an endpoint the way every event goes, and waits a little for the first attempt, unless
// testsMost of the owner's tests wait already. render makes the answer of the delivery as it is then; the answer stored
// for the request's key shows it as it began.
func (u *Endpoints) Test(ctx context.Context, o tenant.Owner, endpoint string, k idempotency.Key, render func(DeliveryView) ([]byte, error)) (idempotency.Answer, error) {
	delivery := ""
	a, err := u.store.Test(ctx, o, endpoint, k, func(e Endpoint, sequence int64) (Arrival, []byte, error) {
		arrival, err := notice(typeTest, e, sequence, []Endpoint{e}, u.now())
		if err != nil {
			return Arrival{}, nil, err
		}
		d := arrival.Deliveries[0]
		delivery = d.ID
		body, err := render(DeliveryView{
			ID: d.ID, EventID: d.EventID, EndpointID: d.EndpointID, URL: d.URL, Type: d.Type, ObjectID: d.ObjectID, Sequence: d.Sequence,
			Status: "pending", CreatedAt: arrival.Event.OccurredAt, NextAt: &arrival.Event.OccurredAt,
		})
		return arrival, body, err
	})
	if err != nil || a.Replayed || !u.tests.enter(o) {
		return a, err
	}
	defer u.tests.leave(o)
	for until := u.now().Add(testWait); u.now().Before(until) && pause(ctx, testLook); {
		list, err := u.log.Deliveries(ctx, o, DeliveryFilter{ID: delivery}, 1)
		if err != nil {
			return idempotency.Answer{}, err
		}
		if len(list) == 1 && len(list[0].Attempts) > 0 {
			a.Body, err = render(list[0])
			return a, err
		}
	}
	return a, ctx.Err()
}
