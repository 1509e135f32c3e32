package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var servers = []string{"postgres", "rabbitmq"}

// network spoils what runs between the services and one of their servers, and heals it.
func network(ctx context.Context, f *field) error {
	if !f.stack.Poisonable() {
		return errors.New("this stack has no proxy to poison: start it with --toxic")
	}
	f.network.Lock()
	defer f.network.Unlock()
	server := servers[f.random.IntN(len(servers))]
	always := context.WithoutCancel(ctx)
	spoil := func(what, poison string, length time.Duration) error {
		f.count(what + " before " + server)
		err := f.stack.Poison(always, server, poison)
		f.pause(ctx, length, length)
		f.say("%-7s %-28s for %s", what, server, length.Round(10*time.Millisecond))
		return errors.Join(err, f.stack.Poison(always, server, ""))
	}
	switch f.random.IntN(3) {
	case 0:
		delay := f.between(5*time.Millisecond, 60*time.Millisecond)
		return spoil("latency", fmt.Sprintf("latency=%s&jitter=%s", delay, delay), f.between(3*time.Second, 12*time.Second))
	case 1:
		return spoil("silence", "stuck=true", f.between(time.Second, 8*time.Second))
	default:
		for range 1 + f.random.IntN(4) {
			share := []float64{0.2, 0.5, 1}[f.random.IntN(3)]
			if err := f.stack.Cut(always, server, share); err != nil {
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
