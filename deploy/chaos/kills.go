package main

import (
	"context"
	"time"
)

// everyProcess ends each process of the product once, in a random order, at random moments of the load, and starts it
// again after a random outage.
func everyProcess(ctx context.Context, f *field) error {
	services := f.stack.Services()
	for _, i := range f.random.Perm(len(services)) {
		if err := down(ctx, f, services[i], true, 3*time.Second); err != nil || !f.pause(ctx, 500*time.Millisecond, 3*time.Second) {
			return err
		}
	}
	return nil
}

// oneProcess ends one.
func oneProcess(ctx context.Context, f *field) error {
	services := f.stack.Services()
	return down(ctx, f, services[f.random.IntN(len(services))], f.random.IntN(4) > 0, 3*time.Second)
}

func rabbit(ctx context.Context, f *field) error {
	return down(ctx, f, "rabbitmq", f.random.IntN(2) == 0, 5*time.Second)
}

func postgres(ctx context.Context, f *field) error {
	return down(ctx, f, "postgres", f.random.IntN(2) == 0, 5*time.Second)
}

// down ends one process, hard or politely, and starts it again after a while.
func down(ctx context.Context, f *field, name string, hard bool, longest time.Duration) error {
	word, end := "stop", f.stack.Stop
	if hard {
		word, end = "kill -9", f.stack.Kill
	}
	f.strike(ctx)
	if err := end(context.WithoutCancel(ctx), name); err != nil {
		return err
	}
	f.count(word + " " + name)
	began := time.Now()
	f.pause(ctx, 0, longest)
	if err := f.start(ctx, name); err != nil {
		return err
	}
	f.say("%-7s %-28s down for %s", word, name, time.Since(began).Round(10*time.Millisecond))
	return nil
}

// outageTime is how long PostgreSQL is away; runs too short for that have it away for a share of their time.
const (
	outageTime  = time.Minute
	outageShare = 6
)

// outage stops PostgreSQL under load. Nothing may give up: no process ends, and the auditor finds every dead queue
// empty.
func outage(ctx context.Context, f *field) error {
	if err := f.stack.Stop(context.WithoutCancel(ctx), "postgres"); err != nil {
		return err
	}
	f.count("outage of postgres")
	began := time.Now()
	length := min(outageTime, f.share/outageShare)
	f.pause(ctx, length, length)
	ended, err := f.stack.Ended()
	if err != nil {
		return err
	}
	for _, name := range ended {
		f.fault("%s ended while PostgreSQL was away", name)
	}
	if err := f.start(ctx, "postgres"); err != nil {
		return err
	}
	f.say("outage  %-28s down for %s", "postgres", time.Since(began).Round(10*time.Millisecond))
	return nil
}
