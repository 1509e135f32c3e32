package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The stages of an upgrade: each gets its share of the time. Moving processes takes what it takes.
const (
	stages   = 5
	killsGap = 3 * time.Second // at most, between two kills while old and new run side by side
)

// upgrade takes the product from the binaries that it runs to newer ones, under load, as docs/deploy.md says: first the
// databases, under the old binaries; then one replica of everything, and both versions share databases and queues while
// processes of either are killed; then back to the old binaries, on the new schema; then everything to the new ones,
// and the broker's users lose the rights that only old ones need. Nothing may end by itself, and the auditor finds
// every payment settled once and every event delivered.
func upgrade(ctx context.Context, f *field) error {
	services := f.stack.Services()
	if f.newer == "" || len(services) == 0 {
		return errors.New("--new must name the directory of the binaries to go to: run this as `make upgrade`")
	}
	older, err := f.stack.Bin(services[0])
	if err != nil {
		return err
	}
	var second []string
	for _, name := range services {
		if strings.HasSuffix(name, "-2") {
			second = append(second, name)
		}
	}
	ctx = context.WithoutCancel(ctx) // an upgrade that has begun ends
	dwell := f.share / stages
	f.pause(ctx, dwell, dwell)
	began := time.Now()
	if err := f.stack.Migrate(ctx, f.newer); err != nil {
		return err
	}
	f.say("migrate %-28s in %s, under old binaries", "all databases", time.Since(began).Round(10*time.Millisecond))
	f.pause(ctx, dwell, dwell)
	if err := f.move(ctx, second, f.newer, "new"); err != nil {
		return err
	}
	for end := time.Now().Add(2 * dwell); time.Now().Before(end); f.pause(ctx, 0, killsGap) {
		if err := oneProcess(ctx, f); err != nil {
			return err
		}
	}
	if err := f.move(ctx, second, older, "old"); err != nil {
		return err
	}
	f.pause(ctx, dwell, dwell)
	if err := f.move(ctx, services, f.newer, "new"); err != nil {
		return err
	}
	if err := f.stack.Narrow(ctx, f.newer); err != nil {
		return err
	}
	f.say("narrow  %-28s to those of the new programs", "rights of broker users")
	f.pause(ctx, dwell, dwell)
	return f.allOf(services, f.newer)
}

// move stops processes politely, one at a time in a random order, and starts each with the program of another
// directory.
func (f *field) move(ctx context.Context, names []string, bin, word string) error {
	began := time.Now()
	for _, i := range f.random.Perm(len(names)) {
		ended, err := f.stack.Ended()
		if err != nil {
			return err
		}
		for _, name := range ended {
			f.fault("%s ended by itself", name)
		}
		if err := f.stack.Stop(ctx, names[i]); err != nil {
			return err
		}
		if err := f.stack.Move(ctx, names[i], bin); err != nil {
			return fmt.Errorf("%s with the %s program: %w", names[i], word, err)
		}
		f.count("process moved to the " + word + " program")
	}
	f.say("moved   %-28s to the %s program in %s", fmt.Sprint(len(names), " processes"), word, time.Since(began).Round(10*time.Millisecond))
	return nil
}

// allOf sees that every process runs the program of a directory.
func (f *field) allOf(names []string, bin string) error {
	for _, name := range names {
		runs, err := f.stack.Bin(name)
		if err != nil {
			return err
		}
		if runs != bin {
			f.fault("%s runs the program in %s", name, runs)
		}
	}
	return nil
}
