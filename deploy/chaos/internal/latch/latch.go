// Package latch stops the product at a named step of a payment, from the outside: a trigger in the instance's own
// database waits for an advisory lock which chaos takes when a step is armed. Nothing of it exists in the product, and
// while no step is armed a trigger costs next to nothing.
package latch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Step is a moment in the life of a payment: a row that is being written.
type Step struct {
	Name     string
	Database string // whose: payments, wallets, callback-dispatcher
	Event    string // of the trigger, such as AFTER UPDATE ON payments
	When     string // the trigger's condition, "" for every row
}

// space is the first half of our advisory locks' keys; services use the one-number kind.
const space = 20_077

const poll = time.Millisecond

// ErrUnseen says that nothing came by the armed step in time.
var ErrUnseen = errors.New("nothing reached the step")

// Install adds the triggers of all steps; databases are the superuser's URLs by service.
func Install(ctx context.Context, databases map[string]string, steps []Step) error {
	for number, step := range steps {
		if err := install(ctx, databases[step.Database], number, step); err != nil {
			return fmt.Errorf("adding the latch of step %s: %w", step.Name, err)
		}
	}
	return nil
}

func install(ctx context.Context, database string, number int, step Step) error {
	db, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx))
	condition := ""
	if step.When != "" {
		condition = " WHEN (" + step.When + ")"
	}
	_, err = db.Exec(ctx, fmt.Sprintf(`CREATE OR REPLACE FUNCTION chaos_latch() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM pg_advisory_xact_lock_shared(%d, TG_ARGV[0]::int);
			RETURN NULL;
		END $$;
		CREATE OR REPLACE TRIGGER chaos_latch_%d %s FOR EACH ROW%s EXECUTE FUNCTION chaos_latch('%d')`,
		space, number, step.Event, condition, number))
	return err
}

// Latch is an armed step: a process that reaches it waits until Release.
type Latch struct {
	db     *pgx.Conn
	number int
}

// Arm arms step number of those installed.
func Arm(ctx context.Context, database string, number int) (*Latch, error) {
	db, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, fmt.Errorf("arming a step: %w", err)
	}
	l := &Latch{db: db, number: number}
	if _, err := db.Exec(ctx, `SELECT pg_advisory_lock($1, $2)`, space, number); err != nil {
		l.Release(ctx)
		return nil, fmt.Errorf("arming a step: %w", err)
	}
	return l, nil
}

// Await waits until a process waits at the step.
func (l *Latch) Await(ctx context.Context, within time.Duration) error {
	for deadline := time.Now().Add(within); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(poll) {
		var waiting bool
		err := l.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
			AND classid = $1::int8::oid AND objid = $2::int8::oid AND NOT granted)`, space, l.number).Scan(&waiting)
		if err != nil {
			return fmt.Errorf("looking who is at the step: %w", err)
		}
		if waiting {
			return nil
		}
	}
	return ErrUnseen
}

// Release lets everybody pass.
func (l *Latch) Release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = l.db.Close(ctx) // the lock ends with the session, whatever the error
}
