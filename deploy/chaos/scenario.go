package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"causeway.internal/deploy/chaos/internal/audit"
	"causeway.internal/deploy/chaos/internal/livenet"
	"causeway.internal/deploy/chaos/internal/load"
	"causeway.internal/deploy/chaos/internal/stack"
)

// scenario is one kind of trouble. Another one is a file with a run function and a line in scenarios; load, auditor and
// report stay as they are.
type scenario struct {
	name  string
	about string
	plain bool                                      // its payments are exactly paid transfers only
	whole bool                                      // it ends by itself, and the duration is of a part of it
	run   func(ctx context.Context, f *field) error // makes trouble until ctx ends; what it leaves down is started again
}

// scenarios in the order in which `--scenario all` runs them. Those that set a database back, or run binaries of the
// last release, have plain payments: what a merchant did in the lost time (a cancel, a closed window) is to be done
// again by hand, and binaries before a change of rules pay by their own.
var scenarios = []scenario{
	{name: "kills", about: "kill -9 of every process, restart and kill of RabbitMQ and PostgreSQL, in a random order", run: forever(everyProcess, rabbit, postgres)},
	{name: "steps", about: "a role killed at each named step of a payment, before and after the step is committed", run: forever(step)},
	{name: "pauses", about: "processes frozen and resumed, among them leaders for longer than their leadership lasts", run: forever(pause, pause, pause, frozenLeader)},
	{name: "network", about: "latency, silence and resets between the services and their servers; the broker's memory alarm", run: forever(latency, silence, resets, alarm)},
	{name: "outage", about: "PostgreSQL stopped for 60 s", run: forever(outage)},
	{name: "replicas", about: "a leader killed; its duties are taken over by the other replica", run: forever(takeover)},
	{name: "restore", about: "each database set back to a backup under load, and its service started with recovery", plain: true, run: restores},
	{name: "lossy", about: "the broker loses messages that it has confirmed, while the workers that they are for are down", run: forever(lossy)},
	{name: "hooks", about: "callback-dispatcher killed at random moments, at endpoints that hang, drip, reset, redirect and refuse", run: hooks},
	{name: "alerts", about: "nothing, which no alert may notice; then one thing after the other, which exactly its alerts do", plain: true, whole: true, run: alerts},
	{name: "mix", about: "everything, in a random order", run: mix},
	{name: "failover", about: "the primary of PostgreSQL and nodes of RabbitMQ killed or cut off, and others in their place (--standby --cluster)", run: failover},
	{name: "sweeps", about: "what takes part in sweeps of live networks killed at their steps and at random moments (chaos live)", run: sweeps},
	{name: "rotate", about: "every secret of every service replaced in three rolls, and the old ones taken away", run: rotate},
	{name: "upgrade", about: "databases migrated under old binaries, old and new side by side, back, and all new", plain: true, run: upgrade},
}

// act is one piece of trouble that ends with everything up again.
type act func(ctx context.Context, f *field) error

// forever repeats acts, each round in another order.
func forever(acts ...act) func(ctx context.Context, f *field) error {
	return func(ctx context.Context, f *field) error {
		for ctx.Err() == nil {
			for _, i := range f.random.Perm(len(acts)) {
				if !f.pause(ctx, 500*time.Millisecond, 3*time.Second) {
					return nil
				}
				if err := acts[i](ctx, f); err != nil && ctx.Err() == nil {
					return err
				}
			}
		}
		return nil
	}
}

// field is what a scenario plays on.
type field struct {
	stack    *stack.Stack
	receiver *load.Receiver
	random   *rand.Rand // safe for several goroutines
	say      func(format string, args ...any)
	merchant load.Merchant
	asked    func() []load.Payment // by the load so far
	share    time.Duration         // the time of the running scenario
	network  sync.Mutex            // held by who spoils the network, and by who measures without it

	mu        sync.Mutex
	counts    map[string]int
	faults    []string
	takeovers map[string][]time.Duration
	failovers map[string][]gaps // by kind; "nothing" is the time before the first
	restores  []audit.Restore
	newer     string            // directory of the binaries that upgrade goes to
	margin    int               // addresses that wallets passes over in a recovery
	databases map[string]bool   // those that restore sets back; none means all
	lookout   lookout           // of alerts
	networks  *livenet.Networks // the live networks, if any
	struck    map[string]int    // by live network and kind of outgoing money: kills while some was under way
	mining    chan bool         // says whether the live network makes blocks

	first int // cell of the table of steps
	cells int // how many were played from there on; -1 until the latches are there
}

func newField(st *stack.Stack, receiver *load.Receiver, seed uint64, say func(string, ...any)) *field {
	return &field{
		stack: st, receiver: receiver, random: rand.New(&source{inner: rand.NewPCG(seed, 3)}), say: say,
		counts: map[string]int{}, takeovers: map[string][]time.Duration{}, failovers: map[string][]gaps{}, struck: map[string]int{}, cells: -1,
	}
}

// source is a source of randomness for several goroutines.
type source struct {
	mu    sync.Mutex
	inner rand.Source
}

// Uint64 draws.
func (s *source) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inner.Uint64()
}

// count notes one act of trouble for the report.
func (f *field) count(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[what]++
}

// fault notes that a scenario itself saw the product fail.
func (f *field) fault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
	f.say("FAULT "+format, args...)
}

// between draws a duration.
func (f *field) between(from, to time.Duration) time.Duration {
	return from + time.Duration(f.random.Int64N(int64(to-from)+1))
}

// pause waits between from and to, or until ctx ends; false means that it ended.
func (f *field) pause(ctx context.Context, from, to time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(f.between(from, to)):
		return true
	}
}

// start starts processes again, in spite of the scenario's end: it leaves nothing down.
func (f *field) start(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := f.stack.Start(context.WithoutCancel(ctx), name); err != nil {
			return err
		}
	}
	return nil
}

// databases reads which databases restore sets back.
func databases(names string) (map[string]bool, error) {
	if names == "" {
		return nil, nil //nolint:nilnil // none named means all
	}
	chosen := map[string]bool{}
	for name := range strings.SplitSeq(names, ",") {
		if !slices.ContainsFunc(drills, func(d drill) bool { return d.service == name }) {
			return nil, fmt.Errorf("no drill for the database of %q", name)
		}
		chosen[name] = true
	}
	return chosen, nil
}

// choose finds scenarios by names with commas between; "all" is each of them but the mix, failovers, which need
// redundant servers, the sweeps, which need live networks, the rotation, and the upgrade, which needs other binaries.
func choose(names string) ([]scenario, error) {
	if names == "all" {
		return scenarios[:len(scenarios)-5], nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q", name)
		}
		chosen = append(chosen, scenarios[i])
	}
	return chosen, nil
}
