//go:build integration

package e2e

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/libs/testkit/stack"
)

// TestRoles: each role reaches its own database and nothing else, and does there what it needs and nothing else. The
// table is printed (-v).
func TestRoles(t *testing.T) {
	t.Parallel()
	s := stack.Shared(t)
	var databases []string
	for _, service := range sorted(s.Databases) {
		databases = append(databases, databaseOf(t, s.Databases[service]))
	}
	databases = append(databases, "postgres", "template1")
	for _, service := range sorted(s.Databases) {
		for role, address := range map[string]string{"application": s.Databases[service], "owner": s.Owners[service]} {
			reach(t, service, role, address, databases)
		}
		within(t, s, service)
	}
}

// reach tries to enter every database of the server.
func reach(t *testing.T, service, role, address string, databases []string) {
	t.Helper()
	var entered, refused []string
	for _, database := range databases {
		conn, err := pgx.Connect(t.Context(), to(t, address, database))
		switch {
		case err == nil:
			_ = conn.Close(t.Context())
			entered = append(entered, database)
		case denied(err):
			refused = append(refused, database)
		default:
			t.Fatal(err)
		}
	}
	if own := databaseOf(t, address); !slices.Equal(entered, []string{own}) {
		t.Errorf("the %s of %s enters %v", role, service, entered)
	}
	t.Logf("| %s %s | connect | %v | %v |", service, role, entered, refused)
}

// within tries what an application role may do in its own database.
func within(t *testing.T, s *stack.Stack, service string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.Databases[service])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var table string
	// A table that its migration has not kept from the application, as archives are.
	const newest = `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'goose_db_version'
		AND has_table_privilege(oid, 'DELETE') LIMIT 1`
	if err := conn.QueryRow(t.Context(), newest).Scan(&table); err != nil {
		t.Fatal(err)
	}
	owner, err := url.Parse(s.Owners[service])
	if err != nil {
		t.Fatal(err)
	}
	table = pgx.Identifier{table}.Sanitize()
	var allowed, refused []string
	for _, try := range []struct {
		what, sql string
		may       bool
	}{
		{"read rows", "SELECT 1 FROM " + table + " LIMIT 1", true},
		{"delete rows", "DELETE FROM " + table + " WHERE false", true},
		{"create a table", "CREATE TABLE mine (id int)", false},
		{"create a temporary table", "CREATE TEMP TABLE mine (id int)", false},
		{"create a schema", "CREATE SCHEMA mine", false},
		{"create a function", "CREATE FUNCTION mine() RETURNS int LANGUAGE sql RETURN 1", false},
		{"alter a table", "ALTER TABLE " + table + " ADD mine int", false},
		{"drop a table", "DROP TABLE " + table, false},
		{"truncate a table", "TRUNCATE " + table, false},
		{"disable triggers", "ALTER TABLE " + table + " DISABLE TRIGGER ALL", false},
		{"become the owner", "SET ROLE " + pgx.Identifier{owner.User.Username()}.Sanitize(), false},
		{"create a role", "CREATE ROLE mine", false},
		{"create a database", "CREATE DATABASE mine", false},
		{"run a program", "COPY (SELECT 1) TO PROGRAM 'true'", false},
		{"read a file", "SELECT pg_read_file('/etc/passwd')", false},
	} {
		_, err := conn.Exec(t.Context(), try.sql)
		switch {
		case err == nil:
			allowed = append(allowed, try.what)
		case denied(err):
			refused = append(refused, try.what)
		default:
			t.Errorf("the role of %s tries: %s: got %v, want success or permission denied", service, try.what, err)
		}
		if (err == nil) != try.may {
			t.Errorf("%s may %s: %v", service, try.what, err)
		}
	}
	t.Logf("| %s application | in its own database | %v | %v |", service, allowed, refused)
	foreignRoles(t, conn, service)
}

// foreignRoles checks that only a database's own roles execute its functions, with or without the owner's rights.
func foreignRoles(t *testing.T, conn *pgx.Conn, service string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT r.rolname || ': ' || p.oid::regprocedure FROM pg_proc p, pg_roles r
		WHERE p.pronamespace = 'public'::regnamespace AND NOT r.rolsuper AND r.rolname NOT LIKE 'pg\_%' AND r.oid <> p.proowner
			AND r.rolname <> current_user AND has_function_privilege(r.oid, p.oid, 'EXECUTE')`)
	if err != nil {
		t.Fatal(err)
	}
	may, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(may) > 0 {
		t.Errorf("functions of %s are open to %v, %v", service, may, err)
	}
	var all, definer int
	err = conn.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE prosecdef) FROM pg_proc
		WHERE pronamespace = 'public'::regnamespace`).Scan(&all, &definer)
	if console := strings.HasPrefix(service, "console"); err != nil || definer == 0 != console { // a console has no function
		t.Errorf("%s has %d functions, %d with the owner's rights: %v", service, all, definer, err)
	}
	t.Logf("| every other role | execute the functions of %s | none | all %d, of them %d with the owner's rights |", service, all, definer)
}

// denied reports insufficient_privilege.
func denied(err error) bool {
	var failure *pgconn.PgError
	return errors.As(err, &failure) && failure.Code == "42501"
}

func sorted(all map[string]string) []string {
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func databaseOf(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(fmt.Errorf("a database's URL: %w", err))
	}
	return parsed.Path[1:]
}

func to(t *testing.T, address, database string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Path = "/" + database
	return parsed.String()
}
