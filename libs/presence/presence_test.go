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
func TestReport(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	var broken error
	reporter := (&presence.Reporter{
		DB: pool, Role: presence.Roles(true, true),
		Checks: func() []telemetry.Check {
			return []telemetry.Check{{Name: "database", Ready: func(context.Context) error { return broken }}}
		},
		Queues: func() []presence.Depth { return []presence.Depth{{Queue: "a.b", Messages: 3, Dead: 1}} },
	}).Start()
	for _, broken = range []error{nil, errors.New("no answer")} {
		if err := reporter.Report(t.Context()); err != nil {
			t.Fatalf("report a process: %v", err)
		}
		got, err := presence.List(t.Context(), pool, "payments")
		if err != nil || len(got.Processes) != 1 {
			t.Fatalf("list the processes: got %+v, %v, want one", got, err)
		}
		p := got.Processes[0]
		if p.Service != "payments" || p.Role != "serve and work" || p.Ready != (broken == nil) || strings.Contains(string(p.Checks), "no answer") != (broken != nil) ||
			len(p.Queues) != 1 || p.Queues[0].Queue != "a.b" || p.Queues[0].Messages != 3 || p.Queues[0].Dead != 1 || p.Queues[0].DeadSince == nil {
			t.Errorf("list a process whose check says %v: got %+v with the checks %s and the queues %+v", broken, p, p.Checks, p.Queues)
		}
	}
	if _, err := pool.Exec(t.Context(), `UPDATE processes SET told_at = now() - interval '2 minutes'`); err != nil {
		t.Fatal(err)
	}
	if got, err := presence.List(t.Context(), pool, "payments"); err != nil || len(got.Processes) != 0 {
		t.Errorf("list the processes after two silent minutes: got %+v, %v, want none", got, err)
	}
}

// The time since when a dead queue is not empty stays while messages are in it, whichever process reports, and through
// a restart. It ends with the last message.
func TestReport_deadSince(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	dead := 0
	process := func() *presence.Reporter {
		return (&presence.Reporter{
			DB: pool, Role: presence.Roles(false, true), Checks: func() []telemetry.Check { return nil },
			Queues: func() []presence.Depth { return []presence.Depth{{Queue: "a.b", Dead: dead}, {Queue: "c.d"}} },
		}).Start()
	}
	report := func(of *presence.Reporter) *string {
		t.Helper()
		if err := of.Report(t.Context()); err != nil {
			t.Fatalf("report a process: %v", err)
		}
		var filled, empty *string
		const newest = `SELECT queues->0->>'deadSince', queues->1->>'deadSince' FROM processes ORDER BY told_at DESC LIMIT 1`
		if err := pool.QueryRow(t.Context(), newest).Scan(&filled, &empty); err != nil {
			t.Fatal(err)
		}
		if empty != nil {
			t.Errorf("report an empty dead queue: got %s, want no time", *empty)
		}
		return filled
	}
	one, other := process(), process()
	if got := report(one); got != nil {
		t.Fatalf("report an empty dead queue: got %s, want no time", *got)
	}
	dead = 2
	first := report(one)
	if first == nil {
		t.Fatal("report dead messages: got no time")
	}
	for name, of := range map[string]*presence.Reporter{"the same process": one, "another process": other, "a process after a restart": process()} {
		if got := report(of); got == nil || *got != *first {
			t.Errorf("%s reports dead messages: got %v, want %s", name, got, *first)
		}
	}
	dead = 0
	if got := report(one); got != nil {
		t.Errorf("report a queue that was emptied: got %s, want no time", *got)
	}
}
