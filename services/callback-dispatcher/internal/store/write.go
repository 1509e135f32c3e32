package store

import (
	"cmp"
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

// eventColumns are the events of a commit.
var eventColumns = []column[app.Event]{
	col("id", "text", func(e *app.Event) string { return e.ID }),
	col("merchant_id", "text", func(e *app.Event) string { return e.MerchantID }),
	col("mode", "text", func(e *app.Event) string { return string(e.Mode) }),
	col("type", "text", func(e *app.Event) string { return e.Type }),
	col("object_id", "text", func(e *app.Event) string { return e.ObjectID }),
	col("sequence", "bigint", func(e *app.Event) int64 { return e.Sequence }),
	col("occurred_at", "timestamptz", func(e *app.Event) time.Time { return e.OccurredAt }),
	col("trace", "text", func(e *app.Event) string { return e.Trace }),
	col("body", "bytea", func(e *app.Event) []byte { return e.Body }),
	col("token", "bytea", func(e *app.Event) []byte { return e.Token }),
}

// target is where one event goes. leased says that this process has room to send it at once.
type target struct {
	*delivery.Delivery
	leased bool
}

var targetColumns = []column[target]{
	col("id", "text", func(t *target) string { return t.ID }),
	col("event_id", "text", func(t *target) string { return t.EventID }),
	col("endpoint_id", "text", func(t *target) string { return t.EndpointID }),
	col("target", "text", func(t *target) string { return t.Target }),
	col("url", "text", func(t *target) string { return t.URL }),
	col("leased", "boolean", func(t *target) bool { return t.leased }),
}

// acceptSQL writes events, and the deliveries of those that are new. $1 is the owner of the leases, who takes none
// after others have given the process up, and $2 why the deliveries are made. w is materialized, or else the plan would
// hold it, and all partitions of event, once for each of its uses.
func acceptSQL(day int64) string {
	return `WITH e AS (
	INSERT INTO event (slot, id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body, token)
	SELECT dispatcher_slot(occurred_at), id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body, token
	FROM (` + given(eventColumns, 3) + `) t
	ON CONFLICT (id, slot) DO NOTHING
	RETURNING id, slot, merchant_id, mode, type, object_id, sequence
), x AS (
	SELECT t.id, t.endpoint_id, t.target, t.url, t.leased, e.id AS event_id, e.slot AS event_slot,
		e.merchant_id, e.mode, e.type, e.object_id, e.sequence
	FROM (` + given(targetColumns, 3+len(eventColumns)) + `) t JOIN e ON e.id = t.event_id
), w AS MATERIALIZED (
	SELECT y.*, CASE WHEN y.leased AND NOT y.waits AND EXISTS (SELECT FROM instance WHERE id = $1::text)
		THEN $1::text END AS owner
	FROM (SELECT x.*, x.sequence > 1 AND NOT ` + attempted(day) + ` AS waits FROM x OFFSET 0) y
), d AS (
	INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence,
		state, waits, next_at, lease_owner, lease_until, trigger)
	SELECT id, event_id, event_slot, merchant_id, mode, nullif(endpoint_id, ''), target, url, type, object_id, sequence,
		CASE WHEN owner IS NULL THEN 'due' ELSE 'leased' END, waits,
		CASE WHEN waits THEN now() + interval '5 seconds' ELSE now() END,
		owner, CASE WHEN owner IS NOT NULL THEN now() + interval '5 minutes' END, $2::text
	FROM w
	ON CONFLICT (event_id, target) DO NOTHING
	RETURNING id, state, waits, target, next_at
), l AS (
	` + touch("d WHERE state = 'due'") + `
)
SELECT id, state, waits, now() FROM d`
}

// Accept implements app.Inbound: one statement, one commit.
func (s *Store) Accept(ctx context.Context, arrivals []app.Arrival) ([][]app.Placed, error) {
	return s.accept(ctx, s.db, arrivals, delivery.Auto)
}

func (s *Store) accept(ctx context.Context, q postgres.Querier, arrivals []app.Arrival, trigger string) (
	placed [][]app.Placed, err error,
) {
	events, targets := rowsOf(arrivals)
	args := arrays(arrays([]any{s.instance, trigger}, eventColumns, events), targetColumns, targets)
	rows, err := q.Query(ctx, s.today().accept, args...)
	if err != nil {
		return nil, fmt.Errorf("insert events: %w", err)
	}
	type place struct {
		app.Placed
		at time.Time
	}
	written := make(map[string]place, len(targets))
	var id, state string
	var waits bool
	var at time.Time
	if _, err = pgx.ForEachRow(rows, []any{&id, &state, &waits, &at}, func() error {
		switch {
		case waits:
			written[id] = place{app.Waiting, at}
		case state == "leased":
			written[id] = place{app.Leased, at}
		default:
			written[id] = place{app.Queued, at}
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("insert events: %w", err)
	}
	placed = make([][]app.Placed, len(arrivals))
	for i, a := range arrivals {
		placed[i] = make([]app.Placed, len(a.Deliveries))
		for j := range a.Deliveries {
			if p, ok := written[a.Deliveries[j].ID]; ok { // the others are duplicates
				placed[i][j], a.Deliveries[j].AcceptedAt = p.Placed, p.at
			}
		}
	}
	return placed, nil
}

// rowsOf are the events of arrivals, each once, and where they go. They are in the order of their ids, so that two
// processes that meet the same events lock them in the same order.
func rowsOf(arrivals []app.Arrival) (events []app.Event, targets []target) {
	sorted := slices.Clone(arrivals)
	slices.SortStableFunc(sorted, func(a, b app.Arrival) int { return strings.Compare(a.Event.ID, b.Event.ID) })
	sorted = slices.CompactFunc(sorted, func(a, b app.Arrival) bool { return a.Event.ID == b.Event.ID })
	for _, a := range sorted {
		events = append(events, a.Event)
		for j := range a.Deliveries {
			targets = append(targets, target{&a.Deliveries[j], a.Leased[j]})
		}
	}
	return events, targets
}

// resultColumns are the attempts of a commit.
var resultColumns = []column[app.Result]{
	col("id", "text", func(r *app.Result) string { return r.Delivery.ID }),
	col("target", "text", func(r *app.Result) string { return r.Delivery.Target }),
	col("trigger", "text", func(r *app.Result) string { return cmp.Or(r.Delivery.Trigger, delivery.Auto) }),
	col("attempt_id", "uuid", func(r *app.Result) [16]byte { return r.AttemptID }),
	col("number", "integer", func(r *app.Result) int32 {
		return int32(r.Number) //nolint:gosec // attempts are few
	}),
	col("counted", "boolean", func(r *app.Result) bool { return !r.Uncounted }),
	col("trips", "boolean", func(r *app.Result) bool { return r.Trips }),
	col("state", "text", func(r *app.Result) string { return string(r.Verdict.State) }),
	col("delay_us", "bigint", func(r *app.Result) int64 { return r.Verdict.Delay.Microseconds() }),
	col("gone", "boolean", func(r *app.Result) bool { return r.Verdict.Disable }),
	col("at", "timestamptz", func(r *app.Result) time.Time { return r.Outcome.At }),
	col("class", "text", func(r *app.Result) string { return r.Outcome.Class }),
	col("status", "smallint", func(r *app.Result) *int16 { return status(r.Outcome.Status) }),
	col("remote", "text", func(r *app.Result) string { return r.Outcome.Remote }),
	col("dns_us", "bigint", func(r *app.Result) int64 { return r.Outcome.DNS.Microseconds() }),
	col("connect_us", "bigint", func(r *app.Result) int64 { return r.Outcome.Connect.Microseconds() }),
	col("tls_us", "bigint", func(r *app.Result) int64 { return r.Outcome.TLS.Microseconds() }),
	col("wait_us", "bigint", func(r *app.Result) int64 { return r.Outcome.Wait.Microseconds() }),
	col("total_us", "bigint", func(r *app.Result) int64 { return r.Outcome.Total.Microseconds() }),
	col("headers", "text", func(r *app.Result) string { return r.Outcome.Headers }),
	col("excerpt", "bytea", func(r *app.Result) []byte { return append([]byte{}, r.Outcome.Excerpt...) }),
	col("detail", "text", func(r *app.Result) string { return r.Outcome.Detail }),
	col("generation", "integer", func(r *app.Result) int32 {
		return int32(r.Outcome.Generation) //nolint:gosec // generations are few
	}),
}

// status is NULL without a response, and where the response's status is none: over HTTP/2 any number may come.
func status(code int) *int16 {
	if code < 100 || code > 999 {
		return nil
	}
	n := int16(code) //nolint:gosec // it has three digits
	return &n
}

// recordSQL logs attempts (a) and, of those that were not logged before (r), moves the deliveries on: back to due (u),
// or from delivery (o) to delivery_done (z). A success ends a delivery even when another process holds its lease by
// now; any other outcome counts only for the holder, $1, that made exactly this attempt. An endpoint that answered 410
// is disabled (g), and its lane held.
//
// It keeps the health of the targets in their lanes (h, s, l): failures in a row, and from $2 of them on, or where a
// result trips it, the breaker, which lets the first probe through after $3 microseconds. A success closes it once a
// probe was let through (its wait has grown then): a success that was under way when it opened proves nothing. The
// lanes are written in one go and in order, or else two records would wait for each other. The answer names the
// targets whose breaker is open, and those that are well again. A commit whose answer was lost is repeated: it changes
// nothing, though the delivery may have been brought back meanwhile, and the answer says how its targets are now.
//
// The empty texts keep a plan from starting at all leases of the process (delivery_leased), where dead rows pile up,
// instead of the ids. delivery is often empty when PostgreSQL counts its rows. The planner then expects one row there
// for a while, and takes a nested loop to be cheapest: each of the thousand deliveries in flight against each of two
// hundred results. Therefore recordPlanSQL forbids nested loops, and the list of ids keeps the other joins from reading
// the whole table.
var recordSQL = `WITH given AS MATERIALIZED (` + given(resultColumns, 4) + `),
a AS (
	INSERT INTO attempt (slot, delivery_id, id, number, trigger, at, class, status, remote, dns_us, connect_us, tls_us,
		wait_us, total_us, headers, excerpt, detail, generation)
	SELECT dispatcher_slot(at), id, attempt_id, number, trigger, at, class, status, remote, dns_us, connect_us, tls_us,
		wait_us, total_us, headers, excerpt, detail, generation
	FROM given WHERE counted
	ON CONFLICT (delivery_id, id, slot) DO NOTHING
	RETURNING id
), r AS MATERIALIZED (
	SELECT * FROM given WHERE NOT counted OR attempt_id IN (SELECT id FROM a)
), u AS (
	UPDATE delivery d SET state = 'due', waits = false, lease_owner = NULL, lease_until = NULL,
		next_at = now() + r.delay_us * interval '1 microsecond',
		attempts = CASE WHEN r.counted THEN r.number ELSE d.attempts END,
		trigger = CASE WHEN r.counted AND d.trigger = 'manual' THEN 'auto' ELSE d.trigger END,
		last_class = CASE WHEN r.counted THEN r.class ELSE d.last_class END,
		last_status = CASE WHEN r.counted THEN r.status ELSE d.last_status END,
		first_attempt_at = CASE WHEN r.counted THEN coalesce(d.first_attempt_at, r.at) ELSE d.first_attempt_at END
	FROM r WHERE d.id = ANY($4::text[]) AND d.id = r.id AND r.state = 'due'
		AND d.state || '' = 'leased' AND d.lease_owner || '' = $1 AND d.attempts = r.number - 1
	RETURNING d.target, d.next_at
), o AS (
	DELETE FROM delivery d USING r
	WHERE d.id = ANY($4::text[]) AND d.id = r.id
		AND (r.state = 'delivered' OR r.state = 'exhausted' AND d.lease_owner = $1 AND d.attempts = r.number - 1)
	RETURNING d.id, d.event_id, d.event_slot, d.merchant_id, d.mode, d.endpoint_id, d.target, d.url, d.type, d.object_id,
		d.sequence, d.created_at, coalesce(d.first_attempt_at, r.at) AS first_attempt_at, r.state, r.number, r.class, r.status
), z AS (
	INSERT INTO delivery_done (slot, id, event_id, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence,
		state, attempts, last_class, last_status, created_at, first_attempt_at)
	SELECT event_slot, id, event_id, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state, number,
		class, status, created_at, first_attempt_at
	FROM o
	ON CONFLICT (id, slot) DO NOTHING
), g AS (
	UPDATE endpoint p SET enabled = false, disabled_reason = 'gone', disabled_at = now(), updated_at = now(),
		announced = false
	FROM (SELECT DISTINCT target FROM r WHERE gone) q
	WHERE p.id = ANY($5::text[]) AND p.id = q.target AND p.enabled RETURNING p.id
), h AS (
	SELECT target, bool_or(state = 'delivered') AS well, bool_or(trips) AS trips,
		count(*) FILTER (WHERE counted AND state <> 'delivered') AS failed
	FROM r GROUP BY target
), s AS (
	SELECT h.target, h.well, h.failed, h.trips, min(u.next_at) AS due_at, bool_or(g.id IS NOT NULL) AS gone,
		CASE WHEN h.well AND h.failed = 0 AND min(u.next_at) IS NULL THEN coalesce((
			SELECT lane.failures <> 0 OR lane.probe_at IS NOT NULL FROM lane WHERE lane.target = h.target), false)
			ELSE false END AS cured
	FROM h LEFT JOIN u ON u.target = h.target LEFT JOIN g ON g.id = h.target
	GROUP BY h.target, h.well, h.failed, h.trips
), l AS (
	INSERT INTO lane (target, due_at, failures, failing_since, failed_at, probe_at, probe_wait, held)
	SELECT target, coalesce(due_at, 'infinity'), CASE WHEN well THEN -1 ELSE failed END,
		CASE WHEN NOT well AND failed > 0 THEN now() END, CASE WHEN failed > 0 THEN now() END,
		CASE WHEN trips AND NOT cured OR NOT well AND failed >= $2::bigint
			THEN now() + $3::bigint * interval '1 microsecond' END,
		$3::bigint * interval '1 microsecond', gone
	FROM s WHERE due_at IS NOT NULL OR failed > 0 OR cured ORDER BY target
	ON CONFLICT (target) DO UPDATE SET
		due_at = least(lane.due_at, excluded.due_at), used_at = now(), held = lane.held OR excluded.held,
		failures = CASE WHEN excluded.failures < 0 THEN 0 ELSE greatest(lane.failures, 0) + excluded.failures END,
		failing_since = CASE WHEN excluded.failures >= 0 THEN coalesce(lane.failing_since, excluded.failing_since) END,
		failed_at = coalesce(excluded.failed_at, lane.failed_at),
		warned = CASE WHEN excluded.failures < 0 THEN 0 ELSE lane.warned END,
		probe_at = CASE
			WHEN excluded.failures < 0 AND lane.probe_at IS NOT NULL AND lane.probe_wait <> excluded.probe_wait THEN NULL
			WHEN lane.probe_at IS NOT NULL THEN lane.probe_at
			WHEN excluded.probe_at IS NOT NULL THEN excluded.probe_at
			WHEN excluded.failures > 0 AND greatest(lane.failures, 0) + excluded.failures >= $2::bigint
				THEN now() + excluded.probe_wait END,
		probe_wait = CASE WHEN lane.probe_at IS NULL THEN excluded.probe_wait ELSE lane.probe_wait END
	RETURNING target, probe_at
)
SELECT l.target, l.probe_at IS NOT NULL FROM l JOIN s ON s.target = l.target WHERE l.probe_at IS NOT NULL OR s.cured
UNION ALL
SELECT q.target, coalesce((SELECT lane.probe_at IS NOT NULL FROM lane WHERE lane.target = q.target), false)
FROM (SELECT DISTINCT target FROM given WHERE counted AND attempt_id NOT IN (SELECT id FROM a)) q
WHERE q.target NOT IN (SELECT target FROM l)`

// recordPlanSQL holds for the transaction alone.
const recordPlanSQL = `SELECT set_config('enable_nestloop', 'off', true)`

// Record implements app.Ledger: one round trip, one commit.
func (s *Store) Record(ctx context.Context, results []app.Result, b app.Breaker) ([]app.Target, error) {
	sorted := slices.Clone(results) // who locks several deliveries does so in the order of their ids
	slices.SortFunc(sorted, func(a, b app.Result) int { return strings.Compare(a.Delivery.ID, b.Delivery.ID) })
	args := arrays([]any{s.instance, b.Failures, b.Wait.Microseconds()}, resultColumns, sorted)
	var batch pgx.Batch // PostgreSQL makes one transaction of it
	batch.Queue(recordPlanSQL)
	batch.Queue(recordSQL, args...)
	answers := s.db.SendBatch(ctx, &batch)
	targets, err := recorded(answers)
	if closing := answers.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("record %d attempts: %w", len(results), err)
	}
	return targets, nil
}

func recorded(answers pgx.BatchResults) ([]app.Target, error) {
	if _, err := answers.Exec(); err != nil {
		return nil, err
	}
	rows, err := answers.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t app.Target, err error) {
		err = row.Scan(&t.Name, &t.Open)
		return t, err
	})
}
