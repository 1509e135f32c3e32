//go:build integration

package pg

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
)

// Search searches every row of every table for texts, as a thief of a dump would: plain, in bytes, and in base64 inside
// of either. It returns a line for each text and table that holds it.
func Search(t testing.TB, db postgres.Querier, texts ...string) (found []string) {
	t.Helper()
	rows, err := db.Query(t.Context(), `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		var patterns []string
		for _, form := range append(base64Of(text), text) {
			patterns = append(patterns, like(form), like(hex.EncodeToString([]byte(form))))
		}
		for _, table := range tables {
			var n int
			if err := db.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` AS x WHERE x::text ILIKE ANY($1)`, patterns).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				found = append(found, fmt.Sprintf("%q is in %d rows of %s", text, n, table))
			}
		}
	}
	return found
}

func like(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// base64Of are the three base64 forms of a text within others, one for each offset in a group.
func base64Of(text string) (forms []string) {
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + text))
		first, last := (before*8+5)/6, (before+len(text))*8/6
		forms = append(forms, encoded[first:last])
	}
	return forms
}
