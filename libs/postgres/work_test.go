//go:build integration

package postgres_test

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
)

var jobs = fstest.MapFS{"00001_jobs.sql": {Data: []byte(`-- +goose Up
CREATE TABLE job (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, due_at timestamptz NOT NULL);
CREATE SEQUENCE look;
-- +goose StatementBegin
` + postgres.WorkSchema + `
CREATE TRIGGER job_wake AFTER INSERT OR UPDATE OF due_at ON job FOR EACH STATEMENT
    WHEN (NOT pg_try_advisory_xact_lock_shared(hashtextextended('work asleep', 0))) EXECUTE FUNCTION work_wake();
-- +goose StatementEnd
`)}}

// nextJob counts the looks.
const nextJob = `SELECT CASE WHEN nextval('look') > 0 THEN extract(epoch FROM min(due_at) - now())::float8 END FROM job`

// await waits for the work of jobs, with sleeps of so long at most. woken has a value after Wake was called.
func await(t *testing.T, most time.Duration) (pool *pgxpool.Pool, woken chan time.Time) {
	t.Helper()
	cfg := pg.Config(t, jobs)
	cfg.MaxConns = 24 // for twelve writers at once
	pool = pg.Open(t, cfg, jobs)
	woken = make(chan time.Time, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- postgres.LeadSession(ctx, cfg, "work", telemetrytest.ForTest(t).Log, func(ctx context.Context, s *postgres.Session) error {
			return s.AwaitWorkFor(ctx, most, postgres.Work{Due: nextJob, Wake: func() {
				select {
				case woken <- time.Now():
				default:
				}
			}})
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("end the wait: %v, want no error", err)
		}
	})
	return pool, woken
}

// asleep waits until AwaitWork of a database sleeps.
func asleep(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	limit := time.Now().Add(time.Minute)
	for sleeps := false; !sleeps; {
		err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted
			AND (classid::bigint << 32 | objid::bigint) = hashtextextended('work asleep', 0)
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&sleeps)
		if err != nil {
			t.Fatalf("look for the sleep: %v, want no error", err)
		}
		if time.Now().After(limit) {
			t.Fatal("AwaitWork did not sleep within a minute")
		}
	}
}

func change(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v, want no error", sql, err)
	}
}

func heard(t *testing.T, woken chan time.Time, after string) time.Time {
	t.Helper()
	select {
	case at := <-woken:
		return at
	case <-time.After(time.Minute):
		t.Fatalf("no ring within a minute after %s", after)
		return time.Time{}
	}
}

func forget(woken chan time.Time) {
	select {
	case <-woken:
	default:
	}
}

func silent(t *testing.T, woken chan time.Time, after string) {
	t.Helper()
	select {
	case <-woken:
		t.Fatalf("woken after %s, want none", after)
	default:
	}
}

// AwaitWork that sleeps for an hour wakes as soon as a row that is due is committed, however long its writer took, and
// when the time of a row comes; a row that is due tomorrow wakes nobody.
func TestAwaitWork(t *testing.T) {
	t.Parallel()
	pool, woken := await(t, time.Hour)
	asleep(t, pool)
	change(t, pool, `INSERT INTO job (due_at) VALUES (now() + interval '1 day')`)
	asleep(t, pool)
	silent(t, woken, "a row that is due tomorrow")
	change(t, pool, `UPDATE job SET due_at = now()`)
	heard(t, woken, "a row became due")
	change(t, pool, `DELETE FROM job`)
	asleep(t, pool)
	forget(woken)

	slow, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatalf("begin: %v, want no error", err)
	}
	defer func() { _ = slow.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := slow.Exec(t.Context(), `INSERT INTO job (due_at) VALUES (now())`); err != nil {
		t.Fatalf("insert a row: %v, want no error", err)
	}
	change(t, pool, `INSERT INTO job (due_at) VALUES (now() + interval '1 day')`)
	silent(t, woken, "a row that is not committed")
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v, want no error", err)
	}
	heard(t, woken, "a slow writer committed")
	change(t, pool, `DELETE FROM job`)
	asleep(t, pool)
	forget(woken)

	began := time.Now()
	change(t, pool, `INSERT INTO job (due_at) VALUES (clock_timestamp() + interval '1500 milliseconds')`)
	asleep(t, pool)
	if took := heard(t, woken, "a row's time came").Sub(began); took < 1400*time.Millisecond {
		t.Errorf("a row that is due after 1.5 s woke after %s", took)
	}
}

// AwaitWork that was not notified finds a due row when its sleep ends.
func TestAwaitWork_lostNotification(t *testing.T) {
	t.Parallel()
	pool, woken := await(t, 2*time.Second)
	change(t, pool, `ALTER TABLE job DISABLE TRIGGER job_wake`)
	asleep(t, pool)
	change(t, pool, `INSERT INTO job (due_at) VALUES (now())`)
	heard(t, woken, "a lost notification")
}

// Writers that write again and again do not make AwaitWork look more often than its pause allows: it would be notified
// by each, and PostgreSQL commits transactions that notify one after the other.
func TestAwaitWork_amongWriters(t *testing.T) {
	t.Parallel()
	pool, _ := await(t, time.Hour)
	asleep(t, pool)
	began, before := time.Now(), looks(t, pool)
	for range 20 {
		change(t, pool, `INSERT INTO job (due_at) VALUES (now() + interval '1 day')`)
		asleep(t, pool)
	}
	got, took := looks(t, pool)-before, time.Since(began)
	// It looks for what was written, and before it sleeps again.
	if most := 2 * (int64(took/postgres.WorkPause) + 1); got > most {
		t.Errorf("%d looks within %s, want at most %d", got, took, most)
	}
}

// Writers that wrote at the same time while AwaitWork slept have all notified it. It looks a few times, and not once
// for each of them.
func TestAwaitWork_writersAtOnce(t *testing.T) {
	t.Parallel()
	pool, _ := await(t, time.Hour)
	asleep(t, pool)
	var writers []pgx.Tx
	for range 12 {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatalf("begin: %v, want no error", err)
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
		if _, err := tx.Exec(t.Context(), `INSERT INTO job (due_at) VALUES (now() + interval '1 day')`); err != nil {
			t.Fatalf("insert a row: %v, want no error", err)
		}
		writers = append(writers, tx)
	}
	before := looks(t, pool)
	for _, tx := range writers {
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatalf("commit: %v, want no error", err)
		}
	}
	last, since := before, time.Now()
	for time.Since(since) < 3*postgres.WorkPause { // until it sleeps for longer than it pauses
		if now := looks(t, pool); now != last {
			last, since = now, time.Now()
		}
	}
	if got := last - before; got > 8 {
		t.Errorf("%d looks after %d writers, want a few", got, len(writers))
	}
}

func looks(t *testing.T, pool *pgxpool.Pool) (n int64) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), `SELECT last_value FROM look`).Scan(&n); err != nil {
		t.Fatalf("count the looks: %v, want no error", err)
	}
	return n
}
