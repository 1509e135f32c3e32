package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/libs/tick"
)

// Ear receives the notifications of Listen. Its methods are called one at a time and must not block.
type Ear interface {
	// Heard passes one notification.
	Heard(payload string)
	// CaughtUp says that every notification committed before at has been heard.
	CaughtUp(at time.Time)
	// Missed says that notifications may have been lost: the connection broke, or is new.
	Missed()
	// Wanted reports whether anybody reads lately what CaughtUp says. While nobody does, proofs are rare.
	Wanted() bool
}

// Timing of a listener. Each proof of life is a round trip on the listening connection itself: PostgreSQL sends what
// was committed before a query ahead of its answer, so an answer proves that nothing older is outstanding.
const (
	proofEvery   = 200 * time.Millisecond
	proofSeldom  = 5 * time.Second // while the ear wants none
	wantedWithin = time.Second     // after it wants some again the listener notices
	proofTimeout = 600 * time.Millisecond
	listenDial   = 2 * time.Second
	listenAgain  = 200 * time.Millisecond
)

// Listen passes the notifications of a channel to the ear, over a connection of its own, until ctx ends; then it
// returns nil. It reconnects when the connection is lost or has not answered for most of a second.
func Listen(ctx context.Context, cfg Config, channel string, log *slog.Logger, e Ear) error {
	for ctx.Err() == nil {
		err := listen(ctx, cfg, channel, e)
		e.Missed()
		if ctx.Err() == nil {
			log.Warn("listener disconnected", "channel", channel, "err", err)
		}
		if !sleep(ctx, listenAgain) {
			break
		}
	}
	return nil
}

func listen(ctx context.Context, cfg Config, channel string, e Ear) error {
	conn, err := dialListener(ctx, cfg, e)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), proofTimeout)
		defer cancel()
		_ = conn.Close(closing)
	}()
	start := time.Now()
	if err := within(ctx, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
		return err
	}); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	e.Missed()
	for {
		e.CaughtUp(start)
		for proved := time.Now(); ; {
			wait := proofEvery
			if !e.Wanted() {
				wait = min(tick.Until(wantedWithin), max(0, proofSeldom-time.Since(proved)))
			}
			if err := await(ctx, conn, wait); err != nil {
				return err
			}
			if e.Wanted() || time.Since(proved) >= proofSeldom {
				break
			}
		}
		start = time.Now()
		if err := within(ctx, conn.Ping); err != nil {
			return fmt.Errorf("ping the listener: %w", err)
		}
	}
}

func dialListener(ctx context.Context, cfg Config, e Ear) (*pgx.Conn, error) {
	pc, err := cfg.Parse()
	if err != nil {
		return nil, err
	}
	cc := pc.ConnConfig
	bound(cc, map[string]string{"application_name": "causeway listener"})
	cc.ConnectTimeout = listenDial
	cc.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { e.Heard(n.Payload) }
	conn, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return nil, fmt.Errorf("connect to listen: %w", err)
	}
	return conn, nil
}

// await receives notifications for a while.
func await(ctx context.Context, conn *pgx.Conn, length time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	for {
		_, err := conn.WaitForNotification(ctx) // OnNotification passes it to the ear
		switch {
		case err == nil:
		case errors.Is(ctx.Err(), context.DeadlineExceeded) && !conn.IsClosed():
			return nil
		default:
			return fmt.Errorf("wait for notifications: %w", err)
		}
	}
}

func within(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	return f(ctx)
}
