package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/libs/trust"
)

// awaitPause is the longest pause between two tries to reach a database.
const awaitPause = 15 * time.Second

// Await returns once the database gives a session. It waits at most patience, with growing pauses: a database that does
// not answer may still be created. A database that refuses has no such role, database or right, or another password.
// That is an error at once, since waiting does not cure it.
func Await(ctx context.Context, cfg Config, patience time.Duration, log *slog.Logger) error {
	pc, err := cfg.Parse()
	if err != nil {
		return err
	}
	cc := pc.ConnConfig
	cc.ConnectTimeout = connectTimeout
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = awaitPause
	began := time.Now()
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		conn, err := pgx.ConnectConfig(ctx, cc)
		if err == nil {
			hangUp(ctx, conn)
		} else if refused(err) {
			err = backoff.Permanent(fmt.Errorf("the database refuses: %w", err))
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(patience), backoff.WithNotify(func(err error, next time.Duration) {
		log.Warn("database not reachable, waiting", "err", err, "waited", time.Since(began).Round(time.Second).String(),
			"at_most", patience.String(), "next_try_in", next.Round(time.Millisecond).String())
	}))
	if err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	return nil
}

// refused reports that a server answered and will give the same answer again: it is not starting or stopping (57P0x),
// out of connections or memory (53xxx), and has not lost the connection (08xxx).
func refused(err error) bool {
	if trust.Refused(err) {
		return true
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && !strings.HasPrefix(pg.Code, "57P0") && !strings.HasPrefix(pg.Code, "53") && !strings.HasPrefix(pg.Code, "08")
}
