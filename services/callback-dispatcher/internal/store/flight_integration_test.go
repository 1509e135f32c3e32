//go:build integration

package store

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// member makes the store of a process that is on the list.
func member(t testing.TB, db *pgxpool.Pool, instance string) *Store {
	t.Helper()
	s := New(db, instance, int64(instance[0]))
	do(t, db, joinSQL, s.instance, s.lockKey)
	return s
}

func do(t testing.TB, db *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// fly accepts an event as a process of an earlier version does: its delivery has no row, only a line in the event's fan
// and its commit's flight (00005_flight.sql).
func fly(t *testing.T, db *pgxpool.Pool, instance string, arrivals ...app.Arrival) {
	t.Helper()
	for _, a := range arrivals {
		e, d := a.Event, a.Deliveries[0]
		do(t, db, `WITH e AS (
			INSERT INTO event (slot, id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body, fan)
			VALUES (dispatcher_slot(now()), $2, $3, $4, $5, $6, $7, now(), '', $8, concat_ws(chr(9), $9::text, $10::text, '', $11::text)) RETURNING id, slot
		) INSERT INTO flight (owner, events, slots) SELECT $1, array_agg(id), array_agg(slot) FROM e`,
			instance, e.ID, e.MerchantID, e.Mode, e.Type, e.ObjectID, e.Sequence, e.Body, d.Target, d.ID, d.URL)
	}
}

// flown records that a delivery of a flight succeeded, as that version does.
func flown(t *testing.T, db *pgxpool.Pool, a app.Arrival) {
	t.Helper()
	do(t, db, `INSERT INTO delivery_done (slot, id, event_id, merchant_id, mode, target, url, type, object_id, sequence, state, attempts,
			last_class, last_status, created_at, first_attempt_at, trigger, remote, dns_us, connect_us, tls_us, wait_us, total_us, headers, excerpt,
			detail, generation)
		SELECT slot, $2, id, merchant_id, mode, 't1', 'http://x/', type, object_id, sequence, 'delivered', 1, 'ok', 200, received_at, now(),
			'auto', '127.0.0.1:80', 0, 0, 0, 1000, 2000, '{}', 'a', '', 1 FROM event WHERE id = $1`, a.Event.ID, a.Deliveries[0].ID)
}

func wants(t *testing.T, db *pgxpool.Pool, want map[string]int) {
	t.Helper()
	for sql, n := range want {
		if got := count(t, db, sql); got != n {
			t.Errorf("%d of %s, want %d", got, sql, n)
		}
	}
}

// viewOf is a delivery as its merchant sees it.
func viewOf(t *testing.T, s *Store, id string) app.DeliveryView {
	t.Helper()
	list, err := s.Deliveries(t.Context(), tenant.Owner{MerchantID: "m1", Mode: "test"}, app.DeliveryFilter{ID: id}, 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d deliveries, %v", len(list), err)
	}
	return list[0]
}

// Each outcome leaves its rows; a commit whose answer was lost is repeated and changes nothing.
func TestRecord_leaves(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	well, fails, ours, gone, late := arrival(1, "well", 1, true), arrival(1, "fails", 1, true), arrival(1, "ours", 1, true), arrival(1, "gone", 1, true), arrival(1, "late", 1, true)
	if got := accept(t, s, well, fails, ours, gone, late); !slices.Equal(got, slices.Repeat([]app.Placed{app.Leased}, 5)) {
		t.Fatalf("got %v", got)
	}
	if got := accept(t, s, well, fails); !slices.Equal(got, []app.Placed{app.Duplicate, app.Duplicate}) {
		t.Fatalf("again: %v", got)
	}
	wants(t, db, map[string]int{"delivery WHERE state = 'leased' AND lease_owner = 'a'": 5, "event": 5, "lane": 0})
	postponed := result(ours, 1, "", delivery.Due, time.Hour)
	postponed.Uncounted = true
	for range 2 {
		record(t, s, result(well, 1, "ok", delivery.Delivered, 0), result(fails, 1, "http_5xx", delivery.Due, time.Hour), postponed,
			result(gone, 1, "gone", delivery.Exhausted, 0))
		wants(t, db, map[string]int{
			"delivery_done WHERE state = 'delivered' AND attempts = 1 AND id = 'dlv_well_1'":                                         1,
			"delivery_done WHERE state = 'exhausted' AND last_class = 'gone' AND id = 'dlv_gone_1'":                                  1,
			"delivery WHERE state = 'due' AND attempts = 1 AND last_class = 'http_5xx' AND next_at > now() + interval '59 minutes'":  1,
			"delivery WHERE state = 'due' AND attempts = 0 AND first_attempt_at IS NULL AND next_at > now() + interval '59 minutes'": 1,
			"delivery WHERE state = 'leased' AND lease_owner = 'a' AND id = 'dlv_late_1'":                                            1,
			"attempt": 3, "attempt WHERE delivery_id = 'dlv_fails_1'": 1, "lane WHERE target = 't1' AND due_at < 'infinity'": 1, "delivery_done": 2,
		})
	}
	record(t, s, result(late, 1, "reset", delivery.Due, time.Hour))
	wants(t, db, map[string]int{"delivery WHERE state = 'due' AND attempts = 1 AND id = 'dlv_late_1'": 1, "attempt": 4})
}

// The merchant sees the attempt, also after the delivery was brought back.
func TestRecord_theAttemptIsInTheLog(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	one := arrival(1, "one", 1, true)
	accept(t, s, one)
	r := result(one, 1, "ok", delivery.Delivered, 0)
	r.Outcome.Wait, r.Outcome.Total, r.Outcome.Remote = time.Millisecond, 2*time.Millisecond, "127.0.0.1:80"
	record(t, s, r)
	before := viewOf(t, s, "dlv_one_1")
	if len(before.Attempts) != 1 || before.Made != 1 || before.Attempts[0].Total != 2*time.Millisecond || before.Attempts[0].Trigger != delivery.Auto ||
		before.Attempts[0].Status != 200 || string(before.Attempts[0].Excerpt) != "a\x00\xff" || !before.Attempts[0].At.Equal(r.Outcome.At.Truncate(time.Microsecond)) {
		t.Fatalf("got %+v", before)
	}
	if count(t, db, "delivery_done d JOIN event e ON e.id = d.event_id AND e.slot = d.slot AND e.received_at = d.created_at") != 1 {
		t.Error("the delivery was not made when its event was received")
	}
	broughtBack(t, db, s, one, before)
}

// The same for a delivery that an earlier version made, whose attempt lies in its row.
func TestFlight_theAttemptIsInTheLog(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	one := arrival(1, "one", 1, true)
	fly(t, db, "old", one)
	flown(t, db, one)
	before := viewOf(t, s, "dlv_one_1")
	if len(before.Attempts) != 1 || before.Made != 1 || before.Attempts[0].Total != 2*time.Millisecond || before.Attempts[0].Trigger != delivery.Auto ||
		before.Attempts[0].Status != 200 || string(before.Attempts[0].Excerpt) != "a" {
		t.Fatalf("got %+v", before)
	}
	broughtBack(t, db, s, one, before)
}

// broughtBack retries a delivery that has ended by hand, and delivers it again.
func broughtBack(t *testing.T, db *pgxpool.Pool, s *Store, a app.Arrival, before app.DeliveryView) {
	t.Helper()
	do(t, db, retrySQL, "m1", "test", a.Deliveries[0].ID)
	if got := viewOf(t, s, before.ID); fmt.Sprint(got.Attempts) != fmt.Sprint(before.Attempts) || got.Status != "retrying" {
		t.Errorf("brought back: %+v, want the attempts %+v", got, before.Attempts)
	}
	if got := claim(t, s); !slices.Equal(got, []string{before.ID}) {
		t.Fatalf("claimed %v", got)
	}
	record(t, s, result(a, 2, "ok", delivery.Delivered, 0))
	if got := viewOf(t, s, before.ID); len(got.Attempts) != 2 || got.Made != 2 || got.Status != "delivered" {
		t.Errorf("after the second: %+v", got)
	}
}

// The order holds between processes: one sees that the event before is under way at another, of this version or an
// earlier one.
func TestAccept_orderBetweenProcesses(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T, *pgxpool.Pool, *Store, ...app.Arrival){
		"of this version":       func(t *testing.T, _ *pgxpool.Pool, s *Store, all ...app.Arrival) { accept(t, s, all...) },
		"of an earlier version": func(t *testing.T, db *pgxpool.Pool, s *Store, all ...app.Arrival) { fly(t, db, s.instance, all...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pg.New(t, migrations.FS)
			a, b := member(t, db, "a"), member(t, db, "b")
			first, second, third := arrival(1, "p", 1, true), arrival(2, "p", 2, true), arrival(3, "p", 3, true)
			elsewhere := arrival(2, "q", 2, true) // its predecessor went to another target alone
			other := arrival(1, "q", 1, true)
			other.Deliveries[0].Target = "t9"
			begin(t, db, a, first, other)
			if got := accept(t, b, second, elsewhere); !slices.Equal(got, []app.Placed{app.Waiting, app.Leased}) {
				t.Fatalf("got %v", got)
			}
			if look := unblock(t, b, app.Place{}); look != (app.Look{Waits: true}) {
				t.Fatalf("unblock before the first attempt: got %+v, want one that waits", look)
			}
			if name == "of this version" {
				record(t, a, result(first, 1, "ok", delivery.Delivered, 0))
			} else {
				flown(t, db, first)
			}
			if look := unblock(t, b, app.Place{}); look != (app.Look{Freed: 1, Waits: true}) {
				t.Fatalf("unblock after the first attempt: got %+v, want one freed and one that waits", look)
			}
			if look := unblock(t, b, app.Place{}); look != (app.Look{}) {
				t.Fatalf("%+v when none waits", look)
			}
			if got := claim(t, b); !slices.Equal(got, []string{"dlv_p_2"}) {
				t.Fatalf("claimed %v", got)
			}
			record(t, b, result(second, 1, "http_5xx", delivery.Due, time.Hour))
			if got := accept(t, a, third); !slices.Equal(got, []app.Placed{app.Leased}) {
				t.Fatalf("after a failed first attempt: %v", got)
			}
		})
	}
}

// A process that died, left or was given up leaves nothing behind that is not sent by another.
func TestMember_leavesNothingBehind(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a, b := member(t, db, "a"), member(t, db, "b")
	done, open, failed := arrival(1, "done", 1, true), arrival(1, "open", 1, true), arrival(1, "failed", 1, true)
	accept(t, a, done, open, failed)
	record(t, a, result(done, 1, "ok", delivery.Delivered, 0), result(failed, 1, "reset", delivery.Due, time.Hour))
	do(t, db, burySQL, []string{"a"})
	do(t, db, orphansSQL)
	wants(t, db, map[string]int{"delivery": 2, "delivery WHERE state = 'due' AND attempts = 0 AND next_at <= now()": 1, "delivery_done": 1})
	if got := claim(t, b); !slices.Equal(got, []string{"dlv_open_1"}) {
		t.Fatalf("claimed %v", got)
	}
	// The one that was given up comes to: its failure counts no more, its success does.
	record(t, a, result(open, 1, "reset", delivery.Due, time.Hour))
	wants(t, db, map[string]int{"delivery WHERE state = 'leased' AND lease_owner = 'b'": 1})
	late := result(open, 1, "ok", delivery.Delivered, 0)
	late.AttemptID[0] = 77
	record(t, a, late)
	wants(t, db, map[string]int{"delivery": 1, "delivery_done": 2})

	accept(t, b, arrival(4, "back", 1, true))
	if err := b.Release(t.Context(), []string{"dlv_back_4"}); err != nil { // the breaker opened
		t.Fatal(err)
	}
	wants(t, db, map[string]int{"delivery WHERE id = 'dlv_back_4' AND state = 'due'": 1})
	accept(t, b, arrival(5, "leave", 1, true))
	do(t, db, leaveSQL, "b")
	wants(t, db, map[string]int{"delivery WHERE id = 'dlv_leave_5' AND state = 'due'": 1})
}

// Deliveries that a dead process of an earlier version attempted without rows are made.
func TestFlight_ofADeadProcessIsDelivered(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	do(t, db, `INSERT INTO instance (id, lock_key, flies) VALUES ('old', 7, true)`)
	done, open := arrival(1, "done", 1, true), arrival(1, "open", 1, true)
	fly(t, db, "old", done, open)
	flown(t, db, done)
	s := member(t, db, "new")
	if err := NewMember(s, telemetrytest.ForTest(t).Log).takeOverAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, db, map[string]int{"flight": 0, "instance": 1, "delivery": 1})
	if got := claim(t, s); !slices.Equal(got, []string{"dlv_open_1"}) {
		t.Fatalf("claimed %v", got)
	}
	record(t, s, result(open, 1, "ok", delivery.Delivered, 0))
	wants(t, db, map[string]int{"delivery": 0, "delivery_done WHERE state = 'delivered'": 2})
}

// The same for one that leaves, or that an old process takes off the list: the trigger instance_gone makes the rows.
func TestFlight_ofALeavingProcessIsDelivered(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	do(t, db, `INSERT INTO instance (id, lock_key, flies) VALUES ('old', 7, true)`)
	s := member(t, db, "new")
	fly(t, db, "old", arrival(1, "open", 1, true))
	do(t, db, burySQL, []string{"old"})
	if got := claim(t, s); !slices.Equal(got, []string{"dlv_open_1"}) {
		t.Fatalf("claimed %v", got)
	}
}

// Beside this process those of an earlier version begin no flights, whose rows it would not see.
func TestFlight_noneBeginsBesideThisVersion(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	member(t, db, "a")
	wants(t, db, map[string]int{"instance WHERE NOT flies": 1}) // what that version asks
}

// However much a dead process had under way, each part of it is a short transaction.
func TestMember_takesOverAPartAtATime(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	old := member(t, db, "old")
	var all []app.Arrival
	for n := range takeOverMost + 5 {
		all = append(all, arrival(n, fmt.Sprintf("o%d", n), 1, true))
	}
	accept(t, old, all...)
	for n := range 25 {
		fly(t, db, "old", arrival(n, fmt.Sprintf("f%d", n), 1, true))
	}
	m := NewMember(New(db, "new", 12), telemetrytest.ForTest(t).Log)
	m.patience = time.Minute // the machine may be busy
	if more, err := m.takeOverSome(t.Context(), func(int) {}); err != nil || !more {
		t.Fatalf("more %v, %v", more, err)
	}
	wants(t, db, map[string]int{"delivery WHERE state = 'due'": takeOverMost, "instance": 1, "flight": 5})
	if err := m.takeOverAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, db, map[string]int{"delivery WHERE state = 'due'": takeOverMost + 30, "instance": 0, "flight": 0})
}

// Each delivery leaves past versions in the index of leases until a vacuum. A look at what is leased passes them over,
// but for the first look after them.
func TestLeases_pastVersions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	all := pg.Open(t, Session(pg.Config(t, migrations.FS)), migrations.FS)
	cfg := all.Config()
	cfg.MaxConns, cfg.MinConns = 1, 0 // a session knows what it has read itself
	db, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := member(t, db, "a")
	m := NewMember(s, telemetrytest.ForTest(t).Log)
	do(t, db, `ALTER TABLE delivery SET (autovacuum_enabled = false)`)
	pages := func() (n int) {
		t.Helper()
		do(t, db, `SELECT pg_stat_force_next_flush()`)
		if err := db.QueryRow(ctx, `SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit FROM pg_statio_user_tables WHERE relname = 'delivery'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var results []app.Result
	for batch := range 20 {
		var arrivals []app.Arrival
		for n := range 100 {
			a := arrival(n, fmt.Sprintf("o%02d%02d", batch, n), 1, true)
			if arrivals = append(arrivals, a); batch < 19 || n%5 > 0 { // some of the last ones fly on
				results = append(results, result(a, 1, "ok", delivery.Delivered, 0))
			}
		}
		accept(t, s, arrivals...)
	}
	reader, err := all.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}) // to it they are not past yet
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := reader.Exec(ctx, `SELECT FROM delivery LIMIT 1`); err != nil {
		t.Fatal(err)
	}
	for some := range slices.Chunk(results, 100) {
		record(t, s, some...)
	}
	if err := reader.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	do(t, db, `ANALYZE delivery`)
	for name, look := range map[string]func() error{
		"old":     func() error { _, err := s.Old(ctx); return err },
		"orphans": func() error { return m.freeOrphans(ctx) },
	} {
		n := 0
		for range 1000 { // a reader of this database, such as autovacuum, may keep them for a while
			before := pages()
			if err := look(); err != nil {
				t.Fatalf("%s: %v, want no error", name, err)
			}
			if n = pages() - before; n <= 30 {
				break
			}
		}
		if n > 30 {
			t.Errorf("%s after 2000 deliveries: got %d pages, want at most 30", name, n)
		}
	}
}
