//go:build integration

package infra

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/deploy/stack/internal/progress"
	"causeway.internal/deploy/stack/internal/state"
	"causeway.internal/libs/wire"
)

func lentServers(t *testing.T) (Servers, []Tenant) {
	t.Helper()
	environ := map[string]string{}
	for variable, of := range map[string]string{
		PostgresURL: "CAUSEWAY_TEST_POSTGRES_URL", AMQPURL: "CAUSEWAY_TEST_AMQP_URL", AMQPAPI: "CAUSEWAY_TEST_AMQP_API",
	} {
		if environ[variable] = os.Getenv(of); environ[variable] == "" {
			t.Fatalf("%s is not set; run the tests with `make test`", of)
		}
	}
	s := Servers{Dir: t.TempDir(), Progress: progress.New(io.Discard), Environ: environ}
	if err := os.MkdirAll(state.LogDir(s.Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := state.Change(s.Dir, func(st *state.State) error {
		st.Dir, st.Prefix = s.Dir, "cw_"+state.Suffix()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	tenants := []Tenant{{Service: "one", Broker: true}, {Service: "an-other"}}
	t.Cleanup(func() {
		st, err := state.Load(s.Dir)
		if err != nil {
			t.Error(err)
			return
		}
		if err := Drop(context.WithoutCancel(t.Context()), st, tenants); err != nil {
			t.Error(err)
		}
	})
	return s, tenants
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func refused(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failure.Code == "42501" // insufficient_privilege
}

func TestAccounts_leastPrivilege(t *testing.T) {
	s, tenants := lentServers(t)
	accounts, err := s.Accounts(t.Context(), tenants, false)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Accounts(t.Context(), tenants, false); err != nil || again[0] != accounts[0] {
		t.Fatalf("a second time: %+v, %v", again, err)
	}
	owner, app := connect(t, accounts[0].Owner), connect(t, accounts[0].Database)
	for _, statement := range []string{
		`CREATE TABLE thing (id bigserial PRIMARY KEY, n int)`, `CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql RETURN n * 2`,
	} {
		if _, err := owner.Exec(t.Context(), statement); err != nil {
			t.Fatalf("the owner may not %s: %v", statement, err)
		}
	}
	for _, statement := range []string{
		`INSERT INTO thing (n) VALUES (twice(1))`, `UPDATE thing SET n = n + 1`, `SELECT * FROM thing`, `DELETE FROM thing`,
	} {
		if _, err := app.Exec(t.Context(), statement); err != nil {
			t.Errorf("the application may not %s: %v", statement, err)
		}
	}
	for _, statement := range []string{
		`CREATE TABLE mine (id int)`, `ALTER TABLE thing ADD x int`, `DROP TABLE thing`, `TRUNCATE thing`, `CREATE SCHEMA mine`,
		`CREATE TEMP TABLE mine (id int)`, `CREATE ROLE mine`, `CREATE DATABASE mine`,
	} {
		if _, err := app.Exec(t.Context(), statement); err == nil {
			t.Errorf("the application may %s", statement)
		}
	}
	other, err := url.Parse(accounts[1].Database)
	if err != nil {
		t.Fatal(err)
	}
	home, err := url.Parse(accounts[0].Database)
	if err != nil {
		t.Fatal(err)
	}
	other.Path = home.Path
	if conn, err := pgx.Connect(t.Context(), other.String()); !refused(err) {
		if err == nil {
			_ = conn.Close(t.Context())
		}
		t.Errorf("one service reaches another's database: %v", err)
	}
}

func TestAccounts_brokerUserSeesItsOwn(t *testing.T) {
	s, tenants := lentServers(t)
	accounts, err := s.Accounts(t.Context(), tenants, false)
	if err != nil {
		t.Fatal(err)
	}
	st, err := state.Load(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(accounts[0].Broker, "/"+st.Prefix) || accounts[1].Broker != "" {
		t.Errorf("brokers %q and %q", accounts[0].Broker, accounts[1].Broker)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Environ[AMQPAPI]+"/api/vhosts/"+st.Prefix+"/permissions", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), `"user":"`+st.Prefix+`-one"`) || !strings.Contains(string(text), `"^one(\\.returns)?$"`) {
		t.Errorf("permissions %s, %v", text, err)
	}
}

func TestDrop_leavesNothing(t *testing.T) {
	s, tenants := lentServers(t)
	if _, err := s.Accounts(t.Context(), tenants, false); err != nil {
		t.Fatal(err)
	}
	st, err := state.Load(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Drop(t.Context(), st, tenants); err != nil {
			t.Fatal(err)
		}
	}
	var left int
	conn := connect(t, st.Postgres.URL)
	query := `SELECT (SELECT count(*) FROM pg_database WHERE datname LIKE $1) + (SELECT count(*) FROM pg_roles WHERE rolname LIKE $1)`
	if err := conn.QueryRow(t.Context(), query, st.Prefix+"%").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d left, %v", left, err)
	}
}

// RabbitMQ answers 204 to definitions that it skips. A topology with a hole loses messages, so the hole is named.
func TestAccounts_namesTheHoleInATopology(t *testing.T) {
	s, tenants := lentServers(t)
	st, err := state.Load(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	m := management{api: st.Rabbit.API}
	if err := m.makeHost(t.Context(), st.Prefix); err != nil {
		t.Fatal(err)
	}
	queue := "/api/queues/" + url.PathEscape(st.Prefix) + "/" + wire.Unrouted
	if err := m.remove(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accounts(t.Context(), tenants, false); err != nil {
		t.Fatalf("a topology that lacks a queue is not completed: %v", err)
	}
	if err := m.remove(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	other := wire.Queue{Durable: true, Arguments: map[string]any{"x-queue-type": "classic"}}
	if err := m.put(t.Context(), queue, other); err != nil {
		t.Fatal(err)
	}
	_, err = s.Accounts(t.Context(), tenants, false)
	if err == nil || !strings.Contains(err.Error(), `lacks queue {"name":"`+wire.Unrouted+`"`) {
		t.Fatalf("a queue of the same name and another type: got %v, want an error that names it", err)
	}
}
