package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var servers = []string{"postgres", "rabbitmq"}

// spoil treats what runs between the services and one of their servers badly for a while, and heals it.
func spoil(ctx context.Context, f *field, what, poison string, length time.Duration) error {
	if !f.stack.Poisonable() {
		return errNoProxy
	}
	f.network.Lock()
	defer f.network.Unlock()
	server := servers[f.random.IntN(len(servers))]
	always := context.WithoutCancel(ctx)
	f.count(what + " before " + server)
	err := f.stack.Poison(always, server, poison)
	f.pause(ctx, length, length)
	f.say("%-7s %-28s for %s", what, server, length.Round(10*time.Millisecond))
	return errors.Join(err, f.stack.Poison(always, server, ""))
}

var errNoProxy = errors.New("this stack has no proxy to poison: start it with --toxic")

func latency(ctx context.Context, f *field) error {
	delay := f.between(5*time.Millisecond, 60*time.Millisecond)
	return spoil(ctx, f, "latency", fmt.Sprintf("latency=%s&jitter=%s", delay, delay), f.between(3*time.Second, 12*time.Second))
}

func silence(ctx context.Context, f *field) error {
	return spoil(ctx, f, "silence", "stuck=true", f.between(time.Second, 8*time.Second))
}

// resets cuts connections a few times in a row.
func resets(ctx context.Context, f *field) error {
	if !f.stack.Poisonable() {
		return errNoProxy
	}
	f.network.Lock()
	defer f.network.Unlock()
	server := servers[f.random.IntN(len(servers))]
	for range 1 + f.random.IntN(4) {
		share := []float64{0.2, 0.5, 1}[f.random.IntN(3)]
		if err := f.stack.Cut(context.WithoutCancel(ctx), server, share); err != nil {
			return err
		}
		f.count("resets before " + server)
		f.say("resets  %-28s %g of all connections", server, share)
		if !f.pause(ctx, 100*time.Millisecond, 1500*time.Millisecond) {
			break
		}
	}
	return nil
}

// alarm lets the broker block every publisher for a while, as it does when memory runs short.
func alarm(ctx context.Context, f *field) error {
	if err := f.stack.Alarm(context.WithoutCancel(ctx), true); err != nil {
		return err
	}
	f.count("memory alarm of rabbitmq")
	length := f.between(2*time.Second, 10*time.Second)
	f.pause(ctx, length, length)
	f.say("alarm   %-28s for %s", "rabbitmq", length.Round(10*time.Millisecond))
	return f.stack.Alarm(context.WithoutCancel(ctx), false)
}
