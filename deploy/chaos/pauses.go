package main

import (
	"context"
	"time"

	"causeway.internal/deploy/chaos/internal/duty"
)

// pause freezes one process for a while.
func pause(ctx context.Context, f *field) error {
	services := f.stack.Services()
	name := services[f.random.IntN(len(services))]
	return freeze(ctx, f, name, f.between(200*time.Millisecond, 5*time.Second))
}

func freeze(ctx context.Context, f *field, name string, length time.Duration) error {
	if err := f.stack.Pause(context.WithoutCancel(ctx), name); err != nil {
		return err
	}
	f.count("pause " + name)
	f.pause(ctx, length, length)
	f.say("pause   %-28s for %s", name, length.Round(10*time.Millisecond))
	return f.start(ctx, name)
}

// leaders are the roles that lead: relays and timers in payments, relay and scanners in wallets.
var leaders = []string{"payments-work", "wallets-work"}

const (
	takeoverLimit = 10 * time.Second
	frozenFor     = 12 * time.Second // longer than a leader may be silent
	aftermath     = 2 * time.Second
)

// frozenLeader freezes a leader until others have its duties and resumes it: it must notice that it has lost the lead.
// This test looks for late writes in the scanners' positions; the auditor looks everywhere else.
func frozenLeader(ctx context.Context, f *field) error {
	f.network.Lock()
	defer f.network.Unlock()
	name := f.leader()
	w, before, err := f.observe(ctx)
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	began := time.Now()
	if err := f.stack.Pause(context.WithoutCancel(ctx), name); err != nil {
		return err
	}
	f.count("pause leader " + name)
	took, orphans, watchErr := w.Takeovers(ctx, before, began, takeoverLimit, frozenFor)
	scanned, cursorErr := w.Cursors(ctx)
	if err := f.start(ctx, name); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil
	}
	if watchErr != nil || cursorErr != nil {
		return watchErr
	}
	f.tell("pause", name, took, orphans)
	for end := time.Now().Add(aftermath); time.Now().Before(end) && f.pause(ctx, 50*time.Millisecond, 50*time.Millisecond); {
		now, err := w.Cursors(ctx)
		if err != nil {
			return err
		}
		for chain, height := range scanned {
			if now[chain] < height {
				f.fault("%s resumed: the scanner's position on %s went back from %d to %d", name, chain, height, now[chain])
			}
		}
		scanned = now
	}
	return nil
}

// takeover kills the replicas of a leading role one by one, until it has met one that led, and measures how long its
// duties lay.
func takeover(ctx context.Context, f *field) error {
	f.network.Lock()
	defer f.network.Unlock()
	names := f.stack.Replicas(leaders[f.random.IntN(len(leaders))])
	for _, i := range f.random.Perm(len(names)) {
		if moved, err := behead(ctx, f, names[i]); moved > 0 || err != nil {
			return err
		}
	}
	return nil
}

// behead kills one process and says how many duties moved to another.
func behead(ctx context.Context, f *field, name string) (moved int, err error) {
	w, before, err := f.observe(ctx)
	if err != nil {
		return 0, err
	}
	defer w.Close(ctx)
	shoot, err := f.stack.Shots(name)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := shoot(); err != nil {
		return 0, err
	}
	f.count("kill -9 leader " + name)
	took, orphans, watchErr := w.Takeovers(ctx, before, began, 3*time.Second, takeoverLimit)
	if err := f.start(ctx, name); err != nil {
		return 0, err
	}
	if watchErr == nil && ctx.Err() == nil {
		f.tell("kill", name, took, orphans)
	}
	return len(took), watchErr
}

// leader draws one of the processes that may lead.
func (f *field) leader() string {
	names := f.stack.Replicas(leaders[f.random.IntN(len(leaders))])
	return names[f.random.IntN(len(names))]
}

// observe opens an observer on a calm field: everybody leads who should.
func (f *field) observe(ctx context.Context) (*duty.Observer, duty.Holders, error) {
	w, err := duty.Open(ctx, f.stack.Superuser)
	if err != nil {
		return nil, nil, err
	}
	before, err := w.Settled(ctx)
	if err != nil {
		w.Close(ctx)
		return nil, nil, err
	}
	return w, before, nil
}

// tell notes takeovers; a duty that nobody took in time, or late, is a fault.
func (f *field) tell(what, name string, took map[string]time.Duration, orphans []string) {
	longest := time.Duration(0)
	f.mu.Lock()
	for duty, time := range took {
		f.takeovers[duty+" after "+what] = append(f.takeovers[duty+" after "+what], time)
		longest = max(longest, time)
	}
	f.mu.Unlock()
	for duty, time := range took {
		if time > takeoverLimit {
			f.fault("%s of %s: %s was taken over after %s", what, name, duty, time)
		}
	}
	for _, duty := range orphans {
		f.fault("%s of %s: nobody took over %s", what, name, duty)
	}
	f.say("%-7s %-28s %d duties taken over within %s", what, name, len(took), longest.Round(10*time.Millisecond))
}
