package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/bench/internal/drive"
)

// Rows of latency have two sides of the same kind, whose quantiles are side by side in the table.
const (
	latencyRows    = "latency/"
	latencyClients = 64  // enough that a request hardly waits for a client at half of the capacity
	latencyLeast   = 300 // payments of a side, so that its p99 has some above it
	latencyLonger  = 3   // a side takes so many times as long as others
)

// latency measures how long callers wait at a pace. Its sides are one over the p99, at half of the capacity and at a
// tenth.
type latency struct {
	flow     *flow
	capacity float64 // payments a second, each with all that follows
	toHook   bool    // from the block of its deposit to the callback, instead of the create
}

func latencyPath(toHook bool) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		const most, batch = 4000, 500
		last, ramp := "payment.pending", 2*time.Second
		if toHook {
			last, ramp = "payment.settled", 0
		}
		f, err := newFlow(ctx, b, latencyClients, most, ramp, last)
		if err != nil {
			return measure{}, err
		}
		l := &latency{flow: f, toHook: toHook}
		m := measure{
			ours:      func(ctx context.Context, length time.Duration) (side, error) { return l.at(ctx, l.capacity/2, length) },
			yardstick: func(ctx context.Context, length time.Duration) (side, error) { return l.at(ctx, l.capacity/10, length) },
			close:     func(ctx context.Context) error { return errors.Join(b.forgetUnpaid(ctx), f.close()) },
		}
		var full side
		if toHook {
			f.due, f.first = make(chan string, most), []byte(`"type":"payment.confirming"`)
			if full, err = f.batch(ctx, batch); err == nil { // the first one makes the plans
				full, err = f.batch(ctx, batch)
			}
			f.mu.Lock()
			f.arrived = map[string]time.Time{} // those of the full load belong to no side
			f.mu.Unlock()
		} else {
			if full, err = f.measure(ctx, 4*time.Second); err == nil {
				full, err = f.measure(ctx, 4*time.Second)
			}
		}
		if err != nil {
			return m, errors.Join(err, m.close(context.WithoutCancel(ctx)))
		}
		l.capacity = full.PerSec
		b.say("%s at its capacity: %.0f payments a second", last, l.capacity)
		return m, nil
	}
}

// forgetUnpaid removes payments that would expire in half an hour, a hundred thousand of them, in the time of a later
// row.
func (b *bench) forgetUnpaid(ctx context.Context) error {
	return b.within(ctx, b.stack.Databases["payments"], func(ctx context.Context, conn *pgx.Conn) error {
		return execute(ctx, conn, `SET session_replication_role = replica`, `DELETE FROM ONLY payments WHERE status = 'pending'`)
	})
}

// at makes payments at a pace and takes the time of each from when it was due, so that a caller that waits for a free
// client waits for the product.
func (l *latency) at(ctx context.Context, perSec float64, length time.Duration) (side, error) {
	payments := max(latencyLeast, int(perSec*(latencyLonger*length).Seconds()))
	before, err := l.flow.read()
	if err != nil {
		return side{}, err
	}
	took, err := l.flow.paced(ctx, perSec, payments)
	if err == nil && l.toHook {
		took, err = l.flow.fromBlock(ctx)
	}
	if err != nil {
		return side{}, err
	}
	after, err := l.flow.read()
	if err != nil {
		return side{}, err
	}
	slices.Sort(took)
	p50, p99 := milliseconds(quantile(took, 0.5)), milliseconds(quantile(took, 0.99))
	return side{PerSec: 1000 / max(p99, 0.001), P50: p50, P99: p99, CPU: costs(before.cpu, after.cpu, payments)}, nil
}

// paced makes so many payments at a pace, pays them if the flow does, and waits until all have come out. It returns the
// time that each create took.
func (f *flow) paced(ctx context.Context, perSec float64, payments int) ([]time.Duration, error) {
	due := make(chan time.Time, payments)
	go func() {
		defer close(due)
		began := time.Now()
		for n := range payments {
			at := began.Add(time.Duration(float64(n) / perSec * float64(time.Second)))
			select {
			case <-time.After(time.Until(at)):
				due <- at
			case <-ctx.Done():
				return
			}
		}
	}()
	created := make(chan time.Duration, payments)
	f.left.Store(math.MaxInt64)
	length := time.Duration(float64(payments)/perSec*float64(time.Second)) + drainWithin
	got := drive.Run(ctx, f.bench.stack.BaseURL, f.clients, length, func(int) drive.Request {
		select {
		case ref := <-f.due:
			return f.deposit(ref)
		case at, more := <-due:
			if !more {
				return drive.Request{}
			}
			f.way <- struct{}{}
			request := f.create()
			made := request.Took
			request.Took = func(body []byte) {
				created <- time.Since(at)
				made(body)
			}
			return request
		}
	})
	if got.Failed > 0 || len(created) != payments {
		return nil, fmt.Errorf("%d of %d payments were made, %d requests failed: %s", len(created), payments, got.Failed, got.Failure)
	}
	if err := f.drain(ctx); err != nil {
		return nil, err
	}
	close(created)
	took := make([]time.Duration, 0, payments)
	for one := range created {
		took = append(took, one)
	}
	return took, nil
}

// note takes the arrival of the first callback that a deposit causes.
func (f *flow) note(body []byte) {
	if f.first == nil || !bytes.Contains(body, f.first) {
		return
	}
	ref, now := reference(body), time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, came := f.arrived[ref]; !came {
		f.arrived[ref] = now
	}
}

// fromBlock gives the times from the block of each deposit to the arrival of the first callback after it, since it was
// last called.
func (f *flow) fromBlock(ctx context.Context) (took []time.Duration, err error) {
	f.mu.Lock()
	arrived := f.arrived
	f.arrived = map[string]time.Time{}
	f.mu.Unlock()
	refs := make([]string, 0, len(arrived))
	for ref := range arrived {
		refs = append(refs, ref)
	}
	err = f.bench.within(ctx, f.bench.stack.Databases["payments"], func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT p.reference, d.block_time FROM payments p JOIN deposits d ON d.payment_id = p.id
			WHERE p.reference = ANY($1::text[]) AND d.block_time IS NOT NULL`, refs)
		if err != nil {
			return fmt.Errorf("reading the blocks of deposits: %w", err)
		}
		var ref string
		var block time.Time
		_, err = pgx.ForEachRow(rows, []any{&ref, &block}, func() error {
			took = append(took, arrived[ref].Sub(block))
			return nil
		})
		return err
	})
	if err == nil && len(took) < latencyLeast/2 {
		err = fmt.Errorf("%d callbacks of %d have a block, too few for a quantile", len(took), len(arrived))
	}
	return took, err
}
