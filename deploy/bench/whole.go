package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// whole measures the creating of payments with everything on, against the statement of the accept rows run by pgbench.
// The yardstick works on a copy of the database, because what it writes into the outbox would be relayed.
type whole struct {
	accept

	flow     *flow
	remove   func(context.Context) error // what the row has registered; may be nil
	database string
}

// onWay is how many payments may be on their way through outbox, broker and dispatcher: less than a second's worth, so
// that nothing grows.
const onWay = 1000

func wholePath(clients int) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		f, err := newFlow(ctx, b, clients, onWay, 2*time.Second, "payment.pending")
		if err != nil {
			return measure{}, err
		}
		w := &whole{accept: accept{bench: b, clients: clients, run: f.run, body: transfer(f.url)}, flow: f}
		return w.begin(ctx, f.measure)
	}
}

// unkept leaves the rows of a yardstick to themselves: autovacuum works a minute later, and would be counted as a cost
// of the product then. Upkeep of the product's rows stays, even where it falls into the yardstick's time and slows it.
func unkept(ctx context.Context, conn *pgx.Conn) error {
	return execute(ctx, conn, `DO $$DECLARE t regclass; BEGIN
FOR t IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', t); END LOOP; END$$`)
}

// settleLonger is how many times as long a side of settle takes as others: of a batch of a thousand a tenth of the time
// was its beginning and its end, in which the processors wait.
const settleLonger = 2

// settle is a batch all the way: each payment is paid, settles, and its last callback arrives at its URL and at so many
// endpoints.
func settle(endpoints int) func(context.Context, *bench) (measure, error) {
	const clients, most, perSecond = 16, 4000, 250
	return func(ctx context.Context, b *bench) (measure, error) {
		f, err := newFlow(ctx, b, clients, most, 0, "payment.settled")
		if err != nil {
			return measure{}, err
		}
		f.due = make(chan string, most)
		w := &whole{accept: accept{bench: b, clients: clients, run: f.run, body: transfer(f.url)}, flow: f}
		if w.remove, err = f.register(ctx, endpoints); err != nil {
			return measure{}, errors.Join(err, w.close(context.WithoutCancel(ctx)))
		}
		m, err := w.begin(ctx, func(ctx context.Context, length time.Duration) (side, error) {
			return f.batch(ctx, min(most, settleLonger*perSecond*int64(length/time.Second)))
		})
		m.yardstick = func(ctx context.Context, length time.Duration) (side, error) {
			return w.yardstick(ctx, settleLonger*length)
		}
		return m, err
	}
}

func (w *whole) begin(ctx context.Context, ours func(context.Context, time.Duration) (side, error)) (measure, error) {
	m := measure{ours: ours, yardstick: w.yardstick, close: w.close}
	if err := w.prepare(ctx); err != nil {
		return m, errors.Join(err, w.close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

func (w *whole) prepare(ctx context.Context) (err error) {
	serverLog, err := w.serverLog()
	if err != nil {
		return err
	}
	for _, name := range users {
		if err := w.bench.stack.Stop(ctx, name); err != nil {
			return err
		}
	}
	w.database, err = w.bench.clone(ctx, "payments", "statement", nil)
	if err == nil {
		err = w.bench.within(ctx, w.database, unkept)
	}
	err = errors.Join(err, w.bench.stack.Start(ctx, "payments-serve"))
	if err == nil {
		err = w.learn(ctx, serverLog)
	}
	// Only now: connections that payments-work makes while the statement is captured log all statements until they end.
	if err = errors.Join(err, w.bench.stack.Start(context.WithoutCancel(ctx), "payments-work")); err != nil {
		return err
	}
	return w.stockUp(ctx)
}

// stockUp puts payments where an hour at this pace would have left it: the peak of the hour wants the largest stock,
// which is refilled at half. From here on wallets allocates as many addresses as are used.
func (w *whole) stockUp(ctx context.Context) error {
	const half, peak = 100_000, 20_000 // the largest stock's, and one that wants it
	return w.bench.within(ctx, w.bench.stack.Databases["payments"], func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `INSERT INTO address_usage AS u (mode, family, minute, leased) VALUES ('test', 'tron', date_trunc('minute', now()), $1)
			ON CONFLICT (mode, family, minute) DO UPDATE SET leased = greatest(u.leased, excluded.leased)`, peak); err != nil {
			return fmt.Errorf("noting the pace of the last hour: %w", err)
		}
		ctx, cancel := context.WithTimeout(ctx, stockWithin)
		defer cancel()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for free := 0; free <= half; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("%d addresses are in stock: %w", free, ctx.Err())
			}
			if err := conn.QueryRow(ctx, `SELECT count(*) FROM address_stock WHERE mode = 'test' AND family = 'tron' AND lease_owner IS NULL`).Scan(&free); err != nil {
				return fmt.Errorf("counting the stock: %w", err)
			}
		}
		return nil
	})
}

// stockWithin bounds the making of 100 000 addresses.
const stockWithin = 3 * time.Minute

func (w *whole) yardstick(ctx context.Context, length time.Duration) (side, error) {
	return w.pgbench(ctx, w.database, length)
}

// close removes unpaid payments, which would expire in half an hour and send useless events. Settled ones stay.
func (w *whole) close(ctx context.Context) error {
	var failures []error
	if w.flow.due == nil {
		for _, name := range users {
			failures = append(failures, w.bench.stack.Stop(ctx, name))
		}
		failures = append(failures, w.empty(ctx))
		for _, name := range users {
			failures = append(failures, w.bench.stack.Start(ctx, name))
		}
	}
	if w.remove != nil {
		failures = append(failures, w.remove(ctx))
	}
	failures = append(failures, w.flow.close())
	if w.database != "" {
		failures = append(failures, w.bench.drop(ctx, w.database))
	}
	return errors.Join(failures...)
}

// users are who holds payments' database open, which cannot be copied then.
var users = []string{"payments-serve", "payments-work"}
