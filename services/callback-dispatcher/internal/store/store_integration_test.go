//go:build integration

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/placed"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
	"causeway.internal/services/callback-dispatcher/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	pg.Holds(t, migrations.FS, idempotency.Schema)
	pg.Holds(t, migrations.FS, presence.Schema)
	pg.Holds(t, migrations.FS, placed.Schema)
	pg.Holds(t, migrations.FS, postgres.WorkSchema)
	pg.Listed(t, "queries")
	pg.Prepare(t, pg.New(t, migrations.FS), queries)
}

func TestMigrations_closeFunctions(t *testing.T) {
	t.Parallel()
	pg.Closed(t, pg.New(t, migrations.FS), migrations.FS)
}

func arrival(n int, object string, sequence int64, leased bool) app.Arrival {
	e := app.Event{
		ID: fmt.Sprintf("evt_%s_%d", object, n), Type: "payment.pending", MerchantID: "m1", Mode: "test", ObjectID: object,
		Sequence: sequence, OccurredAt: time.Now(), Trace: "", Body: fmt.Appendf(nil, "body %d", n),
	}
	d := delivery.Delivery{
		ID: fmt.Sprintf("dlv_%s_%d", object, n), EventID: e.ID, MerchantID: "m1", Mode: "test", Target: "t1", URL: "http://x/",
		Type: e.Type, ObjectID: object, Sequence: sequence, Body: e.Body,
	}
	return app.Arrival{Event: e, Deliveries: []delivery.Delivery{d}, Leased: []bool{leased}}
}

func accept(t *testing.T, s *Store, arrivals ...app.Arrival) []app.Placed {
	t.Helper()
	placed, err := s.Accept(t.Context(), arrivals)
	if err != nil {
		t.Fatal(err)
	}
	var flat []app.Placed
	for _, p := range placed {
		flat = append(flat, p...)
	}
	return flat
}

func result(a app.Arrival, number int, class string, state delivery.State, delay time.Duration) app.Result {
	r := app.Result{
		Delivery: a.Deliveries[0], Number: number,
		Outcome: delivery.Outcome{At: time.Now(), Class: class, Status: 200, Headers: "{}", Excerpt: []byte("a\x00\xff")},
		Verdict: delivery.Verdict{State: state, Delay: delay},
	}
	r.AttemptID = [16]byte{byte(number), a.Deliveries[0].ID[4], byte(a.Deliveries[0].Sequence)}
	copy(r.AttemptID[4:], a.Deliveries[0].ID[4:])
	return r
}

func idsOf(jobs []delivery.Delivery) []string {
	ids := make([]string, len(jobs))
	for i, d := range jobs {
		ids[i] = d.ID
	}
	return ids
}

func record(t *testing.T, s *Store, results ...app.Result) {
	t.Helper()
	if _, err := s.Record(t.Context(), results, app.Breaker{Failures: 10, Sample: 20, Wait: time.Minute}); err != nil {
		t.Fatal(err)
	}
}

func claim(t *testing.T, s *Store, full ...string) []string {
	t.Helper()
	jobs, err := s.Claim(t.Context(), full, 100, 32)
	if err != nil {
		t.Fatal(err)
	}
	ids := idsOf(jobs)
	slices.Sort(ids)
	for _, j := range jobs {
		if len(j.Body) == 0 || j.AcceptedAt.IsZero() {
			t.Errorf("claimed %+v", j)
		}
	}
	return ids
}

func count(t *testing.T, db *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM `+sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func unblock(t *testing.T, s *Store, behind app.Place) app.Look {
	t.Helper()
	look, err := s.Unblock(t.Context(), behind)
	if err != nil {
		t.Fatal(err)
	}
	return look
}

// More wait for a target that hangs than one look sees: the next one goes on behind them.
func TestUnblock_manyHideNobody(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	var hang, wait []app.Arrival
	for n := range unblockMost + 10 {
		object := fmt.Sprintf("h%d", n)
		hang, wait = append(hang, arrival(1, object, 1, true)), append(wait, arrival(2, object, 2, true))
	}
	first, second := arrival(1, "p", 1, true), arrival(2, "p", 2, true)
	accept(t, s, append(hang, first)...)
	accept(t, s, wait...) // all due at the same time
	accept(t, s, second)
	record(t, s, result(first, 1, "ok", delivery.Delivered, 0))

	look := unblock(t, s, app.Place{})
	if look.Freed != 0 || !look.Waits || look.Next == (app.Place{}) {
		t.Fatalf("the first look: %+v", look)
	}
	if look = unblock(t, s, look.Next); look != (app.Look{Freed: 1, Waits: true}) {
		t.Fatalf("the second look: %+v", look)
	}
	if got := claim(t, s); !slices.Equal(got, []string{"dlv_p_2"}) {
		t.Fatalf("claimed %v", got)
	}
}

// A first attempt that was recorded lets the line go on at once, and no other line.
func TestAdvance_freesTheNextOfALine(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s, other := member(t, db, "a"), member(t, db, "b")
	var all []app.Arrival
	for _, object := range []string{"p", "q"} {
		for n := range 3 {
			all = append(all, arrival(n+1, object, int64(n+1), true))
		}
	}
	accept(t, s, all...)
	lineOf := func(a app.Arrival) app.Line {
		return app.Line{Target: a.Deliveries[0].Target, ObjectID: a.Event.ObjectID}
	}
	advance := func(s *Store, want int, lines ...app.Line) {
		t.Helper()
		if freed, err := s.Advance(t.Context(), lines); err != nil || freed != want {
			t.Fatalf("%d freed, %v, want %d", freed, err, want)
		}
	}
	p, q := lineOf(all[0]), lineOf(all[3])
	advance(s, 0, p, q)
	record(t, s, result(all[0], 1, "http_5xx", delivery.Due, time.Hour))
	advance(s, 0, q, app.Line{Target: "elsewhere", ObjectID: "p"})
	advance(other, 1, p, q, p)
	advance(s, 0, p)
	if got := claim(t, other); !slices.Equal(got, []string{"dlv_p_2"}) {
		t.Fatalf("claimed %v", got)
	}
	record(t, s, result(all[3], 1, "ok", delivery.Delivered, 0))
	record(t, other, result(all[1], 1, "ok", delivery.Delivered, 0))
	advance(s, 2, p, q)
	if got := claim(t, s); !slices.Equal(got, []string{"dlv_p_3", "dlv_q_2"}) {
		t.Fatalf("claimed %v", got)
	}
}

// A look writes nothing of those that go on waiting, which a lock on each would.
func TestUnblock_locksNoneThatGoesOnWaiting(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	accept(t, s, arrival(1, "p", 1, true))
	waits := arrival(2, "p", 2, true)
	accept(t, s, waits)
	line := app.Line{Target: waits.Deliveries[0].Target, ObjectID: "p"}
	if freed, err := s.Advance(t.Context(), []app.Line{line}); err != nil || freed != 0 {
		t.Fatalf("%d freed, %v", freed, err)
	}
	if look := unblock(t, s, app.Place{}); look != (app.Look{Waits: true}) {
		t.Fatalf("look: %+v", look)
	}
	if n := count(t, db, `delivery WHERE waits AND xmax <> 0`); n != 0 {
		t.Errorf("%d waiting deliveries were locked", n)
	}
}

// Deliveries that another process holds at this moment still wait, so that the look is repeated soon.
func TestUnblock_saysThatOthersHoldSome(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	first, second := arrival(1, "p", 1, true), arrival(2, "p", 2, true)
	accept(t, s, first)
	accept(t, s, second)
	record(t, s, result(first, 1, "ok", delivery.Delivered, 0))
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT FROM delivery WHERE id = 'dlv_p_2' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	if look := unblock(t, s, app.Place{}); look != (app.Look{Waits: true}) {
		t.Fatalf("while it is held: %+v", look)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if look := unblock(t, s, app.Place{}); look != (app.Look{Freed: 1, Waits: true}) {
		t.Fatalf("then: %+v", look)
	}
}

func TestAccept_placesAndOrder(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	first, second := arrival(1, "p", 1, true), arrival(2, "p", 2, true)
	if got := accept(t, s, second, first); !slices.Equal(got, []app.Placed{app.Waiting, app.Leased}) {
		t.Fatalf("got %v", got)
	}
	if got := accept(t, s, first, second); !slices.Equal(got, []app.Placed{app.Duplicate, app.Duplicate}) {
		t.Fatalf("again: %v", got)
	}
	if look := unblock(t, s, app.Place{}); look != (app.Look{Waits: true}) {
		t.Fatalf("unblock before the first attempt: got %+v, want one that waits", look)
	}
	if got := claim(t, s); len(got) != 0 {
		t.Fatalf("claimed %v before the predecessor's first attempt", got)
	}
	record(t, s, result(first, 1, "http_5xx", delivery.Due, time.Hour))
	if look := unblock(t, s, app.Place{}); look != (app.Look{Freed: 1, Waits: true}) {
		t.Fatalf("unblock after the first attempt: got %+v, want one freed and one that waits", look)
	}
	if look := unblock(t, s, app.Place{}); look != (app.Look{}) {
		t.Fatalf("%+v when none waits", look)
	}
	if got := claim(t, s); !slices.Equal(got, []string{"dlv_p_2"}) {
		t.Fatalf("claimed %v", got)
	}
	// The predecessor of the third is leased, and attempted; that of the fourth is done.
	record(t, s, result(second, 1, "ok", delivery.Delivered, 0))
	if got := accept(t, s, arrival(3, "p", 3, true)); !slices.Equal(got, []app.Placed{app.Leased}) {
		t.Fatalf("after a done predecessor: %v", got)
	}
	if got := accept(t, s, arrival(9, "q", 1, false), arrival(8, "r", 5, true)); !slices.Equal(got, []app.Placed{app.Queued, app.Waiting}) {
		t.Fatalf("got %v", got)
	}
	if n := count(t, db, "event"); n != 5 {
		t.Fatalf("%d events", n)
	}
}

func TestAccept_doubledInOneBatch(t *testing.T) {
	t.Parallel()
	s := member(t, pg.New(t, migrations.FS), "a")
	one, again := arrival(1, "p", 1, true), arrival(1, "p", 1, true)
	again.Deliveries[0].ID = "dlv_other"
	got := accept(t, s, one, again)
	slices.Sort(got)
	if !slices.Equal(got, []app.Placed{app.Duplicate, app.Leased}) {
		t.Fatalf("got %v", got)
	}
}

func TestAccept_poison(t *testing.T) {
	t.Parallel()
	s := member(t, pg.New(t, migrations.FS), "a")
	bad := arrival(1, "p", 1, true)
	bad.Event.Trace = "nul \x00"
	if _, err := s.Accept(t.Context(), []app.Arrival{bad}); err == nil || !s.Poison(err) {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Accept(ctx, []app.Arrival{arrival(1, "p", 1, true)}); err == nil || s.Poison(err) {
		t.Fatalf("got %v", err)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s, other := member(t, db, "a"), member(t, db, "b")
	a := arrival(1, "p", 1, true)
	accept(t, s, a)

	stale := result(a, 1, "reset", delivery.Due, 0)
	record(t, other, stale) // not the holder: logged, nothing moved
	if n := count(t, db, "delivery WHERE state = 'leased' AND lease_owner = 'a' AND attempts = 0"); n != 1 {
		t.Fatal("the failure of another owner moved the delivery")
	}
	failed := result(a, 1, "reset", delivery.Due, 0)
	failed.AttemptID[0] = 77
	record(t, s, failed)
	record(t, s, failed) // a commit whose answer was lost is repeated
	if n := count(t, db, "delivery WHERE state = 'due' AND attempts = 1 AND last_class = 'reset'"); n != 1 {
		t.Fatal("the failure was not recorded once")
	}
	if n := count(t, db, "attempt"); n != 2 {
		t.Fatalf("%d attempts in the log", n)
	}
	if got := claim(t, s); len(got) != 1 {
		t.Fatalf("claimed %v", got)
	}
	later := result(a, 2, "", delivery.Due, time.Hour)
	later.Uncounted = true
	record(t, s, later)
	if n := count(t, db, "delivery WHERE state = 'due' AND attempts = 1 AND next_at > now() + interval '59 minutes'"); n != 1 {
		t.Fatal("postponing counted as an attempt or did not postpone")
	}
	record(t, other, result(a, 2, "ok", delivery.Delivered, 0)) // a success counts without the lease
	if count(t, db, "delivery") != 0 || count(t, db, "delivery_done WHERE state = 'delivered' AND attempts = 2") != 1 {
		t.Fatal("the success did not end the delivery")
	}
	b := arrival(2, "q", 1, true)
	accept(t, s, b)
	record(t, s, result(b, 1, "gone", delivery.Exhausted, 0))
	if count(t, db, "delivery_done WHERE state = 'exhausted' AND last_class = 'gone'") != 1 {
		t.Fatal("the exhausted delivery was not kept")
	}
}

// Statistics that were made while no delivery was there do not have every result compared with every delivery.
func TestRecord_planOfAnEmptyTable(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	first := arrival(0, "o000", 1, true)
	accept(t, s, first)
	record(t, s, result(first, 1, "2xx", delivery.Delivered, 0))
	do(t, db, `ANALYZE delivery`)
	var results []app.Result
	for n := range 100 {
		a := arrival(n+1, fmt.Sprintf("o%03d", n+1), 1, true)
		accept(t, s, a)
		results = append(results, result(a, 1, "2xx", delivery.Delivered, 0))
	}
	args := arrays([]any{"a", 10, time.Minute.Microseconds()}, resultColumns, results)
	var said string
	cfg := db.Config().ConnConfig.Copy()
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { said = n.Message }
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), `LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;
SET auto_explain.log_analyze = on; SET auto_explain.log_format = json; SET client_min_messages = log;
SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; BEGIN; `+recordPlanSQL); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), recordSQL, args...); err != nil {
		t.Fatal(err)
	}
	var out struct{ Plan plan }
	if _, text, _ := strings.Cut(said, "plan:"); json.Unmarshal([]byte(text), &out) != nil || len(out.Plan.Steps) == 0 {
		t.Fatalf("recording reported no plan: %.2000s", said)
	}
	if got := out.Plan.compared(); got > 1000 {
		t.Errorf("the joins of 100 results with 100 deliveries drop %d pairs, want at most 1000: %s", got, said)
	}
}

func TestClaim_oneTargetDoesNotFillIt(t *testing.T) {
	t.Parallel()
	s := member(t, pg.New(t, migrations.FS), "a")
	var arrivals []app.Arrival
	for i := range 100 {
		arrivals = append(arrivals, arrival(i, fmt.Sprintf("big%d", i), 1, false))
	}
	accept(t, s, arrivals...)
	small := arrival(1, "small", 1, false)
	small.Deliveries[0].Target = "t2"
	accept(t, s, small)
	got := claim(t, s)
	if len(got) != 33 || !slices.Contains(got, "dlv_small_1") {
		t.Fatalf("claimed %d: %v", len(got), got)
	}
	if err := s.Release(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, s, "t1"); !slices.Equal(got, []string{"dlv_small_1"}) {
		t.Fatalf("with t1 full: %v", got)
	}
}

// A row that another transaction looks at while a claim passes it over is due all the same: the sweep of waiting rows
// locks them, and need not change them.
func TestClaim_forgetsNoRowThatIsLocked(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	accept(t, s, arrival(1, "first", 1, false), arrival(2, "second", 1, false))
	sweep, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sweep.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := sweep.Exec(t.Context(), `SELECT FROM delivery WHERE id = 'dlv_second_2' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, s); !slices.Equal(got, []string{"dlv_first_1"}) {
		t.Fatalf("beside the sweep: %v", got)
	}
	if err := sweep.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, s); !slices.Equal(got, []string{"dlv_second_2"}) {
		t.Errorf("after it: %v", got)
	}
}

func TestClaim_manyProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	var arrivals []app.Arrival
	for i := range 200 {
		a := arrival(i, fmt.Sprintf("o%d", i), 1, false)
		a.Deliveries[0].Target = fmt.Sprintf("t%d", i%20)
		arrivals = append(arrivals, a)
	}
	accept(t, member(t, db, "a"), arrivals...)
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for p := range 4 {
		s := member(t, db, fmt.Sprint(p))
		wg.Go(func() {
			// A claim finds nothing while the others look at every target that is ready, so the rounds are not counted.
			for all, until := false, time.Now().Add(time.Minute); !all && time.Now().Before(until); {
				jobs, err := s.Claim(t.Context(), nil, 20, 8)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, j := range jobs {
					seen[j.ID]++
				}
				all = len(seen) == len(arrivals)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 200 {
		t.Errorf("%d of 200 were claimed", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was leased %d times", id, n)
		}
	}
}

func TestMember_takesOverFromTheDeadAtOnce(t *testing.T) {
	t.Parallel()
	db, tel := pg.New(t, migrations.FS), telemetrytest.ForTest(t)
	old := New(db, "old", 11)
	dying := NewMember(old, tel.Log)
	if err := dying.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	accept(t, old, arrival(1, "p", 1, true))
	alive := NewMember(New(db, "new", 12), tel.Log)
	if err := alive.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	accept(t, old, arrival(1, "q", 1, true))
	if n := count(t, db, "delivery WHERE lease_owner = 'old'"); n != 2 {
		t.Fatal("the lease of a living process was taken")
	}
	dying.hangUp() // what the kernel does for a killed process
	began := time.Now()
	for count(t, db, "delivery WHERE state = 'due'") < 2 && time.Since(began) < 3*time.Second {
		if err := alive.takeOver(t.Context(), func(int) {}); err != nil {
			t.Fatal(err)
		}
	}
	if count(t, db, "delivery WHERE state = 'due'") != 2 || count(t, db, "instance") != 1 {
		t.Fatal("the lease of the dead process was not taken over")
	}
	// The buried one comes back: it learns that its leases are gone.
	lost := false
	dying.beat(t.Context(), func() { lost = true })
	if !lost {
		t.Fatal("the process did not learn that its leases are gone")
	}
	dying.hangUp()
	if err := alive.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	alive.hangUp()
}

func TestMaintain_emptiesTheSlotAhead(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	accept(t, s, arrival(1, "p", 1, true))
	for slot := range 36 {
		if _, err := db.Exec(t.Context(), `INSERT INTO event SELECT $1::smallint, id || $1::text, merchant_id, mode, type, object_id, sequence, occurred_at,
			received_at, trace, body FROM event WHERE object_id = 'p' LIMIT 1`, slot); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "(SELECT DISTINCT slot FROM event) x"); n != 35 {
		t.Fatalf("%d slots hold events, want 35", n)
	}
	if n := count(t, db, "event WHERE slot = (floor(extract(epoch FROM now()) / 86400)::bigint + 2) % 36"); n != 0 {
		t.Fatal("the slot ahead was not emptied")
	}
}

func TestRecord_breakerClosesByAProbeAlone(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	const open, closed = "lane WHERE target = 't1' AND probe_at > now()", "lane WHERE target = 't1' AND probe_at IS NULL AND failures = 0"
	var all []app.Arrival
	for n := range 6 {
		all = append(all, arrival(n, fmt.Sprintf("o%d", n), 1, n < 4))
	}
	accept(t, s, all...)
	fails := result(all[0], 1, "http_5xx", delivery.Due, time.Hour)
	fails.Trips = true
	record(t, s, result(all[1], 1, "ok", delivery.Delivered, 0), fails) // half of the sample: the process has counted it
	if count(t, db, open) != 1 {
		t.Fatal("the breaker did not open")
	}
	record(t, s, result(all[2], 1, "ok", delivery.Delivered, 0)) // it was under way when the breaker opened
	if count(t, db, open) != 1 {
		t.Fatal("a success of an attempt from before closed the breaker")
	}
	if well, err := s.Well(t.Context(), []string{"t1"}); err != nil || len(well) != 0 {
		t.Fatalf("well: %v, %v", well, err)
	}
	if got := claim(t, s); len(got) != 0 {
		t.Fatalf("claimed %v behind an open breaker", got)
	}
	var probe time.Time
	if err := db.QueryRow(t.Context(), `SELECT probe_at FROM lane WHERE target = 't1'`).Scan(&probe); err != nil {
		t.Fatal(err)
	}
	list, err := s.Deliveries(t.Context(), tenant.Owner{MerchantID: "m1", Mode: "test"}, app.DeliveryFilter{ID: all[4].Deliveries[0].ID}, 10)
	if err != nil || len(list) != 1 || list[0].NextAt == nil || !list[0].NextAt.Equal(probe) {
		t.Fatalf("behind an open breaker until %s, the list says %+v, %v", probe, list, err)
	}
	if _, err := db.Exec(t.Context(), `UPDATE lane SET probe_at = now()`); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, s); len(got) != 1 {
		t.Fatalf("claimed %v, want one probe", got)
	}
	record(t, s, result(all[4], 1, "ok", delivery.Delivered, 0))
	if count(t, db, closed) != 1 {
		t.Fatal("the probe's success did not close the breaker")
	}
	if got := claim(t, s); len(got) != 1 {
		t.Fatalf("claimed %v after it closed, want the last one", got)
	}
}

// However long a target fails, the next probe is less than a minute away, so that what is overdue leaves within a
// minute of the target's return.
func TestClaim_probesFollowWithinAMinute(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	due := arrival(0, "o0", 1, false)
	accept(t, s, due)
	if _, err := db.Exec(t.Context(), `UPDATE lane SET probe_at = now(), probe_wait = interval '30 seconds'`); err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		if _, err := db.Exec(t.Context(), `UPDATE lane SET probe_at = now()`); err != nil {
			t.Fatal(err)
		}
		if got := claim(t, s); len(got) != 1 {
			t.Fatalf("probe %d: claimed %v, want one", n, got)
		}
		if count(t, db, "lane WHERE probe_at BETWEEN now() AND now() + interval '45 seconds'") != 1 {
			t.Fatalf("probe %d: the next one is more than 45 s away", n)
		}
		record(t, s, result(due, n+1, "http_5xx", delivery.Due, 0))
	}
}

// A delivery that can never be made ends, is kept and shown as such, and targets that nobody needs are forgotten.
func TestAbandon(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	do := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"ep_gone", "ep_old", "ep_here"} {
		do(`INSERT INTO endpoint (id, merchant_id, mode, url, description, types) VALUES ($1, 'm1', 'test', 'http://x/', '', '{}')`, id)
	}
	do(`UPDATE endpoint SET deleted_at = now() WHERE id = 'ep_gone'`)
	do(`UPDATE endpoint SET deleted_at = now() - interval '41 days' WHERE id = 'ep_old'`)
	to := func(n int, endpoint string, leased bool) app.Arrival {
		a := arrival(n, fmt.Sprintf("o%d", n), 1, leased)
		a.Deliveries[0].EndpointID, a.Deliveries[0].Target = endpoint, endpoint
		return a
	}
	gone, underWay, here := to(1, "ep_gone", false), to(2, "ep_gone", true), to(3, "ep_here", false)
	old, young := arrival(4, "o4", 1, false), arrival(5, "o5", 1, false)
	young.Deliveries[0].ID = app.ReplayBound(time.Now().Add(time.Minute))
	old.Deliveries[0].ID = app.ReplayBound(time.Now().Add(-40 * 24 * time.Hour))
	accept(t, s, gone, underWay, here, old, young)
	do(`UPDATE delivery SET created_at = now() - interval '32 days' WHERE id = $1`, old.Deliveries[0].ID)
	do(`INSERT INTO lane (target, due_at, used_at, failures) VALUES ('url_idle', 'infinity', now() - interval '2 hours', 0),
		('url_failing', 'infinity', now() - interval '2 hours', 3), ('url_long', 'infinity', now() - interval '8 days', 3)`)
	for range 2 { // again: nothing more to do
		if err := s.Abandon(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for sql, want := range map[string]int{
		"delivery": 3, "delivery WHERE state = 'leased' AND endpoint_id = 'ep_gone'": 1, "delivery WHERE endpoint_id = 'ep_here'": 1,
		"delivery_done": 2, "delivery_done WHERE state = 'exhausted' AND last_class = 'endpoint_deleted' AND endpoint_id = 'ep_gone'": 1,
		"delivery_done WHERE state = 'exhausted' AND last_class = 'expired' AND first_attempt_at IS NULL": 1,
		"endpoint WHERE id = 'ep_old'": 0, "endpoint WHERE id = 'ep_gone'": 1,
		"lane WHERE target IN ('url_idle', 'url_long')": 0, "lane WHERE target = 'url_failing'": 1,
	} {
		if n := count(t, db, sql); n != want {
			t.Errorf("%d of %s, want %d", n, sql, want)
		}
	}
	// A delivery under way to the deleted endpoint ends with its attempt; then nothing of it is left.
	record(t, s, result(underWay, 1, "http_5xx", delivery.Due, 0))
	if err := s.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "delivery WHERE endpoint_id = 'ep_gone'"); n != 0 {
		t.Errorf("%d deliveries to a deleted endpoint are left", n)
	}
}
