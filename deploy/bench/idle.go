package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/deploy/bench/internal/stack"
)

// Bounds of the idle row. A minute after its last process has started a stack does nothing but wait, and PostgreSQL has
// made most plans: on each connection it plans a statement anew the first five times.
const (
	idleMost   = 0.03 // processors that the product may use beyond a bare broker with as many connections
	idleLonger = 5    // a side takes so many times as long as others, because the kernel counts in hundredths of a second
	idleRest   = time.Minute
)

// quiet are workers with settings of production in place of the stack's: lists and reports of operators are as seldom,
// and simulated networks are as quiet as those of live mode. They make hardly a block, and announce their scans as
// seldom.
var quiet = []struct {
	process  string
	settings map[string]string
}{
	{"wallets-work", map[string]string{"SIMULATED_BLOCK_EVERY": "9m", "SCANNED_EVERY_TEST": "5s"}},
	{"payments-work", map[string]string{"OWED_EVERY": "30m", "TREASURY_EVERY": "5m"}},
}

// servers are the processes of a stack that are not the product's.
var servers = []string{"postgres", "rabbitmq", "epmd"}

// idle measures the processor time of a product that nobody calls. Its sides are one over processors.
type idle struct {
	bench       *bench
	url         string // of the broker
	connections int
	product     []string // the other processes in the order of their start
	quiet       []*stack.Own
}

func idlePath(ctx context.Context, b *bench) (measure, error) {
	d := &idle{bench: b}
	m := measure{ours: d.ours, yardstick: d.bare, close: d.close}
	var err error
	if d.url, err = b.stack.Setting("payments-work", "AMQP_URL"); err != nil {
		return m, err
	}
	if d.connections, err = b.stack.BrokerConnections(ctx); err != nil {
		return m, err
	}
	all, err := b.stack.Processes()
	if err != nil {
		return m, err
	}
	for _, p := range all {
		if !slices.Contains(servers, p.Name) && !isQuiet(p.Name) {
			d.product = append(d.product, p.Name)
		}
	}
	for _, q := range quiet {
		if err := b.stack.Stop(ctx, q.process); err != nil {
			return m, err
		}
	}
	if err := d.begin(ctx); err != nil {
		return m, err
	}
	if err := rest(ctx, idleRest); err != nil { // the stock of addresses is filled up again
		return m, err
	}
	return m, b.keepUp(ctx)
}

// keepUp does for all databases at once what autovacuum and the checkpointer do in the minutes after a row that wrote
// much.
func (b *bench) keepUp(ctx context.Context) error {
	return b.within(ctx, b.stack.Superuser, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT datname FROM pg_database WHERE datallowconn`)
		if err != nil {
			return fmt.Errorf("listing the databases: %w", err)
		}
		databases, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("listing the databases: %w", err)
		}
		for _, name := range databases {
			address, err := withDatabase(b.stack.Superuser, name)
			if err != nil {
				return err
			}
			if err := b.within(ctx, address, func(ctx context.Context, conn *pgx.Conn) error { return execute(ctx, conn, `VACUUM (ANALYZE)`) }); err != nil {
				return err
			}
		}
		return execute(ctx, conn, `CHECKPOINT`)
	})
}

func isQuiet(process string) bool {
	for _, q := range quiet {
		if q.process == process {
			return true
		}
	}
	return false
}

// begin starts the quiet workers.
func (d *idle) begin(ctx context.Context) error {
	for _, q := range quiet {
		own, err := d.bench.stack.Replace(ctx, q.process, q.settings)
		if own != nil {
			d.quiet = append(d.quiet, own)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ours is the whole stack.
func (d *idle) ours(ctx context.Context, length time.Duration) (side, error) {
	all := slices.Concat(d.product, servers)
	for _, q := range quiet {
		all = append(all, q.process)
	}
	return d.used(ctx, length, 0, all)
}

// bare is the broker alone, with connections that nobody uses, and what the product may use in addition.
func (d *idle) bare(ctx context.Context, length time.Duration) (s side, err error) {
	if err := d.end(); err != nil {
		return s, err
	}
	for _, name := range d.product {
		if err := d.bench.stack.Stop(ctx, name); err != nil {
			return s, err
		}
	}
	defer func() {
		for _, name := range d.product {
			err = errors.Join(err, d.bench.stack.Start(ctx, name))
		}
		err = errors.Join(err, d.begin(ctx))
	}()
	for range d.connections {
		conn, err := amqp.Dial(d.url)
		if err != nil {
			return s, errors.New("connecting to the broker failed") // the error may show the password
		}
		defer conn.Close() //nolint:errcheck // nothing was sent
		if _, err := conn.Channel(); err != nil {
			return s, fmt.Errorf("opening a channel: %w", err)
		}
	}
	return d.used(ctx, length, idleMost, []string{"rabbitmq", "epmd"})
}

// used is one over the processors that processes use, and so many more. Its costs are milliseconds in a second.
func (d *idle) used(ctx context.Context, length time.Duration, more float64, processes []string) (side, error) {
	if err := rest(ctx, idleRest); err != nil {
		return side{}, err
	}
	before, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	began := time.Now()
	if err := rest(ctx, idleLonger*length); err != nil {
		return side{}, err
	}
	after, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	took, sum, cpu := time.Since(began).Seconds(), more, map[string]float64{}
	for _, name := range processes {
		cores := (after[name] - before[name]) / took
		sum += cores
		cpu[name] = 1000 * cores
	}
	return side{PerSec: 1 / max(sum, 0.001), CPU: cpu}, nil
}

// rest waits.
func rest(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end stops the quiet workers.
func (d *idle) end() (err error) {
	for _, own := range d.quiet {
		err = errors.Join(err, own.End())
	}
	d.quiet = nil
	return err
}

func (d *idle) close(ctx context.Context) error {
	err := d.end()
	for _, q := range quiet {
		err = errors.Join(err, d.bench.stack.Start(ctx, q.process))
	}
	return err
}
