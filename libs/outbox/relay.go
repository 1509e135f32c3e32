package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tick"
	"causeway.internal/libs/wire"
)

// Bounds of the relay.
const (
	batchRows  = 500
	pollEvery  = 50 * time.Millisecond
	emptyMost  = 1 // reads without a row, after which the relay sleeps
	sleepMost  = 5 * time.Second
	retryFirst = 100 * time.Millisecond
	retryMost  = 5 * time.Second
	statsEvery = 5 * time.Second
	probeRows  = 10               // of a name that was refused, in the first try
	probeFirst = 3 * time.Second  // for which the other names wait then
	probeMost  = 15 * time.Second // as long as the publisher waits
)

const (
	// The rows beyond the front and in its gaps. The leader's session prepares this and the other statements without a
	// list of rows in flight, with one plan for all arguments, by an index: planned each time this one costs as much as
	// reading the rows, and a plan that was made while the table was empty would read all of it later.
	// Each gap is a look of its own: PostgreSQL looked a list up by the index of names, past all rows that were deleted
	// since the last vacuum.
	newSQL = `SELECT o.id, name, message_id, headers, body FROM unnest($1::bigint[]) AS gap(id),
	LATERAL (SELECT * FROM outbox WHERE id = gap.id OFFSET 0) AS o WHERE o.sent_at IS NULL
UNION ALL (SELECT id, name, message_id, headers, body FROM outbox WHERE sent_at IS NULL AND id > $2 ORDER BY id LIMIT $3) ORDER BY id`
	onePlanSQL = `SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false)`

	// No statement with a list of rows in flight is prepared: PostgreSQL hashes a list that it knows when it plans.
	readSQL  = `SELECT id, name, message_id, headers, body FROM outbox WHERE sent_at IS NULL AND id <> ALL($2::bigint[]) ORDER BY id LIMIT $1`
	waitsSQL = `SELECT (SELECT id FROM outbox WHERE sent_at IS NULL AND id <> ALL($1::bigint[]) ORDER BY id LIMIT 1) IS NOT NULL`

	// The rows of one name. BETWEEN and the order by name leave PostgreSQL no index but that of names: with = it takes
	// the one by id, and reads all rows of the other names that come first.
	nameSQL = `SELECT id, name, message_id, headers, body FROM outbox
WHERE sent_at IS NULL AND name BETWEEN $3 AND $3 AND id <> ALL($2::bigint[]) ORDER BY name, id LIMIT $1`

	// The rows of all names but some, of which there may be a million that come first.
	otherSQL = `WITH RECURSIVE names AS (
	SELECT min(name) AS name FROM outbox WHERE sent_at IS NULL
	UNION ALL SELECT (SELECT min(name) FROM outbox WHERE sent_at IS NULL AND name > names.name) FROM names WHERE names.name IS NOT NULL)
SELECT o.* FROM names CROSS JOIN LATERAL (SELECT id, name, message_id, headers, body FROM outbox
	WHERE sent_at IS NULL AND name BETWEEN names.name AND names.name AND id <> ALL($2::bigint[]) ORDER BY name, id LIMIT $1) AS o
WHERE names.name <> ALL($3::text[]) ORDER BY id LIMIT $1`

	deleteSQL  = `DELETE FROM outbox WHERE id = ANY($1)`
	lieDownSQL = `SELECT pg_try_advisory_lock(hashtextextended('outbox asleep', 0))`
	riseSQL    = `SELECT pg_advisory_unlock(hashtextextended('outbox asleep', 0))`
	statsSQL   = `SELECT ` + spanSQL + `,
	coalesce(extract(epoch FROM now() - (SELECT created_at FROM outbox WHERE sent_at IS NULL ORDER BY id LIMIT 1)), 0)::float8,
	coalesce(extract(epoch FROM now() - (SELECT created_at FROM outbox WHERE sent_at IS NOT NULL ORDER BY id LIMIT 1)), 0)::float8`
)

// Relay moves rows of the outbox to the broker. Any number of processes may run one; the leader works.
type Relay struct {
	cfg       postgres.Config
	pub       message.Publisher
	log       *slog.Logger
	tracer    trace.Tracer
	wake      chan struct{}
	emptyMost int
	sleepMost time.Duration
	published prometheus.Counter
	failures  prometheus.Counter
	lost      prometheus.Counter
	rows, age prometheus.Gauge
	unstored  prometheus.Gauge
	awaited   map[string]bool // names whose consumers answer

	markAfter, repeatAfter, lookEvery, settleAfter time.Duration
}

// NewRelay makes a relay over the database of cfg. The publisher must return only after the broker has confirmed.
func NewRelay(cfg postgres.Config, pub message.Publisher, tel *telemetry.Telemetry) *Relay {
	r := &Relay{
		cfg: cfg, pub: pub, log: tel.Log, tracer: tel.Tracer, wake: make(chan struct{}, 1), emptyMost: emptyMost, sleepMost: sleepMost,
		published: prometheus.NewCounter(prometheus.CounterOpts{Name: "outbox_published_total", Help: "Messages confirmed by the broker."}),
		failures:  prometheus.NewCounter(prometheus.CounterOpts{Name: "outbox_failures_total", Help: "Batches that were not published or not deleted."}),
		lost:      prometheus.NewCounter(prometheus.CounterOpts{Name: "outbox_lost_total", Help: "Messages published again because the broker had confirmed them and lost them."}),
		rows:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "outbox_rows", Help: "Rows that wait for the broker, at most."}),
		unstored:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "outbox_unstored_seconds", Help: "Age of the oldest message that the broker has and its consumer has not stored; 0 for one of the last seconds."}),
		awaited:   awaited(), markAfter: markAfter, repeatAfter: repeatAfter, lookEvery: lookEvery, settleAfter: settleAfter,
		age: prometheus.NewGauge(prometheus.GaugeOpts{Name: "outbox_oldest_seconds", Help: "Age of the oldest row that waits for the broker."}),
	}
	tel.Registry.MustRegister(r.published, r.failures, r.lost, r.rows, r.age, r.unstored)
	return r
}

// awaited are the names whose consumers answer.
func awaited() map[string]bool {
	names := map[string]bool{}
	for _, line := range wire.Topology() {
		names[string(line.Name)] = line.Stored != ""
	}
	return names
}

// Wake signals that this process has just committed a row. It never blocks.
func (r *Relay) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) error {
	return postgres.LeadSession(ctx, r.cfg, "outbox relay", r.log, r.lead)
}

// lead moves batches while this process leads. It reads and deletes through the leader's own session, so a process that
// was paused and replaced can delete nothing.
func (r *Relay) lead(ctx context.Context, s *postgres.Session) error {
	defer func() { // the next leader measures, and this process must not keep reporting its last values
		r.rows.Set(0)
		r.age.Set(0)
		r.unstored.Set(0)
	}()
	if err := s.Listen(ctx, "outbox"); err != nil {
		return err
	}
	if err := s.Do(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, onePlanSQL)
		return err
	}); err != nil {
		return fmt.Errorf("choose one plan: %w", err)
	}
	wait, empty, f := retryFirst, 0, newFlight()
	stats := time.Time{}
	for ctx.Err() == nil {
		if time.Since(stats) > statsEvery {
			stats = time.Now()
			r.measure(ctx, s)
		}
		n, err := r.move(ctx, s, f)
		err = errors.Join(err, r.attend(ctx, s, f))
		if empty++; n > 0 || err != nil {
			empty = 0
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			f.front.forget()
			r.failures.Inc()
			r.log.Warn("outbox not relayed", "err", err, "retry_in", wait)
			if !paused(ctx, wait) {
				return nil
			}
			wait = min(2*wait, retryMost)
		case n >= batchRows, empty > r.emptyMost && len(f.refused) == 0 && r.slept(ctx, s, f):
			wait = retryFirst
		default:
			wait = retryFirst
			r.idle(ctx)
		}
	}
	return nil
}

type row struct {
	id  int64
	msg *message.Message
}

// batch is what one read returns: the rows of each name in the order of ids, and the names in the order of their first.
type batch struct {
	names []string
	rows  map[string][]row
	ids   []int64 // of all rows, in their order
}

// move publishes one batch and returns how many rows it read. A name that the broker refuses holds up no other: its
// rows are left out until a whole batch of them has been published.
func (r *Relay) move(ctx context.Context, s *postgres.Session, f *flight) (int, error) {
	if err := r.probe(ctx, s, f); err != nil {
		return 0, err
	}
	b, err := r.next(ctx, s, f)
	if err != nil {
		return 0, err
	}
	return len(b.ids), r.send(ctx, s, b, f)
}

// next reads what lies beyond the front, or everything that waits.
func (r *Relay) next(ctx context.Context, s *postgres.Session, f *flight) (b batch, err error) {
	switch {
	case len(f.refused) > 0:
		return r.read(ctx, s, otherSQL, batchRows, f.rows, f.refusedNames())
	case f.front.known():
		if b, err = r.query(ctx, s, newSQL, f.front.missing(), f.front.high, batchRows); err == nil {
			f.front.read(b.ids)
		}
	default:
		if b, err = r.read(ctx, s, readSQL, batchRows, f.rows); err == nil {
			f.front.whole(b.ids)
		}
	}
	return b, err
}

// probe publishes some rows of a name that was refused, once its wait has ended.
func (r *Relay) probe(ctx context.Context, s *postgres.Session, f *flight) error {
	name, due := f.due()
	if !due {
		return nil
	}
	b, err := r.read(ctx, s, nameSQL, f.refused[name].rows, f.rows, name)
	if err != nil {
		return err
	}
	if len(b.ids) == 0 {
		delete(f.refused, name)
		return nil
	}
	trying, cancel := context.WithTimeout(ctx, f.refused[name].limit)
	defer cancel()
	for _, one := range b.rows[name] {
		one.msg.SetContext(trying)
	}
	return r.send(ctx, s, b, f)
}

// send publishes a batch, name by name: an object's order matters only within one. Rows stay until their consumer has
// stored them; those of a name that no line has go with the broker's confirm.
func (r *Relay) send(ctx context.Context, s *postgres.Session, b batch, f *flight) error {
	for _, name := range b.names {
		rows := b.rows[name]
		msgs, ids := make([]*message.Message, len(rows)), make([]int64, len(rows))
		for i, one := range rows {
			msgs[i], ids[i] = one.msg, one.id
		}
		began := time.Now()
		if err := r.publish(ctx, name, msgs); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.failures.Inc()
			r.log.Warn("messages not published", "name", name, "messages", len(msgs), "err", err, "retry_in", f.refuse(name, began, msgs[0].Context().Err() != nil))
			continue
		}
		f.passed(name, began, len(msgs))
		r.published.Add(float64(len(msgs)))
		if r.awaited[name] {
			f.add(ids)
			continue
		}
		err := s.Do(ctx, func(c *pgx.Conn) error {
			_, err := c.Exec(ctx, deleteSQL, ids)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete %d published rows: %w", len(ids), err)
		}
	}
	return nil
}

// publish sends messages of one name. Each recorded one gets a span of its own, which its consumer continues.
func (r *Relay) publish(ctx context.Context, name string, msgs []*message.Message) error {
	var spans []trace.Span
	for _, m := range msgs {
		origin := otel.GetTextMapPropagator().Extract(ctx, propagation.MapCarrier(m.Metadata))
		if !trace.SpanContextFromContext(origin).IsSampled() {
			continue
		}
		at, span := r.tracer.Start(origin, "publish "+name, trace.WithSpanKind(trace.SpanKindProducer),
			trace.WithAttributes(attribute.String("messaging.system", "rabbitmq"), attribute.String("messaging.operation.type", "send")))
		otel.GetTextMapPropagator().Inject(at, propagation.MapCarrier(m.Metadata))
		spans = append(spans, span)
	}
	err := r.pub.Publish(name, msgs...)
	for _, span := range spans {
		if err != nil {
			span.SetStatus(codes.Error, "not published")
		}
		span.End()
	}
	return err
}

// read runs a statement that selects rows, planned for its arguments.
func (r *Relay) read(ctx context.Context, s *postgres.Session, sql string, args ...any) (batch, error) {
	return r.query(ctx, s, sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
}

// query runs a statement that selects rows.
func (r *Relay) query(ctx context.Context, s *postgres.Session, sql string, args ...any) (batch, error) {
	b := batch{rows: map[string][]row{}}
	err := s.Do(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		var (
			id                   int64
			name, msgID, headers string
			body                 []byte
		)
		_, err = pgx.ForEachRow(rows, []any{&id, &name, &msgID, &headers, &body}, func() error {
			msg := message.NewMessage(msgID, append([]byte(nil), body...))
			if err := json.Unmarshal([]byte(headers), &msg.Metadata); err != nil {
				return fmt.Errorf("read the headers of row %d: %w", id, err)
			}
			if r.awaited[name] {
				msg.Metadata.Set(wire.RowHeader, strconv.FormatInt(id, 10))
			}
			if _, ok := b.rows[name]; !ok {
				b.names = append(b.names, name)
			}
			b.rows[name] = append(b.rows[name], row{id, msg})
			b.ids = append(b.ids, id)
			return nil
		})
		return err
	})
	if err != nil {
		return batch{}, fmt.Errorf("read the outbox: %w", err)
	}
	return b, nil
}

func (r *Relay) measure(ctx context.Context, s *postgres.Session) {
	var rows int64
	var age, sent float64
	if err := s.Do(ctx, func(c *pgx.Conn) error { return c.QueryRow(ctx, statsSQL).Scan(&rows, &age, &sent) }); err == nil {
		r.rows.Set(float64(rows))
		r.age.Set(age)
		r.unstored.Set(sent)
	}
}

// slept waits until a row is written, sleepMost at most. Writers hold the lock shared until they commit, so this
// session has it only while nobody is between writing and committing: a row is either seen here, or its writer
// notifies. It is false if a writer is busy, or if the session fails, which the next read notices too.
func (r *Relay) slept(ctx context.Context, s *postgres.Session, f *flight) bool {
	var alone, waits bool
	err := s.Ask(ctx, func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, lieDownSQL).Scan(&alone) })
	if err != nil || !alone {
		return false
	}
	err = s.Ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, waitsSQL, pgx.QueryExecModeSimpleProtocol, f.rows).Scan(&waits)
	})
	if err == nil && !waits {
		err = s.Await(ctx, tick.Until(r.sleepMost))
	}
	risen := s.Ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, riseSQL).Scan(new(bool)) // Exec without arguments would plan it anew
	})
	return err == nil && risen == nil
}

// idle waits for a wake-up, the next poll or the end.
func (r *Relay) idle(ctx context.Context) {
	t := time.NewTimer(pollEvery)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-r.wake:
	case <-t.C:
	}
}

// paused waits for d and reports whether ctx still runs; a wake-up does not shorten the wait after a failure.
func paused(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
