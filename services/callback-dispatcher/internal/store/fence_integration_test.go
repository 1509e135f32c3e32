//go:build integration

package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
	"causeway.internal/services/callback-dispatcher/migrations"
)

var breaker = app.Breaker{Failures: 10, Sample: 20, Wait: time.Minute}

// locked runs a statement in a transaction that is undone by the function it returns.
func locked(t *testing.T, db *pgxpool.Pool, sql string, args ...any) (undo func()) {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	undo = func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }
	t.Cleanup(undo)
	if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
	return undo
}

// blocked runs f and returns when it waits for a lock, as the nth that does.
func blocked(t *testing.T, db *pgxpool.Pool, nth int, f func() error) (done <-chan error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	looks, late := time.NewTicker(10*time.Millisecond), time.After(2*time.Minute)
	defer looks.Stop()
	for count(t, db, "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") < nth {
		select {
		case <-looks.C:
		case <-late:
			t.Fatal("it waits for no lock")
		}
	}
	return ended
}

func ends(t *testing.T, all ...<-chan error) {
	t.Helper()
	for _, done := range all {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// failing gives the target a history, so that a success has to write its lane.
func failing(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	do(t, db, `INSERT INTO lane (target, due_at, failures) VALUES ('t1', 'infinity', 3)`)
}

// takeOver makes another process take over all that the dead held, however long it waits for locks.
func takeOver(t *testing.T, db *pgxpool.Pool) func() error {
	t.Helper()
	m := NewMember(New(db, "b", 12), telemetrytest.ForTest(t).Log)
	m.patience = time.Minute // the locks are the test's
	return func() error { return m.takeOverAll(t.Context()) }
}

func (m *Member) takeOverAll(ctx context.Context) error {
	for {
		if more, err := m.takeOverSome(ctx, func(int) {}); err != nil || !more {
			return err
		}
	}
}

// A process whose lock another session holds is not a member: it does not beat. It becomes one with another lock, since
// a session that was cut off may live on at the server for hours.
func TestMember_lockTaken(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	m := NewMember(New(db, "a", 11), telemetrytest.ForTest(t).Log)
	m.patience = time.Minute
	defer m.hangUp()
	if err := m.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.hangUp()
	locked(t, db, `SELECT pg_advisory_xact_lock($1)`, int64(11))
	do(t, db, `UPDATE instance SET seen_at = now() - interval '5 seconds'`)
	lost := func() { t.Error("others had given it up, want it to go on") }
	m.beat(t.Context(), lost)
	wants(t, db, map[string]int{"instance WHERE seen_at < now() - interval '4 seconds' AND lock_key = 11": 1})
	m.beat(t.Context(), lost)
	wants(t, db, map[string]int{
		"instance WHERE seen_at > now() - interval '4 seconds' AND lock_key <> 11 AND NOT pg_try_advisory_xact_lock(lock_key)": 1,
	})
}

// A process that others give up while it records: they see what it has written.
func TestFence_recordBeforeTakeOver(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	well, fails := arrival(1, "well", 1, true), arrival(1, "fails", 1, true)
	accept(t, a, well, fails)
	failing(t, db)
	undo := locked(t, db, `SELECT FROM lane FOR UPDATE`)
	recorded := blocked(t, db, 1, func() error {
		_, err := a.Record(t.Context(), []app.Result{result(well, 1, "ok", delivery.Delivered, 0), result(fails, 1, "reset", delivery.Due, time.Hour)}, breaker)
		return err
	})
	taken := blocked(t, db, 2, takeOver(t, db))
	undo()
	ends(t, recorded, taken)
	wants(t, db, map[string]int{"delivery": 1, "delivery WHERE attempts = 1 AND id = 'dlv_fails_1'": 1, "delivery_done": 1, "instance": 0})
}

// The other way round: what the process records finds its leases gone. A success counts, a failure is for the others
// to find.
func TestFence_recordAfterTakeOver(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	well, fails := arrival(1, "well", 1, true), arrival(1, "fails", 1, true)
	accept(t, a, well, fails)
	failing(t, db)
	undo := locked(t, db, `SELECT FROM lane FOR UPDATE`)
	taken := blocked(t, db, 1, takeOver(t, db))
	recorded := blocked(t, db, 2, func() error {
		_, err := a.Record(t.Context(), []app.Result{result(well, 1, "ok", delivery.Delivered, 0), result(fails, 1, "reset", delivery.Due, time.Hour)}, breaker)
		return err
	})
	undo()
	ends(t, taken, recorded)
	wants(t, db, map[string]int{"delivery": 1, "delivery WHERE attempts = 0 AND id = 'dlv_fails_1'": 1, "delivery_done": 1, "instance": 0})
}

// A flight of an earlier version lands while one of its deliveries, which has a row since its first attempt failed, is
// delivered at the second.
func TestFence_landingBesideARetry(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	retried := arrival(1, "retried", 1, true)
	fly(t, db, "old", retried, arrival(1, "open", 1, true))
	do(t, db, `INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, target, url, type, object_id, sequence, state, attempts, next_at)
		SELECT 'dlv_retried_1', id, slot, merchant_id, mode, 't1', 'http://x/', type, object_id, sequence, 'due', 1, now()
		FROM event WHERE id = 'evt_retried_1'`)
	do(t, db, `INSERT INTO lane (target, due_at) VALUES ('t1', now())`)
	if got := claim(t, a); !slices.Equal(got, []string{"dlv_retried_1"}) {
		t.Fatalf("claimed %v", got)
	}
	undo := locked(t, db, `INSERT INTO delivery_done (slot, id, event_id, merchant_id, mode, target, url, type, object_id, sequence, state, attempts,
		last_class, created_at) SELECT event_slot, id, event_id, merchant_id, mode, target, url, type, object_id, sequence, 'delivered', 2, 'ok', now()
		FROM delivery`)
	recorded := blocked(t, db, 1, func() error {
		_, err := a.Record(t.Context(), []app.Result{result(retried, 2, "ok", delivery.Delivered, 0)}, breaker)
		return err
	})
	do(t, db, landOldSQL, []string{"old"})
	undo()
	ends(t, recorded)
	wants(t, db, map[string]int{"delivery": 1, "delivery WHERE id = 'dlv_open_1'": 1, "delivery_done": 1, "flight": 0})
}

// A commit whose answer was lost is repeated after the delivery was brought back: it does not end what was brought
// back, and the log has its attempt once.
func TestFence_repeatedAfterBringingBack(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	well := arrival(1, "well", 1, true)
	accept(t, a, well)
	r := result(well, 1, "ok", delivery.Delivered, 0)
	record(t, a, r)
	do(t, db, retrySQL, "m1", "test", "dlv_well_1")
	record(t, a, r)
	if got := viewOf(t, a, "dlv_well_1"); len(got.Attempts) != 1 || got.Status != "retrying" {
		t.Errorf("got %+v", got)
	}
	wants(t, db, map[string]int{"delivery WHERE state = 'due'": 1})
	if got := claim(t, a); !slices.Equal(got, []string{"dlv_well_1"}) {
		t.Fatalf("claimed %v", got)
	}
	record(t, a, result(well, 2, "ok", delivery.Delivered, 0))
	wants(t, db, map[string]int{"delivery": 0, "delivery_done": 1, "attempt": 2})
}

// A batch in which a success and failures were committed before is recorded with one result that was not: only that one
// changes anything, and the answer names the breaker that the lost answer would have named.
func TestFence_repeatedBatch(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	well, fails, trips, fresh := arrival(1, "well", 1, true), arrival(1, "fails", 1, true), arrival(1, "trips", 1, true), arrival(1, "xresh", 1, true)
	trips.Deliveries[0].Target = "t2"
	accept(t, a, well, fails, trips, fresh)
	committed := []app.Result{
		result(well, 1, "ok", delivery.Delivered, 0), result(fails, 1, "reset", delivery.Due, time.Hour), result(trips, 1, "reset", delivery.Due, time.Hour),
	}
	committed[2].Trips = true
	targets := func(results []app.Result, failures int) []app.Target {
		t.Helper()
		got, err := a.Record(t.Context(), results, app.Breaker{Failures: failures, Sample: 20, Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(a, b app.Target) int { return strings.Compare(a.Name, b.Name) })
		return got
	}
	record(t, a, committed[0])
	if got := targets(committed[1:], 3); !slices.Equal(got, []app.Target{{Name: "t2", Open: true}}) {
		t.Fatalf("got %v", got)
	}
	do(t, db, retrySQL, "m1", "test", "dlv_well_1")
	do(t, db, `UPDATE lane SET due_at = 'infinity'`)
	batch := append(slices.Clone(committed), result(fresh, 1, "reset", delivery.Due, time.Hour))
	if got := targets(batch, 3); !slices.Equal(got, []app.Target{{Name: "t2", Open: true}}) {
		t.Errorf("got %v", got)
	}
	wants(t, db, map[string]int{
		"attempt": 4, "delivery": 4, "delivery WHERE state = 'due' AND id = 'dlv_well_1'": 1, "delivery WHERE attempts = 1 AND id = 'dlv_xresh_1'": 1,
		"lane WHERE target = 't1' AND failures = 2 AND probe_at IS NULL": 1, "lane WHERE target = 't2' AND failures = 1": 1,
	})
	do(t, db, `UPDATE lane SET failures = 0, probe_at = NULL WHERE target = 't2'`) // well since
	if got := targets(batch, 3); !slices.Equal(got, []app.Target{{Name: "t1"}, {Name: "t2"}}) {
		t.Errorf("again: got %v", got)
	}
	wants(t, db, map[string]int{"attempt": 4, "lane WHERE target = 't1' AND failures = 2": 1, "lane WHERE target = 't2' AND failures = 0 AND probe_at IS NULL": 1})
}

// An endpoint that answered 410 and was enabled since is not disabled by a repeated record.
func TestFence_repeatedGone(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	gone := arrival(1, "gone", 1, true)
	accept(t, a, gone)
	do(t, db, `INSERT INTO endpoint (id, merchant_id, mode, url, description, types)
		VALUES ('t1', 'm1', 'test', 'http://x/', '', '{}')`)
	r := result(gone, 1, "gone", delivery.Due, time.Hour)
	r.Verdict.Disable = true
	record(t, a, r)
	wants(t, db, map[string]int{"endpoint WHERE NOT enabled": 1})
	do(t, db, `UPDATE endpoint SET enabled = true, disabled_reason = NULL, disabled_at = NULL`)
	record(t, a, r)
	wants(t, db, map[string]int{"endpoint WHERE enabled": 1})
}

// A process that others have given up, and that does not know it yet, leases nothing to itself.
func TestFence_buriedLeasesNothing(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	do(t, db, burySQL, []string{"a"})
	if got := accept(t, a, arrival(1, "p", 1, true)); !slices.Equal(got, []app.Placed{app.Queued}) {
		t.Errorf("accepted as %v", got)
	}
	if got := claim(t, a); len(got) > 0 {
		t.Errorf("claimed %v", got)
	}
	member(t, db, "a")
	if got := claim(t, a); !slices.Equal(got, []string{"dlv_p_1"}) {
		t.Errorf("claimed %v", got)
	}
}

// A process that takes another one over while that records takes rows before lanes, as the record does, so that
// neither waits for the other.
func TestFence_takingOverBesideARecord(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	one, two, flies := arrival(1, "one", 1, true), arrival(1, "two", 1, true), arrival(1, "flies", 1, true)
	two.Deliveries[0].Target, flies.Deliveries[0].Target = "t2", "t2"
	accept(t, a, one, two)
	fly(t, db, "a", flies)
	do(t, db, `INSERT INTO lane (target, due_at) VALUES ('t1', 'infinity'), ('t2', 'infinity')`)
	undo := locked(t, db, `SELECT FROM lane WHERE target = 't1' FOR UPDATE`)
	recorded := blocked(t, db, 1, func() error {
		_, err := a.Record(t.Context(), []app.Result{result(one, 1, "reset", delivery.Due, 0), result(two, 1, "reset", delivery.Due, 0)}, breaker)
		return err
	})
	taken := blocked(t, db, 2, takeOver(t, db))
	undo()
	ends(t, recorded, taken)
	wants(t, db, map[string]int{"instance": 0, "flight": 0, "delivery WHERE state = 'due'": 3, "delivery WHERE attempts = 1": 2})
}

// Two records of one process, each with a target that fails and one that is well again, take the lanes in one order.
func TestFence_recordsSideBySide(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	var all [4]app.Arrival // two of either target
	for n := range all {
		all[n] = arrival(n, "o", 1, true)
		all[n].Event.ObjectID += fmt.Sprint(n)
		all[n].Deliveries[0].Target = fmt.Sprint("t", n%2+1)
	}
	accept(t, a, all[:]...)
	do(t, db, `INSERT INTO lane (target, due_at, failures) VALUES ('t0', 'infinity', 1), ('t1', 'infinity', 1), ('t2', 'infinity', 1)`)
	record := func(fails, well app.Arrival) func() error {
		return func() error {
			_, err := a.Record(t.Context(), []app.Result{result(fails, 1, "reset", delivery.Due, 0), result(well, 1, "ok", delivery.Delivered, 0)}, breaker)
			return err
		}
	}
	undo := locked(t, db, `SELECT FROM lane WHERE target = 't1' FOR UPDATE`)
	one := blocked(t, db, 1, record(all[0], all[1])) // t1 fails, t2 is well
	two := blocked(t, db, 2, record(all[3], all[2])) // the other way round
	undo()
	ends(t, one, two)
	wants(t, db, map[string]int{"delivery WHERE attempts = 1": 2, "delivery_done": 2})
}
