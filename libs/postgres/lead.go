package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/tick"
)

// Timing of leadership. A leader that is silent for idleLimit, because it was killed, paused or cut off, loses its
// session and with it the lock; a follower tries every followEvery.
const (
	followEvery = 500 * time.Millisecond
	beatEvery   = time.Second
	beatTimeout = 3 * time.Second
	beatWithin  = 4 * time.Second // a heartbeat, with its wait for an Await: the leader ends before idleLimit
	idleLimit   = "6s"
)

// Session is a leader's own connection, which holds the lock. Work through it cannot outlive the leadership: it fails
// once the session is gone.
type Session struct {
	turn chan struct{} // full while somebody has the connection
	conn *pgx.Conn
}

// Do passes the connection to f, one caller at a time, in the order in which they come: an Await that begins again must
// not pass a heartbeat that waits. f must be short: no heartbeat is sent meanwhile.
func (s *Session) Do(ctx context.Context, f func(*pgx.Conn) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(s.conn)
}

// Listen makes the session hear a channel until it ends.
func (s *Session) Listen(ctx context.Context, channel string) error {
	return s.Do(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
		return err
	})
}

// Await waits until a channel is notified, for that long at most. Heartbeats pass meanwhile.
func (s *Session) Await(ctx context.Context, most time.Duration) error {
	heard := false
	for end := time.Now().Add(most); !heard && time.Now().Before(end); {
		err := s.Do(ctx, func(c *pgx.Conn) error {
			waiting, cancel := context.WithTimeout(ctx, min(time.Until(end), tick.Until(beatEvery)))
			defer cancel()
			_, err := c.WaitForNotification(waiting)
			if heard = err == nil; ctx.Err() == nil && errors.Is(waiting.Err(), context.DeadlineExceeded) && !c.IsClosed() {
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("wait for a notification: %w", err)
		}
	}
	return nil
}

// Ask is Do for one round trip. A database that answers later than a heartbeat may is lost: the connection is closed,
// and the leadership ends instead of waiting for the network to give up.
func (s *Session) Ask(ctx context.Context, f func(ctx context.Context, c *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	return s.Do(ctx, func(c *pgx.Conn) error { return f(ctx, c) })
}

// Lead runs f while this process is the one leader of that name on this database, and again whenever f ends, until ctx
// ends. See LeadSession.
func Lead(ctx context.Context, cfg Config, name string, log *slog.Logger, f func(ctx context.Context) error) error {
	return LeadSession(ctx, cfg, name, log, func(ctx context.Context, _ *Session) error { return f(ctx) })
}

// LeadSession elects one leader per database and name with a session advisory lock on a connection of its own; Open has
// proved that it has its own session. The context of f ends when the session is lost; another process then leads within
// seconds. When f writes through the session, a former leader cannot write. LeadSession returns nil when ctx ends.
func LeadSession(ctx context.Context, cfg Config, name string, log *slog.Logger, f func(ctx context.Context, s *Session) error) error {
	for ctx.Err() == nil {
		err := lead(ctx, cfg, name, log, f)
		if err != nil && ctx.Err() == nil {
			log.Warn("leadership interrupted", "name", name, "err", err)
		}
		if !sleep(ctx, followEvery) {
			break
		}
	}
	return nil
}

func lead(ctx context.Context, cfg Config, name string, log *slog.Logger, f func(context.Context, *Session) error) error {
	conn, err := dialLeader(ctx, cfg)
	if err != nil {
		return err
	}
	defer hangUp(ctx, conn) // closing the connection releases the lock
	for {
		var won bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, lockKey(name)).Scan(&won); err != nil {
			return fmt.Errorf("take the lock %q: %w", name, err)
		}
		if won {
			break
		}
		if !sleep(ctx, followEvery) {
			return nil
		}
	}
	log.Info("leading", "name", name)
	s := &Session{turn: make(chan struct{}, 1), conn: conn}
	leading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beats sync.WaitGroup
	beats.Go(func() { cancel(beat(leading, s)) })
	err = f(leading, s)
	cancel(nil)
	beats.Wait()
	if lost := context.Cause(leading); ctx.Err() == nil && lost != nil && !errors.Is(lost, context.Canceled) {
		return fmt.Errorf("lost the session: %w", lost)
	}
	return err
}

func dialLeader(ctx context.Context, cfg Config) (*pgx.Conn, error) {
	pc, err := cfg.Parse()
	if err != nil {
		return nil, err
	}
	cc := pc.ConnConfig
	bound(cc, map[string]string{
		"idle_session_timeout": idleLimit, "statement_timeout": "5s", "tcp_keepalives_idle": "3",
		"tcp_keepalives_interval": "1", "tcp_keepalives_count": "3", "tcp_user_timeout": "6s",
	})
	patient(cc)
	conn, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return nil, fmt.Errorf("connect for leadership: %w", err)
	}
	return conn, nil
}

// beat keeps the session alive and returns why it ended; nil when ctx ended first.
func beat(ctx context.Context, s *Session) error {
	for sleep(ctx, tick.Until(beatEvery)) {
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatWithin)
		err := s.Do(try, func(c *pgx.Conn) error { return c.Ping(try) })
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// lockKey maps a name to the 64-bit key space of advisory locks.
func lockKey(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("causeway/" + name))
	return int64(h.Sum64()) //nolint:gosec // any 64 bits will do
}
