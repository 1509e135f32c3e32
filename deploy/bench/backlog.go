package main

import (
	"context"
	"errors"
	"time"
)

// backlogRows are due and wait for the probe of a target that is down.
const backlogRows = 1_000_000

// backlog is a row of deliveries to healthy endpoints while a million are due to another one, against the same without.
func backlog(ctx context.Context, b *bench) (measure, error) {
	const endpoints = 100
	d, err := newDeliver(ctx, b, endpoints, 0)
	if err != nil {
		return measure{}, err
	}
	return measure{
		ours: func(ctx context.Context, length time.Duration) (side, error) {
			if err := d.pile(ctx, backlogRows); err != nil {
				return side{}, err
			}
			return d.burst(ctx, length, false)
		},
		yardstick: func(ctx context.Context, length time.Duration) (side, error) {
			if err := d.pile(ctx, 0); err != nil {
				return side{}, err
			}
			return d.burst(ctx, length, false)
		},
		close: func(ctx context.Context) error {
			return errors.Join(d.superuser(ctx, `TRUNCATE delivery`), d.close(ctx))
		},
	}, nil
}

// pile makes the table hold the rows and nothing else. Everything before has been delivered. A backlog grows over
// hours, so what it takes to write it at once is not to be counted: the pages are written out, and a small burst comes
// first, on either side.
func (d *deliver) pile(ctx context.Context, rows int) error {
	if err := d.until(ctx, takenWithin, func() (bool, error) {
		left, err := d.number(ctx, d.own, `SELECT count(*) FROM delivery WHERE target <> 'bench-backlog'`)
		return left == 0, err
	}); err != nil {
		return err
	}
	if err := d.superuser(ctx, `TRUNCATE delivery`); err != nil {
		return err
	}
	if err := d.superuser(ctx, `INSERT INTO lane (target, due_at, failures, failing_since, probe_at, probe_wait)
		VALUES ('bench-backlog', now(), 100, now(), now() + interval '1 day', '15 minutes') ON CONFLICT (target) DO NOTHING`); err != nil {
		return err
	}
	const chunk = 50_000 // a statement may not take long
	for from := 0; from < rows; from += chunk {
		if err := d.superuser(ctx, `INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, target, url, type, object_id, sequence, state, next_at)
			SELECT 'dlv_backlog' || n, 'evt_backlog' || n, 0, 'bench-backlog', 'test', 'bench-backlog', 'http://127.0.0.1/', 'payment.pending',
				'pay_' || n, 1, 'due', now() FROM generate_series($1::int + 1, $2::int) AS n`, from, min(from+chunk, rows)); err != nil {
			return err
		}
	}
	if err := d.superuser(ctx, `ANALYZE delivery`); err != nil {
		return err
	}
	if err := d.superuser(ctx, `CHECKPOINT`); err != nil {
		return err
	}
	_, err := d.burst(ctx, 0, false)
	return err
}
