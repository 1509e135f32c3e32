package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"causeway.internal/deploy/chaos/internal/latch"
)

// inFlight is the step that the merchant's receiver sees and no database.
const inFlight = "callback in flight"

// steps of a transfer, from the first to the last. The last one is a request that the receiver has and has not
// answered.
var steps = []latch.Step{
	{Name: "created", Database: "payments", Event: "AFTER INSERT ON payments", When: "NEW.status = 'pending'"},
	{Name: "deposit sent", Database: "wallets", Event: "AFTER INSERT ON sim_transfers"},
	{Name: "deposit seen", Database: "wallets", Event: "AFTER INSERT ON deposits"},
	{Name: "confirming", Database: "payments", Event: "AFTER UPDATE ON payments", When: entered("confirming")},
	{Name: "confirmed", Database: "payments", Event: "AFTER UPDATE ON payments", When: entered("confirmed")},
	{Name: "payout sending", Database: "payments", Event: "AFTER UPDATE ON payouts", When: "NEW.state = 'sending' AND OLD.state <> 'sending'"},
	{Name: "rail paying", Database: "payments", Event: "AFTER INSERT ON sim_transfers"},
	{Name: "settling", Database: "payments", Event: "AFTER UPDATE ON payments", When: entered("settling")},
	{Name: "settled", Database: "payments", Event: "AFTER UPDATE ON payments", When: entered("settled")},
	{Name: "message relayed", Database: "payments", Event: "AFTER DELETE ON outbox", When: "OLD.name <> '" + statusChanged + "'"},
	{Name: "callback stored", Database: "callback-dispatcher", Event: "AFTER INSERT ON event"},
	{Name: "event acknowledged", Database: "payments", Event: "AFTER DELETE ON outbox", When: "OLD.name = '" + statusChanged + "'"},
	{Name: "callback answered", Database: "callback-dispatcher", Event: "AFTER INSERT ON attempt"},
	{Name: inFlight},
}

// statusChanged is the name of events, which stay in the outbox until the dispatcher acknowledges them.
const statusChanged = "payments.status_changed.v1"

// entered is true of an update that adds a change into a status to those of a payment: its last words are the status
// before it, the status and the exception, which may be empty.
func entered(status string) string {
	return `array_to_string(NEW.changes[cardinality(OLD.changes) + 1:], E'\n') ~ ' ` + status + ` [a-z_]*(\n|$)'`
}

// responsible is the role that takes each step.
var responsible = map[string]string{
	"created": "payments-serve", "deposit sent": "wallets-work", "deposit seen": "wallets-work",
	"callback stored": "callback-dispatcher-work", "callback answered": "callback-dispatcher-work", inFlight: "callback-dispatcher-work",
}

const worker = "payments-work"

var roles = []string{
	"payments-serve", worker, "wallets-serve", "wallets-work", "callback-dispatcher-serve", "callback-dispatcher-work", "gateway",
}

// cell of the table of steps: who dies when.
type cell struct {
	step  int
	role  string
	after bool // the step is committed, and its consequences are not
}

// table lists every role at every step, those first that take the step.
func table() []cell {
	var first, rest []cell
	for i, step := range steps {
		own := responsible[step.Name]
		if own == "" {
			own = worker
		}
		for _, role := range roles {
			both := []cell{{i, role, false}, {i, role, true}}
			if step.Name == inFlight {
				both = both[:1]
			}
			if role == own {
				first = append(first, both...)
			} else {
				rest = append(rest, both...)
			}
		}
	}
	return append(first, rest...)
}

const reachWithin = 10 * time.Second

// step plays the next cell of the table: every replica of the role dies at the moment when the step is held, or has
// just been let through.
func step(ctx context.Context, f *field) error {
	if err := f.latches(ctx); err != nil {
		return err
	}
	cells := table()
	c := cells[(f.first+f.cells)%len(cells)]
	f.cells++
	names := f.stack.Replicas(c.role)
	shoot, err := f.stack.Shots(names...)
	if err != nil {
		return err
	}
	f.strike(ctx)
	hold := f.atRow
	if steps[c.step].Name == inFlight {
		hold = f.atReceiver
	}
	err = hold(ctx, c, shoot)
	if errors.Is(err, latch.ErrUnseen) {
		f.cells-- // again next time
		f.say("step    %s: nothing came by within %s", steps[c.step].Name, reachWithin)
		return nil
	}
	if err != nil {
		return err
	}
	moment := "during"
	if c.after {
		moment = "after"
	}
	f.count("kill -9 " + moment + " " + steps[c.step].Name)
	f.pause(ctx, 0, time.Second)
	if err := f.start(ctx, names...); err != nil {
		return err
	}
	f.say("kill -9 %-28s %s %s", c.role, moment, steps[c.step].Name)
	return nil
}

// latched are all rows at which chaos can hold a process: those of a payment, behind them those of a sweep, and behind
// them those of outgoing money.
var latched = slices.Concat(steps[:len(steps)-1], sweepSteps, outSteps)

// latches adds the latches once.
func (f *field) latches(ctx context.Context) error {
	if f.cells >= 0 {
		return nil
	}
	if err := latch.Install(ctx, f.stack.Superuser, latched); err != nil {
		return err
	}
	f.cells = 0
	return nil
}

// atRow kills while, or right after, a row of the step is being written.
func (f *field) atRow(ctx context.Context, c cell, shoot func() error) error {
	armed, err := latch.Arm(ctx, f.stack.Superuser[latched[c.step].Database], c.step)
	if err != nil {
		return err
	}
	defer armed.Release(ctx)
	if err := armed.Await(ctx, reachWithin); err != nil {
		return err
	}
	if c.after {
		armed.Release(ctx)
	}
	return shoot()
}

// atReceiver kills while a callback waits for its answer.
func (f *field) atReceiver(ctx context.Context, _ cell, shoot func() error) error {
	holding, release := f.receiver.Hold()
	defer release()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-holding:
		return shoot()
	case <-time.After(reachWithin):
		return latch.ErrUnseen
	}
}
