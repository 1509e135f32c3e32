package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/bench/internal/drive"
	"causeway.internal/deploy/bench/internal/yardstick"
)

// stockSize is more addresses than a row can use up: with `work` stopped nobody makes more.
const stockSize = 400_000

// accept measures the creating of payments while nothing is done with them: the gateway, payments' serve role and
// PostgreSQL, without relay, consumers and timers.
type accept struct {
	bench     *bench
	clients   int
	body      string
	stopped   []string
	statement yardstick.Statement
	run       string
	sent      int
}

func acceptPath(clients int) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		nobody := transfer("http://127.0.0.1:9/") // and nobody sends to it
		a := &accept{bench: b, clients: clients, body: nobody, run: strconv.FormatInt(time.Now().UnixNano(), 36)}
		m := measure{ours: a.ours, yardstick: a.yardstick, close: a.close}
		if err := a.prepare(ctx); err != nil {
			return m, errors.Join(err, a.close(context.WithoutCancel(ctx)))
		}
		return m, nil
	}
}

// prepare stops every work role, fills the stock, and learns the statement from two creates.
func (a *accept) prepare(ctx context.Context) error {
	serverLog, err := a.serverLog()
	if err != nil {
		return err
	}
	all, err := a.bench.stack.Processes()
	if err != nil {
		return err
	}
	for _, p := range all {
		if strings.HasSuffix(p.Name, "-work") {
			if err := a.bench.stack.Stop(ctx, p.Name); err != nil {
				return err
			}
			a.stopped = append(a.stopped, p.Name)
		}
	}
	if len(a.stopped) == 0 {
		return errors.New("the stack runs no work roles of their own: start it with --split")
	}
	if err := a.stock(ctx); err != nil {
		return err
	}
	return a.learn(ctx, serverLog)
}

// serverLog is where the statement is read from.
func (a *accept) serverLog() (string, error) {
	all, err := a.bench.stack.Processes()
	if err != nil {
		return "", err
	}
	for _, p := range all {
		if p.Name == "postgres" {
			return p.Log, nil
		}
	}
	return "", errors.New("PostgreSQL is lent, so its log cannot be read: run without CAUSEWAY_POSTGRES_URL, or with --private")
}

// stock adds addresses for the benchmark alone. Nobody will ever pay to them.
func (a *accept) stock(ctx context.Context) error {
	return a.inDatabase(ctx, a.bench.stack.Databases["payments"], `INSERT INTO address_stock (mode, family, address, wallet_id)
SELECT 'test', 'tron', 'T' || upper(left(md5($1 || n::text), 33)), 'wal_' || left(md5('w' || $1 || n::text), 26) FROM generate_series(1, $2::int) AS n`,
		a.run, stockSize)
}

func (a *accept) inDatabase(ctx context.Context, database, statement string, args ...any) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return fmt.Errorf("opening payments' database: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement, args...); err != nil {
		return fmt.Errorf("preparing payments' database: %w", err)
	}
	return nil
}

// learn captures the create's statement, once for all rows. The role's log setting counts for new connections only, so
// the process is started again before, and after, to run the rounds without logging.
func (a *accept) learn(ctx context.Context, serverLog string) error {
	if a.statement = a.bench.statement; a.statement.SQL != "" {
		return nil
	}
	address, err := url.Parse(a.bench.stack.Databases["payments"])
	if err != nil {
		return fmt.Errorf("reading payments' database URL: %w", err)
	}
	a.statement, err = yardstick.Capture(ctx, a.bench.stack.Superuser, address.User.Username(), serverLog, "INSERT INTO payments", func() error {
		if err := a.again(ctx); err != nil {
			return err
		}
		for range 3 {
			if err := a.createOne(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.bench.say("the create's statement has %d bytes and %d arguments", len(a.statement.SQL), len(a.statement.Args[0]))
	a.bench.statement = a.statement
	return a.again(ctx)
}

func (a *accept) again(ctx context.Context) error {
	if err := a.bench.stack.Stop(ctx, "payments-serve"); err != nil {
		return err
	}
	return a.bench.stack.Start(ctx, "payments-serve")
}

func (a *accept) createOne(ctx context.Context) error {
	if got := a.creates(ctx, 1, time.Millisecond); got.Failed > 0 {
		return fmt.Errorf("creating a payment: %s", got.Failure)
	}
	return nil
}

// transfer is the body of an ordinary transfer, priced in fiat; "" wants no callbacks.
func transfer(callback string) string {
	return `{"type":"transfer","fiatAmount":50000,"fiatCurrency":"NGN","crypto":"USDT","network":"tron","chargeFrom":"fiat",` +
		`"payer":{"chatId":"bench"},"receiver":{"bankCode":"058","accountNumber":"0123456789"},"metadata":{"order":"A-1"},"callbackUrl":"` + callback + `"}`
}

// creates makes payments, each under a key of its own.
func (a *accept) creates(ctx context.Context, clients int, length time.Duration) drive.Result {
	a.sent++
	header := "Authorization: Bearer " + a.bench.stack.APIKey + "\r\nContent-Type: application/json\r\nIdempotency-Key: " +
		a.run + "-" + strconv.Itoa(a.sent) + "-"
	return drive.Run(ctx, a.bench.stack.BaseURL, clients, length, func(n int) drive.Request {
		return drive.Request{Method: http.MethodPost, Path: "/v1/payments", Header: header + strconv.Itoa(n) + "\r\n", Body: a.body}
	})
}

func (a *accept) ours(ctx context.Context, length time.Duration) (side, error) {
	before, err := a.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	got := a.creates(ctx, a.clients, length)
	after, err := a.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	if got.Failed > 0 {
		return side{}, fmt.Errorf("%d of %d creates failed: %s", got.Failed, got.Failed+got.Done, got.Failure)
	}
	return side{
		PerSec: float64(got.Done) / got.Seconds, P50: milliseconds(got.Quantile(0.5)), P99: milliseconds(got.Quantile(0.99)),
		CPU: costs(before, after, got.Done), RSS: a.bench.memory(),
	}, ctx.Err()
}

func (a *accept) yardstick(ctx context.Context, length time.Duration) (side, error) {
	return a.pgbench(ctx, a.bench.stack.Databases["payments"], length)
}

// pgbench runs the statement, nothing else, on a database.
func (a *accept) pgbench(ctx context.Context, database string, length time.Duration) (side, error) {
	before, err := a.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	got, err := a.statement.Run(ctx, database, a.clients, length)
	if err != nil {
		return side{}, err
	}
	after, err := a.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	return side{PerSec: got.PerSec, P50: milliseconds(got.Average), CPU: costs(before, after, got.Done)}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// close empties what the row has written, or the work roles would relay and expire it all, and starts them again.
func (a *accept) close(ctx context.Context) error {
	failures := []error{a.empty(ctx, `DELETE FROM address_stock WHERE family = 'tron'`)}
	for _, name := range a.stopped {
		failures = append(failures, a.bench.stack.Start(ctx, name))
	}
	return errors.Join(failures...)
}

// empty removes the payments while nobody works with them, and more. The tables refuse to be emptied, so the superuser
// passes their triggers by.
func (a *accept) empty(ctx context.Context, more ...string) error {
	return a.bench.within(ctx, a.bench.stack.Databases["payments"], func(ctx context.Context, conn *pgx.Conn) error {
		return execute(ctx, conn, append([]string{`SET session_replication_role = replica`, `TRUNCATE payments, history_rows, outbox, idempotency`}, more...)...)
	})
}
