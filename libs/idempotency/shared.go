package idempotency

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/gather"
	"causeway.internal/libs/postgres"
)

// Bounds of a transaction that requests share. It has eight statements at most. SharedWithin is longer than they may
// take together, because the commit may wait for a standby.
const (
	ConnectWithin = 3 * time.Second
	SharedWithin  = 10 * time.Second
)

// BrieflySQL does what [postgres.ByIndexSQL] does with the statements of a transaction that requests share, and bounds
// them in time.
const BrieflySQL = postgres.ByIndexSQL + `, set_config('lock_timeout', '50ms', true), set_config('statement_timeout', '1s', true)`

// Delivered is the result of a shared write. If Alone is set, nothing was written, and the caller has to write it
// itself.
type Delivered struct {
	Alone bool
	Err   error
}

// Shared makes writes of requests that come while others are being written in one transaction. It waits only briefly
// for a row that another request has locked. After an error that certainly undid all of them, each caller makes its own
// write. So does a caller whose key another one before it has. After any other error nobody knows what was written, and
// each caller gets it.
type Shared[T any] struct {
	Calls gather.Calls[T, Delivered]

	pool  *pgxpool.Pool
	log   *slog.Logger
	alone gather.Places
	key   func(T) Key
	queue func(batch *pgx.Batch, some []T)
}

// NewShared makes writes of T on a pool. queue adds the statements of some writes to a batch, which is one transaction.
func NewShared[T any](pool *pgxpool.Pool, log *slog.Logger, key func(T) Key, queue func(batch *pgx.Batch, some []T)) *Shared[T] {
	s := &Shared[T]{pool: pool, log: log, alone: gather.NewPlaces(pool.Config().MaxConns / 4), key: key, queue: queue}
	s.Calls.All, s.Calls.Within, s.Calls.Once = s.together, ConnectWithin, true
	return s
}

// Write writes one, together with others or alone.
func (s *Shared[T]) Write(ctx context.Context, one T) error {
	done, err := s.Calls.Ask(ctx, one)
	if err != nil {
		return err
	}
	if !done.Alone {
		return done.Err
	}
	return s.WriteAlone(ctx, one)
}

// WriteAlone writes one alone, once there is a place for it.
func (s *Shared[T]) WriteAlone(ctx context.Context, one T) error {
	return s.alone.In(ctx, func() error {
		batch := &pgx.Batch{}
		s.queue(batch, []T{one})
		return s.pool.SendBatch(ctx, batch).Close()
	})
}

func (s *Shared[T]) together(ctx context.Context, all []T) ([]Delivered, error) {
	out := make([]Delivered, len(all))
	for i := range out {
		out[i].Alone = true
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return out, nil //nolint:nilerr // nothing was sent
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SharedWithin)
	defer cancel()
	var some []T
	var places []int
	known := map[[2]string]bool{}
	for i, one := range all {
		k := s.key(one)
		name := [2]string{k.Scope, k.Key}
		if !k.Sent() || !known[name] {
			some, places, known[name] = append(some, one), append(places, i), true
		}
	}
	batch := &pgx.Batch{}
	batch.Queue(BrieflySQL)
	s.queue(batch, some)
	err = conn.SendBatch(ctx, batch).Close()
	if Undone(s.log, "shared write undone", len(some), err) {
		return out, nil
	}
	for _, place := range places {
		out[place] = Delivered{Err: err}
	}
	return out, nil
}

// Undone reports an error of so many writes in one transaction after which each may be made alone, because certainly
// none was made. It logs errors other than those of locks, time limits and constraints.
func Undone(log *slog.Logger, what string, writes int, err error) bool {
	if err == nil || !postgres.Undone(err) {
		return false
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return true
	}
	const queryCanceled, integrity = "57014", "23" // of statements that took too long, and how those of constraints begin
	impatient := postgres.Contended(err) || pg.Code == queryCanceled
	if writes > 1 && !impatient && !strings.HasPrefix(pg.Code, integrity) && log != nil {
		log.Warn(what, "writes", writes, "err", err)
	}
	return writes > 1 || impatient
}
