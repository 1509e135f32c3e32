package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// Intake commits events in groups. A caller of Accept returns when the commit that holds its event is durable.
type Intake struct {
	store    Inbound
	targets  *directory
	lanes    *Lanes
	observer Observer
	now      func() time.Time
	queue    chan *pending
	waiting  func([]Line) // takes the lines in which a committed delivery waits for its predecessor
}

type pending struct {
	events []Event
	done   chan []error
}

// NewIntake makes an intake; Run must run for Accept to return. waiting is called after a commit, with the
// lines in which it left a delivery waiting for its predecessor.
func NewIntake(store Inbound, registry Registry, lanes *Lanes, observer Observer, now func() time.Time, waiting func([]Line)) *Intake {
	return &Intake{store: store, targets: &directory{registry: registry, now: now, lists: map[tenant.Owner]listed{}}, lanes: lanes, observer: observer, now: now, queue: make(chan *pending, batchMax), waiting: waiting}
}

// Accept stores events and their deliveries durably. It answers with an error for each event, or with nil when none has
// any. A permanent fault says that the event can never be stored; any other error may pass.
func (i *Intake) Accept(ctx context.Context, events []Event) []error {
	p := &pending{events: events, done: make(chan []error, 1)}
	select {
	case i.queue <- p:
	case <-ctx.Done():
		return same(ctx.Err(), len(events))
	}
	select {
	case errs := <-p.done:
		return errs
	case <-ctx.Done():
		return same(ctx.Err(), len(events))
	}
}

func same(err error, n int) []error { return slices.Repeat([]error{err}, n) }

// intakeWriters is how many batches are committed at a time: one waits for the disk while the next is prepared.
const intakeWriters = 2

// Run commits until ctx ends. Events that are still queued then are not stored; the contexts of their callers end.
func (i *Intake) Run(ctx context.Context) error {
	var writers sync.WaitGroup
	turn := make(chan struct{}, 1) // who has it collects, so that batches are no halves
	for range intakeWriters {
		writers.Go(func() {
			for {
				turn <- struct{}{}
				i.lanes.Ease(ctx)
				batch := i.collect(ctx)
				<-turn
				if batch == nil {
					return
				}
				i.commit(ctx, batch)
			}
		})
	}
	writers.Wait()
	return nil
}

// collect reads the next batch: it blocks for the first events, then takes what arrives within batchWait, until there
// are batchMax. It returns nil when ctx has ended.
func (i *Intake) collect(ctx context.Context) []*pending {
	var batch []*pending
	size := 0
	add := func(p *pending) { batch, size = append(batch, p), size+len(p.events) }
	select {
	case p := <-i.queue:
		add(p)
	case <-ctx.Done():
		return nil
	}
	timer := time.NewTimer(batchWait)
	defer timer.Stop()
	for size < batchMax {
		select {
		case p := <-i.queue:
			add(p)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// commit stores a batch and answers each caller about its events.
func (i *Intake) commit(ctx context.Context, batch []*pending) {
	events := make([]Event, 0, batchMax)
	for _, p := range batch {
		events = append(events, p.events...)
	}
	errs := i.each(ctx, events)
	for _, p := range batch {
		n := min(len(p.events), len(errs)) // 0 when all went well
		p.done <- errs[:n:n]
		errs = errs[n:]
	}
}

// each stores events together. When the data of one makes all of them fail, each is tried alone, so that one bad event
// stops nothing but itself.
func (i *Intake) each(ctx context.Context, events []Event) []error {
	err := i.write(ctx, events)
	switch {
	case err == nil:
		return nil
	case !i.store.Poison(err):
		return same(err, len(events))
	case len(events) == 1:
		return []error{fault.Permanent(err)}
	}
	errs := make([]error, len(events))
	for n := range events {
		errs[n] = errors.Join(i.each(ctx, events[n:n+1])...)
	}
	return errs
}

func (i *Intake) write(ctx context.Context, events []Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // what was begun is finished
	defer cancel()
	owners := make(map[tenant.Owner][]Endpoint, 16)
	for _, e := range events {
		owners[e.Owner()] = nil
	}
	if err := i.targets.of(ctx, owners); err != nil {
		return fmt.Errorf("look up endpoints: %w", err)
	}
	arrivals := make([]Arrival, len(events))
	for n, e := range events {
		arrivals[n] = i.arrival(e, owners[e.Owner()])
	}
	placed, err := i.store.Accept(ctx, arrivals)
	if err == nil && len(placed) != len(arrivals) {
		err = errors.New("the store placed a different number of arrivals than given")
	}
	if err != nil {
		for _, a := range arrivals {
			i.giveBack(a)
		}
		return fmt.Errorf("store %d events: %w", len(events), err)
	}
	i.hand(arrivals, placed)
	return nil
}

// hand gives what was committed under our lease to its lane and takes back the room of what was not.
func (i *Intake) hand(arrivals []Arrival, placed [][]Placed) {
	duplicates := 0
	var behind []Line
	for n, a := range arrivals {
		for m, d := range a.Deliveries {
			switch placed[n][m] {
			case Leased:
				i.lanes.Push(d)
				continue
			case Waiting:
				behind = append(behind, lineOf(d))
			case Duplicate:
				duplicates++
			case Queued:
			}
			if a.Leased[m] {
				i.lanes.Unreserve(d)
			}
		}
	}
	i.observer.Accepted(len(arrivals), duplicates)
	if len(behind) > 0 {
		i.waiting(behind)
	}
}

func (i *Intake) giveBack(a Arrival) {
	for m, d := range a.Deliveries {
		if a.Leased[m] {
			i.lanes.Unreserve(d)
		}
	}
}

// arrival is arrivalOf with room taken in the lanes. A delivery to a disabled endpoint goes to the table, where its
// lane holds it.
func (i *Intake) arrival(e Event, endpoints []Endpoint) Arrival {
	a := arrivalOf(e, endpoints, i.now())
	for n := range a.Deliveries {
		a.Leased[n] = a.Leased[n] && i.lanes.Reserve(a.Deliveries[n])
	}
	return a
}

// arrivalOf says which targets an event goes to: its callbackUrl, and every registered endpoint that matches, at its
// earlier URLs too. Leased says which of them take deliveries now.
func arrivalOf(e Event, endpoints []Endpoint, now time.Time) Arrival {
	a := Arrival{Event: e}
	base := delivery.Delivery{
		EventID: e.ID, MerchantID: e.MerchantID, Mode: e.Mode, Type: e.Type, ObjectID: e.ObjectID, Sequence: e.Sequence,
		Trigger: delivery.Auto, DueAt: now, AcceptedAt: now, Trace: e.Trace, Body: e.Body, Token: e.Token,
	}
	add := func(endpointID, target, url string, enabled bool) {
		d := base
		beside := e.ID // an event of reports is in no shard, but its endpoint is
		if endpointID != "" {
			beside = endpointID
		}
		d.ID, d.EndpointID, d.Target, d.URL = id.Beside(id.Delivery, beside, now), endpointID, target, url
		a.Deliveries, a.Leased = append(a.Deliveries, d), append(a.Leased, enabled)
	}
	if e.CallbackURL != "" {
		add("", delivery.TargetOf(e.Owner(), e.CallbackURL), e.CallbackURL, true)
	}
	for n := range endpoints {
		p := &endpoints[n]
		switch {
		case !p.Matches(e.Type):
		case p.Earlier:
			add(p.ID, delivery.EarlierTargetOf(p.ID, p.URL), p.URL, true)
		default:
			add(p.ID, p.ID, p.URL, p.Enabled)
		}
	}
	return a
}
