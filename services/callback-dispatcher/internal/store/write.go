package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// Accept implements app.Inbound: one statement, one commit.
func (s *Store) Accept(ctx context.Context, arrivals []app.Arrival) ([][]app.Placed, error) {
	return s.accept(ctx, s.db, arrivals, delivery.Auto, true)
}

// accept writes arrivals. Those that are to be sent at once may fly where nothing else is in the transaction.
func (s *Store) accept(ctx context.Context, q postgres.Querier, arrivals []app.Arrival, trigger string, fly bool) ([][]app.Placed, error) {
	order := make([]int, len(arrivals))
	for i := range order {
		order[i] = i
	}
	// Two processes that meet the same events lock them in the same order.
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(arrivals[a].Event.ID, arrivals[b].Event.ID) })

	var c arrived
	c.grow(len(arrivals))
	for n, i := range order {
		if n == 0 || arrivals[i].Event.ID != arrivals[order[n-1]].Event.ID { // or it is here twice
			c.add(&arrivals[i], fly)
		}
	}
	rows, err := q.Query(ctx, acceptSQL, c.ids, c.merchants, c.modes, c.types, c.objects, c.sequences, c.times, c.traces, c.bodies,
		c.deliveries, c.events, c.endpoints, c.targets, c.urls, c.leased, s.instance, c.tokens, trigger, c.fans, fly)
	if err != nil {
		return nil, fmt.Errorf("insert events: %w", err)
	}
	written := make(map[string]place, len(c.deliveries))
	var id, state string
	var waits bool
	var p place
	_, err = pgx.ForEachRow(rows, []any{&id, &state, &waits, &p.slot, &p.flight, &p.at}, func() error {
		switch {
		case waits:
			p.placed = app.Waiting
		case state == "leased":
			p.placed = app.Leased
		default:
			p.placed = app.Queued
		}
		written[id] = p
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("insert events: %w", err)
	}
	return s.placed(arrivals, written), nil
}

// place is where a commit left a delivery.
type place struct {
	placed app.Placed
	slot   int16
	flight int64
	at     time.Time
}

// placed tells each delivery where it is; those that are not among what was written are duplicates.
func (s *Store) placed(arrivals []app.Arrival, written map[string]place) [][]app.Placed {
	now := time.Now()
	placed := make([][]app.Placed, len(arrivals))
	for i, a := range arrivals {
		placed[i] = make([]app.Placed, len(a.Deliveries))
		for j := range a.Deliveries {
			d := &a.Deliveries[j]
			p, ok := written[d.ID]
			if !ok {
				continue
			}
			placed[i][j] = p.placed
			d.Slot, d.Flight, d.AcceptedAt = p.slot, p.flight, p.at
			if p.flight != 0 {
				s.flights.begun(p.flight, now)
			}
		}
	}
	return placed
}

// arrived are arrivals turned on their side, as unnest takes them.
type arrived struct {
	ids, merchants, modes, types, objects, traces, fans []string
	sequences                                           []int64
	times                                               []time.Time
	bodies, tokens                                      [][]byte

	deliveries, events, endpoints, targets, urls []string
	leased                                       []bool
}

func (c *arrived) grow(n int) {
	for _, column := range []*[]string{
		&c.ids, &c.merchants, &c.modes, &c.types, &c.objects, &c.traces, &c.fans, &c.deliveries, &c.events, &c.endpoints, &c.targets, &c.urls,
	} {
		*column = make([]string, 0, n)
	}
	c.sequences, c.times, c.leased = make([]int64, 0, n), make([]time.Time, 0, n), make([]bool, 0, n)
	c.bodies, c.tokens = make([][]byte, 0, n), make([][]byte, 0, n)
}

func (c *arrived) add(a *app.Arrival, fly bool) {
	e, fan := &a.Event, ""
	if fly {
		fan = fanOf(a)
	}
	c.ids, c.merchants, c.modes, c.types = append(c.ids, e.ID), append(c.merchants, e.MerchantID), append(c.modes, e.Mode), append(c.types, e.Type)
	c.objects, c.sequences, c.times = append(c.objects, e.ObjectID), append(c.sequences, e.Sequence), append(c.times, e.OccurredAt)
	c.traces, c.bodies, c.tokens, c.fans = append(c.traces, e.Trace), append(c.bodies, e.Body), append(c.tokens, e.Token), append(c.fans, fan)
	for j := range a.Deliveries {
		d := &a.Deliveries[j]
		c.deliveries, c.events, c.endpoints = append(c.deliveries, d.ID), append(c.events, e.ID), append(c.endpoints, d.EndpointID)
		c.targets, c.urls, c.leased = append(c.targets, d.Target), append(c.urls, d.URL), append(c.leased, a.Leased[j] && (!fly || plain(d.URL)))
	}
}

// Record implements app.Ledger: one statement, one commit. Where a flight has landed under it, it looks again.
func (s *Store) Record(ctx context.Context, results []app.Result, b app.Breaker) (targets []app.Target, err error) {
	var c columns
	sorted := slices.Clone(results)
	slices.SortFunc(sorted, func(a, b app.Result) int { return strings.Compare(a.Delivery.ID, b.Delivery.ID) })
	for _, r := range sorted {
		c.add(r)
	}
	slices.Sort(c.aloft) // whoever holds several takes them in this order
	for again := true; again; again = postgres.IsSerialization(err) {
		targets, err = s.record(ctx, &c, b)
	}
	if err != nil {
		return nil, fmt.Errorf("record %d attempts: %w", len(results), err)
	}
	s.flights.recorded(results)
	return targets, nil
}

func (s *Store) record(ctx context.Context, c *columns, b app.Breaker) ([]app.Target, error) {
	rows, err := s.db.Query(ctx, recordSQL, s.instance, c.ids, c.attempts, c.numbers, c.counted, c.states, c.delays, c.times, c.classes,
		c.statuses, c.remotes, c.dns, c.connect, c.tls, c.wait, c.total, c.headers, c.excerpts, c.details, c.generations,
		c.triggers, c.targets, b.Failures, b.Wait.Microseconds(), c.gone, c.trips, c.flights, c.events, c.slots, c.merchants, c.modes,
		c.endpoints, c.urls, c.types, c.objects, c.sequences, c.accepted, c.aloft, c.again)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t app.Target, err error) {
		err = row.Scan(&t.Name, &t.Open)
		return t, err
	})
}

// columns are results turned on their side, as unnest takes them.
type columns struct {
	ids, states, classes, remotes, headers, details []string
	triggers, targets, gone                         []string
	attempts                                        [][16]byte
	numbers, generations                            []int32
	counted, trips                                  []bool
	delays, dns, connect, tls, wait, total          []int64
	times                                           []time.Time
	statuses                                        []*int16
	excerpts                                        [][]byte

	// What a delivery without a row has in memory alone.
	events, merchants, modes, endpoints, urls, types, objects []string
	flights, sequences                                        []int64
	slots                                                     []int16
	accepted                                                  []time.Time
	aloft                                                     []int64 // the flights, each once
	again                                                     []bool
}

func (c *columns) add(r app.Result) {
	o := r.Outcome
	var status *int16
	if o.Status != 0 {
		n := int16(o.Status)
		status = &n
	}
	if o.Excerpt == nil {
		o.Excerpt = []byte{}
	}
	c.ids, c.attempts, c.numbers = append(c.ids, r.Delivery.ID), append(c.attempts, r.AttemptID), append(c.numbers, int32(r.Number))
	c.counted, c.trips, c.states = append(c.counted, !r.Uncounted), append(c.trips, r.Trips), append(c.states, string(r.Verdict.State))
	c.delays, c.times = append(c.delays, r.Verdict.Delay.Microseconds()), append(c.times, o.At)
	c.classes, c.statuses, c.remotes = append(c.classes, o.Class), append(c.statuses, status), append(c.remotes, o.Remote)
	c.dns, c.connect, c.tls = append(c.dns, o.DNS.Microseconds()), append(c.connect, o.Connect.Microseconds()), append(c.tls, o.TLS.Microseconds())
	c.wait, c.total = append(c.wait, o.Wait.Microseconds()), append(c.total, o.Total.Microseconds())
	c.headers, c.excerpts = append(c.headers, o.Headers), append(c.excerpts, o.Excerpt)
	trigger, gone := r.Delivery.Trigger, ""
	if trigger == "" {
		trigger = delivery.Auto
	}
	if r.Verdict.Disable {
		gone = r.Delivery.EndpointID
	}
	c.triggers, c.targets, c.gone = append(c.triggers, trigger), append(c.targets, r.Delivery.Target), append(c.gone, gone)
	c.details, c.generations = append(c.details, o.Detail), append(c.generations, int32(o.Generation))
	d := &r.Delivery
	c.flights, c.events, c.slots, c.merchants = append(c.flights, d.Flight), append(c.events, d.EventID), append(c.slots, d.Slot), append(c.merchants, d.MerchantID)
	c.modes, c.endpoints, c.urls, c.types = append(c.modes, d.Mode), append(c.endpoints, d.EndpointID), append(c.urls, d.URL), append(c.types, d.Type)
	c.objects, c.sequences, c.accepted = append(c.objects, d.ObjectID), append(c.sequences, d.Sequence), append(c.accepted, d.AcceptedAt)
	c.again = append(c.again, r.Again)
	if d.Flight != 0 && !slices.Contains(c.aloft, d.Flight) {
		c.aloft = append(c.aloft, d.Flight)
	}
}
