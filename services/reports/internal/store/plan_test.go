//go:build integration

package store_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"causeway.internal/services/reports/internal/store"
)

// seedMany writes rows straight into the table: half of them on one phone and one wallet, the rest on their own.
const seedMany = `INSERT INTO reports (id, reference, mode, merchant_id, key_id, kind, name, phone, wallet, wallet_key, status, version, sequence, created_at, updated_at)
SELECT i, 'R' || i, 'test', 'acme', 7, (ARRAY['track_transaction', 'stolen_funds', 'fraud'])[1 + i % 3], 'N',
	CASE WHEN i % 2 = 0 THEN '100000' ELSE (200000 + i)::text END, 'w', CASE WHEN i % 2 = 0 THEN 'hot' ELSE 'cold' || i END,
	(ARRAY['pending', 'processing', 'resolved', 'dismissed'])[1 + i / 3 % 4], 1, 1, at, at
FROM (SELECT i, timestamptz '2026-01-01 00:00:00Z' + i * interval '1 minute' AS at FROM generate_series(1, $1::int) AS i) AS x`

type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     average `json:"Actual Rows"`
	Loops    int     `json:"Actual Loops"`
	Removed  average `json:"Rows Removed by Filter"`
	Plans    []node
}

// average is a number of rows for each loop, rounded up.
type average int

// UnmarshalJSON takes it with a fraction, as later versions of PostgreSQL write it, or without.
func (a *average) UnmarshalJSON(raw []byte) error {
	whole, fraction, _ := strings.Cut(string(raw), ".")
	n, err := strconv.Atoi(whole)
	if strings.Trim(fraction, "0") != "" {
		n++
	}
	*a = average(n)
	return err
}

// walk adds up what is read of tables and notes what should not be there.
func (n node) walk(read *int, bad *[]string) {
	if n.Relation != "" {
		*read += int(n.Rows+n.Removed) * n.Loops
		if strings.Contains(n.Type, "Seq Scan") || strings.Contains(n.Type, "Bitmap") {
			*bad = append(*bad, n.Type+" on "+n.Relation)
		}
	}
	for _, child := range n.Plans {
		child.walk(read, bad)
	}
}

// With any number of rows behind a subject, a page reads no more of them than it needs, by the plan that PostgreSQL
// settles on for all arguments: never a sequential scan, and at most the page once for each run of an index that the
// filters leave open. That it does settle on one, and compiles nothing, matters as well: both cost more than the
// request.
func TestLookup_readsNoMoreThanItGives(t *testing.T) {
	t.Parallel()
	exec := newFixture(t).session()
	exec(strings.Replace(seedMany, "$1", "40000", 1))
	// A third of the phone's reports are sealed; what a page needs no more than it gives holds for both forms together.
	exec(`UPDATE reports SET phone = NULL, person = 'x', phone_index = 'x01' WHERE phone = '100000' AND id % 6 = 0`)
	exec(`VACUUM FULL ANALYZE reports`)
	const given = 51
	for i, tc := range []struct {
		shape    string
		args     string
		skip     int
		mostRead int
	}{
		{"modes:1 phone:true wallet:false status:false kind:false", "test 100000 {x01,x02}", 0, 3 * given},
		{"modes:2 phone:true wallet:false status:false kind:false", "live test 100000 {x01,x02}", 0, 3 * given},
		{"modes:1 phone:false wallet:true status:false kind:false", "test hot", 0, 2 * given},
		{"modes:1 phone:true wallet:true status:false kind:false", "test 100000 {x01,x02} hot", 0, 4 * given},
		{"modes:1 phone:true wallet:false status:true kind:false", "test 100000 {x01,x02} resolved", 0, 7 * given},
		{"modes:2 phone:false wallet:true status:false kind:true", "live test hot fraud", 0, 5 * given},
		{"modes:1 phone:true wallet:true status:true kind:true", "test 100000 {x01,x02} hot resolved fraud", 0, 4 * given},
		{"modes:1 phone:true wallet:false status:false kind:false", "test 100000 {x01,x02}", 1000, 2*1000 + 3*given},
		{"modes:2 phone:true wallet:true status:true kind:false", "live test 100000 {x01,x02} hot resolved", 1000, 9*(1000+given) + given},
	} {
		sql, ok := store.Statements()["page{"+tc.shape+"}"]
		if !ok {
			t.Fatalf("no statement for %s", tc.shape)
		}
		name := fmt.Sprintf("page_%d", i)
		execute := fmt.Sprintf("EXECUTE %s('9999-12-31', 0, %d, %d, %d, '%s')", name, tc.skip+given, tc.skip, given, strings.ReplaceAll(tc.args, " ", "', '"))
		exec("PREPARE " + name + " AS " + sql)
		rows := exec("EXPLAIN (ANALYZE, FORMAT JSON) " + execute)
		if plans := exec(`SELECT generic_plans || ' ' || custom_plans FROM pg_prepared_statements WHERE name = '` + name + `'`)[0][0]; string(plans) != "1 0" {
			t.Errorf("%s is planned anew for every request: %s", tc.shape, plans)
		}
		read, bad := reads(t, rows[0][0])
		const rounding = 24 // averages over the loops are rounded up
		if len(bad) > 0 || read > tc.mostRead+rounding || read < given {
			t.Errorf("%s, skipping %d: %v, %d rows read, want at most %d\n%s", tc.shape, tc.skip, bad, read, tc.mostRead, rows[0][0])
		}
	}
}

// A page of a merchant's own reports reads no more than the page from each run that the filters leave open.
func TestOwn_readsNoMoreThanItGives(t *testing.T) {
	t.Parallel()
	exec := newFixture(t).session()
	exec(strings.Replace(seedMany, "$1", "40000", 1))
	exec(`UPDATE reports SET merchant_id = 'small' WHERE id % 1000 = 0`)
	exec(`VACUUM FULL ANALYZE reports`)
	const given = 51
	every, kinds := "{pending,processing,resolved,dismissed}", "{track_transaction,stolen_funds,fraud}"
	exec("PREPARE own AS " + store.Statements()["selectOwn"])
	for _, tc := range []struct {
		merchant, statuses, kinds string
		runs                      int
	}{{"acme", every, kinds, 12}, {"acme", "{resolved}", kinds, 3}, {"acme", "{resolved}", "{fraud}", 1}, {"small", every, kinds, 12}, {"nobody", every, kinds, 12}} {
		rows := exec(fmt.Sprintf("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE own('%s', 'test', '%s', '%s', '9999-12-31', 0, %d)", tc.merchant, tc.statuses, tc.kinds, given))
		if read, bad := reads(t, rows[0][0]); len(bad) > 0 || read > (tc.runs+2)*given {
			t.Errorf("list %s's %s %s: %v, %d rows read, want at most %d\n%s", tc.merchant, tc.statuses, tc.kinds, bad, read, (tc.runs+2)*given, rows[0][0])
		}
	}
}

// A deep offset costs the days down to it, and not all that a subject has.
func TestLookup_aDeepOffsetReadsTheDaysBeforeIt(t *testing.T) {
	t.Parallel()
	exec := newFixture(t).session()
	exec(`INSERT INTO report_counts (subject, day, n)
SELECT s, date '2020-01-01' + i, array_fill(1, ARRAY[12]) FROM unnest('{"\\x01","\\x02","\\x03"}'::bytea[]) AS s, generate_series(1, 1000) AS i`)
	exec(`VACUUM ANALYZE report_counts`)
	for subjects, args := range map[int]string{1: `'{"\\x01"}', '{1}'`, 3: `'{"\\x01","\\x02","\\x03"}', '{1,1,-1}'`} {
		name := fmt.Sprintf("day_%d", subjects)
		exec("PREPARE " + name + " AS " + store.Statements()[fmt.Sprintf("dayOfOffset%d", subjects)])
		execute := "EXECUTE " + name + "(" + args + ", '{1,1,1,1,1,1,1,1,1,1,1,1}', 1205, NULL)"
		if found := exec(execute); len(found) != 1 || string(found[0][0])+" "+string(found[0][1]) != "2022-06-19 1200" {
			t.Errorf("%d subjects: found %s", subjects, found)
		}
		rows := exec("EXPLAIN (ANALYZE, FORMAT JSON) " + execute)
		if read, bad := reads(t, rows[0][0]); len(bad) > 0 || read > 103*subjects {
			t.Errorf("%d subjects: %v, %d rows read\n%s", subjects, bad, read, rows[0][0])
		}
	}
}

// Statements over lists look each row up by an index, also in a young database whose tables were empty when PostgreSQL
// counted them.
func TestFile_looksEachRowUp(t *testing.T) {
	t.Parallel()
	exec := newFixture(t).session()
	exec(`VACUUM (ANALYZE)`)
	for name, args := range map[string]string{
		"openReports":   `'{A,B}'`,
		"filedThisHour": `'{test}', '{a}', '{reporter}', '{7}'`,
		"findAnswers":   `'{x}'`,
		"markAccused":   `'{test}', '{a}', '{x}', '{y}', '{1}', '{z}'`,
	} {
		exec("PREPARE " + name + " AS " + store.Statements()[name])
		rows := exec("EXPLAIN (FORMAT JSON) EXECUTE " + name + "(" + args + ")")
		if strings.Contains(string(rows[0][0]), "Seq Scan") {
			t.Errorf("%s reads a whole table:\n%s", name, rows[0][0])
		}
	}
}

// session is one of the service's own.
func (w *fixture) session() (exec func(sql string) [][][]byte) {
	w.t.Helper()
	acquired, err := w.pool.Acquire(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(acquired.Release)
	return func(sql string) [][][]byte {
		w.t.Helper()
		results, err := acquired.Conn().PgConn().Exec(w.t.Context(), sql).ReadAll()
		if err != nil {
			w.t.Fatalf("run %s: %v", sql, err)
		}
		return results[len(results)-1].Rows
	}
}

// reads is how many rows of tables a plan has read, and what of it should not be there.
func reads(t *testing.T, explained []byte) (read int, bad []string) {
	t.Helper()
	var plans []struct {
		Plan node
		JIT  any
	}
	if err := json.Unmarshal(explained, &plans); err != nil {
		t.Fatal(err)
	}
	plans[0].Plan.walk(&read, &bad)
	if plans[0].JIT != nil {
		bad = append(bad, "compiled")
	}
	return read, bad
}
