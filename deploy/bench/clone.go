package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/bench/internal/stack"
)

// clone makes a copy of a service's database beside it, unless one of that name is there from an earlier row, and fills
// it. A database in use cannot be copied: stop what uses it before.
func (b *bench) clone(ctx context.Context, service, suffix string, fill func(ctx context.Context, conn *pgx.Conn) error) (address string, err error) {
	admin, err := pgx.Connect(ctx, b.stack.Superuser)
	if err != nil {
		return "", fmt.Errorf("connecting to PostgreSQL: %w", err)
	}
	defer admin.Close(ctx)
	template, err := databaseOf(b.stack.Databases[service])
	if err != nil {
		return "", err
	}
	name := template + "_bench_" + suffix
	if address, err = withDatabase(b.stack.Databases[service], name); err != nil {
		return "", err
	}
	var there bool
	if err := admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&there); err != nil || there {
		return address, err
	}
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE "+pgx.Identifier{template}.Sanitize()); err != nil {
		return "", fmt.Errorf("copying the database of %s: %w", service, err)
	}
	if err := b.within(ctx, address, fill); err != nil {
		_ = b.drop(context.WithoutCancel(ctx), address) // half a database misleads
		return "", fmt.Errorf("filling %s: %w", name, err)
	}
	return address, nil
}

// within runs steps as superuser in a database.
func (b *bench) within(ctx context.Context, database string, steps func(ctx context.Context, conn *pgx.Conn) error) error {
	if steps == nil {
		return nil
	}
	address, err := stack.Database(b.stack.Superuser, database)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("opening a database as superuser: %w", err)
	}
	defer conn.Close(ctx)
	return steps(ctx, conn)
}

// drop removes a clone.
func (b *bench) drop(ctx context.Context, database string) error {
	name, err := databaseOf(database)
	if err != nil {
		return err
	}
	admin, err := pgx.Connect(ctx, b.stack.Superuser)
	if err != nil {
		return fmt.Errorf("connecting to PostgreSQL: %w", err)
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("dropping %s: %w", name, err)
	}
	return nil
}

// fillTable runs an insert of many rows into a table without its indexes and makes them afterwards.
func fillTable(ctx context.Context, conn *pgx.Conn, table, insert string) error {
	rows, err := conn.Query(ctx, `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = $1 AND indexname <> $1 || '_pkey'`, table)
	if err != nil {
		return err
	}
	var steps, after []string
	var name, definition string
	if _, err := pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		steps, after = append(steps, "DROP INDEX "+name), append(after, definition)
		return nil
	}); err != nil {
		return err
	}
	steps = append(steps, `SET synchronous_commit = off`, `SET maintenance_work_mem = '512MB'`, insert)
	return execute(ctx, conn, append(append(steps, after...), `VACUUM ANALYZE `+table)...)
}

func execute(ctx context.Context, conn *pgx.Conn, steps ...string) error {
	for _, step := range steps {
		if _, err := conn.Exec(ctx, step); err != nil {
			return fmt.Errorf("%.60s: %w", strings.TrimSpace(step), err)
		}
	}
	return nil
}

// swap is a process of the stack that runs on one database or another, with settings of the benchmark's own.
type swap struct {
	bench    *bench
	process  string
	settings map[string]string
	current  string
	own      *stack.Own
}

// to has the process run on a database. The launcher's own must have been stopped before.
func (s *swap) to(ctx context.Context, database string) error {
	if s.current == database {
		return nil
	}
	if err := s.end(); err != nil {
		return err
	}
	settings := map[string]string{"DATABASE_URL": database}
	maps.Copy(settings, s.settings)
	var err error
	if s.own, err = s.bench.stack.Replace(ctx, s.process, settings); err != nil {
		return err
	}
	s.current = database
	return nil
}

func (s *swap) end() error {
	if s.own == nil {
		return nil
	}
	own := s.own
	s.own, s.current = nil, ""
	return own.End()
}

// back ends it and starts the launcher's again.
func (s *swap) back(ctx context.Context) error {
	return errors.Join(s.end(), s.bench.stack.Start(ctx, s.process))
}

func databaseOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("a database's URL cannot be read")
	}
	return strings.TrimPrefix(u.Path, "/"), nil
}

func withDatabase(address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("a database's URL cannot be read")
	}
	u.Path = "/" + name
	return u.String(), nil
}
