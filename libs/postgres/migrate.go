package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// ErrPending is returned by Open when the schema is older than the program.
var ErrPending = errors.New("the schema is older than this program: run `migrate` first")

// A migration runs beside programs that use the tables it changes. It waits for a lock no longer than lockWait, because
// later statements queue behind it, and gives up after lockTimeout. When it did not get a lock, or deadlocked with
// another session, it is retried for lockPatience with growing pauses. A migration without a transaction is not
// retried: it builds or drops an index beside writers. It blocks nobody while it waits for older transactions, such as
// a backup, and a retry would start from the beginning.
const (
	lockWait     = time.Second
	lockPatience = 10 * time.Minute
)

// Migrate grants the application role its rights and applies every pending migration of the directory, NNNNN_name.sql
// in goose's format. Locks allow many replicas to call it at once. The URL is the owner's, not the application role's.
func Migrate(ctx context.Context, cfg Config, migrations fs.FS) error {
	pc, err := cfg.Parse()
	if err != nil {
		return err
	}
	cc := pc.ConnConfig
	cc.ConnectTimeout = connectTimeout
	if err := prove(ctx, cc); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	db := stdlib.OpenDB(*cc)
	defer db.Close()      //nolint:errcheck // the migrations report their own failures
	db.SetMaxOpenConns(1) // its session's settings change
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return fmt.Errorf("make the migration lock: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, migrations, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		_, err := db.ExecContext(ctx, rights)
		if err == nil {
			err = up(ctx, db, p, migrations)
		}
		if err != nil && !contended(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(lockPatience))
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// up continues where the last run was interrupted: a migration is a transaction, or can be repeated.
func up(ctx context.Context, db *sql.DB, p *goose.Provider, migrations fs.FS) error {
	through := func(version int64, wait time.Duration) error {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("SET lock_timeout = %d", wait.Milliseconds())); err != nil {
			return err
		}
		_, err := p.UpTo(ctx, version)
		return err
	}
	before := int64(0)
	for _, m := range p.ListSources() {
		text, err := fs.ReadFile(migrations, m.Path)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("+goose NO TRANSACTION")) {
			if before > 0 {
				if err := through(before, lockWait); err != nil {
					return err
				}
			}
			if err := through(m.Version, 0); err != nil {
				return err
			}
		}
		before = m.Version
	}
	return through(before, lockWait)
}

// contended reports that a statement lost its locks to others: lock_not_available or deadlock_detected.
func contended(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "55P03" || pg.Code == "40P01")
}

// Pending returns ErrPending, wrapped with the missing version, unless every migration has been applied. It only reads,
// so the application role may call it.
func Pending(ctx context.Context, q Querier, migrations fs.FS) error {
	want, err := versions(migrations)
	if err != nil {
		return err
	}
	rows, err := q.Query(ctx, `SELECT version_id FROM goose_db_version WHERE is_applied`)
	if err != nil {
		return pending(err)
	}
	have, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return pending(err)
	}
	applied := make(map[int64]bool, len(have))
	for _, v := range have {
		applied[v] = true
	}
	for _, v := range want {
		if !applied[v] {
			return fmt.Errorf("%w (missing version %d)", ErrPending, v)
		}
	}
	return nil
}

func pending(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "42P01" { // no version table
		return fmt.Errorf("%w (nothing applied yet)", ErrPending)
	}
	return fmt.Errorf("read the schema's version: %w", err)
}

func versions(migrations fs.FS) ([]int64, error) {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the migrations: %w", err)
	}
	out := make([]int64, 0, len(names))
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %q does not start with a number", name)
		}
		out = append(out, v)
	}
	return out, nil
}
