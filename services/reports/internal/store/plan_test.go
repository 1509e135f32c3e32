//go:build integration

package store_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

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

// With any number of rows behind a subject, a page reads no more of them than it needs, by the plan that is used for all
// arguments: never a sequential scan, and at most the page once for each run of an index that the filters leave open.
func TestLookup_readsNoMoreThanItGives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn, err := w.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, sql := range []string{strings.Replace(seedMany, "$1", "40000", 1), `VACUUM ANALYZE reports`, `SET plan_cache_mode = force_generic_plan`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	defer conn.Exec(t.Context(), `RESET plan_cache_mode`) //nolint:errcheck // the connection ends with the test
	const given = 51
	beginning := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		shape    string
		args     []any
		skip     int
		mostRead int
	}{
		{"{phone:true wallet:false filtered:false}", []any{"100000"}, 0, 2 * given},
		{"{phone:false wallet:true filtered:false}", []any{"hot"}, 0, 2 * given},
		{"{phone:true wallet:true filtered:false}", []any{"100000", "hot"}, 0, 3 * given},
		{"{phone:true wallet:false filtered:true}", []any{"100000", []string{"resolved"}, []string{"track_transaction", "stolen_funds", "fraud"}}, 0, 4 * given},
		{"{phone:false wallet:true filtered:true}", []any{"hot", []string{"pending", "processing", "resolved", "dismissed"}, []string{"fraud"}}, 0, 5 * given},
		{"{phone:true wallet:true filtered:true}", []any{"100000", "hot", []string{"resolved"}, []string{"fraud"}}, 0, 3 * given},
		{"{phone:true wallet:false filtered:false}", []any{"100000"}, 1000, 1000 + 2*given},
	} {
		args := append([]any{[]string{"test"}, beginning, int64(0), tc.skip + given, tc.skip, given}, tc.args...)
		sql, ok := store.Statements()["page"+tc.shape]
		if !ok {
			t.Fatalf("no statement for %s", tc.shape)
		}
		var raw []byte
		if err := conn.QueryRow(t.Context(), `EXPLAIN (ANALYZE, FORMAT JSON) `+sql, args...).Scan(&raw); err != nil {
			t.Fatal(err)
		}
		var plans []struct{ Plan node }
		if err := json.Unmarshal(raw, &plans); err != nil {
			t.Fatal(err)
		}
		var read int
		var bad []string
		plans[0].Plan.walk(&read, &bad)
		if len(bad) > 0 || read > tc.mostRead || read < given {
			t.Errorf("%s, skipping %d: %v, %d rows read, want at most %d\n%s", tc.shape, tc.skip, bad, read, tc.mostRead, raw)
		}
	}
}
