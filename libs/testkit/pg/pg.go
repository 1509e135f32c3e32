//go:build integration

// Package pg gives a test its own PostgreSQL database, cloned in some tens of milliseconds from a template that is
// migrated once per set of migrations. It is for tests alone.
package pg

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
)

// envURL names a superuser's URL of the server that tests may use.
const envURL = "CAUSEWAY_TEST_POSTGRES_URL"

const setupTimeout = 2 * time.Minute

// maxConns is what a service has.
const maxConns = 16

// New returns a pool, with the settings of a service's, on a fresh database with the migrations applied. The database
// is dropped when the test ends.
func New(t testing.TB, migrations fs.FS) *pgxpool.Pool {
	t.Helper()
	return Open(t, Config(t, migrations), migrations)
}

// Config returns the configuration of a fresh database with the migrations applied, for tests that open it themselves
// or need several processes' worth of pools.
func Config(t testing.TB, migrations fs.FS) postgres.Config {
	t.Helper()
	return postgres.Config{URL: config.Secret(URL(t, migrations)), MaxConns: maxConns}
}

// Open opens a pool that is closed when the test ends.
func Open(t testing.TB, cfg postgres.Config, migrations fs.FS) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), cfg.ForTests(), migrations, telemetrytest.ForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// LockTimeout opens a second pool on a pool's database. Its statements wait so long for a lock, "0" for ever. It is
// closed when the test ends.
func LockTimeout(t testing.TB, of *pgxpool.Pool, wait string) *pgxpool.Pool {
	t.Helper()
	cfg := of.Config()
	made := cfg.AfterConnect
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := made(ctx, conn); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, `SELECT set_config('lock_timeout', $1, false), set_config('statement_timeout', '0', false)`, wait)
		return err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// URL returns the URL of a fresh database with the migrations applied. The database is dropped when the test ends.
func URL(t testing.TB, migrations fs.FS) string {
	t.Helper()
	made, drop := Kept(t, migrations)
	dropped(t, drop)
	return made
}

// Kept returns the URL of a fresh database with the migrations applied, which outlasts the test: the caller drops it.
func Kept(t testing.TB, migrations fs.FS) (made string, drop func() error) {
	t.Helper()
	name := unused()
	err := administer(func(ctx context.Context, admin *pgx.Conn) error {
		template, err := template(ctx, admin, migrations)
		if err != nil {
			return err
		}
		return clone(ctx, admin, name, template)
	})
	if err != nil {
		t.Fatal(err)
	}
	return withDatabase(name), func() error { return execute(dropping(name)) }
}

// Clone returns the URL of a copy of a database to which nobody is connected. The copy is dropped when the test ends.
func Clone(t testing.TB, of string) string {
	t.Helper()
	u, err := url.Parse(of)
	if err != nil {
		t.Fatal(err)
	}
	name := unused()
	err = administer(func(ctx context.Context, admin *pgx.Conn) error {
		return clone(ctx, admin, name, strings.TrimPrefix(u.Path, "/"))
	})
	if err != nil {
		t.Fatal(err)
	}
	dropped(t, func() error { return execute(dropping(name)) })
	return withDatabase(name)
}

func unused() string { return "test_" + strings.ToLower(rand.Text()) }

func dropping(name string) string { return `DROP DATABASE IF EXISTS ` + name + ` WITH (FORCE)` }

func dropped(t testing.TB, drop func() error) {
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Logf("drop a database: %v", err)
		}
	})
}

func execute(statements ...string) error {
	return administer(func(ctx context.Context, admin *pgx.Conn) error {
		for _, sql := range statements {
			if _, err := admin.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
}

func clone(ctx context.Context, admin *pgx.Conn, name, template string) error {
	sql := `CREATE DATABASE ` + name + ` TEMPLATE ` + template
	if !strings.HasPrefix(admin.PgConn().ParameterStatus("server_version"), "14.") {
		sql += ` STRATEGY FILE_COPY` // 14 knows no other; a copy through the log is written twice
	}
	if _, err := admin.Exec(ctx, sql); err != nil {
		return fmt.Errorf("clone %s: %w", template, err)
	}
	return nil
}

// Application returns the configuration of a fresh database for the role of its application. Its owner, another role,
// has applied the migrations.
func Application(t testing.TB, migrations fs.FS) postgres.Config {
	t.Helper()
	name := unused()
	owner, app := name+"_owner", name+"_app"
	dropped(t, func() error {
		return execute(dropping(name), `DROP ROLE IF EXISTS `+owner, `DROP ROLE IF EXISTS `+app)
	})
	err := execute(`CREATE ROLE `+owner+` LOGIN PASSWORD 'x'`, `CREATE ROLE `+app+` LOGIN PASSWORD 'x'`, `CREATE DATABASE `+name+` OWNER `+owner)
	if err != nil {
		t.Fatal(err)
	}
	as := func(role string) postgres.Config {
		u, err := url.Parse(withDatabase(name))
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(role, "x")
		return postgres.Config{URL: config.Secret(u.String()), MaxConns: maxConns}
	}
	if err := postgres.Migrate(t.Context(), as(owner), migrations); err != nil {
		t.Fatal(err)
	}
	return as(app)
}

// idle are the connections of the superuser that nobody uses at the moment. A connection costs as much of the
// processor as the copy of a database.
var idle struct {
	sync.Mutex
	conns []*pgx.Conn
}

// administer runs f on a connection of the superuser.
func administer(f func(ctx context.Context, admin *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	admin, err := administrator(ctx)
	if err != nil {
		return err
	}
	if err := f(ctx, admin); err != nil {
		_ = admin.Close(ctx) // it may hold a lock
		return err
	}
	idle.Lock()
	defer idle.Unlock()
	idle.conns = append(idle.conns, admin)
	return nil
}

func administrator(ctx context.Context) (*pgx.Conn, error) {
	server := os.Getenv(envURL)
	if server == "" {
		return nil, fmt.Errorf("%s is not set: integration tests need a PostgreSQL superuser's URL (`make test` sets it)", envURL)
	}
	for {
		idle.Lock()
		last := len(idle.conns) - 1
		var admin *pgx.Conn
		if last >= 0 {
			admin, idle.conns = idle.conns[last], idle.conns[:last]
		}
		idle.Unlock()
		if admin == nil {
			break
		}
		if admin.Config().ConnString() == server && admin.Ping(ctx) == nil {
			return admin, nil
		}
		_ = admin.Close(ctx) // of another server, or one that has ended
	}
	admin, err := pgx.Connect(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", envURL, err)
	}
	return admin, nil
}

// template ensures a migrated database of these migrations. Test binaries of many packages call it at once, so it
// creates under a lock and the name appears only when the template is complete.
func template(ctx context.Context, admin *pgx.Conn, migrations fs.FS) (name string, err error) {
	sum, err := hash(migrations)
	if err != nil {
		return "", err
	}
	name = "template_" + sum
	exists := func() (ok bool, err error) {
		err = admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&ok)
		return ok, err
	}
	if ok, err := exists(); err != nil || ok {
		return name, err
	}
	if _, err := admin.Exec(ctx, `SELECT pg_advisory_lock(hashtext('causeway test template'))`); err != nil {
		return "", fmt.Errorf("lock the template: %w", err)
	}
	defer func() {
		if _, unlock := admin.Exec(ctx, `SELECT pg_advisory_unlock(hashtext('causeway test template'))`); unlock != nil {
			err = errors.Join(err, fmt.Errorf("unlock the template: %w", unlock))
		}
	}()
	if ok, err := exists(); err != nil || ok {
		return name, err
	}
	draft := "draft_" + strings.ToLower(rand.Text())
	if _, err := admin.Exec(ctx, `CREATE DATABASE `+draft); err != nil {
		return "", fmt.Errorf("create the template: %w", err)
	}
	if err := postgres.Migrate(ctx, postgres.Config{URL: config.Secret(withDatabase(draft))}, migrations); err != nil {
		_, _ = admin.Exec(ctx, `DROP DATABASE `+draft+` WITH (FORCE)`) // the migration's error is returned
		return "", err
	}
	if _, err := admin.Exec(ctx, `ALTER DATABASE `+draft+` RENAME TO `+name); err != nil {
		return "", fmt.Errorf("name the template: %w", err)
	}
	return name, nil
}

func hash(migrations fs.FS) (string, error) {
	h := sha256.New()
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			return "", fmt.Errorf("read migration %s: %w", name, err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func withDatabase(name string) string {
	u, err := url.Parse(os.Getenv(envURL))
	if err != nil {
		panic(err) // pgx has parsed it before
	}
	u.Path = "/" + name
	return u.String()
}

// Holds fails the test unless one of the migrations holds the schema of a library, word for word.
func Holds(t testing.TB, migrations fs.FS, schema string) {
	t.Helper()
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), schema) {
			return
		}
	}
	t.Errorf("no migration holds this schema word for word:\n%s", schema)
}

// Prepare fails the test for every named statement that PostgreSQL does not accept on the migrated schema.
func Prepare(t testing.TB, pool *pgxpool.Pool, statements map[string]string) {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for name, sql := range statements {
		if _, err := conn.Conn().Prepare(t.Context(), "", sql); err != nil {
			t.Errorf("prepare %s: %v", name, err)
		}
	}
}

// Closed fails the test for every function of the migrated schema that PUBLIC may execute.
func Closed(t testing.TB, pool *pgxpool.Pool, migrations fs.FS) {
	t.Helper()
	Holds(t, migrations, postgres.CloseFunctions)
	rows, err := pool.Query(t.Context(), `SELECT oid::regprocedure::text FROM pg_proc
		WHERE pronamespace = 'public'::regnamespace AND has_function_privilege('public', oid, 'EXECUTE')`)
	if err != nil {
		t.Fatal(err)
	}
	open, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(open) > 0 {
		t.Errorf("everybody may execute %v, %v", open, err)
	}
}
