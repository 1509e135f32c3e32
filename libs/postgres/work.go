package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// WorkSchema is the function that the triggers of watched tables call. A service that keeps a vigil creates it in a
// migration, word for word, and for each watched table a trigger
//
//	CREATE TRIGGER x_wake AFTER INSERT OR UPDATE OF due_at ON x FOR EACH STATEMENT
//	    WHEN (NOT pg_try_advisory_xact_lock_shared(hashtextextended('work asleep', 0))) EXECUTE FUNCTION work_wake();
//
// A vigil holds the lock only while it sleeps, so a busy database does not notify: PostgreSQL commits transactions that
// notify one after the other.
const WorkSchema = `CREATE FUNCTION work_wake() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NOTIFY work; RETURN NULL; END $$;`

// Timing of a vigil. A notification that was lost costs vigilMost at most.
const (
	vigilPause = 100 * time.Millisecond // between two looks while work is due or somebody writes
	vigilMost  = 5 * time.Second
)

const (
	workAsleep = `SELECT pg_try_advisory_lock(hashtextextended('work asleep', 0))`
	workRisen  = `SELECT pg_advisory_unlock(hashtextextended('work asleep', 0))`
)

// Watch is one table of work.
type Watch struct {
	// Due is a statement that gives the seconds until work of the table is due, 0 or less if some is due now, and null
	// if there is none.
	Due string
	// Ring is called when work is due. It must not block.
	Ring func()
}

// Vigil rings for the work of tables until ctx ends: at once when a row that is due is committed, and when the time of
// a row has come. Meanwhile the session sleeps. One process per database may keep a vigil. See WorkSchema.
func (s *Session) Vigil(ctx context.Context, watches ...Watch) error {
	return s.vigil(ctx, vigilMost, watches)
}

func (s *Session) vigil(ctx context.Context, most time.Duration, watches []Watch) error {
	if err := s.Listen(ctx, "work"); err != nil {
		return err
	}
	for ctx.Err() == nil {
		slept, err := s.watched(ctx, most, watches)
		if err == nil && !slept {
			sleep(ctx, vigilPause)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// watched looks once, rings for what is due, and if nothing is, sleeps until something is or is notified. Writers hold
// the lock shared until they commit, so this session has it only while nobody is between writing and committing: a row
// is either seen here, or its writer notifies.
func (s *Session) watched(ctx context.Context, most time.Duration, watches []Watch) (slept bool, err error) {
	var alone bool
	err = s.Ask(ctx, func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, workAsleep).Scan(&alone) })
	if err != nil {
		return false, fmt.Errorf("take the lock of a sleeping vigil: %w", err)
	}
	next, err := s.due(ctx, most, watches)
	if alone && err == nil && next > 0 {
		slept = true
		err = s.Await(ctx, next)
	}
	if alone {
		risen := s.Ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, workRisen)
			return err
		})
		if err == nil && risen != nil {
			err = fmt.Errorf("free the lock of a sleeping vigil: %w", risen)
		}
	}
	return slept, err
}

// due rings for the tables whose work is due, and returns the time until the next work of any, most at most.
func (s *Session) due(ctx context.Context, most time.Duration, watches []Watch) (next time.Duration, err error) {
	next = most
	batch := &pgx.Batch{}
	for _, w := range watches {
		batch.Queue(w.Due).QueryRow(func(row pgx.Row) error {
			var seconds *float64
			if err := row.Scan(&seconds); err != nil || seconds == nil {
				return err
			}
			if *seconds <= 0 {
				w.Ring()
			}
			next = min(next, time.Duration(min(*seconds, most.Seconds())*float64(time.Second)))
			return nil
		})
	}
	err = s.Ask(ctx, func(ctx context.Context, c *pgx.Conn) error { return c.SendBatch(ctx, batch).Close() })
	if err != nil {
		return 0, fmt.Errorf("look for due work: %w", err)
	}
	return next, nil
}
