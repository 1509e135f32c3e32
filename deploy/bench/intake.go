package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/bench/internal/stack"
)

// intakeDemand is what the intake must take, in messages a second.
const intakeDemand = 5000

// takenWithin bounds the wait of a round.
const takenWithin = 5 * time.Minute

// intake is a row of messages that wait in the broker and are taken into the table: event and delivery, committed and
// acknowledged. Nothing is sent meanwhile, because the one endpoint of their merchant is disabled and so its deliveries
// are held. The other side is no measurement but the demand itself.
func intake(ctx context.Context, b *bench) (measure, error) {
	d, err := newDeliver(ctx, b, 1, 0)
	if err != nil {
		return measure{}, err
	}
	return measure{
		ours:      d.intake,
		yardstick: func(context.Context, time.Duration) (side, error) { return side{PerSec: intakeDemand}, nil },
		close: func(ctx context.Context) error {
			return errors.Join(b.stack.Start(ctx, dispatcher), d.close(ctx))
		},
	}, nil
}

func (d *deliver) intake(ctx context.Context, length time.Duration) (side, error) {
	events, merchant := eventsOf(length), "bench-"+name()
	if err := d.bench.stack.Stop(ctx, dispatcher); err != nil {
		return side{}, err
	}
	if err := d.superuser(ctx, `INSERT INTO endpoint (id, merchant_id, mode, url, description, types, enabled, disabled_reason, disabled_at)
		VALUES ($1, $1, 'test', $2, '', '{}', false, 'merchant', now())`, merchant, d.sink.urls[0]); err != nil {
		return side{}, err
	}
	if err := d.superuser(ctx, `INSERT INTO lane (target, due_at, held) VALUES ($1, 'infinity', true)`, merchant); err != nil {
		return side{}, err
	}
	url := d.sink.urls
	d.sink.urls = []string{""} // to the endpoint alone
	defer func() { d.sink.urls = url }()
	made, err := d.encode(merchant, 0, events)
	if err == nil {
		err = d.send(ctx, made)
	}
	if err != nil {
		return side{}, err
	}
	before, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	delete(before, dispatcher) // it begins anew
	if err := d.bench.stack.Start(ctx, dispatcher); err != nil {
		return side{}, err
	}
	out, err := d.taken(ctx, merchant, events, before)
	if err != nil {
		return side{}, err
	}
	return out, d.superuser(ctx, `DELETE FROM delivery WHERE merchant_id = $1`, merchant) // nobody will have them
}

// taken waits until all are in the table and reads there how fast they came: what was written before the last commit
// began, since the first began.
func (d *deliver) taken(ctx context.Context, merchant string, events int, before map[string]float64) (side, error) {
	if err := d.until(ctx, takenWithin, func() (bool, error) {
		n, err := d.number(ctx, d.own, `SELECT count(*) FROM delivery WHERE merchant_id = $1 AND mode = 'test'`, merchant)
		return n >= events, err
	}); err != nil {
		return side{}, fmt.Errorf("waiting until all messages are in the table: %w", err)
	}
	after, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	out := side{CPU: costs(before, after, events)}
	if err := d.own.QueryRow(ctx, `SELECT count(*) FILTER (WHERE received_at < ended) / extract(epoch FROM max(ended) - min(received_at))::float8
		FROM (SELECT received_at, max(received_at) OVER () AS ended FROM event WHERE merchant_id = $1 AND mode = 'test') AS x`, merchant,
	).Scan(&out.PerSec); err != nil {
		return side{}, fmt.Errorf("reading how fast they came: %w", err)
	}
	return out, nil
}

func (d *deliver) number(ctx context.Context, conn *pgx.Conn, sql string, args ...any) (n int, err error) {
	if err := conn.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting: %w", err)
	}
	return n, nil
}

// until looks every 50 ms.
func (d *deliver) until(ctx context.Context, within time.Duration, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// superuser runs a statement in the dispatcher's database.
func (d *deliver) superuser(ctx context.Context, sql string, args ...any) error {
	address, err := stack.Database(d.bench.stack.Superuser, d.bench.stack.Databases["callback-dispatcher"])
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("opening the dispatcher's database: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("preparing the dispatcher's database: %w", err)
	}
	return nil
}
