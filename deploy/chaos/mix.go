package main

import (
	"context"
	"errors"
	"time"
)

// mix spoils the network every now and then while, beside it, processes and servers come and go.
func mix(ctx context.Context, f *field) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beside := make(chan error, 1)
	go func() {
		err := forever(latency, silence, resets)(ctx, f)
		if err != nil {
			cancel()
		}
		beside <- err
	}()
	acts := []act{
		oneProcess, oneProcess, oneProcess, pause, pause, takeover, frozenLeader, rabbit, postgres, alarm,
		step, step, step, step, step, step, outStep, outStep,
	}
	if f.networks != nil {
		acts = append(acts, sweepStep, sweepStep, sweepStep, signerDown, signerDown, signerStop)
	}
	err := once(ctx, f, alone(outage))
	if err == nil {
		err = forever(acts...)(ctx, f)
	}
	cancel()
	return errors.Join(err, <-beside)
}

// once plays one act and forgets an error that is only the end of the time.
func once(ctx context.Context, f *field, a act) error {
	if !f.pause(ctx, 2*time.Second, 5*time.Second) {
		return nil
	}
	if err := a(ctx, f); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// alone plays an act without the network's troubles, which it would only hide.
func alone(a act) act {
	return func(ctx context.Context, f *field) error {
		f.network.Lock()
		defer f.network.Unlock()
		return a(ctx, f)
	}
}
