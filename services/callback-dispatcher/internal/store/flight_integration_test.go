//go:build integration

package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// member makes the store of a process that is on the list, so that what it sends at once flies.
func member(t *testing.T, db *pgxpool.Pool, instance string) *Store {
	t.Helper()
	s := New(db, instance, int64(instance[0]))
	do(t, db, joinSQL, s.instance, s.lockKey)
	return s
}

func do(t *testing.T, db *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// held makes a flight's deliveries rows that are leased to a process, as they are after a second.
func held(t *testing.T, db *pgxpool.Pool, instance string, ids ...string) {
	t.Helper()
	do(t, db, `SELECT dispatcher_land(ARRAY(SELECT f.id FROM flight f, unnest(f.events) AS e(id) JOIN event USING (id)
		WHERE split_part(fan, chr(9), 2) = ANY($2)), $1)`, instance, ids)
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
	list, err := s.Deliveries(t.Context(), app.Owner{MerchantID: "m1", Mode: "test"}, app.DeliveryFilter{ID: id}, 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d deliveries, %v", len(list), err)
	}
	return list[0]
}

func TestFlight_whatComesOfIt(t *testing.T) {
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
	wants(t, db, map[string]int{"delivery": 0, "flight": 1, "event": 5})
	postponed := result(ours, 1, "", delivery.Due, time.Hour)
	postponed.Uncounted = true
	for n := range 2 { // a commit whose answer was lost, so that nothing was noted of it, is repeated
		for range 4 * n {
			s.flights.begun(well.Deliveries[0].Flight, time.Now())
		}
		record(t, s, result(well, 1, "ok", delivery.Delivered, 0), result(fails, 1, "http_5xx", delivery.Due, time.Hour), postponed,
			result(gone, 1, "gone", delivery.Exhausted, 0))
	}
	wants(t, db, map[string]int{
		"delivery_done WHERE state = 'delivered' AND attempts = 1 AND remote IS NOT NULL AND id = 'dlv_well_1'":                  1,
		"delivery_done WHERE state = 'exhausted' AND last_class = 'gone' AND id = 'dlv_gone_1'":                                  1,
		"delivery WHERE state = 'due' AND attempts = 1 AND last_class = 'http_5xx' AND next_at > now() + interval '59 minutes'":  1,
		"delivery WHERE state = 'due' AND attempts = 0 AND first_attempt_at IS NULL AND next_at > now() + interval '59 minutes'": 1,
		"attempt": 1, "attempt WHERE delivery_id = 'dlv_fails_1'": 1, "lane WHERE target = 't1' AND due_at < 'infinity'": 1, "delivery_done": 2,
	})
	if err := s.Land(t.Context()); err != nil { // too early
		t.Fatal(err)
	}
	wants(t, db, map[string]int{"flight": 1})
	if err := s.land(t.Context(), s.flights.known()); err != nil {
		t.Fatal(err)
	}
	wants(t, db, map[string]int{"flight": 0, "delivery": 3, "delivery WHERE state = 'leased' AND lease_owner = 'a' AND id = 'dlv_late_1'": 1})
	record(t, s, result(late, 1, "reset", delivery.Due, time.Hour)) // it has a row now
	wants(t, db, map[string]int{"delivery WHERE state = 'due' AND attempts = 1 AND id = 'dlv_late_1'": 1, "attempt": 2})
}

func TestFlight_whenItLands(t *testing.T) {
	t.Parallel()
	f := flights{aloft: map[int64]*flight{}}
	began := time.Now()
	for id, left := range map[int64]int{1: 1, 2: landFew + 1, 3: 1} {
		for range left {
			f.begun(id, began)
		}
	}
	f.recorded([]app.Result{{Delivery: delivery.Delivery{Flight: 3}}})
	for _, step := range []struct {
		after          time.Duration
		landing, ended []int64
	}{{landAfter, nil, []int64{3}}, {landAfter + 1, []int64{1}, nil}, {landAtLast + 1, []int64{1, 2}, nil}} {
		landing, ended := f.due(began.Add(step.after))
		slices.Sort(landing)
		if !slices.Equal(landing, step.landing) || !slices.Equal(ended, step.ended) {
			t.Errorf("after %v: %v land and %v have ended, want %v and %v", step.after, landing, ended, step.landing, step.ended)
		}
	}
}

// What the merchant sees is the same with and without a row, and after the delivery was brought back.
func TestFlight_theAttemptIsInTheLog(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	flown := arrival(1, "flown", 1, true)
	accept(t, s, flown)
	r := result(flown, 1, "ok", delivery.Delivered, 0)
	r.Outcome.Wait, r.Outcome.Total, r.Outcome.Remote = time.Millisecond, 2*time.Millisecond, "127.0.0.1:80"
	record(t, s, r)
	before := viewOf(t, s, "dlv_flown_1")
	if len(before.Attempts) != 1 || before.Made != 1 || before.Attempts[0].Total != 2*time.Millisecond || before.Attempts[0].Trigger != delivery.Auto ||
		before.Attempts[0].Status != 200 || string(before.Attempts[0].Excerpt) != "a\x00\xff" || !before.Attempts[0].At.Equal(r.Outcome.At.Truncate(time.Microsecond)) {
		t.Fatalf("got %+v", before)
	}
	if count(t, db, "delivery_done d JOIN event e ON e.id = d.event_id AND e.slot = d.slot AND e.received_at = d.created_at") != 1 {
		t.Error("the delivery was not made when its event was received")
	}
	do(t, db, retrySQL, "m1", "test", "dlv_flown_1")
	if got := viewOf(t, s, "dlv_flown_1"); fmt.Sprint(got.Attempts) != fmt.Sprint(before.Attempts) || got.Status != "retrying" {
		t.Errorf("brought back: %+v, want the attempts %+v", got, before.Attempts)
	}
	if got := claim(t, s); !slices.Equal(got, []string{"dlv_flown_1"}) {
		t.Fatalf("claimed %v", got)
	}
	again := result(flown, 2, "ok", delivery.Delivered, 0)
	again.Delivery.Flight = 0
	record(t, s, again)
	if got := viewOf(t, s, "dlv_flown_1"); len(got.Attempts) != 2 || got.Made != 2 || got.Status != "delivered" {
		t.Errorf("after the second: %+v", got)
	}
}

// The order holds between processes: one sees that the event before is under way at another.
func TestFlight_order(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a, b := member(t, db, "a"), member(t, db, "b")
	first, second, third := arrival(1, "p", 1, true), arrival(2, "p", 2, true), arrival(3, "p", 3, true)
	elsewhere := arrival(2, "q", 2, true) // its predecessor went to another target alone
	other := arrival(1, "q", 1, true)
	other.Deliveries[0].Target = "t9"
	accept(t, a, first, other)
	if got := accept(t, b, second, elsewhere); !slices.Equal(got, []app.Placed{app.Waiting, app.Leased}) {
		t.Fatalf("got %v", got)
	}
	if look := unblock(t, b, app.Place{}); look != (app.Look{Waits: true}) {
		t.Fatalf("%+v", look)
	}
	record(t, a, result(first, 1, "ok", delivery.Delivered, 0))
	if look := unblock(t, b, app.Place{}); look != (app.Look{Freed: 1, Waits: true}) {
		t.Fatalf("%+v", look)
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
}

// A process that died, was given up, or lost the answer to a commit leaves nothing behind that is not sent by somebody.
func TestFlight_isLandedByWhoeverIsLeft(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a, b := member(t, db, "a"), member(t, db, "b")
	done, open, failed := arrival(1, "done", 1, true), arrival(1, "open", 1, true), arrival(1, "failed", 1, true)
	accept(t, a, done, open, failed)
	record(t, a, result(done, 1, "ok", delivery.Delivered, 0), result(failed, 1, "reset", delivery.Due, time.Hour))
	do(t, db, burySQL, []string{"a"})
	wants(t, db, map[string]int{"flight": 0, "delivery": 2, "delivery WHERE state = 'due' AND attempts = 0 AND next_at <= now()": 1, "delivery_done": 1})
	if got := claim(t, b); !slices.Equal(got, []string{"dlv_open_1"}) {
		t.Fatalf("claimed %v", got)
	}
	// The one that was given up comes to: its failure counts no more, its success does.
	record(t, a, result(open, 1, "reset", delivery.Due, time.Hour))
	wants(t, db, map[string]int{"delivery WHERE state = 'leased' AND lease_owner = 'b'": 1})
	record(t, a, result(open, 1, "ok", delivery.Delivered, 0))
	wants(t, db, map[string]int{"delivery": 1, "delivery_done": 2})
	// Off the list it begins no flight.
	accept(t, a, arrival(2, "row", 1, true))
	wants(t, db, map[string]int{"flight": 0, "delivery WHERE lease_owner = 'a'": 1})

	stray := arrival(3, "stray", 1, true)
	accept(t, b, stray)
	b.flights.forget(b.flights.known())
	if _, err := b.Old(t.Context()); err != nil || count(t, db, "flight") != 1 {
		t.Fatalf("a young flight was landed, %v", err)
	}
	do(t, db, `UPDATE flight SET taken_at = taken_at - interval '20 seconds'`)
	if _, err := b.Old(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, db, map[string]int{"flight": 0, "delivery WHERE id = 'dlv_stray_3' AND state = 'due'": 1})

	back := arrival(4, "back", 1, true)
	accept(t, b, back)
	if err := b.Release(t.Context(), []string{"dlv_back_4"}, []int64{back.Deliveries[0].Flight}); err != nil { // the breaker opened
		t.Fatal(err)
	}
	wants(t, db, map[string]int{"flight": 0, "delivery WHERE id = 'dlv_back_4' AND state = 'due'": 1})
	accept(t, b, arrival(5, "leave", 1, true))
	do(t, db, leaveSQL, "b")
	do(t, db, `INSERT INTO flight (owner, events, slots) SELECT 'nobody', '{evt_lost_6}', array[slot] FROM event LIMIT 1`)
	do(t, db, lostSQL)
	wants(t, db, map[string]int{"flight": 0, "delivery WHERE id = 'dlv_leave_5' AND state = 'due'": 1})
}

// However much a dead process had under way, each part of it is a short transaction.
func TestMember_takesOverAPartAtATime(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	old := member(t, db, "old")
	for n := range landAtATime + 5 {
		accept(t, old, arrival(n, fmt.Sprintf("o%d", n), 1, true))
	}
	m := NewMember(New(db, "new", 12), telemetrytest.ForTest(t).Log)
	if more, err := m.takeOverSome(t.Context()); err != nil || !more {
		t.Fatalf("more %v, %v", more, err)
	}
	wants(t, db, map[string]int{"delivery WHERE state = 'due'": landAtATime, "instance": 1, "flight": 5})
	if err := m.takeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, db, map[string]int{"delivery WHERE state = 'due'": landAtATime + 5, "instance": 0, "flight": 0})
}

// Beside a process that knows of no flights nobody begins any.
func TestFlight_notBesideAnOldVersion(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	do(t, db, `INSERT INTO instance (id, lock_key) VALUES ('old', 7)`)
	if got := accept(t, s, arrival(1, "p", 1, true)); !slices.Equal(got, []app.Placed{app.Leased}) {
		t.Fatalf("got %v", got)
	}
	wants(t, db, map[string]int{"flight": 0, "delivery WHERE state = 'leased' AND lease_owner = 'a'": 1})
	do(t, db, burySQL, []string{"old"})
	if got := accept(t, s, arrival(2, "p", 2, true), arrival(2, "q", 1, true)); !slices.Equal(got, []app.Placed{app.Waiting, app.Leased}) {
		t.Fatalf("got %v", got)
	}
	wants(t, db, map[string]int{"flight": 1, "delivery": 2})
}
