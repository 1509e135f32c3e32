//go:build integration

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// shiftSQL lets transaction ids appear shifted, so that a test meets any number on a server that has long passed it:
// in the column, and in the functions of eventsSQL, which the search path of the test's connections finds before
// PostgreSQL's.
const shiftSQL = `CREATE SCHEMA shifted;
CREATE FUNCTION shifted.id(x xid8) RETURNS xid8 LANGUAGE sql IMMUTABLE AS $$ SELECT (x::text::bigint + %[1]d)::text::xid8 $$;
CREATE FUNCTION shifted.pg_snapshot_xmax(s pg_snapshot) RETURNS xid8 LANGUAGE sql STABLE AS $$
	SELECT shifted.id(pg_catalog.pg_snapshot_xmax(s)) $$;
CREATE FUNCTION shifted.pg_snapshot_xip(s pg_snapshot) RETURNS SETOF xid8 LANGUAGE sql STABLE AS $$
	SELECT shifted.id(x) FROM pg_catalog.pg_snapshot_xip(s) AS x $$;
ALTER TABLE event ALTER tx SET DEFAULT shifted.id(pg_current_xact_id())`

// shifted gives a database whose next transaction appears to have the id next.
func shifted(t *testing.T, next int64) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(pg.URL(t, migrations.FS))
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = "shifted, pg_catalog, public"
	cfg.MaxConns = 12
	db, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	var now int64
	if err := db.QueryRow(t.Context(), `SELECT pg_current_xact_id()::text::bigint`).Scan(&now); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), fmt.Sprintf(shiftSQL, next-now)); err != nil {
		t.Fatal(err)
	}
	return db
}

// walk is a merchant that reads its events page by page.
type walk struct {
	limit int
	place app.EventFilter
	seen  []string
}

// page reads one page and says whether it was full.
func (w *walk) page(t *testing.T, s *Store) bool {
	t.Helper()
	list, err := s.Events(t.Context(), tenant.Owner{MerchantID: "m1", Mode: "test"}, w.place, w.limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		w.seen = append(w.seen, v.ID)
		w.place.AfterTx, w.place.AfterID = v.Tx, v.ID
	}
	return len(list) == w.limit
}

// A walk with pages of any size lists every event once, while transactions commit in another order than they began,
// also where their ids get one digit more.
func TestEvents_aWalkOfAnyPageSizeMissesNothing(t *testing.T) {
	t.Parallel()
	for _, border := range borders {
		t.Run(fmt.Sprint(border), func(t *testing.T) {
			t.Parallel()
			db := shifted(t, border-60)
			s := New(db, "a", 1)
			walks := make([]*walk, 101)
			for i := range walks {
				walks[i] = &walk{limit: i + 1}
			}
			written := writeAcross(t, db, border+60, func(random *rand.Rand) {
				for range 5 {
					walks[random.IntN(len(walks))].page(t, s)
				}
			})
			slices.Sort(written)
			deadline := time.Now().Add(2 * time.Minute)
			for _, w := range walks {
				awaitAll(t, s, w, len(written), deadline)
				slices.Sort(w.seen)
				if !slices.Equal(w.seen, written) {
					t.Errorf("pages of %d: %d events listed, %d written", w.limit, len(w.seen), len(written))
				}
			}
		})
	}
}

// writeAcross writes events, in up to eight transactions at a time that end in any order, until transaction ids have
// passed last. It returns the ids of the events that were committed.
func writeAcross(t *testing.T, db *pgxpool.Pool, last int64, meanwhile func(*rand.Rand)) []string {
	t.Helper()
	type open struct {
		tx  pgx.Tx
		ids []string
	}
	random := rand.New(rand.NewPCG(uint64(last), 1))
	var written []string
	var running []open
	for n, id := 0, int64(0); id <= last || len(running) > 0; n++ {
		if id <= last && (len(running) == 0 || len(running) < 8 && random.IntN(2) == 0) {
			tx, err := db.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			o := open{tx: tx}
			for i := range 1 + random.IntN(3) {
				event := fmt.Sprintf("evt_%05d_%d", random.IntN(100_000), n*10+i)
				if err := insertEvent(t.Context(), tx, event).Scan(&id); err != nil {
					t.Fatal(err)
				}
				o.ids = append(o.ids, event)
			}
			running = append(running, o)
			continue
		}
		i := random.IntN(len(running))
		o := running[i]
		running = slices.Delete(running, i, i+1)
		end := o.tx.Commit
		if random.IntN(10) == 0 {
			end = o.tx.Rollback
		} else {
			written = append(written, o.ids...)
		}
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
		meanwhile(random)
	}
	return written
}

func insertEvent(ctx context.Context, tx pgx.Tx, id string) pgx.Row {
	return tx.QueryRow(ctx, `INSERT INTO event (slot, id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body)
		SELECT abs(hashtext($1)) % 36, $1, 'm1', 'test', 'payment.pending', $1, 1, now(), '', '{}' RETURNING tx::text::bigint`, id)
}

// awaitAll goes on with a walk until it has listed n events and no more are left. Transactions of other tests on the
// same server may hold the last ones back for a moment.
func awaitAll(t *testing.T, s *Store, w *walk, n int, deadline time.Time) {
	t.Helper()
	for w.page(t, s) || len(w.seen) < n && time.Now().Before(deadline) {
	}
}

// plan is what EXPLAIN says of a step.
type plan struct {
	Node    string `json:"Node Type"`
	On      string `json:"Relation Name"`
	Hit     int    `json:"Shared Hit Blocks"`
	Read    int    `json:"Shared Read Blocks"`
	Loops   int    `json:"Actual Loops"`
	Dropped int    `json:"Rows Removed by Join Filter"` // a loop
	Steps   []plan `json:"Plans"`
}

// compared is how many pairs of rows the joins compare and drop.
func (p plan) compared() int {
	n := p.Loops * p.Dropped
	for _, s := range p.Steps {
		n += s.compared()
	}
	return n
}

// offences are the steps that read a table of events otherwise than along an index, or put it in order themselves.
func (p plan) offences() (list []string) {
	if p.Node == "Append" || p.Node == "Sort" || p.Node != "Index Scan" && strings.HasPrefix(p.On, "event_") {
		list = append(list, p.Node+" "+p.On)
	}
	for _, s := range p.Steps {
		list = append(list, s.offences()...)
	}
	return list
}

// A page of a long history costs what the page holds, with the plan made for its values and with the one made for
// any, and when the statistics know nothing of the newest events.
func TestEvents_aPageSortsNoHistory(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	const history = `INSERT INTO event (slot, id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body, tx)
		SELECT n / 4000 % 36, 'evt_' || lpad(n::text, 8, '0'), CASE WHEN n % 10 = 0 THEN 'm' || n / 10 % 20 ELSE 'big' END, 'test',
			'payment.settled', 'pay_' || n, 1, now(), '', '{}', (n / 3 + 3)::text::xid8
		FROM generate_series($1::int, $2::int) n`
	do(t, db, history, 1, 60_000)
	do(t, db, `ANALYZE event`)
	do(t, db, history, 60_001, 80_000)
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), inOrderSQL); err != nil {
		t.Fatal(err)
	}
	const few = 400 // of the database's pages; the history has two thousand
	for name, args := range map[string][]any{
		"the first page":        {"big", "test", "0", "", "", nil, 101},
		"a page of one":         {"big", "test", "0", "", "", nil, 1},
		"in the middle":         {"big", "test", "12000", "evt_", "", nil, 101},
		"behind the statistics": {"big", "test", "20003", "", "", nil, 101},
		"the last page":         {"big", "test", "26660", "", "", nil, 101},
		"of a small one":        {"m3", "test", "0", "", "", nil, 11},
		"of nobody":             {"m99", "test", "0", "", "", nil, 101},
		"of a type":             {"big", "test", "0", "", "payment.settled", nil, 101},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			if _, err := tx.Exec(t.Context(), "SET LOCAL plan_cache_mode = "+mode); err != nil {
				t.Fatal(err)
			}
			var raw []byte
			if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+eventsSQL, args...).Scan(&raw); err != nil {
				t.Fatal(err)
			}
			var out []struct{ Plan plan }
			if err := json.Unmarshal(raw, &out); err != nil || len(out) != 1 {
				t.Fatalf("read the plan %s: %v", raw, err)
			}
			top := out[0].Plan
			t.Logf("%s, %s: %d pages", name, mode, top.Hit+top.Read)
			if wrong := top.offences(); top.Hit+top.Read > few || len(wrong) > 0 {
				t.Errorf("%s, %s: reads %d pages; %v", name, mode, top.Hit+top.Read, wrong)
			}
		}
	}
}
