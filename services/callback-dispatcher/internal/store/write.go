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
	return s.accept(ctx, s.db, arrivals, "auto")
}

func (s *Store) accept(ctx context.Context, q postgres.Querier, arrivals []app.Arrival, trigger string) ([][]app.Placed, error) {
	order := make([]int, len(arrivals))
	for i := range order {
		order[i] = i
	}
	// Two processes that meet the same events lock them in the same order.
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(arrivals[a].Event.ID, arrivals[b].Event.ID) })

	n := len(arrivals)
	ids, merchants, modes, types := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	objects, traces, sequences := make([]string, 0, n), make([]string, 0, n), make([]int64, 0, n)
	times, bodies, tokens := make([]time.Time, 0, n), make([][]byte, 0, n), make([][]byte, 0, n)
	var dIDs, dEvents, dEndpoints, dTargets, dURLs []string
	var dLeased []bool
	for _, i := range order {
		e := arrivals[i].Event
		ids, merchants, modes, types = append(ids, e.ID), append(merchants, e.MerchantID), append(modes, e.Mode), append(types, e.Type)
		objects, sequences, times = append(objects, e.ObjectID), append(sequences, e.Sequence), append(times, e.OccurredAt)
		traces, bodies, tokens = append(traces, e.Trace), append(bodies, e.Body), append(tokens, e.Token)
		for j, d := range arrivals[i].Deliveries {
			dIDs, dEvents, dEndpoints = append(dIDs, d.ID), append(dEvents, e.ID), append(dEndpoints, d.EndpointID)
			dTargets, dURLs, dLeased = append(dTargets, d.Target), append(dURLs, d.URL), append(dLeased, arrivals[i].Leased[j])
		}
	}
	rows, err := q.Query(ctx, acceptSQL, ids, merchants, modes, types, objects, sequences, times, traces, bodies,
		dIDs, dEvents, dEndpoints, dTargets, dURLs, dLeased, s.instance, tokens, trigger)
	if err != nil {
		return nil, fmt.Errorf("insert events: %w", err)
	}
	written := make(map[string]app.Placed, len(dIDs))
	var id, state string
	var waits bool
	_, err = pgx.ForEachRow(rows, []any{&id, &state, &waits}, func() error {
		switch {
		case waits:
			written[id] = app.Waiting
		case state == "leased":
			written[id] = app.Leased
		default:
			written[id] = app.Queued
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("insert events: %w", err)
	}
	placed := make([][]app.Placed, n)
	for i, a := range arrivals {
		placed[i] = make([]app.Placed, len(a.Deliveries))
		for j, d := range a.Deliveries {
			placed[i][j] = written[d.ID] // absent: Duplicate
		}
	}
	return placed, nil
}

// Record implements app.Ledger: one statement, one commit.
func (s *Store) Record(ctx context.Context, results []app.Result, b app.Breaker) ([]app.Target, error) {
	return s.record(ctx, s.db, results, b)
}

func (s *Store) record(ctx context.Context, q postgres.Querier, results []app.Result, b app.Breaker) (targets []app.Target, err error) {
	var c columns
	sorted := slices.Clone(results)
	slices.SortFunc(sorted, func(a, b app.Result) int { return strings.Compare(a.Delivery.ID, b.Delivery.ID) })
	for _, r := range sorted {
		c.add(r)
	}
	rows, err := q.Query(ctx, recordSQL, s.instance, c.ids, c.attempts, c.numbers, c.counted, c.states, c.delays, c.times, c.classes,
		c.statuses, c.remotes, c.dns, c.connect, c.tls, c.wait, c.total, c.headers, c.excerpts, c.details, c.generations,
		c.triggers, c.targets, b.Failures, b.Wait.Microseconds(), c.gone, c.trips)
	if err == nil {
		targets, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t app.Target, err error) {
			err = row.Scan(&t.Name, &t.Open)
			return t, err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("record %d attempts: %w", len(results), err)
	}
	return targets, nil
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
}
