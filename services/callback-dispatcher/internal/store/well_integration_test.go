//go:build integration

package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
	"causeway.internal/services/callback-dispatcher/migrations"
)

func arrivedOf(arrivals ...app.Arrival) *arrived {
	c := &arrived{fly: true, fresh: true}
	for i := range arrivals {
		c.add(&arrivals[i])
	}
	return c
}

// overSQL writes that a delivery of the only event is over.
func overSQL(id string) string {
	return fmt.Sprintf(`INSERT INTO delivery_done (slot, id, event_id, merchant_id, mode, target, url, type, object_id, sequence, state, attempts,
		last_class, created_at) SELECT slot, '%s', id, merchant_id, mode, 't1', 'u', type, object_id, sequence, 'delivered', 1, 'ok', now() FROM event`, id)
}

// The statements for when all is well leave what the others leave.
func TestWell_leavesTheSameRows(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	one, two := arrival(1, "one", 1, true), arrival(1, "two", 1, true)
	for n, accept := range []func(*arrived) (map[string]place, error){
		func(c *arrived) (map[string]place, error) { return s.acceptNew(t.Context(), db, c) },
		func(c *arrived) (map[string]place, error) { return s.acceptAny(t.Context(), db, c, delivery.Auto) },
	} {
		a := []*app.Arrival{&one, &two}[n]
		written, err := accept(arrivedOf(*a))
		if err != nil {
			t.Fatal(err)
		}
		p := written[a.Deliveries[0].ID]
		if slot := count(t, db, fmt.Sprintf("event WHERE id = '%s' AND slot = %d AND received_at = '%s'", a.Event.ID, p.slot,
			p.at.Format(time.RFC3339Nano))); slot != 1 || p.placed != app.Leased || p.flight == 0 {
			t.Fatalf("placed %+v", p)
		}
		if same := s.placed([]app.Arrival{*a}, written); same[0][0] != app.Leased {
			t.Fatalf("placed %v", same)
		}
	}
	wants(t, db, map[string]int{
		"flight WHERE owner = 'a' AND cardinality(events) = 1 AND cardinality(slots) = 1":                                                                     2,
		"(SELECT DISTINCT to_jsonb(e) - '{id,object_id,occurred_at,received_at,tx,fan}'::text[], replace(replace(fan, 'two', 'one'), id, '') FROM event e) x": 1,
	})
	if done, err := s.recordWell(t.Context(), []app.Result{result(one, 1, "ok", delivery.Delivered, 0)}); !done || err != nil {
		t.Fatalf("recorded %v, %v", done, err)
	}
	if _, err := s.record(t.Context(), columnsOf([]app.Result{result(two, 1, "ok", delivery.Delivered, 0)}), breaker); err != nil {
		t.Fatal(err)
	}
	wants(t, db, map[string]int{
		"delivery_done": 2, "attempt": 0, "lane": 0,
		"(SELECT DISTINCT to_jsonb(d) - '{id,event_id,object_id,created_at,first_attempt_at,done_at}'::text[] FROM delivery_done d) x": 1,
	})
}

// Where all is not as it seems, they write nothing, and what is accepted and recorded is right all the same.
func TestWell_looksCloserWhereItMust(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"the target failed":        `INSERT INTO lane (target, due_at, failures) VALUES ('t1', 'infinity', 3)`,
		"its breaker is open":      `INSERT INTO lane (target, due_at, probe_at, probe_wait) VALUES ('t1', 'infinity', now(), '2 minutes')`,
		"the flight has landed":    `SELECT dispatcher_land(array_agg(id), NULL) FROM flight`,
		"the flight has changed":   `UPDATE flight SET owner = 'b'`,
		"the delivery is over":     overSQL("dlv_p_1"),
		"one of two flights is no": `UPDATE flight SET owner = 'b' WHERE id = (SELECT max(id) FROM flight)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pg.New(t, migrations.FS)
			s := member(t, db, "a")
			one, two := arrival(1, "p", 1, true), arrival(1, "q", 1, true)
			accept(t, s, one)
			results := []app.Result{result(one, 1, "ok", delivery.Delivered, 0)}
			if name == "one of two flights is no" {
				accept(t, s, two)
				results = append(results, result(two, 1, "ok", delivery.Delivered, 0))
			}
			do(t, db, spoil)
			before := count(t, db, "delivery_done")
			if done, err := s.recordWell(t.Context(), results); done || err != nil || count(t, db, "delivery_done") != before {
				t.Fatalf("recorded %v, %v", done, err)
			}
			record(t, s, results...)
			if name == "the flight has changed" { // it is another's now, who sends it
				return
			}
			wants(t, db, map[string]int{
				"delivery": 0, "delivery_done WHERE id = 'dlv_p_1'": 1,
				"lane WHERE due_at = 'infinity' AND (failures > 0 OR probe_at IS NOT NULL)": 0,
			})
		})
	}
}

func TestWell_acceptsWhatIsNewAlone(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s, off := member(t, db, "a"), New(db, "off", 9)
	known, fresh := arrival(1, "known", 1, true), arrival(1, "fresh", 1, true)
	if _, err := off.acceptNew(t.Context(), db, arrivedOf(known)); !errors.Is(err, pgx.ErrNoRows) || count(t, db, "event") != 0 {
		t.Fatalf("off the list: %v", err)
	}
	accept(t, s, known)
	if _, err := s.acceptNew(t.Context(), db, arrivedOf(known, fresh)); !postgres.IsUnique(err, "") {
		t.Fatalf("one is known: %v", err)
	}
	wants(t, db, map[string]int{"event": 1, "flight": 1})
	if got := accept(t, s, known, fresh); got[0] != app.Duplicate || got[1] != app.Leased {
		t.Fatalf("placed %v", got)
	}
	wants(t, db, map[string]int{"event": 2, "flight WHERE events = '{evt_fresh_1}'": 1, "flight": 2})
}

// Targets of which all is well are recorded beside those of which something is not, and what there is of a target together.
func TestWell_besideOthers(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	var all []app.Arrival
	var results []app.Result
	for n := range wellFew + 2 {
		all = append(all, arrival(n, fmt.Sprintf("o%d", n), 1, true))
		if n >= wellFew {
			all[n].Deliveries[0].Target = "t2"
		}
	}
	accept(t, s, all...)
	for n := range all {
		results = append(results, result(all[n], 1, "ok", delivery.Delivered, 0))
	}
	results[wellFew] = result(all[wellFew], 1, "reset", delivery.Due, time.Hour)
	if well, rest := apart(results); len(well) != wellFew || len(rest) != 2 {
		t.Fatalf("%d are well and %d are not", len(well), len(rest))
	}
	if well, rest := apart(results[1:]); len(well) != 0 || len(rest) != wellFew+1 {
		t.Fatalf("%d are well and %d are not, where it does not pay", len(well), len(rest))
	}
	for range 2 {
		record(t, s, results...)
		wants(t, db, map[string]int{"delivery_done": wellFew + 1, "delivery": 1, "attempt": 1, "lane": 1, "lane WHERE target = 't2' AND failures > 0": 0})
		for i := range results { // the answer was lost
			results[i].Again = true
		}
	}
	if err := s.land(t.Context(), []int64{all[0].Deliveries[0].Flight}); err != nil {
		t.Fatal(err)
	}
	wants(t, db, map[string]int{"flight": 0, "delivery": 1})
}

// A flight does not land between the look at it and the rows of what was delivered.
func TestFence_wellBeforeLanding(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	well := arrival(1, "well", 1, true)
	accept(t, a, well)
	undo := locked(t, db, overSQL("dlv_well_1"))
	recorded := blocked(t, db, 1, func() error {
		done, err := a.recordWell(t.Context(), []app.Result{result(well, 1, "ok", delivery.Delivered, 0)})
		if err == nil && !done {
			return errors.New("it was not recorded")
		}
		return err
	})
	buried := blocked(t, db, 2, func() error { _, err := db.Exec(t.Context(), burySQL, []string{"a"}); return err })
	undo()
	ends(t, recorded, buried)
	wants(t, db, map[string]int{"delivery": 0, "delivery_done WHERE remote IS NOT NULL": 1, "flight": 0})
}

// The other way round: it sees that the flight has landed, and ends the row that was made.
func TestFence_wellAfterLanding(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	a := member(t, db, "a")
	well := arrival(1, "well", 1, true)
	accept(t, a, well)
	do(t, db, `INSERT INTO lane (target, due_at) VALUES ('t1', 'infinity')`)
	undo := locked(t, db, `SELECT FROM lane FOR UPDATE`)
	buried := blocked(t, db, 1, func() error { _, err := db.Exec(t.Context(), burySQL, []string{"a"}); return err })
	recorded := blocked(t, db, 2, func() error {
		_, err := a.Record(t.Context(), []app.Result{result(well, 1, "ok", delivery.Delivered, 0)}, breaker)
		return err
	})
	undo()
	ends(t, buried, recorded)
	wants(t, db, map[string]int{"delivery": 0, "delivery_done": 1, "flight": 0})
}
