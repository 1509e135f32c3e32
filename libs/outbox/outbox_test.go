//go:build integration

package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var migrations = fstest.MapFS{"00001_outbox.sql": {Data: []byte("-- +goose Up\n" + outbox.Schema + "\n-- +goose StatementBegin\n" + outbox.WakeSchema + "\n-- +goose StatementEnd\n" +
	outbox.StoredSchema + "CREATE INDEX " + outbox.NamesIndex + outbox.NewestSchema + outbox.InlineSchema)}}

// broker is a publisher that records, in order, what it confirmed.
type broker struct {
	mu    sync.Mutex
	got   []*message.Message
	topic map[string]int
	more  chan struct{}
	fail  func(topic string, msgs []*message.Message) error
}

func newBroker() *broker { return &broker{topic: map[string]int{}, more: make(chan struct{}, 1)} }

func (b *broker) Publish(topic string, msgs ...*message.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, msgs...)
	b.topic[topic] += len(msgs)
	select {
	case b.more <- struct{}{}:
	default:
	}
	if b.fail != nil {
		return b.fail(topic, msgs)
	}
	return nil
}

func (b *broker) Close() error { return nil }

// patience is how long a test waits for the relay: the machine may be busy.
const patience = 2 * time.Minute

// until waits for the condition, which is checked after every publish.
func (b *broker) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		b.mu.Lock()
		done := ok()
		b.mu.Unlock()
		if done {
			return
		}
		select {
		case <-b.more:
		case <-limit:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func write(t *testing.T, pool *pgxpool.Pool, ids ...string) {
	t.Helper()
	msgs := make([]outbox.Message, 0, len(ids))
	for _, id := range ids {
		m, err := outbox.Encode(t.Context(), "test.things.v1", id, map[string]string{"id": id})
		if err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, m)
	}
	err := postgres.Tx(t.Context(), pool, func(tx pgx.Tx) error { return outbox.Insert(t.Context(), tx, msgs...) })
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, cfg postgres.Config, pub message.Publisher) *outbox.Relay {
	t.Helper()
	relay := outbox.NewRelay(cfg, pub, telemetrytest.ForTest(t))
	start(t, relay)
	return relay
}

func start(t *testing.T, relay *outbox.Relay) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func empty(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	limit := time.Now().Add(patience)
	for n := -1; n != 0; {
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM outbox`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(limit) {
			t.Fatalf("%d rows are still in the outbox", n)
		}
	}
}

func TestRelay_keepsAnObjectsOrder(t *testing.T) {
	t.Parallel()
	cfg, b := pg.Config(t, migrations), newBroker()
	pool := pg.Open(t, cfg, migrations)
	relay := run(t, cfg, b)
	const objects, each = 8, 120
	var writers sync.WaitGroup
	for o := range objects {
		writers.Go(func() { // the object's lock serialises its writers; here it is one goroutine
			for i := range each {
				write(t, pool, fmt.Sprintf("%d/%03d", o, i))
				relay.Wake()
			}
		})
	}
	writers.Wait()
	b.until(t, "all messages", func() bool { return len(b.got) >= objects*each })
	empty(t, pool)
	last := map[string]string{}
	for _, m := range b.got {
		object, i, _ := strings.Cut(m.UUID, "/")
		if i <= last[object] && last[object] != "" {
			t.Fatalf("object %s: %s came after %s", object, i, last[object])
		}
		last[object] = i
		var body map[string]string
		if err := json.Unmarshal(m.Payload, &body); err != nil || body["id"] != m.UUID {
			t.Fatalf("message %s has body %s (%v)", m.UUID, m.Payload, err)
		}
	}
	if len(b.got) != objects*each {
		t.Errorf("%d messages, want %d: nothing failed, so nothing may repeat", len(b.got), objects*each)
	}
}

// The broker has the messages, but the relay never learns it, as in a crash between publish and delete.
func TestRelay_repeatsAndNeverLoses(t *testing.T) {
	t.Parallel()
	cfg, b := pg.Config(t, migrations), newBroker()
	pool := pg.Open(t, cfg, migrations)
	write(t, pool, "a", "b", "c")
	failures := 3
	b.fail = func(string, []*message.Message) error {
		if failures--; failures >= 0 {
			return errors.New("confirm lost")
		}
		return nil
	}
	run(t, cfg, b)
	b.until(t, "four tries", func() bool { return len(b.got) == 12 })
	empty(t, pool)
	for i, m := range b.got {
		if want := []string{"a", "b", "c"}[i%3]; m.UUID != want {
			t.Errorf("message %d is %s, want %s", i, m.UUID, want)
		}
	}
}

// A name that cannot be published does not hold up the others, although more of its rows come first than a relay reads
// at a time.
func TestRelay_oneNameFailing(t *testing.T) {
	t.Parallel()
	cfg, b := pg.Config(t, migrations), newBroker()
	pool := pg.Open(t, cfg, migrations)
	broken(b)
	messages := make([]outbox.Message, 501)
	for n := range messages {
		messages[n] = outbox.Message{Name: "test.broken.v1", ID: "x", Body: []byte("{}")}
	}
	if err := outbox.Insert(t.Context(), pool, messages...); err != nil {
		t.Fatal(err)
	}
	write(t, pool, "a")
	run(t, cfg, b)
	b.until(t, "the healthy message", func() bool { return b.topic["test.things.v1"] > 0 })
	b.until(t, "another try of the broken one", func() bool { return b.topic["test.broken.v1"] > 500 })
	b.mu.Lock()
	tries := slices.DeleteFunc(slices.Clone(b.got), func(m *message.Message) bool { return m.UUID != "x" })[500:]
	b.mu.Unlock()
	if _, bounded := tries[0].Context().Deadline(); !bounded || len(tries) > 100 {
		t.Errorf("%d messages of the broken name were tried again, with a bound: %t; want a few with one", len(tries), bounded)
	}
	var left string
	if err := pool.QueryRow(t.Context(), `SELECT message_id || count(*) FROM outbox GROUP BY message_id`).Scan(&left); err != nil || left != "x501" {
		t.Errorf("left %q, %v, want x501", left, err)
	}
}

// A name that the broker takes in small batches alone is tried with these, and not with all rows again each time that
// some went.
func TestRelay_triesFewAtATime(t *testing.T) {
	t.Parallel()
	cfg, b := pg.Config(t, migrations), newBroker()
	pool := pg.Open(t, cfg, migrations)
	const most, rows = 40, 600
	var sizes []int
	sent := 0
	b.fail = func(_ string, msgs []*message.Message) error {
		sizes = append(sizes, len(msgs))
		if len(msgs) > most {
			return errors.New("not confirmed")
		}
		sent += len(msgs)
		return nil
	}
	ids := make([]string, rows)
	for n := range ids {
		ids[n] = strconv.Itoa(n)
	}
	write(t, pool, ids...)
	run(t, cfg, b)
	b.until(t, "a quarter of the rows", func() bool { return sent >= rows/4 })
	b.mu.Lock()
	defer b.mu.Unlock()
	if want := []int{500, 10, 20, 40, 80, 40}; !slices.Equal(sizes[:len(want)], want) || slices.Max(sizes[1:]) > 2*most {
		t.Errorf("batches of a name of which the broker takes %d at a time: %v, want %v and never again more than %d", most, sizes, want, 2*most)
	}
}

// Neither the others of a refused name nor its own rows are looked for among all that wait.
func TestRelay_readsPastARefusedName(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	if _, err := pool.Exec(t.Context(), `INSERT INTO outbox (name, message_id, headers, body)
		SELECT 'test.broken.v1', 'x', '{}', '{}' FROM generate_series(1, 20000)`); err != nil {
		t.Fatal(err)
	}
	write(t, pool, "a")
	if _, err := pool.Exec(t.Context(), `ANALYZE outbox`); err != nil {
		t.Fatal(err)
	}
	args := map[string]any{"the other names": []string{"test.broken.v1"}, "one name": "test.broken.v1"}
	for name, sql := range outbox.Refused {
		if all := plan(t, pool, "EXPLAIN "+sql, pgx.QueryExecModeExec, 500, []int64{1}, args[name]); !strings.Contains(all, "outbox_names") || strings.Contains(all, "outbox_unsent") || strings.Contains(all, "Seq Scan") {
			t.Errorf("read %s: want the index of names alone:\n%s", name, all)
		}
	}
}

// plan is what PostgreSQL says of an EXPLAIN.
func plan(t *testing.T, q postgres.Querier, sql string, args ...any) string {
	t.Helper()
	rows, err := q.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// The plan that a leader makes while its table is empty serves it for good: it reads an index.
func TestRelay_plansOnce(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	if _, err := pool.Exec(t.Context(), `VACUUM ANALYZE outbox`); err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), outbox.OnePlan); err != nil {
		t.Fatal(err)
	}
	for name, c := range outbox.Prepared {
		if all := plan(t, conn, "EXPLAIN "+c.SQL, append([]any{pgx.QueryExecModeExec}, c.Args...)...); strings.Contains(all, "Seq Scan") {
			t.Errorf("%s: want no scan of the whole table:\n%s", name, all)
		}
	}
}

// The reads of a leader use indexes whose dead entries its other reads mark. Those of the index of names stay until the
// next vacuum.
func TestRelay_readsPastWhatHasGone(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, step := range []string{ // the plan that the session keeps is of an empty table
		`VACUUM ANALYZE outbox`, outbox.OnePlan, `PREPARE new AS ` + outbox.Prepared["new"].SQL, `EXECUTE new(ARRAY[7], 8, 500)`,
		`INSERT INTO outbox (name, message_id, headers, body) SELECT 'test.a.v1', 'x', '{}', '{}' FROM generate_series(1, 20000)`,
		`DELETE FROM outbox WHERE id < 20000`,
	} {
		if _, err := conn.Exec(t.Context(), step); err != nil {
			t.Fatalf("run %s: %v, want no error", step, err)
		}
	}
	for name, run := range map[string]string{
		"new":   `EXECUTE new(ARRAY[7, 20000], 20000, 500)`,
		"waits": strings.ReplaceAll(outbox.Waits, "$1", "ARRAY[1]"),
	} {
		if all := plan(t, conn, "EXPLAIN "+run, pgx.QueryExecModeSimpleProtocol); !strings.Contains(all, "outbox_unsent") || strings.Contains(all, "outbox_names") || strings.Contains(all, "Seq Scan") {
			t.Errorf("%s: want the indexes by id alone:\n%s", name, all)
		}
	}
}

// An answer of a consumer finds each of its rows by the row's id, and compares it with no other.
func TestStored_looksEachRowUp(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, step := range []string{
		`SET plan_cache_mode = force_generic_plan`, `PREPARE stored AS ` + outbox.StoredSQL,
		`INSERT INTO outbox (name, message_id, headers, body) SELECT 'test.a.v1', 'm' || n, '{}', '{}' FROM generate_series(1, 3000) n`,
	} {
		if _, err := conn.Exec(t.Context(), step); err != nil {
			t.Fatalf("run %s: %v, want no error", step, err)
		}
	}
	ids, messages := make([]string, 100), make([]string, 100)
	for n := range ids {
		ids[n], messages[n] = strconv.Itoa(n+1), "m"+strconv.Itoa(n+1)
	}
	if all := plan(t, conn, fmt.Sprintf(`EXPLAIN (ANALYZE) EXECUTE stored('{%s}', '{%s}', '{test.a.v1}')`,
		strings.Join(ids, ","), strings.Join(messages, ",")), pgx.QueryExecModeSimpleProtocol); strings.Contains(all, "Rows Removed by") || strings.Contains(all, "Seq Scan") {
		t.Errorf("want each row by its id alone:\n%s", all)
	}
	var left int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM outbox`).Scan(&left); err != nil || left != 2900 {
		t.Errorf("%d rows are left, %v, want 2900", left, err)
	}
}

// An answer that meets the mark of its row deletes the row all the same.
func TestStored_besideAMark(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	write(t, pool, "a")
	var id int64
	var name, message string
	if err := pool.QueryRow(t.Context(), `SELECT id, name, message_id FROM outbox`).Scan(&id, &name, &message); err != nil {
		t.Fatal(err)
	}
	marks, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer marks.Rollback(context.WithoutCancel(t.Context())) //nolint:errcheck // it is committed
	if _, err := marks.Exec(t.Context(), outbox.Prepared["mark"].SQL, []int64{id}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := pool.Exec(t.Context(), outbox.StoredSQL, []int64{id}, []string{message}, []string{name})
		ended <- err
	}()
	for waits := false; !waits; {
		if err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := marks.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	empty(t, pool)
}

// broken has the broker refuse a name.
func broken(b *broker) {
	b.fail = func(topic string, _ []*message.Message) error {
		if topic == "test.broken.v1" {
			return errors.New("unroutable")
		}
		return nil
	}
}

// Two relays: one works at a time, and when its session dies the other goes on.
func TestRelay_takeover(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	one, two := newBroker(), newBroker()
	run(t, cfg, one)
	run(t, cfg, two)
	write(t, pool, "a")
	empty(t, pool)
	if len(one.got)+len(two.got) != 1 {
		t.Fatalf("published %d and %d times", len(one.got), len(two.got))
	}
	if _, err := pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); err != nil {
		t.Fatal(err)
	}
	write(t, pool, "b")
	empty(t, pool)
}

// asleep waits until the relay of a database sleeps.
func asleep(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	limit := time.Now().Add(patience)
	for sleeps := false; !sleeps; {
		err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted
			AND (classid::bigint << 32 | objid::bigint) = hashtextextended('outbox asleep', 0)
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&sleeps)
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(limit) {
			t.Fatalf("wait for the relay to sleep: not within %s", patience)
		}
	}
}

// A relay that sleeps until it is woken misses no row of another process, however long its writer takes to commit.
func TestRelay_sleeps(t *testing.T) {
	t.Parallel()
	cfg, b := pg.Config(t, migrations), newBroker()
	pool := pg.Open(t, cfg, migrations)
	relay := outbox.NewRelay(cfg, b, telemetrytest.ForTest(t))
	relay.SleepUntilWoken(2)
	start(t, relay)
	for n := range 3 {
		asleep(t, pool)
		write(t, pool, "a")
		b.until(t, "the row that wakes the relay", func() bool { return len(b.got) == n+1 })
	}
	asleep(t, pool)
	slow, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Rollback(context.WithoutCancel(t.Context())) }()
	if err := outbox.Insert(t.Context(), slow, outbox.Message{Name: "test.things.v1", ID: "slow", Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	write(t, pool, "quick")
	b.until(t, "the row of a quick writer", func() bool { return len(b.got) == 4 })
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.until(t, "the row of a slow writer", func() bool { return len(b.got) == 5 })
	empty(t, pool)
}

// A relay that sleeps whenever it has read nothing races with writers and misses no row.
func TestRelay_sleepsBetweenWriters(t *testing.T) {
	t.Parallel()
	cfg, b := pg.Config(t, migrations), newBroker()
	pool := pg.Open(t, cfg, migrations)
	relay := outbox.NewRelay(cfg, b, telemetrytest.ForTest(t))
	relay.SleepUntilWoken(0)
	start(t, relay)
	const writers, each = 3, 100
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				write(t, pool, fmt.Sprintf("%d/%d", w, i))
			}
		})
	}
	all.Wait()
	b.until(t, "every row", func() bool { return len(b.got) == writers*each })
	asleep(t, pool)
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	if err := outbox.NewBacklog(pool, 2).Full(t.Context()); err != nil {
		t.Errorf("empty: %v", err)
	}
	write(t, pool, "a", "b")
	if err := outbox.NewBacklog(pool, 2).Full(t.Context()); err == nil {
		t.Error("two of two rows wait: want a refusal")
	}
	if _, err := pool.Exec(t.Context(), `UPDATE outbox SET sent_at = now()`); err != nil {
		t.Fatal(err)
	}
	if err := outbox.NewBacklog(pool, 2).Full(t.Context()); err != nil {
		t.Errorf("both rows were sent: %v", err)
	}
	if _, err := pool.Exec(t.Context(), `DELETE FROM outbox`); err != nil {
		t.Fatal(err)
	}
	write(t, pool, "c")
	if err := outbox.NewBacklog(pool, 2).Full(t.Context()); err != nil {
		t.Errorf("one of two: %v", err)
	}
}

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	pg.Prepare(t, pg.New(t, migrations), map[string]string{"insert": outbox.InsertSQL})
}
