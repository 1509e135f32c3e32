package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/bench/internal/drive"
)

// detect measures how fast the deposits of one block become confirmed payments. Its rate counts from the commit of the
// block that holds them all until payments has committed the last of them as confirmed. The simulated chain takes two
// seconds of that to make the blocks on top, one in 100 ms.
func detect(ctx context.Context, b *bench) (measure, error) {
	const clients, deposits = 16, 1000
	f, err := newFlow(ctx, b, clients, deposits+1, 0, "payment.settled")
	if err != nil {
		return measure{}, err
	}
	f.due = make(chan string, deposits+1)
	w := &whole{accept: accept{bench: b, clients: clients, run: f.run, body: transfer(f.url)}, flow: f}
	return w.begin(ctx, func(ctx context.Context, _ time.Duration) (side, error) {
		return f.steady(ctx, func() (side, error) { return f.block(ctx, deposits) })
	})
}

const (
	// blockOfDeposits pays payments by one transaction, whose transfers are in the next block together. They are as the
	// transfer of the payment that was paid over the API.
	blockOfDeposits = `INSERT INTO sim_transfers (request_id, network, tx_hash, key, asset, contract, amount, sender, confirmations)
SELECT gen_random_uuid()::text, s.network, encode(sha256((s.tx_hash || a.address)::bytea), 'hex'), a.key, s.asset, s.contract, s.amount, s.sender, s.confirmations
FROM (SELECT * FROM sim_transfers ORDER BY created_at DESC LIMIT 1) AS s, addresses a
WHERE a.mode = 'test' AND a.family = 'tron' AND a.address = ANY($1)`
	minedDeposits     = `SELECT count(*) = 0 FROM sim_transfers WHERE height IS NULL AND NOT dropped`
	addressesOf       = `SELECT array_agg(address) FROM payments WHERE reference = ANY($1)`
	confirmedPayments = `SELECT count(*) = cardinality($1::text[]) FROM payments WHERE reference = ANY($1) AND confirmed_at IS NOT NULL`
)

func (f *flow) block(ctx context.Context, deposits int) (side, error) {
	left := make(chan struct{}, deposits+1)
	for range deposits + 1 {
		left <- struct{}{}
	}
	got := drive.Run(ctx, f.bench.stack.BaseURL, f.clients, drainWithin, func(int) drive.Request {
		select {
		case <-left:
			f.way <- struct{}{}
			return f.create()
		default:
			return drive.Request{}
		}
	})
	if got.Failed > 0 || len(f.due) != deposits+1 {
		return side{}, fmt.Errorf("%d of %d payments were made: %s", len(f.due), deposits+1, got.Failure)
	}
	var refs []string
	for range deposits {
		refs = append(refs, <-f.due)
	}
	first := <-f.due
	if err := f.call(ctx, f.deposit(first)); err != nil {
		return side{}, err
	}
	var s side
	payments, wallets := f.bench.stack.Databases["payments"], f.bench.stack.Databases["wallets"]
	err := f.bench.within(ctx, payments, func(ctx context.Context, payments *pgx.Conn) error {
		return f.bench.within(ctx, wallets, func(ctx context.Context, wallets *pgx.Conn) (err error) {
			if err := until(ctx, payments, confirmedPayments, []string{first}); err != nil {
				return err
			}
			var addresses []string
			if err := payments.QueryRow(ctx, addressesOf, refs).Scan(&addresses); err != nil {
				return fmt.Errorf("reading the addresses: %w", err)
			}
			before, err := f.read()
			if err != nil {
				return err
			}
			if paid, err := wallets.Exec(ctx, blockOfDeposits, addresses); err != nil || int(paid.RowsAffected()) != deposits {
				return fmt.Errorf("paying %d payments: %s, %w", deposits, paid, err)
			}
			if err := until(ctx, wallets, minedDeposits); err != nil {
				return err
			}
			began := time.Now()
			if err := until(ctx, payments, confirmedPayments, refs); err != nil {
				return err
			}
			s.PerSec = float64(deposits) / time.Since(began).Seconds()
			after, err := f.read()
			s.CPU, s.RSS = costs(before.cpu, after.cpu, deposits), f.bench.memory()
			return err
		})
	})
	if err != nil {
		return s, err
	}
	return s, f.drain(ctx)
}

// until waits for a statement that returns true.
func until(ctx context.Context, conn *pgx.Conn, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, drainWithin)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var ok bool
		if err := conn.QueryRow(ctx, sql, args...).Scan(&ok); err != nil {
			return fmt.Errorf("waiting for %.40s: %w", sql, err)
		}
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %.40s: %w", sql, ctx.Err())
		}
	}
}

// register registers endpoints of the benchmark's merchant at the flow's server, beside the callback URL of each
// payment, and returns what removes them.
func (f *flow) register(ctx context.Context, endpoints int) (remove func(context.Context) error, err error) {
	f.copies = 1 + endpoints
	var ids []string
	remove = func(ctx context.Context) error {
		for _, id := range ids {
			if err := f.call(ctx, drive.Request{Method: http.MethodDelete, Path: "/v1/webhooks/endpoints/" + id, Header: f.header()}); err != nil {
				return err
			}
		}
		return nil
	}
	for n := range endpoints {
		if err := f.call(ctx, drive.Request{
			Method: http.MethodPost, Path: "/v1/webhooks/endpoints", Header: f.header(), Body: fmt.Sprintf(`{"url":"%s%d","types":[]}`, f.url, n),
			Took: func(body []byte) { ids = append(ids, textOf(body, "id")) },
		}); err != nil {
			return remove, err
		}
	}
	return remove, nil
}

// call sends one request.
func (f *flow) call(ctx context.Context, r drive.Request) error {
	if got := drive.Run(ctx, f.bench.stack.BaseURL, 1, time.Nanosecond, func(int) drive.Request { return r }); got.Failed > 0 {
		return fmt.Errorf("%s %s: %s", r.Method, r.Path, got.Failure)
	}
	return nil
}
