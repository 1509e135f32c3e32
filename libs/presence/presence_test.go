//go:build integration

package presence_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"causeway.internal/libs/presence"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/testkit/pg"
)

var migrations = fstest.MapFS{"00001_processes.sql": {Data: []byte("-- +goose Up\n" + presence.Schema)}}

func TestStatements(t *testing.T) {
	t.Parallel()
	pg.Listed(t, "Statements")
	pg.Prepare(t, pg.New(t, migrations), presence.Statements())
}

// List has a process with the checks and queues that it reported last, until the process is silent.
func TestTell(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	var broken error
	teller := (&presence.Teller{
		DB: pool, Role: presence.Roles(true, true),
		Checks: func() []telemetry.Check {
			return []telemetry.Check{{Name: "database", Ready: func(context.Context) error { return broken }}}
		},
		Queues: func() []presence.Depth { return []presence.Depth{{Queue: "a.b", Messages: 3, Dead: 1}} },
	}).Start()
	for _, broken = range []error{nil, errors.New("no answer")} {
		if err := teller.Tell(t.Context()); err != nil {
			t.Fatalf("tell of a process: %v", err)
		}
		got, err := presence.List(t.Context(), pool, "payments")
		if err != nil || len(got.Processes) != 1 {
			t.Fatalf("list the processes: got %+v, %v, want one", got, err)
		}
		p := got.Processes[0]
		if p.Service != "payments" || p.Role != "serve and work" || p.Ready != (broken == nil) || strings.Contains(string(p.Checks), "no answer") != (broken != nil) ||
			string(p.Queues) != `[{"queue":"a.b","messages":3,"dead":1}]` {
			t.Errorf("list a process whose check says %v: got %+v with the checks %s and the queues %s", broken, p, p.Checks, p.Queues)
		}
	}
	if _, err := pool.Exec(t.Context(), `UPDATE processes SET told_at = now() - interval '2 minutes'`); err != nil {
		t.Fatal(err)
	}
	if got, err := presence.List(t.Context(), pool, "payments"); err != nil || len(got.Processes) != 0 {
		t.Errorf("list the processes after two silent minutes: got %+v, %v, want none", got, err)
	}
}
