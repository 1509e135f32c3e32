//go:build integration

package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
)

// consumer is a broker with a consumer behind it: the broker confirms every message, and the consumer answers about
// those that the broker does not lose.
type consumer struct {
	*broker
	pool  *pgxpool.Pool
	loses func(id string, times int) bool // times is how often it got the message before
	times map[string]int
}

func consume(t *testing.T, pool *pgxpool.Pool, loses func(id string, times int) bool) *consumer {
	c := &consumer{broker: newBroker(), pool: pool, loses: loses, times: map[string]int{}}
	c.fail = func(_ string, msgs []*message.Message) error {
		for _, m := range msgs {
			times := c.times[m.UUID]
			c.times[m.UUID]++
			if c.loses(m.UUID, times) {
				continue
			}
			// The relay may send a message again when its row is gone already, while the test ends.
			if err := outbox.Stored(pool)(context.WithoutCancel(t.Context()), read, answer(t, m)); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	return c
}

// read are the names that the consumer reads.
var read = []string{string(wire.PaymentStatusChangedV1), string(wire.RefundApprovedV1)}

func answer(t *testing.T, m *message.Message) wire.Stored {
	row, err := strconv.ParseInt(m.Metadata.Get(wire.RowHeader), 10, 64)
	if err != nil {
		t.Errorf("message %s has no row: %v", m.UUID, err)
	}
	return wire.Stored{Messages: []wire.StoredMessage{{Row: row, ID: m.UUID}}}
}

func event(t *testing.T, pool *pgxpool.Pool, ids ...string) {
	t.Helper()
	msgs := make([]outbox.Message, 0, len(ids))
	for _, id := range ids {
		msgs = append(msgs, outbox.Message{Name: wire.PaymentStatusChangedV1, ID: id, Body: []byte("{}")})
	}
	if err := outbox.Insert(t.Context(), pool, msgs...); err != nil {
		t.Fatal(err)
	}
}

func numbered(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("msg_%03d", i))
	}
	return ids
}

// The broker loses confirmed events, and the relay sends exactly these again.
func TestRelay_repeatsWhatTheBrokerLost(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]func(n int) bool{
		"none":     func(int) bool { return false },
		"a few":    func(n int) bool { return n%7 == 3 },
		"the last": func(n int) bool { return n >= 40 },
		"all":      func(int) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := pg.Config(t, migrations)
			pool := pg.Open(t, cfg, migrations)
			b := consume(t, pool, func(id string, times int) bool {
				n, err := strconv.Atoi(id[len("msg_"):])
				return err == nil && times == 0 && lost(n)
			})
			tel := telemetrytest.ForTest(t)
			relay := outbox.NewRelay(cfg, b, tel)
			relay.Hurry()
			ids := numbered(60)
			event(t, pool, ids...)
			start(t, relay)
			empty(t, pool)
			b.mu.Lock()
			defer b.mu.Unlock()
			want := 0
			for n, id := range ids {
				times := 1
				if lost(n) {
					times, want = 2, want+1
				}
				if b.times[id] != times {
					t.Errorf("event %d was sent %d times, want %d", n, b.times[id], times)
				}
			}
			// Where the newest is lost, its repetition finds the others, and is not counted itself.
			if lost(59) {
				want--
			}
			if got := value(t, tel.Registry, "outbox_lost_total"); got != float64(want) {
				t.Errorf("the relay counted %v lost events, want %d", got, want)
			}
		})
	}
}

func value(t *testing.T, registry prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("find the metric %s: none has this name", name)
	return 0
}

// A consumer that is slow has its queue of events once, and not once more for each minute that it needs.
func TestRelay_slowConsumer(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	b := consume(t, pool, func(string, int) bool { return true })
	relay := outbox.NewRelay(cfg, b, telemetrytest.ForTest(t))
	relay.Hurry()
	ids := numbered(50)
	event(t, pool, ids...)
	start(t, relay)
	newest := ids[len(ids)-1]
	b.until(t, "three repetitions of the newest", func() bool { return b.times[newest] > 3 })
	if err := outbox.NewBacklog(pool, 1).Full(t.Context()); err != nil {
		t.Errorf("all events are with the broker: %v", err)
	}
	b.mu.Lock()
	for _, id := range ids[:len(ids)-1] {
		if b.times[id] != 1 {
			t.Errorf("the consumer is slow: it got event %s %d times, want once", id, b.times[id])
		}
	}
	got := slices.Clone(b.got)
	b.mu.Unlock()
	for _, m := range got {
		if err := outbox.Stored(pool)(t.Context(), read, answer(t, m)); err != nil {
			t.Fatal(err)
		}
	}
	empty(t, pool)
}

// Messages for a consumer that is away are not lost because another consumer works.
func TestRelay_otherConsumer(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	b := consume(t, pool, func(id string, _ int) bool { return id == "away" || id == "away too" })
	relay := outbox.NewRelay(cfg, b, telemetrytest.ForTest(t))
	relay.Hurry()
	event(t, pool, "away", "away too")
	start(t, relay)
	for n := range 5 {
		id := fmt.Sprintf("works %d", n)
		if err := outbox.Insert(t.Context(), pool, outbox.Message{Name: wire.RefundApprovedV1, ID: id, Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		b.until(t, "a repetition of the newest", func() bool { return b.times["away too"] > n+1 })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := b.times["away"]; got != 1 {
		t.Errorf("the consumer of events is away: its first message was sent %d times, want once", got)
	}
}

// A relay that takes over sends what its predecessor sent a moment ago, and knows what it had marked.
func TestRelay_takeoverOfSent(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	event(t, pool, "old", "new")
	if _, err := pool.Exec(t.Context(), `UPDATE outbox SET sent_at = now() WHERE message_id = 'old'`); err != nil {
		t.Fatal(err)
	}
	b := consume(t, pool, func(string, int) bool { return false })
	relay := outbox.NewRelay(cfg, b, telemetrytest.ForTest(t))
	relay.Hurry()
	start(t, relay)
	empty(t, pool)
	if first := b.got[0].UUID; first != "new" {
		t.Errorf("the first message is %s, want new: old was sent before", first)
	}
}

// A consumer that answers long after the relay has marked a message shows what is lost too.
func TestRelay_repeatsBehindALateAnswer(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	b := consume(t, pool, func(string, int) bool { return true })
	relay := outbox.NewRelay(cfg, b, telemetrytest.ForTest(t))
	relay.Hurry()
	event(t, pool, "early", "answered", "newest")
	start(t, relay)
	late(t, pool, "answered")
	b.until(t, "the lost message again", func() bool { return b.times["early"] > 1 })
}

// late answers about a message once the relay has marked it.
func late(t *testing.T, pool *pgxpool.Pool, id string) {
	t.Helper()
	var row int64
	for limit := time.Now().Add(patience); row == 0; {
		err := pool.QueryRow(t.Context(), `SELECT coalesce(max(id), 0) FROM outbox WHERE message_id = $1 AND sent_at IS NOT NULL`, id).Scan(&row)
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(limit) {
			t.Fatalf("not within %s: the mark of message %s", patience, id)
		}
	}
	if err := outbox.Stored(pool)(t.Context(), read, wire.Stored{Messages: []wire.StoredMessage{{Row: row, ID: id}}}); err != nil {
		t.Fatal(err)
	}
}

// takenOver starts a relay where events were sent long ago, of which the middle one was answered before any relay led.
func takenOver(t *testing.T, hasten func(*outbox.Relay)) *consumer {
	t.Helper()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	event(t, pool, "early", "answered", "newest")
	if _, err := pool.Exec(t.Context(), `UPDATE outbox SET sent_at = now() - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	late(t, pool, "answered")
	b := consume(t, pool, func(string, int) bool { return true })
	relay := outbox.NewRelay(cfg, b, telemetrytest.ForTest(t))
	hasten(relay)
	start(t, relay)
	return b
}

// A relay that takes over knows what was answered before.
func TestRelay_takeoverOfLost(t *testing.T) {
	t.Parallel()
	b := takenOver(t, (*outbox.Relay).Hurry)
	b.until(t, "the lost message again", func() bool { return b.times["early"] > 0 })
}

// A message is not lost while its consumer may still have it in hand: a later one was answered a moment ago.
func TestRelay_inHand(t *testing.T) {
	t.Parallel()
	b := takenOver(t, (*outbox.Relay).LookOften)
	b.until(t, "the newest again", func() bool { return b.times["newest"] > 0 })
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.times["early"] > 0 {
		t.Error("a message was sent again at the first look, right after the answer about a later one")
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	event(t, pool, "a", "b", "c")
	names := read
	stored := func(messages ...wire.StoredMessage) error {
		return outbox.Stored(pool)(t.Context(), names, wire.Stored{Messages: messages})
	}
	left := func() (ids string) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), `SELECT coalesce(string_agg(message_id, ',' ORDER BY id), '') FROM outbox`).Scan(&ids); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	for _, step := range []struct {
		name     string
		messages []wire.StoredMessage
		want     string
	}{
		{"another message in the row, as after a restore", []wire.StoredMessage{{Row: 1, ID: "z"}, {Row: 2, ID: "a"}}, "a,b,c"},
		{"nothing", nil, "a,b,c"},
		{"out of order", []wire.StoredMessage{{Row: 3, ID: "c"}, {Row: 1, ID: "a"}}, "b"},
		{"again", []wire.StoredMessage{{Row: 3, ID: "c"}, {Row: 1, ID: "a"}}, "b"},
	} {
		if err := stored(step.messages...); err != nil {
			t.Errorf("%s: answer about %v: %v", step.name, step.messages, err)
		}
		if got := left(); got != step.want {
			t.Errorf("%s: %q is left in the outbox, want %q", step.name, got, step.want)
		}
	}
	var newest string
	if err := pool.QueryRow(t.Context(), `SELECT string_agg(name || ' ' || id, ',') FROM outbox_stored`).Scan(&newest); err != nil || newest != read[0]+" 3" {
		t.Errorf("the newest row that was answered is %q (%v), want %s 3", newest, err, read[0])
	}
	names = []string{string(wire.RefundApprovedV1)}
	if err := stored(wire.StoredMessage{Row: 2, ID: "b"}); err != nil || left() != "b" {
		t.Errorf("answer about a message that the consumer does not read: %q is left (%v), want b", left(), err)
	}
	if err := stored(make([]wire.StoredMessage, wire.StoredMax+1)...); !fault.IsPermanent(err) {
		t.Errorf("answer about %d messages: got %v, want a permanent fault", wire.StoredMax+1, err)
	}
}

// The relay measures what waits for the broker and what waits for a consumer.
func TestRelay_measures(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	event(t, pool, "sent", "waits", "waits too")
	if _, err := pool.Exec(t.Context(), `UPDATE outbox SET sent_at = now(), created_at = now() - interval '1 hour' WHERE message_id = 'sent'`); err != nil {
		t.Fatal(err)
	}
	b := consume(t, pool, func(string, int) bool { return true })
	tel := telemetrytest.ForTest(t)
	start(t, outbox.NewRelay(cfg, b, tel))
	b.until(t, "a message, before which the relay has measured", func() bool { return len(b.got) > 0 })
	for name, least := range map[string]float64{"outbox_rows": 2, "outbox_oldest_seconds": 0.000001, "outbox_unstored_seconds": 3600} {
		if got := value(t, tel.Registry, name); got < least {
			t.Errorf("%s is %v with two rows that wait and one that was sent an hour ago, want at least %v", name, got, least)
		}
	}
}

// Rows of a name that the broker refuses hold up neither the marks of others nor their repetition.
func TestRelay_repeatsBesideABrokenName(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	b := consume(t, pool, func(id string, times int) bool { return id == "lost" && times == 0 })
	works := b.fail
	b.fail = func(topic string, msgs []*message.Message) error {
		if topic == "test.broken.v1" {
			return errors.New("unroutable")
		}
		return works(topic, msgs)
	}
	if err := outbox.Insert(t.Context(), pool, outbox.Message{Name: "test.broken.v1", ID: "x", Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	event(t, pool, "lost", "later")
	relay := outbox.NewRelay(cfg, b, telemetrytest.ForTest(t))
	relay.Hurry()
	start(t, relay)
	b.until(t, "the lost message again", func() bool { return b.times["lost"] > 1 })
}

// Answers and the check of the backlog use an index, also where their session made its plans while the outbox was
// empty. With such plans they read all that a burst had left in the table.
func TestStored_looksRowsUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cfg := pg.New(t, migrations).Config()
	cfg.MaxConns, cfg.MinConns = 1, 0 // a session knows what it has scanned itself
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	exec := func(sql string) {
		t.Helper()
		if _, err := pool.Exec(ctx, sql); err != nil {
			t.Fatalf("run %s: %v, want no error", sql, err)
		}
	}
	ask := func(sql string) (n int64) {
		t.Helper()
		if err := pool.QueryRow(ctx, sql).Scan(&n); err != nil {
			t.Fatalf("ask %s: %v, want no error", sql, err)
		}
		return n
	}
	scans := func() int64 {
		t.Helper()
		exec(`SELECT pg_stat_force_next_flush()`)
		return ask(`SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'outbox'`)
	}
	looks := map[string]func(row int64){
		"answer": func(row int64) {
			m := wire.Stored{Messages: []wire.StoredMessage{{Row: row, ID: strconv.FormatInt(row, 10)}}}
			if err := outbox.Stored(pool)(ctx, read, m); err != nil {
				t.Errorf("answer: %v, want no error", err)
			}
		},
		"backlog": func(row int64) {
			if err := outbox.NewBacklog(pool, 1).Full(ctx); (err != nil) != (row > 0) {
				t.Errorf("backlog: got %v with rows %v, want a refusal with rows alone", err, row > 0)
			}
		},
	}
	exec(`ALTER TABLE outbox SET (autovacuum_enabled = false)`)
	exec(`VACUUM ANALYZE outbox`)
	for _, look := range looks {
		for range 10 { // from the sixth time on PostgreSQL may keep a plan
			look(0)
		}
	}
	exec(`INSERT INTO outbox (id, name, message_id, headers, body) OVERRIDING SYSTEM VALUE
		SELECT n, '` + read[0] + `', n::text, '{}', '{}' FROM generate_series(1, 2000) AS n`)
	for name, look := range looks {
		before := scans()
		for row := range int64(10) {
			look(row + 1)
		}
		if n := scans() - before; n != 0 {
			t.Errorf("%s: got %d scans of the whole outbox, want none", name, n)
		}
	}
	if n := ask(`SELECT count(*) FROM outbox`); n != 1990 {
		t.Errorf("got %d rows after ten answers about 2000, want 1990", n)
	}
}
