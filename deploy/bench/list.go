package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/bench/internal/drive"
)

const (
	fewPayments = 10_000
	listClients = 8

	templateWithin = time.Minute
)

// kinds of lists: the filters that are asked for in turn. The rarest status and the rarest type are among them.
var (
	unfiltered = []string{""}
	byStatus   = []string{"&status=settled", "&status=expired", "&status=pending", "&status=needs_review"}
	byType     = []string{"&type=transfer", "&type=gift", "&type=request", "&type=bank_confirmation"}
)

// lists measures pages of GET /v1/payments over one merchant's payments, one database at a time behind the same
// gateway. Every second page is the first, the others begin anywhere. All are full.
type lists struct {
	bench    *bench
	kind     []string
	database map[int]string // by payments
	service  swap
}

func listFlat(kind []string, many int) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		l := &lists{bench: b, kind: kind, database: map[int]string{}, service: swap{bench: b, process: "payments-serve"}}
		at := func(payments int) func(context.Context, time.Duration) (side, error) {
			return func(ctx context.Context, length time.Duration) (side, error) { return l.side(ctx, payments, length) }
		}
		m := measure{ours: at(many), yardstick: at(fewPayments), close: l.close}
		if err := l.prepare(ctx, fewPayments, many); err != nil {
			return m, errors.Join(err, l.close(context.WithoutCancel(ctx)))
		}
		return m, nil
	}
}

func (l *lists) close(ctx context.Context) error {
	return errors.Join(l.service.back(ctx), l.bench.stack.Start(ctx, "payments-work"))
}

func (l *lists) side(ctx context.Context, payments int, length time.Duration) (side, error) {
	if err := l.service.to(ctx, l.database[payments]); err != nil {
		return side{}, err
	}
	header := "Authorization: Bearer " + l.bench.stack.APIKey + "\r\nAccept: application/json\r\n"
	next := func(n int) drive.Request {
		path := "/v1/payments?limit=20" + l.kind[n/2%len(l.kind)]
		if n%2 == 1 { // behind the last of ten thousand there is no full page of a rare kind
			path += "&cursor=" + cursorOf(payments/4+rand.IntN(payments*3/4)) //nolint:gosec // a benchmark
		}
		return drive.Request{Method: http.MethodGet, Path: path, Header: header}
	}
	drive.Run(ctx, l.bench.stack.BaseURL, listClients, time.Second, next) // connections, plans and caches
	return l.bench.get(ctx, l.bench.stack.BaseURL, listClients, length, next)
}

// cursorOf is the cursor of a page that ends before the payment of a number.
func cursorOf(n int) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "p%026d", n))
}

// prepare makes the databases that are not there yet; they stay for the next row.
func (l *lists) prepare(ctx context.Context, all ...int) error {
	template, err := l.template(ctx)
	if err != nil {
		return err
	}
	for _, name := range users {
		if err := l.bench.stack.Stop(ctx, name); err != nil {
			return err
		}
	}
	for _, payments := range all {
		began, made := time.Now(), false
		address, err := l.bench.clone(ctx, "payments", fmt.Sprint(payments), func(ctx context.Context, conn *pgx.Conn) error {
			made = true
			return seedPayments(ctx, conn, template, payments)
		})
		if err != nil {
			return err
		}
		if l.database[payments] = address; made {
			l.bench.say("a database of %d payments was made in %s", payments, time.Since(began).Round(time.Second))
		}
	}
	return nil
}

// template makes the payment that all others are copies of. The product was stopped for the row before; until it
// follows its networks again, it refuses to create, and template asks again.
func (l *lists) template(ctx context.Context) (ref string, err error) {
	header := "Authorization: Bearer " + l.bench.stack.APIKey + "\r\nContent-Type: application/json\r\n"
	create := func(int) drive.Request {
		took := func(body []byte) { ref = reference(body) }
		return drive.Request{Method: http.MethodPost, Path: "/v1/payments", Header: header, Body: transfer(""), Took: took}
	}
	for end := time.Now().Add(templateWithin); ; {
		got := drive.Run(ctx, l.bench.stack.BaseURL, 1, time.Nanosecond, create)
		if ref != "" {
			return ref, nil
		}
		if later := strings.HasPrefix(got.Failure, "503") || strings.HasPrefix(got.Failure, "504"); !later || time.Now().After(end) {
			return "", fmt.Errorf("creating a payment: %s", got.Failure)
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("creating a payment: %w", context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
}

// copied says what differs between the copies. Ids sort by number, as those of payments by time. Of ten thousand there
// are 7 900 settled, 1 800 expired, 200 pending and 100 to be reviewed, and of each status as many of every type, save
// that one in a hundred is a bank_confirmation. Who pays and who is paid stand unsealed, as before that was introduced.
var copied = map[string]string{
	"id":          `'pay_' || lpad(n::text, 26, '0')`,
	"reference":   `'CW-' || lpad(n::text, 12, 'A')`,
	"address":     `'T' || upper(left(md5(n::text), 33))`,
	"wallet_id":   `'wal_' || left(md5('w' || n), 26)`,
	"type":        `CASE WHEN n / 100 % 100 = n % 100 THEN 'bank_confirmation' ELSE (ARRAY['transfer', 'gift', 'request', 'merchant'])[1 + n / 100 % 4] END`,
	"status":      `CASE WHEN n % 100 < 79 THEN 'settled' WHEN n % 100 < 97 THEN 'expired' WHEN n % 100 < 99 THEN 'pending' ELSE 'needs_review' END`,
	"due_at":      `NULL::timestamptz`,
	"payer":       `convert_to('{"chatId":"bench"}', 'UTF8')`,
	"receiver":    `convert_to('{"bankCode":"058","bankName":"GTBank","accountNumber":"0123456789","accountName":"Ada Obi"}', 'UTF8')`,
	"created_at":  `t.created_at - interval '1 year' + n * interval '10 seconds'`,
	"settled_at":  `CASE WHEN n % 100 < 79 THEN t.created_at - interval '1 year' + n * interval '11 seconds' END`,
	"payer_index": `NULL::bytea`,
}

func seedPayments(ctx context.Context, conn *pgx.Conn, template string, payments int) error {
	rows, err := conn.Query(ctx, `SELECT column_name FROM information_schema.columns WHERE table_name = 'payments' AND is_generated = 'NEVER'`)
	if err != nil {
		return err
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(copied)) {
		if !slices.Contains(columns, name) {
			return fmt.Errorf("payments have no column %s", name)
		}
	}
	values := make([]string, len(columns))
	for i, name := range columns {
		if values[i] = copied[name]; values[i] == "" {
			values[i] = "t." + name
		}
	}
	insert := fmt.Sprintf(`INSERT INTO payments (%s) SELECT %s FROM payments t, generate_series(1, %d) AS n WHERE t.reference = '%s'`,
		strings.Join(columns, ", "), strings.Join(values, ", "), payments, template)
	// Rows of earlier runs must not be in the smallest list either.
	if err := execute(ctx, conn, `SET session_replication_role = replica`, `CREATE TEMP TABLE kept AS SELECT * FROM payments WHERE reference = '`+template+`'`,
		`TRUNCATE payments, history_rows, outbox, idempotency`, `INSERT INTO payments SELECT * FROM kept`); err != nil {
		return err
	}
	return fillTable(ctx, conn, "payments", insert)
}
