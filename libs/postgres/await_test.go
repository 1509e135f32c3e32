//go:build integration

package postgres_test

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/port"
)

// lines hands on each line of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default: // nobody reads any more
	}
	return len(p), nil
}

// A database that does not answer yet is waited for, and each try that fails is in the log with its cause.
func TestAwait_laterThanMigrate(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(pg.URL(t, migrations))
	if err != nil {
		t.Fatal(err)
	}
	address := port.Free(t)
	late := *server
	late.Host = address
	said, reached := make(lines, 1), make(chan error, 1)
	go func() {
		log := slog.New(slog.NewTextHandler(said, nil))
		reached <- postgres.Await(t.Context(), postgres.Config{URL: config.Secret(late.String())}, time.Hour, log)
	}()
	select {
	case line := <-said:
		for _, want := range []string{"database not reachable, waiting", "connection refused", "at_most=1h0m0s"} {
			if !strings.Contains(line, want) {
				t.Errorf("%q is not in the line %s", want, line)
			}
		}
		if password, _ := server.User.Password(); strings.Contains(line, password) {
			t.Error("the password is in the line")
		}
	case err := <-reached:
		t.Fatalf("it did not wait: %v", err)
	}
	forward(t, address, server.Host)
	if err := <-reached; err != nil {
		t.Error(err)
	}
}

// forward listens at an address and hands every connection to another.
func forward(t *testing.T, from, to string) {
	t.Helper()
	listener, err := net.Listen("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer near.Close()
				far, err := net.Dial("tcp", to)
				if err != nil {
					t.Error(err)
					return
				}
				defer far.Close()
				all.Go(func() {
					_, _ = io.Copy(far, near)
					far.Close()
				})
				_, _ = io.Copy(near, far)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		all.Wait()
	})
}

// The wait has an end.
func TestAwait_tooLong(t *testing.T) {
	t.Parallel()
	cfg := postgres.Config{URL: config.Secret("postgres://u@" + port.Free(t) + "/x?sslmode=disable")}
	err := postgres.Await(t.Context(), cfg, 100*time.Millisecond, telemetrytest.ForTest(t).Log)
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf(`await a server that is not there: got %v, want "connection refused"`, err)
	}
}

// A server's refusal is an error at once: another password, no such role or database, no right to connect.
func TestAwait_refused(t *testing.T) {
	t.Parallel()
	server := pg.URL(t, migrations)
	admin, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(t.Context()))
	name := "r" + strings.ToLower(rand.Text())
	for _, sql := range []string{`CREATE ROLE ` + name + ` LOGIN PASSWORD 'x'`, `CREATE DATABASE ` + name, `REVOKE ALL ON DATABASE ` + name + ` FROM PUBLIC`} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatalf("prepare a database with %s: %v", sql, err)
		}
	}
	defer func() {
		for _, sql := range []string{`DROP DATABASE ` + name + ` WITH (FORCE)`, `DROP ROLE ` + name} {
			if _, err := admin.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
				t.Errorf("clean up with %s: %v", sql, err)
			}
		}
	}()
	for code, as := range map[string]struct{ role, password, database string }{
		"28P01": {name, "another", name},
		"28000": {name + "x", "x", name},
		"3D000": {name, "x", name + "x"},
		"42501": {name, "x", name},
	} {
		address, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		address.User, address.Path = url.UserPassword(as.role, as.password), "/"+as.database
		said := make(lines, 1)
		err = postgres.Await(t.Context(), postgres.Config{URL: config.Secret(address.String())}, time.Hour, slog.New(slog.NewTextHandler(said, nil)))
		if code == "28000" {
			code = "28P01" // a server does not tell who lacks a role and who a password
		}
		if err == nil || !strings.Contains(err.Error(), "the database refuses") || !strings.Contains(err.Error(), code) {
			t.Errorf("await a server that refuses with %s: got %v", code, err)
		}
		if len(said) > 0 {
			t.Errorf("%s: it waited: %s", code, <-said)
		}
	}
}
