//go:build integration

package postgres_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func migration(sql string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql)}
}

var migrations = fstest.MapFS{"00001_things.sql": migration("CREATE TABLE things (id int PRIMARY KEY, n int NOT NULL);")}

func TestOpen_refusesPendingMigrations(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	newer := fstest.MapFS{"00001_things.sql": migrations["00001_things.sql"], "00002_more.sql": migration("CREATE TABLE more (id int);")}
	if _, err := postgres.Open(t.Context(), cfg, newer, telemetrytest.ForTest(t)); !errors.Is(err, postgres.ErrPending) {
		t.Fatalf("opened a schema without migration 2: %v", err)
	}
	if err := postgres.Migrate(t.Context(), cfg, newer); err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Open(t.Context(), cfg, newer, telemetrytest.ForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var statement, zone string
	if err := pool.QueryRow(t.Context(), `SELECT current_setting('statement_timeout'), current_setting('timezone')`).Scan(&statement, &zone); err != nil {
		t.Fatal(err)
	}
	if statement != "15s" || zone != "UTC" {
		t.Errorf("statement_timeout %q, timezone %q", statement, zone)
	}
}

func TestOpen_hidesThePassword(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), postgres.Config{URL: "postgres://u:hunter2@[bad"}, migrations, telemetrytest.ForTest(t))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

func TestConfig_With(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg.With("jit", "off").With("plan_cache_mode", "force_generic_plan"), migrations)
	plain := pg.Open(t, cfg, migrations)
	var mode, other string
	for q, into := range map[postgres.Querier]*string{pool: &mode, plain: &other} {
		if err := q.QueryRow(t.Context(), `SELECT current_setting('plan_cache_mode') || ' ' || current_setting('jit')`).Scan(into); err != nil {
			t.Fatal(err)
		}
	}
	if mode != "force_generic_plan off" || other == mode {
		t.Errorf("sessions have %s, others %s", mode, other)
	}
}

// A migration that finds its table in use lets the others through, and is done once nobody is in its way.
func TestMigrate_besideOthers(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	busy, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := busy.Exec(t.Context(), `LOCK TABLE things IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	newer := fstest.MapFS{"00001_things.sql": migrations["00001_things.sql"], "00002_more.sql": migration("ALTER TABLE things ADD COLUMN more int;")}
	done := make(chan error, 1)
	go func() { done <- postgres.Migrate(t.Context(), cfg, newer) }()
	for waits := 0; waits == 0; {
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE relation = 'things'::regclass AND NOT granted`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM things`).Scan(&n); err != nil { // behind the migration, which gives up
		t.Error(err)
	}
	select {
	case err := <-done:
		t.Fatalf("it went on over a lock: %v", err)
	default:
	}
	if err := busy.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `SELECT more FROM things`); err != nil {
		t.Error(err)
	}
}

// An index that is built beside the writers waits for everybody who began before it, such as a backup. It holds up
// nobody meanwhile, so it does not give up as others must: it would begin anew each time and be done never.
func TestMigrate_indexWaitsForSnapshots(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	pool := pg.Open(t, cfg, migrations)
	long, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = long.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := long.Exec(t.Context(), `SELECT 1`); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `CREATE TABLE tries ()`); err != nil {
		t.Fatal(err)
	}
	newer := fstest.MapFS{"00001_things.sql": migrations["00001_things.sql"], "00002_index.sql": {Data: []byte(
		"-- +goose NO TRANSACTION\n-- +goose Up\nINSERT INTO tries DEFAULT VALUES;\nCREATE INDEX CONCURRENTLY things_n ON things (n);\n",
	)}}
	done := make(chan error, 1)
	go func() { done <- postgres.Migrate(t.Context(), cfg, newer) }()
	for waited, tries := false, 0; !waited; {
		err := pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM tries), EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
			AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock' AND query_start < clock_timestamp() - interval '1.5 seconds')`).Scan(&tries, &waited)
		if err != nil || tries > 1 {
			t.Fatalf("begun %d times, %v", tries, err)
		}
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	if err := long.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestMigrate_manyAtOnce(t *testing.T) {
	t.Parallel()
	url := pg.URL(t, fstest.MapFS{"00001_none.sql": migration("SELECT 1;")})
	set := fstest.MapFS{"00001_none.sql": migration("SELECT 1;"), "00002_things.sql": migration("CREATE TABLE things (id int);")}
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() { errs <- postgres.Migrate(t.Context(), postgres.Config{URL: config.Secret(url)}, set) }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestTx_startsOverAfterADeadlock(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	if _, err := pool.Exec(t.Context(), `INSERT INTO things VALUES (1, 0), (2, 0)`); err != nil {
		t.Fatal(err)
	}
	bump := func(tx pgx.Tx, id int) error {
		_, err := tx.Exec(t.Context(), `UPDATE things SET n = n + 1 WHERE id = $1`, id)
		return err
	}
	var met atomic.Int32
	both := make(chan struct{})
	errs := make(chan error, 2)
	for _, order := range [][2]int{{1, 2}, {2, 1}} {
		go func() {
			errs <- postgres.Tx(t.Context(), pool, func(tx pgx.Tx) error {
				if err := bump(tx, order[0]); err != nil {
					return err
				}
				if met.Add(1) == 2 {
					close(both)
				}
				<-both
				return bump(tx, order[1])
			})
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	var sum int
	if err := pool.QueryRow(t.Context(), `SELECT sum(n) FROM things`).Scan(&sum); err != nil || sum != 4 {
		t.Errorf("sum %d, %v; want 4", sum, err)
	}
	if n := met.Load(); n < 3 { // what starts over may meet the other a second time
		t.Errorf("the functions ran %d times; want 3 or more: a deadlock and a start over", n)
	}
}

func TestIsUnique(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	_, err := pool.Exec(t.Context(), `INSERT INTO things VALUES (1, 0), (1, 0)`)
	if !postgres.IsUnique(err, "things_pkey") || !postgres.IsUnique(err, "") || postgres.IsUnique(err, "other") {
		t.Errorf("insert a row twice: got %v, want a breach of things_pkey", err)
	}
}

func TestLead_oneLeaderAndTakeover(t *testing.T) {
	t.Parallel()
	cfg, tel := pg.Config(t, migrations), telemetrytest.ForTest(t)
	leads := make(chan int, 8)
	var now, most atomic.Int32
	lead := func(ctx context.Context, who int) error {
		return postgres.Lead(ctx, cfg, "test", tel.Log, func(ctx context.Context) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			leads <- who
			<-ctx.Done()
			return nil
		})
	}
	stops, done := [3]context.CancelFunc{}, make(chan error, 3)
	for who := range stops {
		ctx, cancel := context.WithCancel(t.Context())
		stops[who] = cancel
		go func() { done <- lead(ctx, who) }()
	}
	first := <-leads
	stops[first]()
	second := <-leads
	if second == first {
		t.Errorf("%d led again after it was stopped", first)
	}

	if most.Load() != 1 {
		t.Errorf("%d leaders at once", most.Load())
	}

	// The server ends the leader's session: somebody leads again, and within a heartbeat the former leader knows.
	pool := pg.Open(t, cfg, migrations)
	if _, err := pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); err != nil {
		t.Fatal(err)
	}
	select {
	case <-leads:
	case <-time.After(2 * time.Minute): // the machine may be busy
		t.Fatal("nobody took over from the leader whose session ended")
	}
	for _, stop := range stops {
		stop()
	}
	for range stops {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Callers have a session in the order in which they come. An Await that begins again and again does not pass the
// heartbeat that waits.
func TestSession_inOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := postgres.NewSession()
		var order []string
		hold := func(who string) {
			if err := s.Do(t.Context(), func(*pgx.Conn) error {
				order = append(order, who)
				time.Sleep(time.Second) // synthetic
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		var holds sync.WaitGroup
		holds.Go(func() {
			for range 3 {
				hold("await")
			}
		})
		time.Sleep(500 * time.Millisecond) // synthetic
		holds.Go(func() { hold("heartbeat") })
		holds.Wait()
		if want := []string{"await", "heartbeat", "await", "await"}; !slices.Equal(order, want) {
			t.Errorf("the session was had by %v, want %v", order, want)
		}
	})
}

// A leader that stops showing signs of life, as a paused process does, loses its session and cannot write through it.
func TestLeadSession_silentLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	cfg, tel := pg.Config(t, migrations), telemetrytest.ForTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	held, stale := make(chan struct{}), make(chan error, 1)
	first, second := make(chan error, 1), make(chan error, 1)
	var resume atomic.Bool
	release := make(chan struct{})
	go func() {
		first <- postgres.LeadSession(ctx, cfg, "test", tel.Log, func(ctx context.Context, s *postgres.Session) error {
			if resume.Load() {
				<-ctx.Done()
				return nil
			}
			return s.Do(ctx, func(c *pgx.Conn) error { // holding the session keeps its heartbeat away
				close(held)
				<-release
				_, err := c.Exec(context.WithoutCancel(ctx), `INSERT INTO things VALUES (1, 1)`)
				stale <- err
				resume.Store(true)
				return err
			})
		})
	}()
	<-held
	led := make(chan struct{})
	go func() {
		second <- postgres.LeadSession(ctx, cfg, "test", tel.Log, func(ctx context.Context, _ *postgres.Session) error {
			close(led)
			<-ctx.Done()
			return nil
		})
	}()
	select {
	case <-led:
	case <-time.After(2 * time.Minute): // the machine may be busy
		t.Error("nobody took over from the silent leader")
	}
	close(release)
	if err := <-stale; err == nil {
		t.Error("the replaced leader could still write through its session")
	}
	cancel()
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
}

// A caller that gives up does not end its statement: it could be a commit that waits for a standby.
func TestOpen_cancelsNothing(t *testing.T) {
	t.Parallel()
	pool := pg.Open(t, pg.Config(t, migrations), migrations)
	beside, err := postgres.Beside(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close(context.WithoutCancel(t.Context()))
	for n, q := range []interface {
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	}{pool, beside} {
		hold, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hold.Exec(t.Context(), `SELECT pg_advisory_xact_lock(4)`); err != nil {
			t.Fatal(err)
		}
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		ended := make(chan error, 1)
		go func() {
			_, err := q.Exec(ctx, `INSERT INTO things SELECT $1::int, 1 FROM pg_advisory_xact_lock(4)`, n+1)
			ended <- err
		}()
		awaitCount(t, pool, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, 1)
		giveUp()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("%T: insert of a caller that gave up: got %v, want %v", q, err, context.Canceled)
		}
		if err := hold.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitCount(t, pool, `SELECT count(*) FROM things`, n+1)
	}
}

// awaitCount asks until the answer is want. The machine may be busy.
func awaitCount(t *testing.T, pool *pgxpool.Pool, sql string, want int) {
	t.Helper()
	var got int
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err := pool.QueryRow(t.Context(), sql).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got == want {
			return
		}
	}
	t.Fatalf("%s: got %d after a minute, want %d", sql, got, want)
}
