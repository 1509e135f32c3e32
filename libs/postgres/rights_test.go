//go:build integration

package postgres_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/testkit/pg"
)

// A database that was migrated while its application had no rights gets them at the next migration, for what was there
// before too.
func TestMigrate_oldTables(t *testing.T) {
	t.Parallel()
	server := pg.URL(t, migrations)
	admin, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(t.Context()))
	run := func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if _, err := admin.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
				t.Fatalf("run %s: %v", sql, err)
			}
		}
	}
	name := "r" + strings.ToLower(rand.Text())
	owner, app := name+"_owner", name+"_app"
	run(`CREATE ROLE `+owner+` LOGIN PASSWORD 'x'`, `CREATE ROLE `+app+` LOGIN PASSWORD 'x'`, `CREATE DATABASE `+name+` OWNER `+owner)
	defer run(`DROP DATABASE `+name+` WITH (FORCE)`, `DROP ROLE `+owner, `DROP ROLE `+app)
	as := func(role string) string {
		address, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		address.User, address.Path = url.UserPassword(role, "x"), "/"+name
		return address.String()
	}
	old, err := pgx.Connect(t.Context(), as(owner))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close(context.WithoutCancel(t.Context()))
	if _, err := old.Exec(t.Context(), `CREATE TABLE old (id bigserial PRIMARY KEY);
		CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql RETURN n * 2; REVOKE EXECUTE ON FUNCTION twice FROM PUBLIC`); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	for range 4 {
		go func() {
			failed <- postgres.Migrate(t.Context(), postgres.Config{URL: config.Secret(as(owner))}, migrations)
		}()
	}
	for range 4 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	rows, err := pgx.Connect(t.Context(), as(app))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close(context.WithoutCancel(t.Context()))
	for _, sql := range []string{
		`INSERT INTO old DEFAULT VALUES`, `DELETE FROM old WHERE id = twice(1)`, `INSERT INTO things VALUES (1, 1)`, `SELECT FROM goose_db_version`,
	} {
		if _, err := rows.Exec(t.Context(), sql); err != nil {
			t.Errorf("run %s with the rights on rows: %v", sql, err)
		}
	}
	if _, err := rows.Exec(t.Context(), `CREATE TABLE mine (id int)`); err == nil {
		t.Error("the application creates tables")
	}
	if _, err := old.Exec(t.Context(), `REVOKE INSERT, UPDATE, DELETE ON old FROM `+app); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), postgres.Config{URL: config.Secret(as(owner))}, migrations); err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Exec(t.Context(), `INSERT INTO old DEFAULT VALUES`); err == nil {
		t.Error("a right that was taken is granted again")
	}
}
