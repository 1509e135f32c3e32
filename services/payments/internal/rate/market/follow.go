package market

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"causeway.internal/services/payments/internal/rate"
)

// readTimeout bounds one read of a source, which may make several parallel calls.
const readTimeout = 2 * rate.CallTimeout

// retryMost is the longest delay before a failed source is read again.
const retryMost = time.Minute

// follow reads one source until ctx ends. The jitter spreads the reads of replicas that start together.
func (m *Market) follow(ctx context.Context, d rate.Driver) {
	failures := 0
	for {
		err := m.read(ctx, d)
		if ctx.Err() != nil {
			return
		}
		wait := d.Terms().Every
		if err != nil {
			if failures++; failures == 1 {
				m.Log.WarnContext(ctx, "price source not read completely", "source", d.Name(), "err", err)
			}
			wait = min(wait, retryMost)
		} else if failures > 0 {
			m.Log.InfoContext(ctx, "price source recovered", "source", d.Name(), "failures", failures)
			failures = 0
		}
		timer := time.NewTimer(wait + rand.N(wait/10+1)) //nolint:gosec // it spreads requests
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// read reads a source once. A panic of the driver is a failure.
func (m *Market) read(ctx context.Context, d rate.Driver) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	outcome := "failed"
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		m.reads.WithLabelValues(d.Name(), outcome).Inc()
	}()
	ticks, err := d.Fetch(ctx)
	err = errors.Join(err, m.take(d, ticks, m.Now()))
	switch {
	case err == nil:
		outcome = "ok"
	case len(ticks) > 0:
		outcome = "partial"
	}
	return err
}
