package check

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// released lists the migrations that a release holds, with their sums: those stay as they are for ever. UPDATE=1 writes
// it anew when a release is made.
var released = filepath.Join(root, "deploy", "upgrade", "migrations.sum")

// TestMigrations: what was released is unchanged, and whatever came since can run under the binaries of that release,
// which go on meanwhile: it only adds (docs/deploy.md).
func TestMigrations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "*", "migrations", "*.sql"))
	more, err2 := filepath.Glob(filepath.Join(root, "services", "*", "migrations", "*.sql"))
	if files = append(files, more...); err != nil || err2 != nil || len(files) < 20 {
		t.Fatalf("%d migrations, %v, %v", len(files), err, err2)
	}
	var sums []string
	sources := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, fmt.Sprintf("%x  %s", sha256.Sum256(raw), name))
		sources[name] = string(raw)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(released, []byte(strings.Join(sums, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		_, name, _ := strings.Cut(line, "  ")
		if !slices.Contains(sums, line) {
			t.Errorf("%s was released, and is gone or another one now: write a new migration", name)
		}
		delete(sources, name)
	}
	for name, source := range sources {
		for _, problem := range destructive(source) {
			t.Errorf("%s: %s: the binaries of the last release still use it. Where they do not, say so in a line `-- unused since: …` above", name, problem)
		}
		for _, table := range locking(source) {
			t.Errorf("%s: a foreign key locks %s against writes while the file goes on to read: leave the key out, or read in another file", name, table)
		}
	}
}

var (
	spoken = regexp.MustCompile(`(?m)^\s*-- unused since: \S.*\n`)
	remark = regexp.MustCompile(`(?m)--.*$`)
	breaks = []*regexp.Regexp{
		regexp.MustCompile(`\bdrop (table|column|view|sequence|function|type|schema)\b[^;]*`),
		regexp.MustCompile(`\balter (table|view|sequence|type) [^;]*\brename\b[^;]*`),
		regexp.MustCompile(`\balter (column )?[a-z_"]+ (set data )?type\b[^;]*`),
		regexp.MustCompile(`\balter (column )?[a-z_"]+ (set not null|drop default)[^;]*`),
		regexp.MustCompile(`\brevoke\b[^;]*`),
	}
	added  = regexp.MustCompile(`\badd (column )?(if not exists )?[a-z_]+ [a-z][^,;]*\bnot null\b[^,;]*`)
	filled = regexp.MustCompile(`\b(default|generated)\b`)
)

// destructive lists the statements of a migration, up, that a binary which knows the schema before it would stumble
// over.
func destructive(source string) (found []string) {
	source, _, _ = strings.Cut(source, "-- +goose Down")
	for {
		at := spoken.FindStringIndex(source)
		if at == nil {
			break
		}
		end := strings.Index(source[at[1]:], ";")
		if end < 0 {
			end = len(source) - at[1] - 1
		}
		source = source[:at[0]] + source[at[1]+end+1:]
	}
	text := strings.ToLower(strings.Join(strings.Fields(remark.ReplaceAllString(source, "")), " "))
	for _, pattern := range breaks {
		found = append(found, pattern.FindAllString(text, -1)...)
	}
	for _, column := range added.FindAllString(text, -1) {
		if !filled.MatchString(column) {
			found = append(found, column)
		}
	}
	return found
}

var (
	keyed = regexp.MustCompile(`\breferences ([a-z_]+)`)
	reads = regexp.MustCompile(`\b(select|update|delete)\b`)
)

// locking lists the tables of earlier migrations that a migration, up, locks with a foreign key and reads rows after:
// one transaction, so that the binaries of the last release cannot write to them until the rows are read.
func locking(source string) (tables []string) {
	source, _, _ = strings.Cut(source, "-- +goose Down")
	text := strings.ToLower(strings.Join(strings.Fields(remark.ReplaceAllString(source, "")), " "))
	for _, at := range keyed.FindAllStringSubmatchIndex(text, -1) {
		table := text[at[2]:at[3]]
		if !strings.Contains(text, "create table "+table+" ") && reads.MatchString(text[at[1]:]) {
			tables = append(tables, table)
		}
	}
	return tables
}

func TestMigrations_locking(t *testing.T) {
	for sql, bad := range map[string]bool{
		"CREATE TABLE t (id int REFERENCES u);":                                                          false,
		"CREATE TABLE t (id int, FOREIGN KEY (id) REFERENCES u (id)); INSERT INTO t SELECT id FROM v;":   true,
		"ALTER TABLE t ADD COLUMN n int REFERENCES u; UPDATE t SET n = 1;":                               true,
		"CREATE TABLE u (id int); CREATE TABLE t (id int REFERENCES u (id)); INSERT INTO u SELECT 1;":    false,
		"INSERT INTO u SELECT id FROM v; CREATE TABLE t (id int REFERENCES u (id));":                     false,
		"CREATE TABLE t (id int REFERENCES u);\n-- +goose Down\nDELETE FROM u WHERE id IN (SELECT 1);\n": false,
		"CREATE TABLE t (id int REFERENCES u); -- whose rows a later statement may select one day":       false,
	} {
		if got := locking("-- +goose Up\n" + sql); (len(got) > 0) != bad {
			t.Errorf("look for locks in %q: got %q", sql, got)
		}
	}
}

func TestMigrations_destructive(t *testing.T) {
	for sql, bad := range map[string]bool{
		"CREATE TABLE t (id int NOT NULL, at timestamptz);":                                 false,
		"ALTER TABLE t ADD COLUMN n int;":                                                   false,
		"ALTER TABLE t ADD COLUMN n int NOT NULL DEFAULT 0, ADD COLUMN m text;":             false,
		"ALTER TABLE t ADD COLUMN m text, ADD COLUMN n int NOT NULL;":                       true,
		"ALTER TABLE t ADD n int\n  NOT NULL;":                                              true,
		"DROP INDEX t_order; CREATE INDEX t_order ON t (id);":                               false,
		"ALTER INDEX a RENAME TO b;":                                                        false,
		"ALTER TABLE t DROP COLUMN n;":                                                      true,
		"alter table t drop column n;":                                                      true,
		"-- unused since: v1.3\nALTER TABLE t DROP COLUMN n;":                               false,
		"-- unused since: v1.3\nALTER TABLE t DROP COLUMN n;\nALTER TABLE t DROP COLUMN m;": true,
		"-- unused since:\nALTER TABLE t DROP COLUMN n;":                                    true,
		"DROP TABLE t;":                                   true,
		"ALTER TABLE t RENAME COLUMN a TO b;":             true,
		"ALTER TABLE t RENAME TO u;":                      true,
		"ALTER TABLE t ALTER COLUMN n TYPE bigint;":       true,
		"ALTER TABLE t ALTER n SET DATA TYPE text;":       true,
		"ALTER TABLE t ALTER COLUMN n SET NOT NULL;":      true,
		"ALTER TABLE t ALTER COLUMN n SET DEFAULT 1;":     false,
		"ALTER TABLE t ALTER COLUMN n DROP NOT NULL;":     false,
		"-- one could DROP TABLE t here\nSELECT 1;":       false,
		"SELECT 1;\n-- +goose Down\nDROP TABLE t;":        false,
		"REVOKE SELECT ON t FROM app;":                    true,
		"CREATE OR REPLACE FUNCTION f() RETURNS int ...;": false,
	} {
		if got := destructive("-- +goose Up\n" + sql); (len(got) > 0) != bad {
			t.Errorf("look for what destroys in %q: got %q", sql, got)
		}
	}
}
