package store

import (
	"context"
	"errors"
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

	c := arrived{fly: fly, fresh: fly}
	c.grow(len(arrivals))
	for n, i := range order {
		if n == 0 || arrivals[i].Event.ID != arrivals[order[n-1]].Event.ID { // or it is here twice
			c.add(&arrivals[i])
		}
	}
	var written map[string]place
	var err error
	if c.fresh {
		written, err = s.acceptNew(ctx, q, &c)
	}
	if !c.fresh || errors.Is(err, pgx.ErrNoRows) || postgres.IsUnique(err, "") {
		written, err = s.acceptAny(ctx, q, &c, trigger)
	}
	if err != nil {
		return nil, fmt.Errorf("insert events: %w", err)
	}
	return s.placed(arrivals, written), nil
}

// acceptNew writes events of which none is known and every delivery flies. An error of no rows says that none may.
func (s *Store) acceptNew(ctx context.Context, q postgres.Querier, c *arrived) (map[string]place, error) {
	p := place{placed: app.Leased}
	var events []string
	var slots []int16
	err := q.QueryRow(ctx, acceptNewSQL, c.ids, c.merchants, c.modes, c.types, c.objects, c.sequences, c.times, c.traces, c.bodies, c.tokens, c.fans,
		s.instance).Scan(&p.flight, &events, &slots, &p.at)
	if err != nil {
		return nil, err
	}
	lies := make(map[string]int16, len(events))
	for n, id := range events {
		lies[id] = slots[n]
	}
	written := make(map[string]place, len(c.deliveries))
	for n, id := range c.deliveries {
		p.slot = lies[c.events[n]]
		written[id] = p
	}
	return written, nil
}

func (s *Store) acceptAny(ctx context.Context, q postgres.Querier, c *arrived, trigger string) (map[string]place, error) {
	rows, err := q.Query(ctx, acceptSQL, c.ids, c.merchants, c.modes, c.types, c.objects, c.sequences, c.times, c.traces, c.bodies, c.tokens, c.fans,
		s.instance, c.deliveries, c.events, c.endpoints, c.targets, c.urls, c.leased, trigger, c.fly)
	if err != nil {
		return nil, err
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
	return written, err
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

	fly   bool // what is sent at once may
	fresh bool // and all is, and nothing comes before it
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

func (c *arrived) add(a *app.Arrival) {
	e, fan := &a.Event, ""
	if c.fly {
		fan = fanOf(a)
	}
	c.ids, c.merchants, c.modes, c.types = append(c.ids, e.ID), append(c.merchants, e.MerchantID), append(c.modes, e.Mode), append(c.types, e.Type)
	c.objects, c.sequences, c.times = append(c.objects, e.ObjectID), append(c.sequences, e.Sequence), append(c.times, e.OccurredAt)
	c.traces, c.bodies, c.tokens, c.fans = append(c.traces, e.Trace), append(c.bodies, e.Body), append(c.tokens, e.Token), append(c.fans, fan)
	c.fresh = c.fresh && e.Sequence == 1 && len(a.Deliveries) > 0
	for j := range a.Deliveries {
		d := &a.Deliveries[j]
		leased := a.Leased[j] && (!c.fly || plain(d.URL))
		c.fresh = c.fresh && leased
		c.deliveries, c.events, c.endpoints = append(c.deliveries, d.ID), append(c.events, e.ID), append(c.endpoints, d.EndpointID)
		c.targets, c.urls, c.leased = append(c.targets, d.Target), append(c.urls, d.URL), append(c.leased, leased)
	}
}

// wellFew is how many results are worth a statement, and a commit, of their own.
const wellFew = 50

// Record implements app.Ledger: one commit, or one for the targets that are well and one for the others. When the second of
// two fails, all is recorded again.
func (s *Store) Record(ctx context.Context, results []app.Result, b app.Breaker) (targets []app.Target, err error) {
	sorted := slices.Clone(results)
	slices.SortFunc(sorted, func(a, b app.Result) int { return strings.Compare(a.Delivery.ID, b.Delivery.ID) })
	well, rest := apart(sorted)
	if len(well) > 0 {
		done, err := s.recordWell(ctx, well)
		if err != nil {
			return nil, fmt.Errorf("record %d successes: %w", len(well), err)
		}
		if !done {
			rest = sorted
		}
	}
	if len(rest) > 0 {
		c := columnsOf(rest)
		for again := true; again; again = postgres.IsSerialization(err) { // where a flight has landed under it, it looks again
			targets, err = s.record(ctx, c, b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("record %d attempts: %w", len(rest), err)
	}
	s.flights.recorded(results)
	return targets, nil
}

// apart takes the results of targets of which all went well at the first attempt, without a row, from the others. What there
// is of a target stays together: it is counted together.
func apart(results []app.Result) (well, rest []app.Result) {
	others := map[string]bool{}
	for i := range results {
		r := &results[i]
		if r.Delivery.Flight == 0 || r.Number != 1 || r.Uncounted || r.Trips || r.Again || r.Verdict.State != delivery.Delivered ||
			r.Delivery.Trigger != "" && r.Delivery.Trigger != delivery.Auto {
			others[r.Delivery.Target] = true
		}
	}
	if len(others) == 0 {
		return results, nil
	}
	for i := range results {
		if others[results[i].Delivery.Target] {
			rest = append(rest, results[i])
		} else {
			well = append(well, results[i])
		}
	}
	if len(well) < wellFew {
		return nil, results
	}
	return well, rest
}

// recordWell reports whether it has written what apart found to be well. It has not where the database knows better.
func (s *Store) recordWell(ctx context.Context, results []app.Result) (bool, error) {
	c := columnsOf(results)
	tag, err := s.db.Exec(ctx, recordWellSQL, s.instance, c.aloft, c.ids, c.times, c.classes, c.statuses, c.remotes, c.dns, c.connect, c.tls, c.wait,
		c.total, c.headers, c.excerpts, c.details, c.generations, c.targets, c.events, c.slots, c.merchants, c.modes, c.endpoints, c.urls, c.types,
		c.objects, c.sequences, c.accepted)
	if postgres.IsSerialization(err) || postgres.IsUnique(err, "") {
		return false, nil
	}
	return tag.RowsAffected() > 0, err
}

func (s *Store) record(ctx context.Context, c *columns, b app.Breaker) ([]app.Target, error) {
	rows, err := s.db.Query(ctx, recordSQL, s.instance, c.aloft, c.ids, c.attempts, c.numbers, c.counted, c.states, c.delays, c.times, c.classes,
		c.statuses, c.remotes, c.dns, c.connect, c.tls, c.wait, c.total, c.headers, c.excerpts, c.details, c.generations,
		c.triggers, c.targets, b.Failures, b.Wait.Microseconds(), c.gone, c.trips, c.flights, c.events, c.slots, c.merchants, c.modes,
		c.endpoints, c.urls, c.types, c.objects, c.sequences, c.accepted, c.again)
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

func columnsOf(results []app.Result) *columns {
	c := &columns{}
	for i := range results {
		c.add(&results[i])
	}
	slices.Sort(c.aloft) // whoever holds several takes them in this order
	return c
}

func (c *columns) add(r *app.Result) {
	o := r.Outcome
	var status *int16
	if o.Status != 0 {
		n := int16(o.Status) //nolint:gosec // an HTTP status has three digits
		status = &n
	}
	if o.Excerpt == nil {
		o.Excerpt = []byte{}
	}
	//nolint:gosec // attempts are few
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
	//nolint:gosec // generations are few
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
