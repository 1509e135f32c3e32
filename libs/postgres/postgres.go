// Package postgres opens, migrates and uses the one database that a service owns. It knows pools, transactions and
// leadership; it knows no table and no business. Only this package, the outbox, inbox and idempotency libraries and
// the services' store packages may import pgx.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/config"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/trust"
)

// Config names the database of a service and bounds the connections of one process.
type Config struct {
	URL      config.Secret `env:"DATABASE_URL,required" doc:"PostgreSQL URL of the service's own database, in its application role"`
	MaxConns int32         `env:"DATABASE_MAX_CONNS" envDefault:"16" doc:"Most pooled connections of one process. The sum over all replicas stays below the server's max_connections"`
	TLS      TLS

	session map[string]string
	types   []*pgtype.Type

	forTests bool
}

// With returns a configuration whose pooled sessions have a setting of PostgreSQL (plan_cache_mode, jit) that a
// service's statements need.
func (c Config) With(setting, value string) Config {
	session := maps.Clone(c.session)
	if session == nil {
		session = map[string]string{}
	}
	session[setting] = value
	c.session = session
	return c
}

// WithType returns a configuration whose pooled sessions read and write a type of PostgreSQL by a codec of the service.
func (c Config) WithType(t *pgtype.Type) Config {
	c.types = append(slices.Clip(c.types), t)
	return c
}

// ForTests returns the configuration of a pool for a test, one of a thousand on a server whose sessions are known. Open
// proves nothing and keeps no idle connections: a connection costs as much of the processor as the statements of a
// small test. Connections and locks have the time that they may need on a busy machine.
func (c Config) ForTests() Config {
	c.forTests = true
	return c
}

// Bounds of every session. A statement that runs longer is a defect, and it must not hold locks for ever.
const (
	statementTimeout = "15s"
	lockTimeout      = "2s" // how long a second request waits for the first (docs/api-contract.md#idempotency)
	idleInTxTimeout  = "30s"
	connectTimeout   = 5 * time.Second
	openTimeout      = 60 * time.Second
	// A connection that was idle for so long is asked for a sign of life before it is used. One that was cut more
	// recently fails its statement, as one that is in use does. Loops that ask every two seconds need one round trip.
	pingAfter = 2500 * time.Millisecond
)

// Open connects a pool. It refuses connections without sessions of their own (ErrPooled), and a schema with pending
// migrations, which only `<service> migrate` applies. It retries an unreachable database for up to a minute, so that
// services and their database may start together.
func Open(ctx context.Context, cfg Config, migrations fs.FS, tel *telemetry.Telemetry) (*pgxpool.Pool, error) {
	pc, err := cfg.Parse()
	if err != nil {
		return nil, err
	}
	session := map[string]string{"statement_timeout": statementTimeout}
	if cfg.forTests {
		session["lock_timeout"], session["statement_timeout"] = "30s", "60s"
	}
	maps.Copy(session, cfg.session)
	bound(pc.ConnConfig, session)
	pc.ConnConfig.Tracer = newTurns(otelpgx.NewTracer(otelpgx.WithDisableAcquireTracer(),
		otelpgx.WithDisableConnectionDetailsInAttributes()))
	if cfg.MaxConns > 0 {
		pc.MaxConns = cfg.MaxConns
	}
	if cfg.forTests {
		pc.ConnConfig.ConnectTimeout = time.Minute
	} else {
		pc.MinIdleConns = min(2, pc.MaxConns)
	}
	pc.MaxConnLifetime = 30 * time.Minute
	pc.MaxConnLifetimeJitter = 5 * time.Minute
	pc.MaxConnIdleTime = time.Minute
	pc.HealthCheckPeriod = 15 * time.Second
	pc.PingTimeout = 2 * time.Second
	pc.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool { return p.IdleDuration > pingAfter }
	pc.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		patient(c)
		return nil
	}

	pc.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		c.TypeMap().RegisterTypes(cfg.types)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open the database pool: %w", err)
	}
	if err := cfg.ready(ctx, pool, migrations, tel); err != nil {
		pool.Close()
		return nil, err
	}
	if err := tel.Registry.Register(&poolStats{pool: pool}); err != nil {
		pool.Close()
		return nil, fmt.Errorf("register pool metrics: %w", err)
	}
	return pool, nil
}

func (c Config) ready(ctx context.Context, pool *pgxpool.Pool, migrations fs.FS, tel *telemetry.Telemetry) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		var err error
		if !c.forTests {
			err = prove(ctx, pool.Config().ConnConfig)
		}
		if err == nil {
			err = Pending(ctx, pool, migrations)
		}
		if err == nil || errors.Is(err, ErrPooled) || errors.Is(err, ErrPending) || trust.Refused(err) {
			return err
		}
		tel.Log.Warn("database not reachable, retrying", "err", err)
		if !sleep(ctx, wait) {
			return fmt.Errorf("reach the database: %w", err)
		}
	}
}

// Querier runs statements: a pool, a connection or a transaction.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// txTries bounds how often Tx starts over after a deadlock or a serialization failure.
const txTries = 5

// Tx runs f in one transaction and commits it unless f fails. After a deadlock or a serialization failure it runs the
// whole of f again, at most five times, so f must have no effect outside the transaction.
func Tx(ctx context.Context, pool *pgxpool.Pool, f func(pgx.Tx) error) error {
	for try := 1; ; try++ {
		err := pgx.BeginFunc(ctx, pool, f)
		if err == nil || try == txTries || !isRetryable(err) {
			return err
		}
		//nolint:gosec // it spreads retries
		if !sleep(ctx, time.Duration(rand.Int64N(int64(10*time.Millisecond)*int64(try)))) {
			return err
		}
	}
}

func isRetryable(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || pg.Code == "40P01")
}

// IsSerialization reports whether a statement failed because of commits since it began and should be repeated.
func IsSerialization(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "40001"
}

// IsUnique reports whether err is a violation of the named unique constraint or index; "" matches any.
func IsUnique(err error, constraint string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505" && (constraint == "" || pg.ConstraintName == constraint)
}

// sleep waits for d and reports whether ctx still runs.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Undone reports an error after which certainly nothing of a transaction is in the database, so that it may be run
// again.
func Undone(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		_, unsent := errors.AsType[pgx.ErrPreprocessingBatch](err)
		return unsent || pgconn.SafeToRetry(err)
	}
	return cmp.Or(failed.SeverityUnlocalized, failed.Severity) == "ERROR" // after any other it may have been committed
}

// Contended reports a write that failed only because of concurrent transactions.
func Contended(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains([]string{"40P01", "40001", "55P03"}, pg.Code)
}

// Lists are the columns of rows, as arguments of a statement over lists.
func Lists(rows [][]any) []any {
	args := make([]any, len(rows[0]))
	for i := range args {
		list := make([]any, len(rows))
		for n, row := range rows {
			list[n] = row[i]
		}
		args[i] = list
	}
	return args
}
