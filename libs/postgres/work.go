package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/tick"
)

// WorkSchema is the function that the triggers of tables of work call. A service that waits for work creates it in a
// migration, word for word, and for each table a trigger
//
//	CREATE TRIGGER x_wake AFTER INSERT OR UPDATE OF due_at ON x FOR EACH STATEMENT
//	    WHEN (NOT pg_try_advisory_xact_lock_shared(hashtextextended('work asleep', 0))) EXECUTE FUNCTION work_wake();
//
// AwaitWork holds the lock only while it sleeps, so a busy database does not notify: PostgreSQL commits transactions
// that notify one after the other.
const WorkSchema = `CREATE FUNCTION work_wake() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NOTIFY work; RETURN NULL; END $$;`

// Timing of AwaitWork. A notification that was lost costs workSleep at most.
const (
	workPause = 100 * time.Millisecond // before the next sleep while work is due or somebody writes
	workSleep = 5 * time.Second
)

const (
	workAsleep = `SELECT pg_try_advisory_lock(hashtextextended('work asleep', 0))`
	workRisen  = `SELECT pg_advisory_unlock(hashtextextended('work asleep', 0))`
)

// Work is a table of work.
type Work struct {
	// Due is a statement that gives the seconds until work of the table is due, 0 or less if some is due now, and null
	// if there is none.
	Due string
	// Wake is called when work is due. It must not block.
	Wake func()
}

// AwaitWork wakes the loops that do the work of tables until ctx ends: when a row that is due is committed, and when
// the time of a row has come. Meanwhile the session sleeps. After a short sleep it pauses before the next, and a row
// that becomes due in the pause waits for its end. One process per database may call it. See WorkSchema.
func (s *Session) AwaitWork(ctx context.Context, tables ...Work) error {
	return s.awaitWork(ctx, workSleep, tables)
}

func (s *Session) awaitWork(ctx context.Context, most time.Duration, tables []Work) error {
	if err := s.Listen(ctx, "work"); err != nil {
		return err
	}
	for ctx.Err() == nil {
		began := time.Now()
		slept, err := s.look(ctx, most, tables)
		if err == nil && slept && time.Since(began) < workPause {
			slept = false // writers keep it awake
			_, err = s.due(ctx, most, tables)
		}
		if err == nil && !slept {
			sleep(ctx, workPause)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// look looks once and wakes the loops whose work is due. If none is, it sleeps until some is or a writer notifies.
// Writers hold the lock shared until they commit, so this session has it only while nobody is between writing and
// committing: a row is either seen here, or its writer notifies.
func (s *Session) look(ctx context.Context, most time.Duration, tables []Work) (slept bool, err error) {
	var alone bool
	err = s.Ask(ctx, func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, workAsleep).Scan(&alone) })
	if err != nil {
		return false, fmt.Errorf("take the lock of a sleep: %w", err)
	}
	if err := s.forget(ctx); err != nil {
		return false, err
	}
	next, err := s.due(ctx, most, tables)
	if alone && err == nil && next > 0 {
		slept = true
		err = s.Await(ctx, next)
	}
	if alone {
		risen := s.Ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, workRisen).Scan(new(bool)) // Exec without arguments would plan it anew
		})
		if err == nil && risen != nil {
			err = fmt.Errorf("free the lock of a sleep: %w", risen)
		}
	}
	return slept, err
}

// forget drops the notifications that have come. The next statement sees what they are about, and each of them would
// end a sleep: those who write at the same time while the session sleeps all notify it.
func (s *Session) forget(ctx context.Context) error {
	return s.Do(ctx, func(c *pgx.Conn) error {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		for err := error(nil); err == nil; { // a call takes one that has come, and fails if there is none
			_, err = c.WaitForNotification(ended)
		}
		return nil
	})
}

// due wakes the loops whose work is due, and returns the time until the next work of any, most at most.
func (s *Session) due(ctx context.Context, most time.Duration, tables []Work) (next time.Duration, err error) {
	next = tick.Until(most)
	batch := &pgx.Batch{}
	for _, w := range tables {
		batch.Queue(w.Due).QueryRow(func(row pgx.Row) error {
			var seconds *float64
			if err := row.Scan(&seconds); err != nil || seconds == nil {
				return err
			}
			if *seconds <= 0 {
				w.Wake()
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
