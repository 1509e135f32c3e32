// Package store keeps events, deliveries, attempts, secrets and memberships in the dispatcher's PostgreSQL database. It
// implements the interfaces of package app and holds no rule of its own beyond what one statement must decide.
package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// Store is the database as one process uses it. Its instance id owns the leases.
type Store struct {
	db       *pgxpool.Pool
	instance string
	lockKey  int64
	dated    atomic.Pointer[dated]
}

// Session gives the sessions of the pool what the statements here need. Each has one plan that is right for all
// arguments. Left to itself PostgreSQL plans the largest anew every time, which took longer than recording fifty
// attempts; and it takes a table that was empty when it was vacuumed, as delivery often is, to be cheapest read as a
// whole.
func Session(cfg postgres.Config) postgres.Config {
	return cfg.With("plan_cache_mode", "force_generic_plan").With("enable_seqscan", "off")
}

// New makes a store for one process, named by an id that no other process has or had.
func New(db *pgxpool.Pool, instance string, lockKey int64) *Store {
	return &Store{db: db, instance: instance, lockKey: lockKey}
}

// clockAhead is how far the database's clock may be before this process's, so that neither misses the other's midnight.
const clockAhead = 10 * time.Minute

// today returns the statements that read events of the last days.
func (s *Store) today() *dated {
	day := time.Now().Add(clockAhead).Unix() / daySecond
	d := s.dated.Load()
	if d == nil || d.day != day {
		d = datedOf(day)
		s.dated.Store(d)
	}
	return d
}

// Poison reports whether PostgreSQL refuses the data itself: data exceptions and constraint violations.
func (s *Store) Poison(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code[:2] == "22" || pg.Code[:2] == "23")
}

// Ready reports whether the database answers.
func (s *Store) Ready(ctx context.Context) error {
	return s.db.Ping(ctx)
}

// Maintain empties the slot that will be written the day after tomorrow and looks after stored answers.
func (s *Store) Maintain(ctx context.Context) error {
	if _, err := s.db.Exec(ctx, rotateSQL); err != nil {
		return fmt.Errorf("rotate the daily partitions: %w", err)
	}
	return idempotency.Maintain(ctx, s.db)
}

// Backlog returns how many seconds the oldest due delivery has been due, and how many messages could not be taken in.
func (s *Store) Backlog(ctx context.Context) (seconds, dead int64, err error) {
	if err := s.db.QueryRow(ctx, backlogSQL).Scan(&seconds, &dead); err != nil {
		return 0, 0, fmt.Errorf("measure the backlog: %w", err)
	}
	return seconds, dead, nil
}

// Work is the tables whose work the leader waits for.
func Work(deliveryDue, replayRuns func()) []postgres.Work {
	return []postgres.Work{{Due: nextLaneSQL, Wake: deliveryDue}, {Due: anyReplaySQL, Wake: replayRuns}}
}

// Claim implements app.Queue.
func (s *Store) Claim(ctx context.Context, full []string, limit, perTarget int) ([]delivery.Delivery, error) {
	if full == nil {
		full = []string{}
	}
	const lanesMax = 128
	rows, err := s.db.Query(ctx, claimSQL, s.instance, full, lanesMax, perTarget, limit)
	if err != nil {
		return nil, fmt.Errorf("lease due deliveries: %w", err)
	}
	leased, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("lease due deliveries: %w", err)
	}
	if len(leased) == 0 {
		return nil, nil
	}
	jobs, ids, slots, err := s.claimed(ctx, leased)
	if err == nil {
		err = s.fill(ctx, jobs, ids, slots)
	}
	if err != nil { // the leases are given back, as nobody else knows of them
		return nil, errors.Join(err, s.Release(context.WithoutCancel(ctx), leased))
	}
	return jobs, nil
}

func (s *Store) claimed(ctx context.Context, leased []string) (jobs []delivery.Delivery, ids []string, slots []int16, err error) {
	rows, err := s.db.Query(ctx, claimedSQL, leased)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read leased deliveries: %w", err)
	}
	jobs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d delivery.Delivery, err error) {
		var slot int16
		err = row.Scan(&d.ID, &d.EventID, &slot, &d.MerchantID, &d.Mode, &d.EndpointID, &d.Target, &d.URL, &d.Type, &d.ObjectID,
			&d.Sequence, &d.Attempts, &d.Base, &d.Trigger, &d.DueAt, &d.AcceptedAt)
		ids, slots = append(ids, d.EventID), append(slots, slot)
		return d, err
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read leased deliveries: %w", err)
	}
	return jobs, ids, slots, nil
}

// fill reads the bodies.
func (s *Store) fill(ctx context.Context, jobs []delivery.Delivery, ids []string, slots []int16) error {
	type content struct {
		trace       string
		body, token []byte
	}
	contents := make(map[string]content, len(jobs))
	rows, err := s.db.Query(ctx, bodiesSQL, ids, slots)
	if err == nil {
		var id string
		var c content
		_, err = pgx.ForEachRow(rows, []any{&id, &c.trace, &c.body, &c.token}, func() error {
			contents[id] = c
			c.body, c.token = nil, nil
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("read event bodies: %w", err)
	}
	for i := range jobs {
		c := contents[jobs[i].EventID]
		jobs[i].Body, jobs[i].Trace, jobs[i].Token = c.body, c.trace, c.token
	}
	return nil
}

// Old implements app.Queue.
func (s *Store) Old(ctx context.Context) (ids []string, err error) {
	if err := postgres.Planned(ctx, s.db, postgres.InOrderSQL, func(rows pgx.Rows) (err error) {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}, oldSQL, s.instance); err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	return ids, nil
}

// Release implements app.Queue.
func (s *Store) Release(ctx context.Context, ids []string) error {
	if _, err := s.db.Exec(ctx, releaseSQL, s.instance, ids); err != nil {
		return fmt.Errorf("release leases: %w", err)
	}
	return nil
}

// Well implements app.Queue.
func (s *Store) Well(ctx context.Context, targets []string) ([]string, error) {
	rows, err := s.db.Query(ctx, wellSQL, targets)
	if err != nil {
		return nil, fmt.Errorf("look for closed breakers: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Unblock implements app.Queue.
func (s *Store) Unblock(ctx context.Context, behind app.Place) (app.Look, error) {
	var look app.Look
	if err := s.db.QueryRow(ctx, waitsSQL).Scan(&look.Waits); err != nil {
		return app.Look{}, fmt.Errorf("look for waiting deliveries: %w", err)
	}
	if !look.Waits {
		return app.Look{}, nil
	}
	var seen int
	if err := s.db.QueryRow(ctx, s.today().unblock, behind.DueAt, behind.ID, unblockMost).Scan(&look.Freed, &seen, &look.Next.DueAt, &look.Next.ID); err != nil {
		return app.Look{}, fmt.Errorf("release waiting deliveries: %w", err)
	}
	if seen < unblockMost {
		look.Next = app.Place{}
	}
	return look, nil
}

// Advance implements app.Queue.
func (s *Store) Advance(ctx context.Context, lines []app.Line) (freed int, err error) {
	for some := range slices.Chunk(lines, advanceMost) {
		n, err := s.advance(ctx, some)
		if err != nil {
			return freed, fmt.Errorf("release waiting deliveries of %d lines: %w", len(some), err)
		}
		freed += n
	}
	return freed, nil
}

func (s *Store) advance(ctx context.Context, lines []app.Line) (freed int, err error) {
	targets, objects := make([]string, len(lines)), make([]string, len(lines))
	for n, l := range lines {
		targets[n], objects[n] = l.Target, l.ObjectID
	}
	err = s.db.QueryRow(ctx, s.today().advance, targets, objects).Scan(&freed)
	return freed, err
}

var (
	_ app.Inbound = (*Store)(nil)
	_ app.Queue   = (*Store)(nil)
	_ app.Ledger  = (*Store)(nil)
	_ app.Vault   = (*Store)(nil)
)
