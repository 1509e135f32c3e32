package main

import (
	"context"
	"time"
)

// kills ends every process of the product in a random order, round after round, at random moments of the load, and
// starts it again after a random outage.
func kills(ctx context.Context, f *field) error {
	for {
		services := f.stack.Services()
		f.random.Shuffle(len(services), func(i, j int) { services[i], services[j] = services[j], services[i] })
		for _, name := range services {
			if !f.pause(ctx, time.Second, 4*time.Second) {
				return nil
			}
			if err := f.stack.Kill(ctx, name); err != nil {
				return orEnded(ctx, err)
			}
			f.count("kill -9 " + name)
			began := time.Now()
			f.pause(ctx, 0, 3*time.Second)
			// Started again even when the time is up: a scenario leaves nothing down.
			if err := f.stack.Start(context.WithoutCancel(ctx), name); err != nil {
				return err
			}
			f.say("kill -9 %-26s down for %s", name, time.Since(began).Round(10*time.Millisecond))
		}
	}
}

// orEnded forgets an error that is only the end of the scenario's time.
func orEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
